-- Why: the basis of all other migrations: roles, enumerated types, the settings, the clock, and how rights are granted.
--
-- The migrator runs every file in one transaction with `search_path = <schema>, pg_temp`. The schema's name is chosen then and is
-- written nowhere: functions are pinned to it by `set search_path from current`, so the search path of a caller cannot mislead them.
-- Every file works as the schema's owner and resets the role at its end.

do $$
declare
    wanted text;
    may_own boolean := false;
begin
    if getdatabaseencoding() <> 'UTF8' then
        raise exception 'the database is encoded in %, and the names of files need UTF8', getdatabaseencoding()
            using hint = 'create the database with: create database sluice encoding ''UTF8'' template template0';
    end if;
    -- Roles belong to the whole cluster, and two schemas may be created at the same time.
    perform pg_advisory_xact_lock(hashtextextended('sluice roles', 0));
    foreach wanted in array array['sluice_owner', 'sluice_operator', 'sluice_worker', 'sluice_submitter', 'sluice_viewer'] loop
        continue when exists (select from pg_roles where rolname = wanted);
        begin
            execute format('create role %I nologin', wanted);
        exception
            when duplicate_object or unique_violation then
                null; -- another database of the cluster created it first
            when insufficient_privilege then
                raise warning 'role % is missing and % may not create roles', wanted, current_user
                    using hint = format('as an administrator: create role %I nologin; then: select apply_permissions()',
                                        wanted);
        end;
    end loop;

    if exists (select from pg_roles where rolname = 'sluice_owner') then
        begin
            perform set_config('role', 'sluice_owner', true);
            perform set_config('role', 'none', true);
            may_own := true;
        exception when insufficient_privilege or invalid_parameter_value then
            begin
                execute format('grant sluice_owner to %I', session_user);
                may_own := true;
            exception when insufficient_privilege then
                raise warning '% is no member of sluice_owner and owns the ledger itself', session_user
                    using hint = format('as an administrator: grant sluice_owner to %I', session_user);
            end;
        end;
    end if;
    if may_own then
        begin
            execute format('alter schema %I owner to sluice_owner', current_schema());
            -- The migrator creates its table before this file runs. All other objects are created below, by the owner.
            alter table if exists migration owner to sluice_owner;
        exception when insufficient_privilege then
            raise warning '% may not give the schema to sluice_owner and owns the ledger itself', session_user
                using hint = 'it needs CREATE on the database for that';
        end;
    end if;
end $$;

select set_config('role', pg_get_userbyid(nspowner), true) from pg_namespace where nspname = current_schema();

-- The migrator's record of applied files. `sluice migrate` creates it first; this statement serves users who run the files by hand.
create table if not exists migration (
    version integer primary key check (version > 0),
    name text not null,
    checksum text not null,
    -- The lowest version that a binary must have to work with the ledger after this migration.
    compatible_from integer not null check (compatible_from between 1 and version),
    applied_at timestamptz not null default clock_timestamp(),
    applied_by text not null default session_user
);

-- Lets roles that may not read tables check the version of this ledger.
create view applied_migration as
select version, name, checksum, compatible_from, applied_at, applied_by from migration;

-- MARK: Enumerated types

-- The state of a job. The first four are rows in a table of the same name, the last four are rows in `finished`. `skipped`: another
-- file has the output's name and the recipe says to keep it, so the job has no output.
create type job_state as enum ('delayed', 'waiting', 'running', 'publishing', 'completed', 'skipped', 'failed', 'cancelled');

-- Decides whether a failed attempt is repeated.
create type failure_class as enum ('permanent', 'transient', 'infrastructure');

-- How an attempt ended. `lost`: its worker was lost. `released`: its worker handed the job back. Neither spends an attempt.
create type attempt_outcome as enum ('completed', 'failed', 'lost', 'released', 'cancelled');

-- The answer to a fenced write. `done`: the change is made. `repeated`: an earlier call with the same fence made it, so only the
-- answer was lost. `lost`: another worker owns the job, or the job has ended. `cancelled`: the job had been asked to stop, and has
-- now ended as cancelled. `publishing`: a call with the same fence has published the job, so it is too late to hand the job back,
-- and its file is needed.
create type answer as enum ('done', 'repeated', 'lost', 'cancelled', 'publishing');

