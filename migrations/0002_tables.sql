-- Why: a job is where its row lies. What was asked is written once, in `job`; where it stands is one row in one of four
-- small tables (`delayed`, `waiting`, `running`, `publishing`) or in `finished`. The small ones hold live work only, so what
-- a claim costs does not depend on what was ever done.
--
-- `delayed` is apart from `waiting` because its rows are not for claiming yet: their time has not come (run-at, back-off).
-- A job that waits on other jobs will lie there too, with `ready_at = 'infinity'`, until the last of them has ended.
--
-- No foreign key leads to or from `job`, `finished` and `attempt`: it would cost a look-up and a lock per row, and would
-- stand in the way when a partition is dropped. That a job lies in one place only is kept by the functions, each of which
-- takes a row out of one table and puts it into the next in one statement.
--
-- The order of locks. A transaction that waits for locks takes them in this order, and those of one kind by their keys, so that no two
-- transactions wait for each other:
--    1. the advisory lock `finished`: retry_jobs() shares it, drop_old() takes it alone;
--    2. the advisory lock `job`: every function that touches `job`, `attempt` or `finished` and waits for rows, or reads several of them,
--       shares it, and takes it before it has locked a row or one of them; drop_old() takes it alone, and then these tables. It so holds
--       no table while it waits for a transaction that waits for rows;
--    3. rows of `worker`;
--    4. what a submission makes: a queue, a share, a batch with a key;
--    5. jobs: rows of `waiting`, `delayed`, `running`, `publishing`, `finished`, one table after the other, each by job;
--    6. new lines, by share, priority and needs;
--    7. the advisory locks of lines, by id, in one call of hold_lanes();
--    8. rows of `flow`, by batch and line, in one call of enter_lines();
--    9. the advisory lock `span`, under which partitions are made;
--   10. rows of `queue` and `share` that exist, by id;
--   11. rows of `lane`, by id;
--   12. rows of `batch` that exist, by id; then counts, which fold_counts() alone writes.
-- hold_delayed() may share the advisory lock `delayed` at any point before 10: lift_delayed() alone takes it for itself, without waiting,
-- and a transaction that has done so waits for nothing but rows of `queue` and `share` from then on.
-- A lock that is not waited for (skip locked, nowait, pg_try_advisory_xact_lock) may be taken at any point. Of `house` and `chore` only
-- such are taken. A transaction that holds no lock for which others wait may wait for one; raise_floors() does. LockOrderTests holds all
-- functions to this.
select set_config('role', pg_get_userbyid(nspowner), true) from pg_namespace where nspname = current_schema();

-- MARK: Lanes

