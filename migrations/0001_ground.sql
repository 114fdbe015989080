-- Why: the ground that all other migrations stand on: roles, the words of the ledger as types, the settings, the clock,
-- and the way rights are given.
--
-- Every file is run in one transaction with `search_path = <schema>, pg_temp`. The schema's name is chosen then and is
-- written nowhere: functions are pinned to it by `set search_path from current`, so a caller's path cannot mislead them.
-- Every file works as the schema's owner and gives the role back at its end.

do $$
declare
    wanted text;
    may_own boolean := false;
begin
    if getdatabaseencoding() <> 'UTF8' then
        raise exception 'the database is encoded in %, and the names of files need UTF8', getdatabaseencoding()
            using hint = 'create the database with: create database sluice encoding ''UTF8'' template template0';
    end if;
    -- Roles belong to the whole cluster; two schemas may be made at the same time.
    perform pg_advisory_xact_lock(hashtextextended('sluice roles', 0));
    foreach wanted in array array['sluice_owner', 'sluice_operator', 'sluice_worker', 'sluice_submitter', 'sluice_viewer'] loop
        continue when exists (select from pg_roles where rolname = wanted);
        begin
            execute format('create role %I nologin', wanted);
        exception
            when duplicate_object or unique_violation then
                null; -- another database of the cluster was faster
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
            -- The migrator's memory was there before this file; all else is made below.
            alter table if exists migration owner to sluice_owner;
        exception when insufficient_privilege then
            raise warning '% may not give the schema to sluice_owner and owns the ledger itself', session_user
                using hint = 'it needs CREATE on the database for that';
        end;
    end if;
end $$;

select set_config('role', pg_get_userbyid(nspowner), true) from pg_namespace where nspname = current_schema();

-- The migrator's memory, for those who run these files by hand; `sluice migrate` has made it already.
create table if not exists migration (
    version integer primary key check (version > 0),
    name text not null,
    checksum text not null,
    applied_at timestamptz not null default clock_timestamp(),
    applied_by text not null default session_user
);

-- For roles that may not read tables: whether this ledger is as they need it.
create view applied_migration as select version, name, checksum, applied_at, applied_by from migration;

-- MARK: Words

-- Where a job stands. The first four are rows in a table of that name, the last four are rows in `finished`. `skipped`:
-- something else has the output's place and stays there by the recipe's wish, so the job has no output.
create type job_state as enum ('delayed', 'waiting', 'running', 'publishing', 'completed', 'skipped', 'failed', 'cancelled');

-- What another try is worth.
create type failure_class as enum ('permanent', 'transient', 'infrastructure');

-- How an attempt ended: `lost` with its worker, `released` by its worker, both unspent.
create type attempt_outcome as enum ('completed', 'failed', 'lost', 'released', 'cancelled');

-- What a fenced write is told. `done` now, `repeated`: by this very fence before, so the answer was lost and not the write;
-- `lost`: another owns the job or it has ended; `cancelled`: the job was to be stopped and has ended so; `publishing`: by this
-- very fence it has been published, so it is too late to hand it back, and its file is needed.
create type answer as enum ('done', 'repeated', 'lost', 'cancelled', 'publishing');

-- How a finished job's output came to be where it was to be: `adopted`: the same bytes were there already; `skipped`: something
-- else is there and stays, so there is no output of ours.
create type placement as enum ('published', 'adopted', 'skipped');

-- What a worker is asked to do: claim, claim nothing more, or claim nothing more and stop once empty.
create type worker_wish as enum ('run', 'quiet', 'drain');

-- MARK: Settings and the clock