-- How a finished job's output got its name. `adopted`: the same bytes were there already. `skipped`: another file is there and
-- stays, so the job has no output.
create type placement as enum ('published', 'adopted', 'skipped');

-- What the ledger asks of a worker: claim; claim no more; or claim no more and stop once it holds no jobs.
create type worker_wish as enum ('run', 'quiet', 'drain');

-- MARK: Settings and the clock

-- The owner's settings, in one row. Functions read it at every call, so a change takes effect at once.
create table setting (
    only_row boolean primary key default true check (only_row),
    -- How long a worker may go without a heartbeat before reap() may end it. Until reap() does, the worker keeps its jobs.
    lease interval not null default '30 s' check (lease between '1 s' and '1 h'),
    -- The n-th retry of a transient failure comes after a random share of retry_base * 2^(n-1), at most retry_cap.
    retry_base interval not null default '10 s' check (retry_base > '0'),
    retry_cap interval not null default '15 min' check (retry_cap >= retry_base),
    -- A job goes into quarantine when this many rooms have died while they converted it. The first death may be the fault of the room,
    -- or of a neighbour that uses too much memory. A second, in another room, is the fault of the file.
    room_deaths_allowed smallint not null default 2 check (room_deaths_allowed > 0),
    -- A job goes into quarantine when this many workers were lost while they ran it. Otherwise a job that crashes one worker after
    -- another would take the other jobs of these workers with it for ever.
    workers_lost_allowed smallint not null default 3 check (workers_lost_allowed > 0),
    -- A job returns at once after each of its first losses, up to this number, and backs off after later ones. Otherwise a job that
    -- crashes its workers would keep the fleet busy.
    losses_without_delay smallint not null default 3 check (losses_without_delay >= 0),
    max_attempts smallint not null default 3 check (max_attempts between 1 and 1000),
    -- The ledger ends a job whose frames have not moved for this long, even if its worker beats. The worker's own limit is far
    -- shorter.
    stall interval not null default '10 min' check (stall > '0'),
    -- How far a job may exceed its own wall-clock limit before the ledger ends it, rather than the worker.
    deadline_grace interval not null default '2 min' check (deadline_grace >= '0'),
    -- How long a publication may take before the ledger hands it to any process that asks, which then completes it.
    publish_grace interval not null default '60 s' check (publish_grace > '0'),
    -- Bytes of a recipe, and of a job's labels. A worker keeps those of all jobs that it has claimed in memory.
    recipe_bytes integer not null default 131072 check (recipe_bytes between 1024 and 16777216),
    -- Number of different sets of needs in one submission, and of lanes with waiting jobs that one submitter may have open. Claims also
    -- look at lanes that no worker can serve. Null: no limit, for a ledger whose only submitter has a queue for each of thousands of
    -- customers.
    lanes_per_submission integer not null default 64 check (lanes_per_submission > 0),
    lanes_per_submitter integer default 512 check (lanes_per_submitter > 0),
    -- Whose jobs a submitter sees: `all`, or only their `own`. Viewers and operators see all.
    submitters_see text not null default 'all' check (submitters_see in ('all', 'own')),
    -- Submissions create queues that do not exist until there are this many.
    queues_allowed integer not null default 1000 check (queues_allowed > 0),
    -- Ids per partition, minimum and maximum. A larger ledger gets larger partitions, see next_span_size(). Applies to new
    -- partitions.
    span_size bigint not null default 1000000 check (span_size between 1000 and 100000000),
    span_size_most bigint not null default 50000000 check (span_size_most >= 1000),
    -- How long finished jobs and their attempts are kept. Null: for ever.
    keep interval default '180 days' check (keep >= '1 h'),
    -- The first part of all lease ids. The temporary files of attempts carry it in their names. Ledgers whose outputs go to the same
    -- folder therefore leave each other's files alone, although each of them has a job 1.
    mark text not null default left(gen_random_uuid()::text, 8) check (mark ~ '^[0-9a-f]{8}$'),
    -- Stored in bits 43 to 52 of the ids of jobs and batches, so that ledgers with different numbers have no id in common. Only
    -- number_ledger() changes it.
    ledger_number integer not null default 0 check (ledger_number between 0 and 1023),
    -- Added to the database's clock by tests, which cannot wait. Zero in production.
    clock_shift interval not null default '0'
);
insert into setting default values;

