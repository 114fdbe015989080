-- Why: a process that serves other people over one login has to act for each of them: with the rights of one role, and under a name of
-- which the ledger keeps batches and shares. Until now the ledger asked `session_user` who calls, which is the login. From now on it asks
-- caller(), and caller_has() for roles.
--
-- A login that is a member of `sluice_face`, or the ledger's owner, acts for another in one transaction:
--
--     begin;
--     set local role sluice_viewer;
--     set local sluice.acting_for = 'tenant:radio';    -- or 'token:ci'
--     ...
--
-- The server checks the role: only members may take it, and each function is granted to roles as before. The function reads the role
-- from the setting `role`, which `security definer` does not change, and which no one can set to a role that they do not have. The name
-- is believed from these logins only; other logins stay who they are, whatever they set. Both end with the transaction, so this works
-- behind a pooler in transaction mode. The prefix keeps the names apart from those of logins.
--
-- A tenant never sees or changes the batches of others, whatever its role and `submitters_see` are, and reads nothing about the
-- installation: no workers, no chores, and counts of its own jobs only.
--
-- Compatible from: 23

do $$
declare
    granted text;
begin
    perform pg_advisory_xact_lock(hashtextextended('sluice roles', 0));
    if not exists (select from pg_roles where rolname = 'sluice_face') then
        begin
            -- `noinherit`: a login has the rights of the other roles only in transactions that take one of them.
            create role sluice_face nologin noinherit;
        exception
            when duplicate_object or unique_violation then
                null; -- another database of the cluster created it first
            when insufficient_privilege then
                raise warning 'role sluice_face is missing and % may not create roles', current_user
                    using hint = 'as an administrator: create role sluice_face nologin noinherit; '
                        'grant sluice_viewer, sluice_submitter, sluice_operator to sluice_face; then: select apply_permissions()';
        end;
    end if;
    foreach granted in array array['sluice_viewer', 'sluice_submitter', 'sluice_operator'] loop
        continue when to_regrole('sluice_face') is null or to_regrole(granted) is null
            or exists (select from pg_auth_members m
                       where m.roleid = to_regrole(granted)::oid and m.member = to_regrole('sluice_face')::oid);
        begin
            execute format('grant %I to sluice_face', granted);
        exception when insufficient_privilege then
            raise warning '% may not grant % to sluice_face', current_user, granted
                using hint = format('as an administrator: grant %I to sluice_face', granted);
        end;
    end loop;
end $$;

select set_config('role', pg_get_userbyid(nspowner), true) from pg_namespace where nspname = current_schema();

-- MARK: Who calls

-- For whom the caller acts; null: for itself.
create function acting_for() returns name
language plpgsql stable parallel safe set search_path from current
as $$
declare
    whom text := current_setting('sluice.acting_for', true);
begin
    if coalesce(whom, '') = '' then
        return null;
    end if;
    if pg_has_role(session_user, to_regrole('sluice_face')::oid, 'member') is not true and not exists (
        select from pg_catalog.pg_namespace n
        where n.nspname = current_schema() and pg_has_role(session_user, n.nspowner, 'member')
    ) then
        return null;
    end if;
    if whom !~ '^(token|tenant):[A-Za-z0-9][A-Za-z0-9._@+-]{0,49}$' then
        raise exception 'sluice.acting_for is "%", which names neither a token nor a tenant', left(whom, 100)
            using errcode = 'invalid_parameter_value';
    end if;
    return whom;
end $$;

-- The name under which the caller submits: its login, or for whom it acts. The planner inlines it, and conditions of indexes may use it.
-- Most callers act for themselves, and pay for one look at a setting.
--
-- The body of this function and the next two is bound when they are made, so no search path can mislead them.
create function caller() returns name
language sql stable parallel safe
return case when coalesce(current_setting('sluice.acting_for', true), '') = '' then session_user
            else coalesce(acting_for(), session_user) end;

-- Whether the caller acts for a tenant.
create function is_tenant() returns boolean
language sql stable parallel safe
return case when coalesce(current_setting('sluice.acting_for', true), '') = '' then false
            else coalesce(starts_with(acting_for()::text, 'tenant:'), false) end;

