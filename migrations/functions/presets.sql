-- Presets that an installation makes for itself: named recipes, each with numbered versions. A submission copies what a preset says into
-- the recipes of its jobs. So a job never changes with the preset that it was submitted with.
--
-- A preset belongs to the whole installation or to a tenant. A tenant sees both, and its own preset comes first where both have the name.
-- Operators change presets. Names of built-in presets are refused by the programs, which know them.

-- The tenant whose presets the caller sees beside those for all: its own, or `tenant_name`. Null: no tenant. Throws if the caller asks for
-- another tenant and does not see all jobs.
create or replace function tenant_of_presets(tenant_name text) returns text
language plpgsql stable security definer set search_path from current
as $$
declare
    own text := tenant_of(caller()::text);
begin
    if is_tenant() and coalesce(tenant_name, own) = own then
        return own;
    elsif tenant_name is not null and not sees_all() then
        raise exception 'the presets of tenant "%" belong to others', left(tenant_name, 100)
            using errcode = 'insufficient_privilege', hint = 'ask for the role sluice_operator or sluice_viewer';
    end if;
    return tenant_name;
end $$;

-- Throws if the caller may not change presets, or there is no such tenant. The lock keeps two callers from making one version, or from
-- passing the limit together.
create or replace function begin_preset_change(tenant_name text) returns void
language plpgsql volatile security definer set search_path from current
as $$
begin
    perform refuse_tenants('change presets');
    perform check_queue(null);
    if tenant_name is not null and not exists (select from tenant n where n.name = tenant_name) then
        raise exception 'there is no tenant "%"', left(tenant_name, 100)
            using errcode = 'no_data_found', hint = '"sluice tenants" lists them';
    end if;
    lock table lock_preset in exclusive mode;
end $$;

-- Gives a preset a new version, or creates it: for a tenant, or for all. Returns the version. One with the same recipe stays as it is, so
-- that a call may be repeated. Versions of a preset that was removed go on where they ended, and the last hundred are kept.
create or replace function put_preset(preset_name text, preset_recipe jsonb, tenant_name text default null) returns integer
language plpgsql security definer set search_path from current
as $$
declare
    kept constant integer := 100;
    owner text := coalesce(tenant_name, '');
    latest preset;
    next_version integer;
begin
    perform begin_preset_change(tenant_name);
    if preset_name is null or preset_name !~ '^[a-z][a-z0-9._-]{0,49}$' then
        raise exception '"%" cannot be the name of a preset', left(preset_name, 100)
            using errcode = 'invalid_parameter_value',
                  hint = 'allowed: 1 to 50 small letters, digits and . _ - beginning with a letter';
    elsif preset_recipe is null or jsonb_typeof(preset_recipe) <> 'object' then
        raise exception 'the recipe of a preset is a JSON object' using errcode = 'invalid_parameter_value';
    elsif octet_length(preset_recipe::text) > 16384 then
        raise exception 'the recipe of a preset has % bytes, and may have 16384', octet_length(preset_recipe::text)
            using errcode = 'invalid_parameter_value', hint = 'shorten its tags';
    end if;
    select * into latest from preset p where p.tenant = owner and p.name = preset_name order by p.version desc limit 1;
    if latest.removed_at is null and latest.recipe = preset_recipe then
        return latest.version;
    end if;
    if (latest.version is null or latest.removed_at is not null) and (
        select count(distinct p.name) from preset p where p.tenant = owner and p.removed_at is null
    ) >= (select s.presets_per_tenant from setting s) then
        raise exception 'there are too many presets'
            using errcode = 'SL003', hint = 'remove some: "sluice presets" lists them';
    end if;
    next_version := coalesce(latest.version, 0) + 1;
    insert into preset (tenant, name, version, recipe, created_at, created_by)
    values (owner, preset_name, next_version, preset_recipe, ledger_time(), caller_name());
    delete from preset p where p.tenant = owner and p.name = preset_name and p.version <= next_version - kept;
    perform note_audit('put_preset', jsonb_strip_nulls(jsonb_build_object(
        'preset', preset_name, 'version', next_version, 'tenant', tenant_name)), 1);
    return next_version;
end $$;

-- Removes a preset. Returns false if there is none. The row of its last version stays, so that no later version has its number; of a
-- tenant's removed presets, the last thousand have such a row.
create or replace function remove_preset(preset_name text, tenant_name text default null) returns boolean
language plpgsql security definer set search_path from current
as $$
declare
    owner text := coalesce(tenant_name, '');
    last_version integer;
begin
    perform begin_preset_change(tenant_name);
    select max(p.version) into last_version from preset p
    where p.tenant = owner and p.name = preset_name and p.removed_at is null;
    if last_version is null then
        return false;
    end if;
    delete from preset p where p.tenant = owner and p.name = preset_name and p.version < last_version;
    update preset p set removed_at = ledger_time() where p.tenant = owner and p.name = preset_name;
    delete from preset p where p.tenant = owner and p.removed_at is not null and p.name in (
        select o.name from preset o where o.tenant = owner and o.removed_at is not null order by o.removed_at desc, o.name offset 1000
    );
    perform note_audit('remove_preset', jsonb_strip_nulls(jsonb_build_object(
        'preset', preset_name, 'version', last_version, 'tenant', tenant_name)), 1);
    return true;
end $$;

-- The presets that the caller may use, or those that a tenant may, by name, each with its latest version.
create or replace function list_presets(tenant_name text default null)
returns table (preset text, version integer, tenant text, recipe jsonb, created_at timestamptz, created_by text)
language plpgsql stable security definer set search_path from current
as $$
#variable_conflict use_column
declare
    whose text := tenant_of_presets(tenant_name);
begin
    return query
        select distinct on (p.name) p.name, p.version, nullif(p.tenant, ''), p.recipe, p.created_at, p.created_by from preset p
        where p.removed_at is null and p.tenant in ('', whose)
        order by p.name, p.tenant <> '' desc, p.version desc;
end $$;

-- A preset that the caller may use, or that a tenant may: its latest version, or `wanted_version`. No row: there is none.
create or replace function find_preset(preset_name text, wanted_version integer default null, tenant_name text default null)
returns table (preset text, version integer, tenant text, recipe jsonb, created_at timestamptz, created_by text)
language plpgsql stable security definer set search_path from current
as $$
#variable_conflict use_column
declare
    whose text := tenant_of_presets(tenant_name);
begin
    return query
        with owner as (
            select p.tenant from preset p where p.removed_at is null and p.name = preset_name and p.tenant in ('', whose)
            order by p.tenant <> '' desc limit 1
        )
        select p.name, p.version, nullif(p.tenant, ''), p.recipe, p.created_at, p.created_by from preset p
        where p.tenant = (select o.tenant from owner o) and p.name = preset_name and p.removed_at is null
          and (wanted_version is null or p.version = wanted_version)
        order by p.version desc limit 1;
end $$;
