-- Why: the state of a job is the table that holds its row. `job` stores what was submitted, and is written once. Where the job
-- stands is one row in one of four small tables (`delayed`, `waiting`, `running`, `publishing`) or in `finished`. The small tables
-- hold live work only, so the cost of a claim does not depend on how many jobs have ended.
--
-- `delayed` is separate from `waiting` because its rows cannot be claimed yet: their time has not come (run-at, back-off). A job
-- that waits for other jobs will be stored there too, with `ready_at = 'infinity'`, until the last of them has ended.
--
-- No foreign key leads to or from `job`, `finished` and `attempt`: it would cost a look-up and a lock per row, and would prevent a
-- partition from being dropped. The functions ensure that a job is in one table only: each takes a row out of one table and puts it
-- into the next in one statement.
--
-- Lock order. A transaction that waits for locks takes them in this order, and those of one kind by their keys, so that transactions
-- cannot deadlock:
--    1. the advisory lock `finished`: retry_jobs() shares it, drop_old() takes it exclusively;
--    2. the advisory lock `job`: every function that touches `job`, `attempt` or `finished`, and that waits for rows or reads several of
--       these tables, shares it. It takes it before it locks a row or one of the tables. drop_old() takes it exclusively, and then locks
--       the tables. So drop_old() locks no table while it waits for a transaction that waits for rows;
--    3. rows of `worker`;
--    4. what a submission creates: a queue, a share, a batch with a key;
--    5. jobs: rows of `waiting`, `delayed`, `running`, `publishing`, `finished`, one table after the other, each by job;
--    6. new lanes, by share, priority and needs; a new album. close_albums() locks existing albums without waiting;
--    7. the advisory locks of lanes, by id, in one call of hold_lanes();
--    8. rows of `flow`, by batch and lane, in one call of enter_lanes();
--    9. the advisory lock `span`, under which partitions are created;
--   10. existing rows of `queue` and `share`, by id;
--   11. rows of `lane`, by id;
--   12. existing rows of `batch`, by id; then counts, which fold_counts() alone writes.
-- Foreign keys check rows of `queue`, `share` and `lane` in any order. No update waits for that, because none changes a key.
-- hold_delayed() may share the advisory lock `delayed` at any point before 10. Only lift_delayed() takes it exclusively, without
-- waiting, and from then on its transaction waits for nothing but rows of `queue` and `share`. A lock that the transaction does not
-- wait for (skip locked, nowait, pg_try_advisory_xact_lock) may be taken at any point. `house` and `chore` are locked only in this
-- way. A transaction that holds no lock for which others wait may wait for one; raise_floors() does. LockOrderTests checks all
-- functions against this order.
select set_config('role', pg_get_userbyid(nspowner), true) from pg_namespace where nspname = current_schema();

-- MARK: Lanes

