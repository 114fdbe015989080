-- Why: one step from the ledger of release 0.1.0 to that of 0.2: callers that act for others, tokens and tenants, the audit, metrics, bulk
-- changes, webhooks, uploads, and counts that carry what is measured of the jobs. From here on the steps change tables, types, indexes and
-- data only. Functions, views and grants have their current text in the folder `functions`, except for functions on which a table depends:
-- those of defaults, generated columns and triggers stay with the steps.
--
-- Compatible from: 23

-- The role of logins that act for others: see functions/access.sql.
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

-- What a new database permits to every login of the server, and what one login can use up for all: connections, temporary tables, large
-- objects, and advisory locks, which fill the table of locks that all sessions share. It becomes the right of the roles and of those who
-- administer the server. Only in a database that holds nothing but ledgers: others may rely on it elsewhere, and `sluice doctor` says
-- what is open. A right that an administrator grants again stays, because this step is applied once.
do $$
declare
    owner text := (select pg_get_userbyid(n.nspowner) from pg_namespace n where n.nspname = current_schema());
    given text;
begin
    if current_database() in ('postgres', 'template1') or exists (
        select from pg_class c join pg_namespace n on n.oid = c.relnamespace
        where n.nspname !~ '^pg_' and n.nspname <> 'information_schema'
          and not exists (select from pg_depend d where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'e')
          and not exists (select from pg_class l where l.relnamespace = n.oid and l.relname = 'permission')
    ) then
        return;
    end if;
    if (select pg_has_role(d.datdba, 'usage') from pg_database d where d.datname = current_database()) then
        for given in
            select r.rolname from pg_roles r
            where r.rolname in ('sluice_worker', 'sluice_submitter', 'sluice_operator', 'sluice_viewer', 'sluice_face', owner,
                                -- Monitoring and backups.
                                'pg_read_all_stats', 'pg_read_all_data')
               or r.rolcanlogin and r.rolreplication and not r.rolsuper
        loop
            execute format('grant connect on database %I to %I', current_database(), given);
        end loop;
        -- stage_jobs() makes a temporary table.
        execute format('grant temporary on database %I to %I', current_database(), owner);
        execute format('revoke connect, temporary on database %I from public', current_database());
        -- A ledger in use: other programs may rely on the right.
        given := array_to_string(array(
            select quote_ident(r.rolname) from pg_roles r
            where r.rolcanlogin and not has_database_privilege(r.oid, current_database(), 'connect') order by 1 limit 20
        ), ', ');
        if given <> '' and has_table_privilege('batch', 'select') then
            if exists (select from batch) then
                raise warning 'without a role of the ledger, these logins may no longer connect to this database: %', given
                    using hint = format('if one must: grant connect on database %I to NAME', current_database());
            end if;
        end if;
    end if;
    if (select r.rolsuper from pg_roles r where r.rolname = current_user) then
        for given in
            select f.oid::regprocedure from pg_proc f
            where f.pronamespace = 'pg_catalog'::regnamespace
              and (f.proname ~ '^pg_(try_)?advisory_(xact_)?lock(_shared)?$' or f.proname in ('lo_create', 'lo_creat', 'lo_from_bytea'))
        loop
            execute format('revoke execute on function %s from public', given);
            execute format('grant execute on function %s to %I', given, owner);
        end loop;
        -- As in new databases of PostgreSQL 15 and later.
        if to_regnamespace('public') is not null then
            revoke create on schema public from public;
        end if;
    end if;
end $$;

select set_config('role', pg_get_userbyid(nspowner), true) from pg_namespace where nspname = current_schema();

-- The calls of workers and submitters hold this lock while they lock tables, each in another order. Nearly all other calls read `setting`
-- first. So calls that have begun come to their end, and new ones wait before they hold a lock that this step needs.
select pg_advisory_xact_lock('job'::regclass::oid::integer, 0);
lock table setting in access exclusive mode;

-- MARK: Locks

-- What functions lock to wait for each other: see functions/locks.sql. The tables stay empty, and only the owner may lock them. The calls
-- of release 0.1.0 used advisory locks; none of them is in the middle of its work, because this step has locked `setting`.
create table lock_finished ();
create table lock_job ();
create table lock_span ();
create table lock_delayed ();
create table lock_service ();
create table lock_tenant_count ();
create table lock_webhook ();
create table lock_preset ();
-- A lane's is that of the remainder of its id.
create table lock_lane_0 ();
create table lock_lane_1 ();
create table lock_lane_2 ();
create table lock_lane_3 ();
create table lock_lane_4 ();
create table lock_lane_5 ();
create table lock_lane_6 ();
create table lock_lane_7 ();

