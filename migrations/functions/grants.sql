-- Which role may use what. Roles get functions and views, never tables, and nothing that is not listed here. The migrator applies this file
-- after all others.

-- Grants what `permission` lists to those roles that exist, and revokes everything else. It changes only the rights that differ: each
-- change writes the row of a function once more, and to take all rights back and grant them again would leave a catalogue behind that is
-- twice the rest of the ledger.
create or replace function apply_permissions() returns void
language plpgsql set search_path from current
as $$
declare
    home text := current_schema();
    roles text[] := array['sluice_worker', 'sluice_submitter', 'sluice_operator', 'sluice_viewer', 'sluice_face'];
    missing text;
    name text;
    change text;
begin
    select p.object_name into missing from permission p join pg_roles r on r.rolname = p.role_name
    where not exists (select from pg_proc f where f.pronamespace = home::regnamespace and f.proname = p.object_name)
      and not exists (select from pg_class c where c.relnamespace = home::regnamespace and c.relname = p.object_name and c.relkind = 'v')
    order by p.object_name limit 1;
    if found then
        raise exception 'permission for %, and there is no such function or view', missing;
    end if;
    execute format('revoke all on schema %I from public', home);
    for name in select r.rolname from pg_roles r where r.rolname = any (roles) loop
        execute format('grant usage on schema %I to %I', home, name);
    end loop;
    for change in
        with object as (
            select 'function ' || f.oid::regprocedure as object, f.proname as listed, 'EXECUTE' as verb,
                   coalesce(f.proacl, acldefault('f', f.proowner)) as rights
            from pg_proc f where f.pronamespace = home::regnamespace
            union all
            select case c.relkind when 'S' then 'sequence ' else 'table ' end || c.oid::regclass,
                   case c.relkind when 'v' then c.relname end, 'SELECT', c.relacl
            from pg_class c where c.relnamespace = home::regnamespace and c.relkind in ('r', 'p', 'v', 'm', 'f', 'S')
        ), grantee as (
            select 0::oid as id, 'public' as grantee
            union all
            select r.oid, quote_ident(r.rolname) from pg_roles r where r.rolname = any (roles)
        ), wanted as (
            select o.object, o.verb, g.grantee, false as may_pass_on
            from permission p join pg_roles r on r.rolname = p.role_name join grantee g on g.id = r.oid
            join object o on o.listed = p.object_name
        ), present as (
            select o.object, a.privilege_type as verb, g.grantee, a.is_grantable as may_pass_on
            from object o cross join aclexplode(o.rights) a join grantee g on g.id = a.grantee
            union all
            -- Rights to single columns.
            select 'table ' || c.attrelid::regclass, format('%s (%I)', a.privilege_type, c.attname), g.grantee, a.is_grantable
            from pg_attribute c cross join aclexplode(c.attacl) a join grantee g on g.id = a.grantee
            where c.attrelid in (select r.oid from pg_class r where r.relnamespace = home::regnamespace)
        )
        select format('revoke %s on %s from %s', d.verb, d.object, d.grantee)
        from (select * from present except select * from wanted) d
        union all
        select format('grant %s on %s to %s', d.verb, d.object, d.grantee)
        from (select * from wanted except select * from present) d
    loop
        execute change;
    end loop;
end $$;

delete from permission;

-- All roles.
insert into permission (role_name, object_name)
select r, o from unnest(array['sluice_worker', 'sluice_submitter', 'sluice_operator', 'sluice_viewer', 'sluice_face']) r, unnest(array[
    'applied_migration', 'ledger_time'
]) o;

-- What people and programs read.
insert into permission (role_name, object_name)
select r, o from unnest(array['sluice_submitter', 'sluice_operator', 'sluice_viewer']) r, unnest(array[
    'batch_jobs', 'count_containing', 'count_jobs', 'count_spans', 'counts', 'demand', 'failure_hours', 'find_batches', 'find_jobs',
    'find_preset', 'list_amendments', 'list_attempts', 'list_batches', 'list_changes', 'list_chores', 'list_failures', 'list_filters',
    'list_holds', 'list_jobs', 'list_makers', 'list_outputs', 'list_presets', 'list_queues', 'list_unable', 'list_workers', 'paces',
    'paused_batches', 'show_change', 'show_jobs', 'show_tenant', 'status', 'unsent_deliveries'
]) o;

-- What submitters change about their own jobs, and operators about all.
insert into permission (role_name, object_name)
select r, o from unnest(array['sluice_submitter', 'sluice_operator']) r, unnest(array[
    'accept_jobs', 'cancel_jobs', 'create_webhook', 'fail_change', 'list_deliveries', 'list_webhooks', 'prioritize_jobs',
    'remove_filter', 'remove_webhook', 'retry_deliveries', 'retry_jobs', 'save_filter', 'start_change', 'step_change', 'test_webhook',
    'wish_change'
]) o;

-- What monitoring systems read.
insert into permission (role_name, object_name)
select r, o from unnest(array['sluice_operator', 'sluice_viewer']) r, unnest(array[
    'ledger_metrics', 'oldest_snapshot_age'
]) o;

-- Submissions and uploads.
insert into permission (role_name, object_name)
select r, o from unnest(array['sluice_submitter']) r, unnest(array[
    'add_notices', 'begin_upload', 'cancel_upload', 'end_upload', 'find_batch', 'find_earlier', 'find_scans', 'stage_jobs',
    'submit', 'submit_each', 'tell_workers'
]) o;

-- Queues, workers, logins, tokens, tenants, presets and the audit.
insert into permission (role_name, object_name)
select r, o from unnest(array['sluice_operator']) r, unnest(array[
    'create_tenant', 'create_token', 'limit_queue', 'limit_tenant', 'list_audit', 'list_logins', 'list_tenants', 'list_tokens',
    'pause_queue', 'put_preset', 'remove_preset', 'revoke_token', 'weigh_queue', 'weigh_submitter', 'wish_worker'
]) o;

-- Housekeeping, and publications that another process completes.
insert into permission (role_name, object_name)
select r, o from unnest(array['sluice_worker', 'sluice_face']) r, unnest(array[
    'begin_tick', 'do_chore', 'fail', 'finish', 'house_rest', 'shrink_chore', 'standing_fences', 'take_unfinished'
]) o;

-- The work of workers.
insert into permission (role_name, object_name)
select r, o from unnest(array['sluice_worker']) r, unnest(array[
    'album_of', 'bar_claims', 'beat', 'claim', 'held', 'is_idle', 'publish', 'recall', 'record_scan', 'record_track', 'register_worker',
    'release', 'set_abilities', 'stop_worker'
]) o;

-- What a process does that serves others. Workers take no deliveries: their logins are on many machines, and the secrets of webhooks must
-- not be.
insert into permission (role_name, object_name)
select r, o from unnest(array['sluice_face']) r, unnest(array[
    'find_tokens', 'has_webhooks', 'note_token_uses', 'record_delivery', 'take_changes', 'take_deliveries'
]) o;

select apply_permissions();