create table queue (
    id integer generated always as identity primary key,
    name text collate "C" not null unique check (name ~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$'),
    paused boolean not null default false,
    -- At most so many of its jobs are converted at once. Null: as many as there are slots.
    running_limit integer check (running_limit > 0),
    -- Its share beside other queues of the same priority.
    weight integer not null default 100 check (weight between 1 and 10000),
    -- What claims have given it, by its weight: the finish tag of start-time fair queueing, as folded last.
    finish bigint not null default 0,
    -- The virtual time among its submitters, as folded last.
    clock bigint not null default 0,
    created_at timestamptz not null default clock_timestamp()
) with (fillfactor = 50);
insert into queue (name) values ('default');

-- What one submitter has of a queue.
create table share (
    id integer generated always as identity primary key,
    queue integer not null references queue,
    submitter text collate "C" not null default session_user,
    -- Beside other submitters of the same queue.
    weight integer not null default 100 check (weight between 1 and 10000),
    -- What claims have given it, by its weight, as folded last.
    finish bigint not null default 0,
    unique (queue, submitter)
) with (fillfactor = 50);
create index share_submitter on share (submitter);

-- What claims have given to queues and submitters since it was folded last. Only ever added to, so that claims do not wait for each
-- other. Where one submitter of one queue has the fleet for itself, there is nothing to share and nothing is written.
create sequence service_generation as bigint;
create table service (
    -- Folding begins another. Claims look at the latest few, and so never at the dead rows of earlier ones.
    generation bigint not null,
    -- Null in the one row that holds the virtual time among queues.
    queue integer,
    share integer,
    cost bigint not null default 0,
    -- The virtual times that the claim began from: an idle one is lifted to them, since it is owed nothing.
    root_clock bigint not null,
    queue_clock bigint not null default 0,
    -- The highest start tags that it served.
    queue_tag bigint not null,
    share_tag bigint not null default 0
);
create index service_by_generation on service (generation);

-- The jobs of one submitter, queue and priority that ask the same of a worker, in a line of their own: a worker looks only at the
-- lines it can serve, so jobs that it cannot do cost it nothing. Rows stay, since finished jobs name the line that they were
-- submitted to. A line that is not open costs its two hundred bytes and nothing else: no claim, submission or chore looks at it.
create table lane (
    id integer generated always as identity primary key,
    queue integer not null references queue,
    share integer not null references share,
    -- Higher goes first.
    priority smallint not null check (priority between -100 and 100),
    -- Sorted, without doubles: `recipe:1`, `codec:libmp3lame`, `root:archive`.
    needs text[] collate "C" not null,
    -- No job waits at a lower turn. Claims begin to look here, so that the dead rows of jobs long gone, which a long
    -- transaction elsewhere keeps from being swept, are never walked over.
    floor bigint not null default 0,
    -- The highest turn given out that housekeeping knows of.
    tail bigint not null default 0,
    -- When housekeeping last saw the line move.
    moved_at timestamptz not null default '-infinity',
    -- Whether a job may wait in it; housekeeping keeps it. A line that is not open and that `opened` names is open all the same.
    is_open boolean not null default false,
    -- The finish tags of its queue and its share when there were last too many lines to look at all: claims look at the lowest.
    queue_rank bigint not null default 0,
    share_rank bigint not null default 0,
    unique (share, priority, needs)
) with (fillfactor = 50);
create index lane_open on lane (priority desc, queue_rank, share_rank, id) where is_open;
create index lane_open_of_share on lane (share, priority) where is_open;
-- By another type than the key's, so that no plan for a page of open lines goes through those that are closed.
create index lane_open_by_id on lane ((id::bigint)) where is_open;

-- Lines that jobs were put into while they were closed. Added to and never updated, so that two who open a line do not wait for
-- each other; housekeeping takes the rows out, and so do claims that close the line again.
create table opened (lane integer not null, share integer not null);
create index opened_lane on opened (lane);
create index opened_share on opened (share, lane);

-- The lines in which jobs may wait.
--
-- A function that the planner puts into the query: a view would be one more relation for the roles to be kept from.
create function open_lane() returns setof lane
language sql stable
as $$
    select l.* from lane l where l.is_open
    union all
    -- From the few to the many, whatever the planner knows of either.
    select l.* from (select distinct lane from opened) o
    cross join lateral (select * from lane where lane.id = o.lane and not lane.is_open limit 1) l
$$;

-- MARK: What was asked

create table batch (
    -- Below 2^43, and above that the number of the ledger: see number_ledger().
    id bigint generated always as identity (maxvalue 8796093022207) primary key,
    name text,
    -- One submitter's key names one batch, for as long as the batch is kept. Keys of different submitters do not meet.
    key text collate "C",
    -- Of what was asked for under the key, to tell a repetition from another request under a used key.
    request_digest bytea,
    queue integer not null references queue,
    priority smallint not null,
    weight integer not null check (weight between 1 and 10000),
    labels jsonb not null default '{}' check (jsonb_typeof(labels) = 'object'),
    submitter text not null default session_user,
    created_at timestamptz not null,
    -- Its jobs lie between these; others may lie between them too.
    first_job bigint not null default 0,
    last_job bigint not null default 0,
    jobs bigint not null default 0,
    -- As folded last; `count_delta` holds the rest.
    delayed bigint not null default 0,
    waiting bigint not null default 0,
    running bigint not null default 0,
    publishing bigint not null default 0,
    completed bigint not null default 0,
    skipped bigint not null default 0,
    failed bigint not null default 0,
    cancelled bigint not null default 0,
    unique (key, submitter),
    check (first_job <= last_job)
) with (fillfactor = 70);
create index batch_created_at on batch (created_at);
create index batch_last_job on batch (last_job);
create index batch_submitter on batch (submitter, first_job);

-- As the ids of batches.
create sequence job_id as bigint maxvalue 8796093022207;

create table job (
    id bigint not null,
    batch bigint not null,
    -- The one it was submitted to; where it is now says its row in a hot table.
    lane integer not null,
    recipe jsonb not null check (jsonb_typeof(recipe) = 'object'),
    -- Of the recipe's first source.
    source text collate "C" not null,
    -- Estimated, in any unit that all submitters share. Its turn advances by it.
    cost integer not null check (cost between 1 and 1000000000),
    max_attempts smallint not null check (max_attempts between 1 and 1000),
    run_at timestamptz,
    labels jsonb check (jsonb_typeof(labels) = 'object'),
    -- Of a recipe that was changed: what it was until which attempt, oldest first. Only how damage is met ever changes, by
    -- retry_jobs() while the job lies where no worker can claim it, so that no attempt sees its recipe change.
    amendments jsonb check (jsonb_typeof(amendments) = 'array'),
    -- A hash of the recipe without its conflict policy, by which a submission finds that it asks for the same work again. Null
    -- where the submitter gave none: such a job is never taken for the same work.
    work bigint,
    -- Size, and time of the last change in nanoseconds since 1970, of the first source when it was submitted, as far as the
    -- submitter could look.
    source_bytes bigint check (source_bytes >= 0),
    source_modified bigint,
    primary key (id)
) partition by range (id);
-- An entry of an index has 2,704 bytes at most, and a path may have 4,095: so many letters always fit.
create index job_source on job (left(source, 640), id);
-- The jobs of a destination, the latest of which made what is there.
create index job_destination on job (hashtextextended(recipe #>> '{outputs,0,location}', 0), id);

-- MARK: Where it stands. Columns that all four share come first and mean the same.

create table waiting (
    job bigint primary key,
    batch bigint not null,
    lane integer not null,
    -- As in `job`.
    cost integer not null,
    turn bigint not null,
    -- Grows at every claim of the job and never falls, whatever becomes of the job in between.
    epoch integer not null check (epoch >= 0),
    -- Attempts that count, losses that do not, and rooms that died of it.
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
    -- Of the failure that it waits to try again after.
    code text,
    class failure_class,
    stage text
);
create index delayed_ready_at on delayed (ready_at, job);
-- No row of `delayed` is due before the time in the last row of this table. Claims look from there on, and so never at the dead rows
-- of jobs that were woken before. It is added to and not updated, since what is updated leaves dead rows of its own.
create table delayed_floor (
    id bigint generated always as identity primary key,
    ready_at timestamptz not null
);
insert into delayed_floor (ready_at) values ('-infinity');
-- Those that wait for what their worker lacked, to be called back when it is there.
create index delayed_handed_back on delayed (code, job) where stage = 'release';

create table running (
    like waiting including constraints,
    primary key (job),
    lease_id uuid not null,
    -- Its lease is the worker's, so that a beat writes one row whatever the number of slots.
    worker bigint not null,
    cancel_asked boolean not null default false,
    slot smallint,
    frames bigint not null default 0 check (frames >= 0),
    frames_total bigint,
    -- When `frames` was last seen to have grown.
    moved_at timestamptz not null,
    check (epoch > 0)
) with (fillfactor = 70);

-- Jobs whose workers were lost while they ran them, since they were submitted or last retried. Few, and so not a column of every
-- job. A row stays until the job is retried or dropped.
create table suspect (
    job bigint primary key,
    workers_lost smallint not null check (workers_lost > 0)
);

-- How far the jobs that came back into a line have brought their batch there, so that a thousand retries of one batch are
-- spread like its first tries and do not go before other submitters' work.
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
    -- What is to be renamed, and what it must be.
    attempt_name text not null,
    digest bytea not null,
    size bigint not null check (size >= 0),
    -- When it was last handed to a process to finish.
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
    -- Of the lane in which it lay last, for a retry: it may have been changed since the job was submitted. Alignment would leave its
    -- two bytes empty.
    priority smallint not null,
    ended_at timestamptz not null,
    worker bigint,
    -- Of the output, where there is one.
    digest bytea,
    size bigint,
    -- Null, in a completed job, says `published`, as nearly all would.
    placement placement check (placement <> 'published'),
    -- Of the failure that ended it.
    code text collate "C",
    class failure_class,
    stage text,
    check ((state = 'completed') = (digest is not null and size is not null)),
    check ((state = 'skipped') = (placement is not distinct from 'skipped')),
    check (state in ('completed', 'skipped') or placement is null),
    check ((state = 'failed') = (code is not null and class is not null and stage is not null)),
    primary key (job)
) partition by range (job);
create index finished_state on finished (queue, state, job);
create index finished_code on finished (code, job) where code is not null;
-- Rows come as jobs end. So a few bytes for every fifteen thousand of them tell where a time is to be looked for. Of smaller
-- stretches a ledger at full speed would fill more than the server takes note of between two rounds of its autovacuum.
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
    -- What else the conversion had to say: damage that was concealed, and the like.
    report jsonb,
    check (outcome in ('completed', 'cancelled') or (code is not null and class is not null and stage is not null)),
    primary key (job, epoch)
) partition by range (job);

-- MARK: Workers

create table worker (
    -- Fresh at every start, so a name used again is another worker. Drawn and not counted: a failover that loses the last
    -- commits would count the same number again, and two workers would know themselves by it. The time comes first, so that
    -- later ones are greater; both together stay below 2^53.
    id bigint primary key
        default (extract(epoch from clock_timestamp()) * 1000)::bigint * 1024 + floor(random() * 1024)::bigint,
    -- By which a worker proves that it is the one that registered. No role can read it.
    secret uuid not null default gen_random_uuid(),
    name text not null,
    host text not null,
    build text not null,
    slots integer not null check (slots > 0),
    -- What it can do, in the words of `lane.needs`.
    abilities text[] collate "C" not null,
    wish worker_wish not null default 'run',
    -- What it says of itself: busy slots, why it paused itself.
    status jsonb not null default '{}' check (jsonb_typeof(status) = 'object'),
    started_at timestamptz not null,
    beat_at timestamptz not null,
    lease_until timestamptz not null,
    -- When it was last heard of after its lease was over. Its jobs could not be seen to move before.
    revived_at timestamptz,
    -- Claims with lower numbers take nothing any more: their worker has given them up.
    claims_from bigint not null default 0,
    -- Set once: when it stopped, or was found to have stopped.
    ended_at timestamptz,
    end_reason text check (end_reason in ('stopped', 'lost')),
    -- It has ended, and jobs may still lie in `running` that were its own: reap() gives them back.
    holds_jobs boolean not null default false,
    check ((ended_at is null) = (end_reason is null)),
    check (not holds_jobs or ended_at is not null)
) with (fillfactor = 50);
create index worker_alive on worker (id) where ended_at is null;
create index worker_holds_jobs on worker (id) where holds_jobs;

select set_config('role', 'none', true);