create table queue (
    id integer generated always as identity primary key,
    name text collate "C" not null unique check (name ~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$'),
    paused boolean not null default false,
    -- Limit of its jobs that run at once. Null: no limit but the number of slots.
    running_limit integer check (running_limit > 0),
    -- Its share relative to other queues of the same priority.
    weight integer not null default 100 check (weight between 1 and 10000),
    -- The service that claims have given it, divided by its weight: the finish tag of start-time fair queueing, as of the last
    -- folding.
    finish bigint not null default 0,
    -- The virtual time among its submitters, as of the last folding.
    clock bigint not null default 0,
    created_at timestamptz not null default clock_timestamp()
) with (fillfactor = 50);
insert into queue (name) values ('default');

-- The share that one submitter has of a queue.
create table share (
    id integer generated always as identity primary key,
    queue integer not null references queue,
    submitter text collate "C" not null default session_user,
    -- Relative to other submitters of the same queue.
    weight integer not null default 100 check (weight between 1 and 10000),
    -- The service that claims have given it, divided by its weight, as of the last folding.
    finish bigint not null default 0,
    unique (queue, submitter)
) with (fillfactor = 50);
create index share_submitter on share (submitter);

-- The service that claims have given to queues and submitters since the last folding. Rows are only added, so claims do not wait for
-- each other. While the jobs of a single submitter in a single queue have the whole fleet, there is nothing to share, and claims
-- write nothing.
create sequence service_generation as bigint;
create table service (
    -- Each folding begins a new one. Claims look at the latest few only, and so never read the dead rows of earlier ones.
    generation bigint not null,
    -- Null in the one row that holds the virtual time among queues.
    queue integer,
    share integer,
    cost bigint not null default 0,
    -- The virtual times when the claim began. An idle queue or share is raised to them, because unused service is not owed later.
    root_clock bigint not null,
    queue_clock bigint not null default 0,
    -- The highest start tags that the claim served.
    queue_tag bigint not null,
    share_tag bigint not null default 0
);
create index service_by_generation on service (generation);

-- The jobs of one submitter, queue and priority that have the same needs. A worker looks only at the lanes that it can serve, so
-- jobs that it cannot do cost it nothing. Rows are never deleted, because finished jobs name the lane that they were submitted to. A
-- lane that is not open costs two hundred bytes and nothing else: no claim, submission or chore looks at it.
create table lane (
    id integer generated always as identity primary key,
    queue integer not null references queue,
    share integer not null references share,
    -- Higher goes first.
    priority smallint not null check (priority between -100 and 100),
    -- Sorted, without duplicates: `recipe:1`, `codec:libmp3lame`, `root:archive`.
    needs text[] collate "C" not null,
    -- No job waits at a lower turn. Claims begin to search here, so that they never read the dead rows of earlier jobs, which a long
    -- transaction elsewhere keeps from being vacuumed.
    floor bigint not null default 0,
    -- The highest turn given out, as far as housekeeping has folded the counts.
    tail bigint not null default 0,
    -- When housekeeping last saw the lane move.
    moved_at timestamptz not null default '-infinity',
    -- Whether a job may wait in the lane; housekeeping maintains it. A lane that is not marked open is open all the same if `opened`
    -- lists it.
    is_open boolean not null default false,
    -- The finish tags of its queue and its share, as they were when there were last too many lanes to look at all of them. Claims
    -- then look at the lowest.
    queue_rank bigint not null default 0,
    share_rank bigint not null default 0,
    unique (share, priority, needs)
) with (fillfactor = 50);
create index lane_open on lane (priority desc, queue_rank, share_rank, id) where is_open;
create index lane_open_of_share on lane (share, priority) where is_open;
-- The cast to another type than the primary key's ensures that no plan for a page of open lanes reads the closed ones.
create index lane_open_by_id on lane ((id::bigint)) where is_open;

-- Lanes that were closed when jobs were put into them. Rows are added and never updated, so that two transactions that open a lane
-- do not wait for each other. Housekeeping deletes the rows, and so do claims that close the lane again.
create table opened (lane integer not null, share integer not null);
create index opened_lane on opened (lane);
create index opened_share on opened (share, lane);

-- The lanes in which jobs may wait.
--
-- A function that the planner inlines: a view would be one more relation to keep the roles away from.
create function open_lane() returns setof lane
language sql stable
as $$
    select l.* from lane l where l.is_open
    union all
    -- Keeps the join going from the few rows to the many, whatever statistics the planner has.
    select l.* from (select distinct lane from opened) o
    cross join lateral (select * from lane where lane.id = o.lane and not lane.is_open limit 1) l
$$;

-- MARK: What was submitted

create table batch (
    -- Below 2^43; the bits above hold the ledger's number, see number_ledger().
    id bigint generated always as identity (maxvalue 8796093022207) primary key,
    name text,
    -- A submitter's key names one batch for as long as the batch is kept. Different submitters may use the same key.
    key text collate "C",
    -- Digest of the request made under the key. It tells a repetition from a different request under a key that is already in use.
    request_digest bytea,
    -- No foreign key: queues are never deleted, and batches of one job each would lock the row of their queue a thousand times a second.
    queue integer not null,
    priority smallint not null,
    weight integer not null check (weight between 1 and 10000),
    labels jsonb not null default '{}' check (jsonb_typeof(labels) = 'object'),
    submitter text not null default session_user,
    created_at timestamptz not null,
    -- The range in which the ids of its jobs lie. Jobs of other batches may lie in the range too.
    first_job bigint not null default 0,
    last_job bigint not null default 0,
    jobs bigint not null default 0,
    -- As of the last folding; `count_delta` holds the rest.
    delayed bigint not null default 0,
    waiting bigint not null default 0,
    running bigint not null default 0,
    publishing bigint not null default 0,
    completed bigint not null default 0,
    skipped bigint not null default 0,
    failed bigint not null default 0,
    cancelled bigint not null default 0,
    -- How many of the completed jobs have remarks.
    remarked bigint not null default 0,
    unique (key, submitter),
    check (first_job <= last_job)
) with (fillfactor = 70);
create index batch_created_at on batch (created_at);
create index batch_last_job on batch (last_job);
create index batch_submitter on batch (submitter, first_job);
-- Batches without a label, such as those of one job each, do not pay for it.
create index batch_name on batch (name, id) where name is not null;

-- Bounded like the ids of batches.
create sequence job_id as bigint maxvalue 8796093022207;

create table job (
    id bigint not null,
    batch bigint not null,
    -- The lane that the job was submitted to. Its row in one of the four small tables names its current lane.
    lane integer not null,
    recipe jsonb not null check (jsonb_typeof(recipe) = 'object'),
    -- The recipe's first source.
    source text collate "C" not null,
    -- Estimated, in any unit that all submitters share. The job advances its batch's turns by it.
    cost integer not null check (cost between 1 and 1000000000),
    max_attempts smallint not null check (max_attempts between 1 and 1000),
    run_at timestamptz,
    labels jsonb check (jsonb_typeof(labels) = 'object'),
    -- The history of a recipe that was changed: each earlier form and the last attempt that used it, oldest first. Only the
    -- treatment of damage ever changes, and only retry_jobs() changes it, while no worker can claim the job, so that no attempt sees
    -- its recipe change.
    amendments jsonb check (jsonb_typeof(amendments) = 'array'),
    -- A hash of the recipe without its conflict policy, by which a submission recognises that the same work was submitted before.
    -- Null if the submitter gave none: such a job never counts as the same work.
    work bigint,
    -- Size of the first source, and the time of its last change in nanoseconds since 1970, when the job was submitted. Null where
    -- the submitter could not read them.
    source_bytes bigint check (source_bytes >= 0),
    source_modified bigint,
    primary key (id)
) partition by range (id);
-- An index entry holds 2,704 bytes at most, and a path may have 4,095. 640 characters always fit.
create index job_source on job (left(source, 640), id);
-- Finds the jobs of a destination, the latest of which made the current file.
create index job_destination on job (hashtextextended(recipe #>> '{outputs,0,location}', 0), id);

-- MARK: Where it stands. The columns that all four tables share come first and mean the same.

create table waiting (
    job bigint primary key,
    batch bigint not null,
    lane integer not null,
    -- As in `job`.
    cost integer not null,
    turn bigint not null,
    -- Grows at every claim of the job and never falls, whatever happens to the job in between.
    epoch integer not null check (epoch >= 0),
    -- Attempts that count, losses that do not count as attempts, and rooms that died while they converted the job.
    spent smallint not null check (spent >= 0),
    lost smallint not null check (lost >= 0),
    room_deaths smallint not null check (room_deaths >= 0),
    since timestamptz not null
);
create index waiting_turn on waiting (lane, turn, job);

create table delayed (
    like waiting including constraints,
    primary key (job),
    ready_at timestamptz not null,
    -- The failure after which the job will be tried again.
    code text,
    class failure_class,
    stage text
);
create index delayed_ready_at on delayed (ready_at, job);
-- No row of `delayed` is due before the time in the last row of this table. Claims start from there, and so never read the dead rows
-- of jobs that became due earlier. Rows are added and not updated, because each update would leave a dead row here as well.
create table delayed_floor (
    id bigint generated always as identity primary key,
    ready_at timestamptz not null
);
insert into delayed_floor (ready_at) values ('-infinity');
-- Finds jobs that wait for something that their worker lacked, so that they can be called back when the worker has it again.
create index delayed_handed_back on delayed (code, job) where stage = 'release';

create table running (
    like waiting including constraints,
    primary key (job),
    lease_id uuid not null,
    -- The lease belongs to the worker, so that a heartbeat writes one row whatever the number of slots.
    worker bigint not null,
    cancel_asked boolean not null default false,
    slot smallint,
    frames bigint not null default 0 check (frames >= 0),
    frames_total bigint,
    -- When `frames` was last seen to grow.
    moved_at timestamptz not null,
    check (epoch > 0)
) with (fillfactor = 70);

-- Jobs whose workers were lost while they ran them, since they were submitted or last retried. There are few, so this is not a
-- column of every job. A row stays until the job is retried or dropped.
create table suspect (
    job bigint primary key,
    workers_lost smallint not null check (workers_lost > 0)
);

-- How far the jobs that returned to a lane have advanced their batch there. It spreads a thousand retries of one batch like its
-- first tries, so that they do not go before the work of other submitters.
create table flow (
    batch bigint not null,
    lane integer not null references lane,
    finish bigint not null,
    primary key (batch, lane)
) with (fillfactor = 70);

create table publishing (
    like waiting including constraints,
    primary key (job),
    lease_id uuid not null,
    worker bigint not null,
    slot smallint,
    started_at timestamptz not null,
    -- The temporary file that will be renamed, and the digest and size that it must have. Empty if the first output is left alone.
    attempt_name text not null,
    digest bytea not null,
    size bigint not null check (size >= 0),
    -- The outputs after the first, in the order of the recipe: objects with `digest` (in hexadecimal) and `bytes`, or null for one that
    -- is left alone. Null for a job with one output, as nearly all have.
    further jsonb check (jsonb_typeof(further) = 'array'),
    -- When the ledger last ordered a process to finish it.
    handed_at timestamptz not null,
    frames_in bigint,
    frames_out bigint,
    audio_ms bigint,
    cpu_ms bigint,
    peak_bytes bigint,
    report jsonb,
    check (epoch > 0)
);

create table finished (
    job bigint not null,
    batch bigint not null,
    queue integer not null,
    state job_state not null check (state in ('completed', 'skipped', 'failed', 'cancelled')),
    epoch integer not null check (epoch >= 0),
    spent smallint not null,
    lost smallint not null,
    room_deaths smallint not null,
    -- The priority of its last lane, for a retry: it may have been changed since the job was submitted. The column and the next one
    -- take bytes that alignment would leave empty.
    priority smallint not null,
    -- Whether the report of the conversion has remarks: damage, or something that the output lacks or that was assumed.
    has_remarks boolean not null default false,
    ended_at timestamptz not null,
    worker bigint,
    -- Of the first output, if it was made.
    digest bytea,
    size bigint,
    -- As in `publishing`. Null if none was made.
    further jsonb check (jsonb_typeof(further) = 'array'),
    -- Null in a completed job means `published`, as nearly all of them are.
    placement placement check (placement <> 'published'),
    -- The failure that ended the job.
    code text collate "C",
    class failure_class,
    stage text,
    check ((state = 'completed') = (digest is not null and size is not null or further is not null)),
    check ((state = 'skipped') = (placement is not distinct from 'skipped')),
    check (state in ('completed', 'skipped') or placement is null),
    check (state = 'completed' or not has_remarks),
    check ((state = 'failed') = (code is not null and class is not null and stage is not null)),
    primary key (job)
) partition by range (job);
create index finished_state on finished (queue, state, job);
create index finished_code on finished (code, job) where code is not null;
-- Most jobs have no remarks and do not pay for it.
create index finished_remarks on finished (queue, job) where has_remarks;
-- Rows are appended as jobs end, so the index needs only a few bytes for every fifteen thousand rows to narrow down a time. With
-- smaller ranges, a ledger at full speed would complete more of them between two rounds of autovacuum than the server records for
-- summarizing.
create index finished_ended_at on finished using brin (ended_at) with (pages_per_range = 256, autosummarize = on);

create table attempt (
    job bigint not null,
    epoch integer not null check (epoch > 0),
    lease_id uuid not null,
    worker bigint not null,
    slot smallint,
    started_at timestamptz not null,
    ended_at timestamptz not null,
    outcome attempt_outcome not null,
    code text collate "C",
    class failure_class,
    stage text,
    stream integer,
    position text,
    frame bigint,
    libav_name text,
    libav_text text,
    message text,
    hint text,
    last_words text,
    frames_in bigint,
    frames_out bigint,
    audio_ms bigint,
    cpu_ms bigint,
    peak_bytes bigint,
    -- What else the conversion reported, such as damage that was concealed.
    report jsonb,
    check (outcome in ('completed', 'cancelled') or (code is not null and class is not null and stage is not null)),
    primary key (job, epoch)
) partition by range (job);

-- MARK: Workers

create table worker (
    -- New at every start, so a name that is reused is a different worker. Random and not a sequence: a failover that loses the last
    -- commits would issue the same number again, and two workers would have the same id. The time comes first, so that later ids are
    -- greater. The whole stays below 2^53.
    id bigint primary key
        default (extract(epoch from clock_timestamp()) * 1000)::bigint * 1024 + floor(random() * 1024)::bigint,
    -- Proves that the caller is the worker that registered. No role can read it.
    secret uuid not null default gen_random_uuid(),
    name text not null,
    host text not null,
    build text not null,
    slots integer not null check (slots > 0),
    -- In the vocabulary of `lane.needs`.
    abilities text[] collate "C" not null,
    wish worker_wish not null default 'run',
    -- What the worker reports: busy slots, why it paused itself.
    status jsonb not null default '{}' check (jsonb_typeof(status) = 'object'),
    started_at timestamptz not null,
    beat_at timestamptz not null,
    lease_until timestamptz not null,
    -- When it last beat after its lease had expired. Until then the ledger could not have seen its jobs move.
    revived_at timestamptz,
    -- Claims with lower numbers take nothing: the worker has given them up.
    claims_from bigint not null default 0,
    -- Set once, when the worker stopped or was found lost.
    ended_at timestamptz,
    end_reason text check (end_reason in ('stopped', 'lost')),
    -- The worker has ended, and rows in `running` may still name it. reap() gives these jobs back.
    holds_jobs boolean not null default false,
    check ((ended_at is null) = (end_reason is null)),
    check (not holds_jobs or ended_at is not null)
) with (fillfactor = 50);
create index worker_alive on worker (id) where ended_at is null;
create index worker_holds_jobs on worker (id) where holds_jobs;

select set_config('role', 'none', true);