create or replace function write_jobs_of() returns trigger
language plpgsql security definer set search_path from current
as $$
declare
    queries text;
begin
    -- As in make_spans(): if two transactions write at the same time, the second waits.
    lock table lock_span in exclusive mode;
    -- From the newest span on, where most claimed jobs lie.
    select string_agg(format(
        'if highest >= %1$s then
            return query select * from job_%1$s where id = any (ids);
            if ids[1] >= %1$s then return; end if;
            ids := array(select i from unnest(ids) i where i < %1$s order by i);
            highest := ids[cardinality(ids)];
        end if;', s.first_id), E'\n' order by s.first_id desc) into queries
    from span s;
    execute format(
        'create or replace function jobs_of(ids bigint[]) returns setof job
        language plpgsql stable security definer set search_path from current
        as $body$
        declare
            highest bigint := ids[cardinality(ids)];
        begin
            %s
        end $body$', queries);
    return null;
end $$;

-- MARK: Functions and grants

-- SHA-256 of the functions that the ledger got with this step, or since; null: it got none.
alter table migration add column functions text;

alter table permission drop constraint permission_role_name_check;
alter table permission add check (
    role_name in ('sluice_worker', 'sluice_submitter', 'sluice_operator', 'sluice_viewer', 'sluice_face'));

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
-- Its body is bound when it is made, so no search path can mislead it.
create function caller() returns name
language sql stable parallel safe
return case when coalesce(current_setting('sluice.acting_for', true), '') = '' then session_user
            else coalesce(acting_for(), session_user) end;

alter table share alter column submitter set default caller();
alter table batch alter column submitter set default caller();

-- MARK: Tenants and tokens

-- Tenants are never deleted: their names stay with their batches. A limit that is null does not apply.
create table tenant (
    name text collate "C" primary key check (name ~ '^[A-Za-z0-9][A-Za-z0-9._@+-]{0,49}$'),
    created_at timestamptz not null,
    created_by text not null,
    -- Jobs that wait or are delayed.
    waiting_jobs bigint check (waiting_jobs >= 0),
    -- The highest priority of a batch.
    top_priority integer check (top_priority between -32768 and 32767),
    -- The highest number of attempts that a job may ask for. The ledger's own default is always allowed.
    max_attempts integer check (max_attempts between 1 and 1000),
    -- What the locations of sources and outputs must begin with, such as `archive:` or `out:radio/`. A list without entries allows none.
    reads text[],
    writes text[],
    -- Bytes that it may upload in 24 hours.
    upload_bytes bigint check (upload_bytes >= 0),
    -- What its conversions may use in 24 hours.
    cpu_minutes bigint check (cpu_minutes > 0),
    output_bytes bigint check (output_bytes > 0),
    -- The template of its destinations: see `TenantDestination` in Swift. Null: it names them itself.
    destination text check (destination ~ '^[A-Za-z0-9_-]+:' and octet_length(destination) <= 1000),
    -- The highest limits of its recipes, by their names in recipes. Null: those of the workers.
    job_limits jsonb check (jsonb_typeof(job_limits) = 'object'),
    -- How many outputs a recipe may have. Null: as many as a recipe can have.
    max_outputs integer check (max_outputs > 0)
);

-- A tenant with its limits, what its conversions have used of their day, and the number of its valid tokens.
create type tenant_facts as (
    tenant text, created_at timestamptz, created_by text, tokens bigint, waiting_jobs bigint, top_priority integer,
    max_attempts integer, reads text[], writes text[], upload_bytes bigint, cpu_minutes bigint, output_bytes bigint,
    destination text, job_limits jsonb, max_outputs integer, used_cpu_ms bigint,
    used_output_bytes bigint, held_for text, held_until timestamptz
);

create table token (
    id integer generated always as identity primary key,
    -- Not a number, so that a word names either a token or an id.
    name text collate "C" not null check (name ~ '^[A-Za-z0-9][A-Za-z0-9._@+-]{0,49}$' and name !~ '^[0-9]+$'),
    role text not null check (role in ('viewer', 'submitter', 'operator')),
    -- Null: the whole installation.
    tenant text collate "C" references tenant,
    -- The only queue to which it submits and whose jobs it changes. Null: all.
    queue text,
    hash bytea not null unique check (octet_length(hash) = 32),
    created_at timestamptz not null,
    created_by text not null,
    expires_at timestamptz,
    revoked_at timestamptz,
    revoked_by text,
    -- To the minute.
    used_at timestamptz,
    constraint tenants_have_no_operators check (tenant is null or role <> 'operator')
);
-- The name of a token that was revoked may be used again. The next token then has the batches of the last.
create unique index token_name on token (name) where revoked_at is null;

-- What people, and the processes that serve them, may know of a token. `state`: `valid`, `expired` or `revoked`.
create type token_facts as (
    token integer, name text, role text, tenant text, queue text, state text, created_at timestamptz, created_by text,
    expires_at timestamptz, revoked_at timestamptz, revoked_by text, used_at timestamptz
);

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

alter table share
    -- Claims take no job before this time, because the tenant has used up what it may use.
    add column held_until timestamptz,
    -- The name of the limit.
    add column held_for text check (held_for in ('cpu_minutes', 'output_bytes')),
    add check ((held_until is null) = (held_for is null));
create index share_held on share (held_until) where held_until is not null;

-- What attempts of tenants have used since the last folding.
create table use_delta (
    id bigint generated always as identity primary key,
    tenant text collate "C" not null,
    -- Processor time of attempts, as workers read it from the kernel. A lost or released attempt counts nothing: nothing measured it.
    cpu_ms numeric not null,
    -- Bytes of the outputs of completed jobs.
    bytes numeric not null,
    at timestamptz not null
);

create table tenant_use (
    tenant text collate "C" not null,
    -- The beginning of ten minutes.
    slice timestamptz not null,
    cpu_ms numeric not null,
    bytes numeric not null,
    primary key (tenant, slice)
) with (fillfactor = 50);
create index tenant_use_slice on tenant_use (slice);

-- What a job of a lane used.
create type lane_use as (lane integer, cpu_ms numeric, bytes numeric);

-- The jobs of a tenant, as of the last folding; `count_delta` holds the rest. In the lock order these rows come with the counts, after
-- batches. Two chores write them, each under `lock_tenant_count`.
create table tenant_count (
    tenant text collate "C" not null,
    queue integer not null references queue,
    state job_state not null,
    jobs bigint not null,
    primary key (tenant, queue, state)
) with (fillfactor = 50);
insert into tenant_count (tenant, queue, state, jobs)
select substr(b.submitter, 8), b.queue, s.state, sum(s.jobs)
from batch b cross join lateral (values
    ('delayed'::job_state, b.delayed), ('waiting', b.waiting), ('running', b.running), ('publishing', b.publishing),
    ('completed', b.completed), ('skipped', b.skipped), ('failed', b.failed), ('cancelled', b.cancelled)
) as s (state, jobs)
where starts_with(b.submitter, 'tenant:') and s.jobs <> 0 group by 1, 2, 3;

-- Other submitters do not pay for it.
create index batch_of_tenant on batch (submitter, id) where starts_with(submitter, 'tenant:');

-- MARK: The audit

-- Who changed what. Rows are added, and never changed but for the counts of an operation in progress.
create table audit (
    id bigint generated always as identity primary key,
    at timestamptz not null,
    -- A login, or `token:NAME`.
    who text collate "C" not null,
    tenant text,
    -- The name of the function.
    what text collate "C" not null,
    -- Its arguments, such as the filter.
    details jsonb not null,
    -- How many jobs, queues, workers or tokens have changed.
    affected bigint not null,
    -- When the last chunk of the operation was added.
    ended_at timestamptz not null
);
create index audit_at on audit (at, id);
create index audit_operation on audit (who, what, id);

-- MARK: Settings

alter table setting
    add column keep_audit interval default '1 year' check (keep_audit >= '1 h'),
    add column webhooks_allowed integer not null default 1000 check (webhooks_allowed >= 0),
    -- Of one submitter.
    add column webhooks_per_submitter integer not null default 100 check (webhooks_per_submitter >= 0),
    -- How many deliveries of one webhook may wait. Further events do not reach it.
    add column deliveries_waiting integer not null default 10000 check (deliveries_waiting > 0),
    -- How long deliveries are kept after their end.
    add column keep_deliveries interval not null default '30 days' check (keep_deliveries >= '2 days'),
    -- Of one tenant, and of the presets that are for all.
    add column presets_per_tenant integer not null default 200 check (presets_per_tenant >= 0),
    -- Whether tenants learn which worker did what. Without it they learn how many there are.
    add column tenants_see_workers boolean not null default false;

-- MARK: Jobs

-- Who retried the job last.
alter table job add column retried_by text;

-- MARK: Accepted failures

-- A failed job whose failure a person has accepted. Nothing in this step may use the new value before the commit.
alter type job_state add value 'accepted' after 'failed';

alter table finished
    -- Since when, and by whom the failure is accepted.
    add column accepted_at timestamptz,
    add column accepted_by text;
-- The checks that this one replaces were stricter, so existing rows fulfil it. To read all of them would stop the ledger for minutes.
alter table finished
    drop constraint finished_state_check, drop constraint finished_check4,
    add constraint failures_have_codes check (
        state >= 'completed' and (state in ('completed', 'skipped', 'cancelled')) = (num_nulls(code, class, stage) > 0)
        and num_nonnulls(accepted_at, accepted_by)
            = case when state in ('completed', 'skipped', 'failed', 'cancelled') then 0 else 2 end
    ) not valid;

alter table batch
    add column accepted bigint not null default 0,
    -- Sources that the submission left out because their outputs were there already, or had been edited.
    add column sources_skipped bigint not null default 0 check (sources_skipped >= 0);
alter table failure_delta add column accepted integer not null default 0;
alter table failure_count add column accepted bigint not null default 0;

-- MARK: Workers

-- The libraries with which the worker converts: a recipe makes the same bytes of the same source only with the same release of libav. Null
-- for a worker of an earlier release.
alter table worker add column libraries text;
-- Finds workers that were lost lately. Heartbeats write neither column.
create index worker_lost on worker (ended_at) where end_reason = 'lost';

-- Each worker asks for its jobs once in the time of a lease. In a fleet of a thousand workers to read those of all would be the most
-- expensive call.
create index running_worker on running (worker);

-- MARK: Metrics

-- Ends of attempts without an output since the last folding.
create table meter_delta (
    id bigint generated always as identity primary key,
    queue integer not null,
    outcome attempt_outcome not null,
    -- Empty for attempts that did not fail.
    class text not null default '',
    -- The code of the failure in which the room of the job died.
    room text collate "C",
    jobs integer not null
);

-- What was counted since the ledger has metrics. Nothing in this table ever decreases.
create table meter_total (
    -- As in meter_parts() and count_parts().
    meter text collate "C" not null,
    -- 0 where the meter is not by queue.
    queue integer not null,
    key text collate "C" not null,
    class text collate "C" not null,
    amount numeric not null,
    primary key (meter, queue, key, class)
) with (fillfactor = 50);

-- What is measured of claimed, completed and skipped jobs. In rows that add such jobs, in others null.
alter table count_delta
    -- Of `seconds`: see span_bucket().
    add column bucket smallint,
    -- The sum of the times that claimed jobs waited, or that completed attempts took.
    add column seconds double precision,
    -- The encoder of the lane of completed jobs: see lane_codec().
    add column codec text collate "C",
    add column bytes numeric;

-- MARK: Lanes and jobs

-- Each statement that writes to a table parses its checks, so one check does the work of several.
alter table waiting drop constraint waiting_epoch_check, drop constraint waiting_spent_check, drop constraint waiting_lost_check,
    drop constraint waiting_room_deaths_check, add check (least(epoch, spent, lost, room_deaths) >= 0);
alter table delayed drop constraint waiting_epoch_check, drop constraint waiting_spent_check, drop constraint waiting_lost_check,
    drop constraint waiting_room_deaths_check, add check (least(epoch, spent, lost, room_deaths) >= 0);
alter table running drop constraint waiting_epoch_check, drop constraint waiting_spent_check, drop constraint waiting_lost_check,
    drop constraint waiting_room_deaths_check, drop constraint running_epoch_check, drop constraint running_frames_check,
    add check (epoch > 0 and least(spent, lost, room_deaths, frames) >= 0);
alter table publishing drop constraint waiting_epoch_check, drop constraint waiting_spent_check, drop constraint waiting_lost_check,
    drop constraint waiting_room_deaths_check, drop constraint publishing_epoch_check, drop constraint publishing_size_check,
    add check (epoch > 0 and least(spent, lost, room_deaths, size) >= 0);

-- Serves oldest_of_lanes(). Jobs that were submitted together have the same time, so most entries share a few pages.
create index waiting_since on waiting (lane, since);

-- The codec that the jobs of a lane encode to, by what they need: `none` if nothing is encoded, as in copies; `several` if their
-- outputs have different codecs.
create function lane_codec(needs text[]) returns text
language sql immutable parallel safe
as $$
    select case count(*) when 0 then 'none' when 1 then substr(min(n), 7) else 'several' end
    from unnest(needs) n where n like 'codec:%'
$$;

alter table lane
    -- What its jobs encode to.
    add column codec text collate "C" not null generated always as (lane_codec(needs)) stored;

-- What claim() needs of the share and the queue of each lane.
alter type open_lane add attribute tenant text, add attribute queue_name text;

-- MARK: Bulk changes

-- Changes of many jobs, which coordinators carry out page by page.
create table bulk_change (
    id bigint generated always as identity primary key,
    -- Chosen by the caller, so that a repetition after a lost answer begins nothing.
    request uuid not null unique,
    -- On whose behalf: what a coordinator needs to act for them again.
    submitter text collate "C" not null default caller(),
    token text not null,
    role_name text not null,
    only_queue text,
    change text not null check (change in ('cancel', 'retry', 'prioritize', 'accept')),
    -- `priority`; `damage` and `conceal_seconds`; or `undo`.
    arguments jsonb not null default '{}' check (jsonb_typeof(arguments) = 'object'),
    filter jsonb not null check (jsonb_typeof(filter) = 'object'),
    -- How many jobs there were when it began.
    expected bigint not null,
    phase text not null default 'running' check (phase in ('running', 'done', 'stopped', 'failed', 'undoing', 'undone')),
    seen bigint not null default 0,
    changed bigint not null default 0,
    asked bigint not null default 0,
    publishing bigint not null default 0,
    undone bigint not null default 0,
    -- Where it continues.
    behind jsonb,
    -- Who wanted it undone.
    undone_by text,
    error text check (length(error) <= 2000),
    created_at timestamptz not null default clock_timestamp(),
    stepped_at timestamptz,
    ended_at timestamptz
) with (fillfactor = 50);
create index bulk_change_unfinished on bulk_change (id) where phase in ('running', 'undoing');
create index bulk_change_submitter on bulk_change (submitter, id);
create index bulk_change_ended on bulk_change (ended_at) where ended_at is not null;

-- The jobs that a page has changed by `at`, with the priorities that they had, so that it can be undone.
create table bulk_page (
    change bigint not null references bulk_change on delete cascade,
    number integer not null,
    at timestamptz not null,
    jobs bigint[] not null,
    priorities smallint[],
    primary key (change, number)
);

-- MARK: Webhooks

create table webhook (
    id integer generated always as identity primary key,
    -- Printable ASCII without a user, a fragment or a backslash, which programs read in different ways.
    url text not null
        check (length(url) <= 2000 and url ~ '^https?://[^/?#@\\]+([/?][^#\\]*)?$' and url ~ '^[!-~]+$'),
    -- The key of the signatures. The ledger has to sign, so it keeps the secret itself. Only take_deliveries() returns it.
    secret bytea not null unique check (octet_length(secret) between 24 and 64),
    events text[] not null check (
        cardinality(events) > 0 and events <@ array['batch.ended', 'failures.high', 'worker.lost', 'ledger.recovered']),
    -- Whose batches. Null: all.
    submitter text collate "C",
    -- The only batch. Null: all of them.
    batch bigint,
    -- The only queue. Null: all of them.
    queue integer references queue,
    -- By which submissions name it. No number, because they may also give its id.
    name text collate "C" check (name ~ '^[A-Za-z][A-Za-z0-9._-]{0,63}$'),
    -- Whether it is told only about batches whose submissions have named it.
    on_notify boolean not null default false,
    -- When it was removed. It gets no more events, no list shows it, and housekeeping deletes it with its deliveries.
    removed_at timestamptz,
    -- `failures.high`: when this share of the jobs that end has failed.
    failure_percent smallint not null default 10 check (failure_percent between 1 and 100),
    created_at timestamptz not null,
    created_by text not null,
    -- Whether a tenant has created it. Then it must not reach what only machines of this installation can.
    by_tenant boolean not null default false,
    -- How many times in a row it has not taken a request.
    failures integer not null default 0,
    -- Whether the failures were told and have not fallen since.
    is_high boolean not null default false,
    -- How many events it did not get because too many others waited.
    skipped bigint not null default 0,
    -- When the end of its only batch was told.
    told_at timestamptz,
    constraint events_fit_the_scope check (
        submitter is null and batch is null and queue is null and not on_notify
        or events <@ array['batch.ended', 'failures.high']),
    constraint one_scope check ((queue is null or submitter is null and batch is null) and not (on_notify and num_nonnulls(batch, queue) > 0)),
    constraint names_are_of_many_batches check (name is null or batch is null)
) with (fillfactor = 70);
create index webhook_batch on webhook (batch) where batch is not null;
create unique index webhook_name on webhook (coalesce(submitter, ''), name) where name is not null and removed_at is null;
create index webhook_removed on webhook (id) where removed_at is not null;

-- Batches whose submissions have named a webhook.
create table webhook_notice (
    batch bigint not null,
    webhook integer not null references webhook on delete cascade,
    -- Whether the failures of the batch were told and have not fallen since.
    is_high boolean not null default false,
    -- When the batch ended.
    told_at timestamptz,
    primary key (batch, webhook)
) with (fillfactor = 70);
create index webhook_notice_of on webhook_notice (webhook, batch);
create index webhook_notice_told on webhook_notice (told_at) where told_at is not null;

-- Batches that may have ended. Rows are only added and deleted: an update would make housekeeping wait.
create table batch_news (
    id bigint generated always as identity primary key,
    batch bigint not null,
    -- The webhook that is to hear of it; null: all.
    webhook integer
);

-- Batches with notices of which a job has ended, and some have failed. As above, rows are only added and deleted.
create table failure_news (
    id bigint generated always as identity primary key,
    batch bigint not null
);

-- What ended in each minute, of those submitters that have a webhook for `failures.high`. Kept for an hour.
create table submitter_pace (
    submitter text collate "C" not null,
    minute timestamptz not null,
    ended bigint not null,
    failed bigint not null,
    primary key (submitter, minute)
) with (fillfactor = 70);

create table webhook_event (
    id bigint generated always as identity primary key,
    type text collate "C" not null,
    -- What happened, so that it is told once.
    key text collate "C" not null unique,
    at timestamptz not null,
    -- The request's body. Repetitions send the same bytes.
    body text not null
);
create index webhook_event_at on webhook_event (at);

create table webhook_delivery (
    id bigint generated always as identity primary key,
    -- Stays the same when the event is sent again, so that receivers can tell. Random, because a restored backup would number anew.
    message text collate "C" not null default 'msg_' || replace(gen_random_uuid()::text, '-', ''),
    webhook integer not null references webhook on delete cascade,
    event bigint not null references webhook_event,
    created_at timestamptz not null,
    -- When it is sent next.
    due_at timestamptz not null,
    attempts integer not null default 0,
    -- The right of a coordinator to send it.
    lease uuid,
    lease_until timestamptz,
    -- Null: it will be sent, or sent again. `dead`: it was tried for about a day.
    outcome text collate "C" check (outcome in ('delivered', 'dead')),
    -- Of the last attempt: the status of the answer, and what went wrong.
    status integer,
    error text,
    tried_at timestamptz,
    ended_at timestamptz,
    unique (event, webhook),
    check ((lease is null) = (lease_until is null)),
    check ((outcome is null) = (ended_at is null))
) with (fillfactor = 70);
create index webhook_delivery_due on webhook_delivery (webhook, due_at, id) where outcome is null;
create index webhook_delivery_leased on webhook_delivery (webhook, lease_until) where lease is not null;
create index webhook_delivery_ended on webhook_delivery (ended_at) where outcome is not null;
create index webhook_delivery_of on webhook_delivery (webhook, id);
-- For lists, which must not read what was delivered in a month.
create index webhook_delivery_dead on webhook_delivery (webhook, id) where outcome = 'dead';
create index webhook_delivery_delivered on webhook_delivery (webhook, id) where outcome = 'delivered';

-- When a coordinator last looked for deliveries, to ten seconds.
create table webhook_sender (
    only_row boolean primary key default true check (only_row),
    looked_at timestamptz not null
) with (fillfactor = 50);
insert into webhook_sender (looked_at) values (ledger_time());

-- MARK: Presets

-- The versions of presets that an installation has made.
create table preset (
    -- Whose it is; empty: it is for all.
    tenant text collate "C" not null default '',
    name text collate "C" not null check (name ~ '^[a-z][a-z0-9._-]{0,49}$'),
    version integer not null check (version > 0),
    -- With one source and one output, whose locations stand for those of jobs.
    recipe jsonb not null check (jsonb_typeof(recipe) = 'object' and octet_length(recipe::text) <= 16384),
    created_at timestamptz not null,
    created_by text not null,
    -- Only the last version of a preset that was removed stays, so that later ones have other numbers.
    removed_at timestamptz,
    primary key (tenant, name, version)
);

-- MARK: Saved filters

-- Filters of lists of jobs that people have given a name, for all who see the same jobs.
create table saved_filter (
    -- Whose it is, by owner_of_filters(): a tenant, a caller, or, if empty, all who see the jobs of all.
    tenant text collate "C" not null default '',
    name text collate "C" not null check (length(name) between 1 and 60),
    -- As the query of an address: state=failed&code=truncated
    query text not null check (octet_length(query) between 1 and 4000),
    saved_at timestamptz not null,
    saved_by text not null,
    primary key (tenant, name)
);

-- MARK: Scans

-- The digest of the sound of each source that is scanned, for comparison with the next scan: see functions/scans.sql. The rest of a result
-- is in the report of its attempt. In the lock order these rows come after those of running jobs.
create table scan_result (
    -- See scan_place(): a path may be longer than an index takes.
    place bytea primary key check (octet_length(place) = 32),
    -- Empty: of the whole installation.
    tenant text collate "C" not null,
    source text collate "C" not null,
    -- The file as the worker opened it: its length, and when it was changed, in nanoseconds since 1970.
    bytes bigint not null check (bytes >= 0),
    modified bigint not null,
    -- SHA-256, and what it covers.
    digest bytea not null check (octet_length(digest) = 32),
    form text not null check (octet_length(form) <= 400),
    -- The libraries on which the digest depends; null: on the file alone.
    decoder text check (octet_length(decoder) <= 400),
    -- When the digest was computed, and when the source was last scanned. These differ if that scan found another digest of the same file.
    digest_at timestamptz not null,
    checked_at timestamptz not null,
    has_rotten boolean not null,
    -- The attempt that scanned it last.
    job bigint not null,
    epoch integer not null,
    lease_id uuid not null,
    check (has_rotten or digest_at = checked_at)
);
create index scan_result_checked on scan_result (checked_at);

-- How long the digest of a source is kept that is no longer scanned. Null: for ever.
alter table setting add column keep_scans interval default '5 years' check (keep_scans >= '1 day');

-- MARK: Housekeeping

alter table house
    -- The last time that housekeeping began again after an outage, and since when it had stood still.
    add column resumed_at timestamptz,
    add column stood_since timestamptz,
    -- Until then no process needs to tick, unless there are jobs again: see house_rest().
    add column rest_until timestamptz not null default '-infinity';

insert into chore (name, place, every, page, largest_page) values
    ('trim_audit', 10, '5 min', 5000, 20000), ('find_events', 11, '1 s', 1000, 5000), ('trim_webhooks', 12, '5 min', 5000, 20000),
    ('fold_use', 13, '1 s', 20000, 50000);

-- Tables whose rows come and go, as in 0015_housekeeping.sql.
do $$
declare hot text;
begin
    foreach hot in array array['meter_delta', 'meter_total', 'batch_news', 'failure_news', 'submitter_pace', 'webhook', 'webhook_notice',
                               'webhook_delivery', 'scan_result', 'use_delta', 'tenant_use', 'tenant_count'] loop
        execute format('alter table %I set (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 500, '
                       'autovacuum_vacuum_cost_delay = 0, autovacuum_analyze_scale_factor = 0.1)', hot);
    end loop;
end $$;

select set_config('role', 'none', true);
