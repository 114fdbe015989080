-- Why: a coordinator takes files from programs. The ledger says where the files of a tenant may go and how many bytes it may send, because
-- no process has to be trusted with that, and records each file in the audit.
--
-- Compatible from: 23
select set_config('role', pg_get_userbyid(nspowner), true) from pg_namespace where nspname = current_schema();

-- Bytes that a tenant may upload in 24 hours. Null: no limit.
alter table tenant add column upload_bytes bigint check (upload_bytes >= 0);

-- Uploads of the last 24 hours by tenants with a limit, from their first byte on. One that has failed is removed; one whose coordinator was
-- killed counts until it is a day old. In the lock order this comes after tenants.
create table upload (
    id uuid primary key,
    tenant text collate "C" not null,
    began timestamptz not null,
    location text collate "C" not null,
    bytes bigint not null check (bytes >= 0)
);
create index upload_tenant on upload (tenant, began);

-- Throws unless the caller is a process that acts for another: only such a process takes files, and others must not write what the audit
-- says of uploads.
create function check_uploader() returns void
language plpgsql stable parallel safe
as $$
begin
    if acting_for() is null then
        raise exception 'uploads are recorded by the process that takes them' using hint = 'send files to a coordinator';
    end if;
end $$;

-- Called before the first byte of an upload. Throws if the caller's tenant may not write there, or has no bytes left. A repetition changes
-- nothing.
create function begin_upload(upload_id uuid, location text, byte_count bigint) returns void
language plpgsql security definer set search_path from current set enable_seqscan = off set jit = off
as $$
declare
    n tenant;
    sent numeric;
begin
    perform check_uploader();
    if not is_tenant() then
        return;
    end if;
    n := own_tenant();
    if n.writes is not null and (location ~ '(^|[:/])\.\.(/|$)'
                                 or not exists (select from unnest(n.writes) a where starts_with(location, a))) then
        raise exception 'the tenant % may not use the location "%"', n.name, left(location, 500)
            using errcode = 'insufficient_privilege', hint = 'ask an operator where it may write';
    end if;
    -- Excludes other uploads of the tenant, so that two of them cannot pass together. The limit is read again: it may have changed.
    select o.upload_bytes into n.upload_bytes from tenant o where o.name = n.name for no key update;
    if n.upload_bytes is null then
        return;
    end if;
    delete from upload u where u.tenant = n.name and u.began < ledger_time() - interval '1 day';
    -- A file that is sent again, because its answer was lost, counts once: nothing replaces a file that is there.
    select coalesce(sum(u.bytes), 0) into sent from upload u
    where u.tenant = n.name and u.id <> upload_id and not (u.location = begin_upload.location and u.bytes = byte_count);
    if sent + byte_count > n.upload_bytes then
        raise exception 'the tenant % may upload % bytes in a day: % were sent, and this adds %', n.name, n.upload_bytes, sent, byte_count
            using errcode = 'SL003', hint = 'wait until earlier uploads are a day old';
    end if;
    insert into upload (id, tenant, began, location, bytes) values (upload_id, n.name, ledger_time(), location, byte_count)
    on conflict (id) do nothing;
end $$;

-- Called when the file is whole and has its name; `is_new` is false if the same bytes were there already.
create function end_upload(upload_id uuid, location text, byte_count bigint, digest text, is_new boolean) returns void
language plpgsql security definer set search_path from current set enable_seqscan = off set jit = off
as $$
begin
    perform check_uploader();
    if not is_new then
        perform cancel_upload(upload_id);
    end if;
    perform note_audit('upload', jsonb_build_object(
        'location', left(location, 5000), 'bytes', byte_count, 'digest', left(digest, 64), 'isNew', is_new), 1);
end $$;

-- Called when nothing of an upload is left, so that its bytes do not count.
create function cancel_upload(upload_id uuid) returns void
language sql security definer set search_path from current set enable_seqscan = off
as $$
    delete from upload u where u.id = upload_id and is_tenant() and u.tenant = substr(caller()::text, 8)
$$;

create or replace function limit_tenant(tenant_name text, limits jsonb) returns boolean
language plpgsql security definer set search_path from current
as $$
declare
    known constant text[] := array['waiting_jobs', 'top_priority', 'max_attempts', 'reads', 'writes', 'upload_bytes'];
    wrong text := (select k from jsonb_object_keys(limits) k where not k = any (known) limit 1);
begin
    perform refuse_acting('change tenants');
    if wrong is not null then
        raise exception 'a tenant has no limit "%"', left(wrong, 100)
            using errcode = 'invalid_parameter_value', hint = 'known: ' || array_to_string(known, ', ');
    end if;
    update tenant n set
        waiting_jobs = (limits ->> 'waiting_jobs')::bigint, top_priority = (limits ->> 'top_priority')::integer,
        max_attempts = (limits ->> 'max_attempts')::integer, upload_bytes = (limits ->> 'upload_bytes')::bigint,
        reads = case when jsonb_typeof(limits -> 'reads') = 'array' then array(select jsonb_array_elements_text(limits -> 'reads')) end,
        writes = case when jsonb_typeof(limits -> 'writes') = 'array' then array(select jsonb_array_elements_text(limits -> 'writes')) end
    where n.name = tenant_name;
    if not found then
        return false;
    end if;
    perform note_audit('limit_tenant', jsonb_build_object('tenant', tenant_name, 'limits', limits), 1);
    return true;
end $$;

-- The columns of a function cannot change, so it is made again.
drop function list_tenants();

-- All tenants by name, each with its limits and the number of its valid tokens.
create function list_tenants()
returns table (
    tenant text, created_at timestamptz, created_by text, tokens bigint, waiting_jobs bigint, top_priority integer,
    max_attempts integer, reads text[], writes text[], upload_bytes bigint
)
language plpgsql stable security definer set search_path from current
as $$
begin
    perform refuse_tenants('list tenants');
    return query
        select n.name, n.created_at, n.created_by,
               (select count(*) from token k where k.tenant = n.name and k.revoked_at is null
                and (k.expires_at is null or k.expires_at > ledger_time())),
               n.waiting_jobs, n.top_priority, n.max_attempts, n.reads, n.writes, n.upload_bytes
        from tenant n order by n.name;
end $$;

select allow('sluice_submitter', 'begin_upload', 'end_upload', 'cancel_upload');
select apply_permissions();
select set_config('role', 'none', true);
