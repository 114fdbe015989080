-- Filters of lists of jobs that people have given a name. All who see the same jobs share them: those of a tenant its own, and those
-- who see the jobs of all the others. A submitter that sees only its own jobs has filters of its own. A filter is kept as the query of an address,
-- which the programs read.

-- Whose filters the caller sees and changes. No name of a tenant has a colon.
create or replace function owner_of_filters() returns text
language sql stable
return case when is_tenant() then tenant_of(caller()::text) when sees_all() then '' else 'caller:' || caller()::text end;

-- Keeps a filter under a name, or replaces the one that has it. The same filter stays as it is, so that a call may be repeated.
create or replace function save_filter(filter_name text, filter_query text) returns void
language plpgsql security definer set search_path from current
as $$
declare
    most constant integer := 100;
    owner text := owner_of_filters();
begin
    if filter_name is null or length(filter_name) not between 1 and 60 then
        raise exception 'a name of a filter has 1 to 60 characters' using errcode = 'invalid_parameter_value';
    elsif filter_query is null or octet_length(filter_query) not between 1 and 4000 then
        raise exception 'a filter has 1 to 4000 bytes' using errcode = 'invalid_parameter_value';
    elsif exists (select from saved_filter f where f.tenant = owner and f.name = filter_name and f.query = filter_query) then
        return;
    elsif not exists (select from saved_filter f where f.tenant = owner and f.name = filter_name)
            and (select count(*) from saved_filter f where f.tenant = owner) >= most then
        raise exception 'there are % saved filters already', most using errcode = 'SL003', hint = 'remove some';
    end if;
    insert into saved_filter (tenant, name, query, saved_at, saved_by)
    values (owner, filter_name, filter_query, ledger_time(), caller_name())
    on conflict (tenant, name) do update set query = excluded.query, saved_at = excluded.saved_at, saved_by = excluded.saved_by;
    perform note_audit('save_filter', jsonb_build_object('filter', filter_name), 1);
end $$;

-- Removes a filter. Returns false if there is none of this name.
create or replace function remove_filter(filter_name text) returns boolean
language plpgsql security definer set search_path from current
as $$
begin
    delete from saved_filter f where f.tenant = owner_of_filters() and f.name = filter_name;
    if not found then
        return false;
    end if;
    perform note_audit('remove_filter', jsonb_build_object('filter', filter_name), 1);
    return true;
end $$;

-- The filters that the caller sees, by name.
create or replace function list_filters() returns table (filter text, query text, saved_at timestamptz, saved_by text)
language plpgsql stable security definer set search_path from current
as $$
#variable_conflict use_column
begin
    return query
        select f.name, f.query, f.saved_at, f.saved_by from saved_filter f where f.tenant = owner_of_filters() order by f.name;
end $$;