-- Whether the caller has a role: its login is a member, or it acts for another and has taken just this role.
create function caller_has(role_name text) returns boolean
language sql stable parallel safe
return case when coalesce(current_setting('sluice.acting_for', true), '') <> '' and acting_for() is not null
                then current_setting('role') = role_name
            else coalesce(pg_has_role(session_user, to_regrole(role_name)::oid, 'member'), false) end;

-- Throws if the caller acts for a tenant. `what` is for the message.
create function refuse_tenants(what text) returns void
language plpgsql stable parallel safe
as $$
begin
    if is_tenant() then
        raise exception 'a tenant may not %', what
            using errcode = 'insufficient_privilege', hint = 'use a token without a tenant';
    end if;
end $$;

create or replace function is_operator() returns boolean
language sql stable security definer set search_path from current
as $$
    select case when coalesce(current_setting('sluice.acting_for', true), '') <> '' and acting_for() is not null
                    then caller_has('sluice_operator') and not is_tenant()
                else pg_has_role(session_user, n.nspowner, 'member') or caller_has('sluice_operator') end
    from pg_namespace n where n.nspname = current_schema()
$$;

create or replace function sees_all() returns boolean
language sql stable security definer set search_path from current
as $$
    select not is_tenant() and (s.submitters_see = 'all' or is_operator() or caller_has('sluice_viewer')) from setting s
$$;

-- All functions and defaults that asked `session_user` now ask caller(). Repeating 800 lines of functions here for one word in each
-- would hide what changes. This takes each function as the ledger has it, replaces the word, and makes it again, with its owner and its
-- rights.
do $$
declare
    old record;
    changed integer := 0;
begin
    for old in
        select f.oid, f.proname from pg_proc f
        where f.pronamespace = current_schema()::regnamespace and f.prosrc like '%session\_user%'
          and f.proname not in ('acting_for', 'caller', 'caller_has', 'is_operator')
    loop
        execute replace(pg_get_functiondef(old.oid), 'session_user', 'caller()');
        changed := changed + 1;
    end loop;
    if changed <> 13 then
        raise exception '% functions ask session_user, and this migration knows 13', changed;
    end if;
end $$;
alter table share alter column submitter set default caller();
alter table batch alter column submitter set default caller();

-- MARK: What a tenant reads

-- For a tenant the sums of its batches. A ledger has no sums by submitter, so this reads all batches of the tenant.
create or replace function counts() returns table (queue text, state job_state, jobs bigint)
language plpgsql stable security definer set search_path from current set jit = off
as $$
#variable_conflict use_column
begin
    if is_tenant() then
        return query
            with mine as materialized (
                select b.* from batch b where b.submitter = caller()
            ), newer as materialized (
                select d.queue, d.state, d.jobs from count_delta d
                where exists (select from batch b where b.id = d.batch and b.submitter = caller())
            )
            select q.name, s.state, (
                       coalesce(sum(case s.state
                           when 'delayed' then m.delayed when 'waiting' then m.waiting when 'running' then m.running
                           when 'publishing' then m.publishing when 'completed' then m.completed when 'skipped' then m.skipped
                           when 'failed' then m.failed when 'cancelled' then m.cancelled end), 0)
                       + coalesce((select sum(n.jobs) from newer n where n.queue = q.id and n.state = s.state), 0))::bigint
            from queue q
            cross join unnest(enum_range(null::job_state)) as s (state)
            left join mine m on m.queue = q.id
            where exists (select from share h where h.queue = q.id and h.submitter = caller())
            group by q.id, s.state order by q.name, s.state;
    else
        return query
            select q.name, s.state, coalesce(sum(n.jobs), 0)::bigint
            from queue q
            cross join unnest(enum_range(null::job_state)) as s (state)
            left join (
                select c.queue, c.state, c.jobs from queue_count c
                union all
                select d.queue, d.state, d.jobs from count_delta d
            ) n on n.queue = q.id and n.state = s.state
            group by q.name, s.state order by q.name, s.state;
    end if;
end $$;