-- The one row of what an owner may choose. Functions read it at every call, so a change counts at once.
create table setting (
    only_row boolean primary key default true check (only_row),
    -- How long a worker may be silent. Its jobs are its own until reap() has ended it, which comes after this.
    lease interval not null default '30 s' check (lease between '1 s' and '1 h'),
    -- The n-th retry of a transient failure comes after a random share of base * 2^(n-1), at most the cap.
    retry_base interval not null default '10 s' check (retry_base > '0'),
    retry_cap interval not null default '15 min' check (retry_cap >= retry_base),
    -- So many rooms may die of one job before it is put in quarantine. One death may be the room's own fault or a neighbour's
    -- memory; a second one, in another room, is the file's.
    room_deaths_allowed smallint not null default 2 check (room_deaths_allowed > 0),
    -- So many workers may be lost while they ran a job before it is put in quarantine: what crashes one worker after another would
    -- take the jobs beside it along for ever.
    workers_lost_allowed smallint not null default 3 check (workers_lost_allowed > 0),
    -- So many losses go back at once; later ones back off, or a job that fells its workers would keep the fleet busy.
    losses_without_delay smallint not null default 3 check (losses_without_delay >= 0),
    max_attempts smallint not null default 3 check (max_attempts between 1 and 1000),
    -- A beating worker whose frames stand still for so long has lost the job; the worker's own clock is far shorter.
    stall interval not null default '10 min' check (stall > '0'),
    -- What a job may take beyond its own wall limit before the ledger, rather than the worker, ends it.
    deadline_grace interval not null default '2 min' check (deadline_grace >= '0'),
    -- How long a publication may take before it is handed to any process that asks, to be finished.
    publish_grace interval not null default '60 s' check (publish_grace > '0'),
    -- Bytes of a recipe, and of a job's labels: a worker holds those of all jobs that it has claimed.
    recipe_bytes integer not null default 131072 check (recipe_bytes between 1024 and 16777216),
    -- Kinds of needs in one submission, and lines with waiting jobs that one submitter may have opened: claims look at lines that no
    -- worker can serve, too. Null: any number, for a ledger whose only submitter has a queue for each of thousands of customers.
    lanes_per_submission integer not null default 64 check (lanes_per_submission > 0),
    lanes_per_submitter integer default 512 check (lanes_per_submitter > 0),
    -- Whose jobs a submitter sees: `all`, or his `own`. Viewers and operators see all.
    submitters_see text not null default 'all' check (submitters_see in ('all', 'own')),
    -- How many queues submissions may make.
    queues_allowed integer not null default 1000 check (queues_allowed > 0),
    -- Ids per partition, at least and at most: a large ledger has larger ones, see next_span_size(). Counts for partitions yet to be made.
    span_size bigint not null default 1000000 check (span_size between 1000 and 100000000),
    span_size_most bigint not null default 50000000 check (span_size_most >= 1000),
    -- How long finished jobs and their attempts are kept. Null keeps them for ever.
    keep interval default '180 days' check (keep >= '1 h'),
    -- What all leases begin with. Files of attempts bear it in their names, so that ledgers whose outputs go to one folder leave
    -- each other's alone: all of them have a job 1.
    mark text not null default left(gen_random_uuid()::text, 8) check (mark ~ '^[0-9a-f]{8}$'),
    -- Stands in the bits 43 to 52 of the ids of jobs and batches, so that no two ledgers of different numbers have an id in common.
    -- Changed by number_ledger() alone.
    ledger_number integer not null default 0 check (ledger_number between 0 and 1023),
    -- Put on the database's clock. For tests, which have no time to wait; zero in earnest.
    clock_shift interval not null default '0'
);
insert into setting default values;

-- The ledger's time, the only one that decides. Not now(): that is when the transaction began.
--
-- In plpgsql, which keeps its plan for the session: a function in SQL that sets anything is planned anew at each call.
create function ledger_time() returns timestamptz
language plpgsql volatile security definer set search_path from current
as $$ begin return (select clock_timestamp() + clock_shift from setting); end $$;

-- MARK: Figures

-- A number of other people's making as a column can hold it: without its fraction, from 0 to `highest`; null stays null.
create function bounded(figure numeric, highest bigint) returns bigint
language sql immutable parallel safe
as $$ select case when figure is not null then trunc(least(greatest(figure, 0), highest))::bigint end $$;

-- MARK: Rights

-- Who may do what. Roles get functions and views, never tables; what stands here is all that they get.
create table permission (
    role_name text not null check (role_name in ('sluice_worker', 'sluice_submitter', 'sluice_operator', 'sluice_viewer')),
    -- A function (all its forms) or a view.
    object_name text not null,
    primary key (role_name, object_name)
);

-- Gives what `permission` lists to those roles that exist and takes everything else away. May be repeated.
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

-- Whether the caller may steer what others submitted: an operator, or who owns the ledger.
create function is_operator() returns boolean
language sql stable security definer set search_path from current
as $$
    select pg_has_role(session_user, n.nspowner, 'member') or exists (
        select from pg_roles r where r.rolname = 'sluice_operator' and pg_has_role(session_user, r.oid, 'member'))
    from pg_namespace n where n.nspname = current_schema()
$$;

-- Whether the caller sees the jobs of others.
create function sees_all() returns boolean
language sql stable security definer set search_path from current
as $$
    select s.submitters_see = 'all' or is_operator() or exists (
        select from pg_roles r where r.rolname = 'sluice_viewer' and pg_has_role(session_user, r.oid, 'member'))
    from setting s
$$;

-- Lists `objects` for `role_name`; apply_permissions() makes it so, which the last file of a set calls: it rewrites each function's rights.
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