-- The ledger's time, by which all decisions are made. It is not now(), which is the time when the transaction began.
--
-- Written in plpgsql, which keeps its plan for the session: a function in SQL that has SET clauses is planned anew at each call.
create function ledger_time() returns timestamptz
language plpgsql volatile security definer set search_path from current
as $$ begin return (select clock_timestamp() + clock_shift from setting); end $$;

-- MARK: Numbers

-- A number from outside, made to fit a column: truncated to an integer, from 0 to `highest`. Null stays null.
create function bounded(figure numeric, highest bigint) returns bigint
language sql immutable parallel safe
as $$ select case when figure is not null then trunc(least(greatest(figure, 0), highest))::bigint end $$;

-- MARK: Rights

-- Which role may use what. Roles get functions and views, never tables, and nothing that is not listed here.
create table permission (
    role_name text not null check (role_name in ('sluice_worker', 'sluice_submitter', 'sluice_operator', 'sluice_viewer')),
    -- A function (all overloads) or a view.
    object_name text not null,
    primary key (role_name, object_name)
);

-- Grants what `permission` lists to those roles that exist, and revokes everything else. Idempotent.
create function apply_permissions() returns void
language plpgsql set search_path from current
as $$
declare
    home text := current_schema();
    wanted record;
    target record;
begin
    execute format('revoke all on schema %I from public', home);
    execute format('revoke all on all functions in schema %I from public', home);
    execute format('revoke all on all tables in schema %I from public', home);
    for wanted in
        select r.rolname from pg_roles r
        where r.rolname in ('sluice_worker', 'sluice_submitter', 'sluice_operator', 'sluice_viewer')
    loop
        execute format('revoke all on all functions in schema %I from %I', home, wanted.rolname);
        execute format('revoke all on all tables in schema %I from %I', home, wanted.rolname);
        execute format('revoke all on all sequences in schema %I from %I', home, wanted.rolname);
        execute format('grant usage on schema %I to %I', home, wanted.rolname);
    end loop;
    for wanted in
        select p.role_name, p.object_name from permission p join pg_roles r on r.rolname = p.role_name
        order by p.role_name, p.object_name
    loop
        for target in
            select 'function ' || f.oid::regprocedure as name, 'execute' as verb from pg_proc f
            where f.pronamespace = home::regnamespace and f.proname = wanted.object_name
            union all
            select 'table ' || c.oid::regclass, 'select' from pg_class c
            where c.relnamespace = home::regnamespace and c.relname = wanted.object_name and c.relkind = 'v'
        loop
            execute format('grant %s on %s to %I', target.verb, target.name, wanted.role_name);
        end loop;
        if not found then
            raise exception 'permission for %, and there is no such function or view', wanted.object_name;
        end if;
    end loop;
end $$;

-- Whether the caller may change what others submitted: true for operators and for the owner of the ledger.
create function is_operator() returns boolean
language sql stable security definer set search_path from current
as $$
    select pg_has_role(session_user, n.nspowner, 'member') or exists (
        select from pg_roles r where r.rolname = 'sluice_operator' and pg_has_role(session_user, r.oid, 'member'))
    from pg_namespace n where n.nspname = current_schema()
$$;

-- Whether the caller sees the jobs of other submitters.
create function sees_all() returns boolean
language sql stable security definer set search_path from current
as $$
    select s.submitters_see = 'all' or is_operator() or exists (
        select from pg_roles r where r.rolname = 'sluice_viewer' and pg_has_role(session_user, r.oid, 'member'))
    from setting s
$$;

-- Lists `objects` for `role_name`. The last file of a set calls apply_permissions(), which grants them: it rewrites the rights of
-- each function.
create function allow(role_name text, variadic objects text[]) returns void
language sql set search_path from current
as $$
    insert into permission (role_name, object_name) select allow.role_name, unnest(objects) on conflict do nothing
$$;

select allow('sluice_worker', 'ledger_time', 'applied_migration');
select allow('sluice_submitter', 'ledger_time', 'applied_migration');
select allow('sluice_viewer', 'ledger_time', 'applied_migration');
select allow('sluice_operator', 'ledger_time', 'applied_migration');
select apply_permissions();
select set_config('role', 'none', true);