-- A tenant's own jobs; of the installation only the number of workers and slots. It has no rates: the pace of the ledger is kept by
-- queue.
create or replace function status()
returns table (
    delayed bigint, waiting bigint, running bigint, publishing bigint, completed bigint, skipped bigint,
    failed bigint, cancelled bigint,
    oldest_waiting timestamptz, workers bigint, workers_quiet bigint, slots bigint,
    completed_last_hour bigint, audio_ms_last_hour bigint, pace_seconds double precision,
    kept_house_at timestamptz, quiet_until timestamptz, ledger_time timestamptz
)
language sql volatile security definer set search_path from current set jit = off
as $$
    select c.delayed, c.waiting, c.running, c.publishing, c.completed, c.skipped, c.failed, c.cancelled,
           (select min(h.since) from open_lane() l cross join lateral (
                select w.since from waiting w where w.lane = l.id and w.turn >= l.floor order by w.turn, w.job limit 1
            ) h where not is_tenant() or exists (select from share s where s.id = l.share and s.submitter = caller())),
           w.alive, w.quiet, w.slots, p.completed, p.audio_ms, p.seconds, h.tick_at, h.quiet_until, ledger_time()
    from (
        -- One row also for a tenant without jobs.
        select coalesce(sum(c.jobs) filter (where c.state = 'delayed'), 0)::bigint as delayed,
               coalesce(sum(c.jobs) filter (where c.state = 'waiting'), 0)::bigint as waiting,
               coalesce(sum(c.jobs) filter (where c.state = 'running'), 0)::bigint as running,
               coalesce(sum(c.jobs) filter (where c.state = 'publishing'), 0)::bigint as publishing,
               coalesce(sum(c.jobs) filter (where c.state = 'completed'), 0)::bigint as completed,
               coalesce(sum(c.jobs) filter (where c.state = 'skipped'), 0)::bigint as skipped,
               coalesce(sum(c.jobs) filter (where c.state = 'failed'), 0)::bigint as failed,
               coalesce(sum(c.jobs) filter (where c.state = 'cancelled'), 0)::bigint as cancelled
        from counts() c
    ) c
    cross join (
        select count(*) as alive, count(*) filter (where w.wish <> 'run') as quiet, coalesce(sum(w.slots), 0)::bigint as slots
        from worker w where w.ended_at is null and w.lease_until > ledger_time()
    ) w
    cross join (
        select coalesce(sum(p.completed), 0)::bigint as completed,
               coalesce(bounded(sum(p.audio_ms), 9000000000000000000), 0) as audio_ms,
               least(3600, extract(epoch from ledger_time() - min(p.began)))::double precision as seconds
        from pace p where p.minute > ledger_time() - interval '1 hour' and not is_tenant()
    ) p
    cross join house h
$$;

-- For a tenant the queues that it has used. Limits and weights are set for all.
create or replace function list_queues()
returns table (
    queue text, paused boolean, running_limit integer, weight integer,
    delayed bigint, waiting bigint, running bigint, publishing bigint, completed bigint, skipped bigint,
    failed bigint, cancelled bigint
)
language sql stable security definer set search_path from current set jit = off
as $$
    select q.name, q.paused, q.running_limit, q.weight,
           sum(c.jobs) filter (where c.state = 'delayed')::bigint, sum(c.jobs) filter (where c.state = 'waiting')::bigint,
           sum(c.jobs) filter (where c.state = 'running')::bigint, sum(c.jobs) filter (where c.state = 'publishing')::bigint,
           sum(c.jobs) filter (where c.state = 'completed')::bigint, sum(c.jobs) filter (where c.state = 'skipped')::bigint,
           sum(c.jobs) filter (where c.state = 'failed')::bigint,
           sum(c.jobs) filter (where c.state = 'cancelled')::bigint
    from queue q join counts() c on c.queue = q.name
    group by q.id order by q.name
$$;

-- For a tenant the lanes of its own jobs.
create or replace function list_unable()
returns table (queue text, priority smallint, needs text[], missing text[], example bigint)
language sql volatile security definer set search_path from current set jit = off
as $$
    select q.name, l.priority, l.needs,
           array(select n from unnest(l.needs) n where not exists (
               select from worker w where w.ended_at is null and w.lease_until > ledger_time() and n = any (w.abilities))),
           h.job
    from open_lane() l join queue q on q.id = l.queue
    cross join lateral (
        select w.job from waiting w where w.lane = l.id and w.turn >= l.floor order by w.turn, w.job limit 1
    ) h
    where not exists (select from worker w where w.ended_at is null and w.lease_until > ledger_time()
                      and l.needs <@ w.abilities)
      and (not is_tenant() or exists (select from share s where s.id = l.share and s.submitter = caller()))
    order by q.name, l.priority desc, l.id
$$;

