-- Files that programs send to a coordinator: where a tenant may put them and how many bytes it may send in 24 hours. Each file is recorded
-- in the audit.

-- Throws unless the caller is a process that acts for another: only such a process takes files, and others must not write what the audit
-- says of uploads.
create or replace function check_uploader() returns void
language plpgsql stable parallel safe
as $$
begin
    if acting_for() is null then
        raise exception 'uploads are recorded by the process that takes them' using hint = 'send files to a coordinator';
    end if;
end $$;

-- Called before the first byte of an upload. Throws if the caller's tenant may not write there, or has no bytes left. A repetition changes
-- nothing.
create or replace function begin_upload(upload_id uuid, location text, byte_count bigint) returns void
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
create or replace function end_upload(upload_id uuid, location text, byte_count bigint, digest text, is_new boolean) returns void
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
create or replace function cancel_upload(upload_id uuid) returns void
language sql security definer set search_path from current set enable_seqscan = off
as $$
    delete from upload u where u.id = upload_id and is_tenant() and u.tenant = substr(caller()::text, 8)
$$;