-- For a tenant this counts its failed jobs, the latest 100,000 at most. The hourly counts are of all submitters.
create or replace function list_failures(since timestamptz default null, queue_name text default null, batch_id bigint default null)
returns table (
    code text, class failure_class, stage text, jobs bigint, attempts bigint, last_at timestamptz, example bigint,
    example_source text
)
language plpgsql stable security definer set search_path from current
    set jit = off set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    filter jsonb;
begin
    -- According to the lock order, because this function reads two tables of spans: see 0002_tables.sql.
    perform pg_advisory_xact_lock_shared('job'::regclass::oid::integer, 0);
    if is_tenant() then
        filter := jsonb_strip_nulls(jsonb_build_object(
            'states', '["failed"]'::jsonb, 'ended_from', since, 'queue', queue_name, 'batch', batch_id));
        return query
            with kind as materialized (
                select (f.ended).code::text as code, (f.ended).class as class, (f.ended).stage as stage, count(*) as jobs,
                       null::bigint as attempts, max((f.ended).ended_at) as last_at, max(f.job) as example
                from find_page(filter, null, 100000, true) f where f.state is not null
                group by 1, 2, 3
            )
            select k.*, j.source
            from kind k left join job_rows(array(select k.example from kind k)) j on j.id = k.example
            order by k.jobs desc, k.code;
        return;
    end if;
    return query
        with kind as materialized (
            select f.code, f.class, f.stage, f.jobs, null::bigint as attempts, f.last_at, f.example
            from batch b cross join lateral failures_of(b, since) f
            where b.id = batch_id
            union all
            select n.code::text, n.class, n.stage, sum(n.jobs)::bigint, sum(n.attempts)::bigint, max(n.last_at),
                   (array_agg(n.example order by n.jobs > 0 desc, n.last_at desc))[1]
            from (
                select c.queue, c.code, c.class, c.stage, c.jobs, c.attempts, c.last_at, c.example from failure_count c
                where since is null or c.hour >= date_trunc('hour', since)
                union all
                select d.queue, d.code, d.class, d.stage, d.jobs, d.attempts, d.at, d.example from failure_delta d
                where since is null or d.at >= date_trunc('hour', since)
            ) n
            where batch_id is null and (queue_name is null or n.queue = (select q.id from queue q where q.name = queue_name))
            group by 1, 2, 3 having sum(n.attempts) > 0
        )
        select k.*, j.source
        from kind k left join job_rows(array(select k.example from kind k where (select sees_all()))) j on j.id = k.example
        order by k.jobs desc, k.attempts desc, k.code;
end $$;

-- What a tenant may not read. The check comes first in the text of each function.
do $$
declare
    guarded record;
    changed text;
begin
    for guarded in
        select f.oid, g.what, l.lanname from (values
            ('list_workers', 'list workers'), ('list_chores', 'list the chores of housekeeping'),
            ('count_spans', 'read how large the ledger is'), ('paces', 'read the rates of all submitters'),
            ('demand', 'read how many slots all submitters want')
        ) as g (name, what) join pg_proc f on f.proname = g.name and f.pronamespace = current_schema()::regnamespace
        join pg_language l on l.oid = f.prolang
    loop
        if guarded.lanname <> 'sql' then
            raise exception '% is not in SQL', guarded.oid::regprocedure;
        end if;
        changed := regexp_replace(pg_get_functiondef(guarded.oid), E'\\nAS \\$function\\$',
                                  format(E'\nAS $function$select refuse_tenants(%L);', guarded.what));
        if changed = pg_get_functiondef(guarded.oid) then
            raise exception '% stays as it was', guarded.oid::regprocedure;
        end if;
        execute changed;
    end loop;
end $$;

-- MARK: Rights

alter table permission drop constraint permission_role_name_check;
alter table permission add check (
    role_name in ('sluice_worker', 'sluice_submitter', 'sluice_operator', 'sluice_viewer', 'sluice_face'));

-- With one more role, and it changes only the rights that differ from the listed ones. Each change writes the row of a function once
-- more: to take all rights back and grant them again, as before, left a catalogue behind that was twice the rest of the ledger.
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

-- What a coordinator does for itself: the housekeeping, and the publications that it completes.
select allow('sluice_face', 'ledger_time', 'applied_migration', 'begin_tick', 'do_chore', 'shrink_chore', 'take_unfinished',
             'finish', 'fail', 'standing_fences');
select apply_permissions();
select set_config('role', 'none', true);
