-- Why: counts the jobs of each queue and batch by state, and the failures. Each statement adds its changes as new rows, one per
-- batch and state whatever the number of jobs, so that statements do not wait for each other. Housekeeping folds these rows into
-- sums.
select set_config('role', pg_get_userbyid(nspowner), true) from pg_namespace where nspname = current_schema();

-- MARK: Tables

create table count_delta (
    id bigint generated always as identity primary key,
    queue integer not null,
    batch bigint not null,
    state job_state not null,
    jobs integer not null,
    audio_ms bigint,
    -- When the first of the attempts that ended these jobs began.
    began timestamptz,
    -- The highest turn that a submission gave out in a lane.
    lane integer,
    tail bigint,
    -- How many of these jobs were completed with remarks.
    remarked integer,
    at timestamptz not null
);
-- Serves the running limits of queues.
create index count_delta_running on count_delta (queue) where state = 'running';

create table queue_count (
    queue integer not null references queue,
    state job_state not null,
    jobs bigint not null,
    primary key (queue, state)
) with (fillfactor = 50);

create table failure_delta (
    id bigint generated always as identity primary key,
    queue integer not null,
    code text collate "C" not null,
    class failure_class not null,
    stage text not null,
    -- The number of jobs that it ended, and of attempts.
    jobs integer not null,
    attempts integer not null,
    example bigint not null,
    at timestamptz not null
);

create table failure_count (
    queue integer not null references queue,
    hour timestamptz not null,
    code text collate "C" not null,
    class failure_class not null,
    stage text not null,
    jobs bigint not null,
    attempts bigint not null,
    example bigint not null,
    last_at timestamptz not null,
    primary key (hour, queue, code, class, stage)
) with (fillfactor = 70);

-- What ended in each minute, for rates. Kept for two days.
create table pace (
    minute timestamptz not null,
    queue integer not null,
    completed bigint not null,
    failed bigint not null,
    cancelled bigint not null,
    audio_ms bigint not null,
    -- When the first of these attempts began: a rate is computed over the time that the attempts took, not over whole minutes.
    began timestamptz not null,
    primary key (minute, queue)
) with (fillfactor = 70);

-- MARK: Folding

-- Folds into the sums what statements have added since: about `page` job deltas with ids above `after`, and as many failure deltas.
-- `affected` is the number of rows folded, and `reached` the last id of the job deltas; null: there are no more. Rows that are added
-- behind it meanwhile wait for the next round.
--
-- Each delta moves from one table to the other in one statement, so that the two together are exact at every moment.
create function fold_counts(page integer default 20000, after bigint default 0, out affected integer, out reached bigint)
language plpgsql security definer set search_path from current set jit = off
    set enable_seqscan = off set enable_bitmapscan = off
as $$
declare
    last_count bigint;
    last_failure bigint;
    found_counts bigint;
    found_failures bigint;
    lanes integer[];
    batches bigint[];
    folded integer;
    failures integer;
    -- A sum that would overflow stays at this value. An error would stop all folding for good.
    most constant bigint := 9000000000000000000;
begin
    select max(d.id), count(*), array_agg(distinct d.lane) filter (where d.lane is not null), array_agg(distinct d.batch)
    into last_count, found_counts, lanes, batches
    from (select d.id, d.lane, d.batch from count_delta d where d.id > after order by d.id limit page) d;
    select max(d.id), count(*) into last_failure, found_failures
    from (select d.id from failure_delta d order by d.id limit page) d;
    if found_counts >= page or found_failures >= page then
        reached := greatest(last_count, after);
    end if;
    -- In order, because other transactions also lock several of them.
    perform from lane l where l.id = any (lanes) order by l.id for no key update;
    perform from batch b where b.id = any (batches) order by b.id for no key update;

    with gone as (
        -- Leaves out deltas of batches and lanes that were added since with lower ids, because those rows are not locked.
        delete from count_delta d
        where d.id > after and d.id <= last_count and d.batch = any (batches) and (d.lane is null or d.lane = any (lanes)) returning *
    ), tails as (
        update lane l set tail = n.tail
        from (select g.lane, max(g.tail) as tail from gone g where g.lane is not null group by g.lane) n
        where l.id = n.lane and l.tail < n.tail
    ), queues as (
        insert into queue_count as c (queue, state, jobs)
        select g.queue, g.state, sum(g.jobs) from gone g group by g.queue, g.state having sum(g.jobs) <> 0
        on conflict (queue, state) do update set jobs = c.jobs + excluded.jobs
    ), paces as (
        insert into pace as p (minute, queue, completed, failed, cancelled, audio_ms, began)
        select date_trunc('minute', g.at), g.queue,
               coalesce(sum(g.jobs) filter (where g.state = 'completed'), 0),
               coalesce(sum(g.jobs) filter (where g.state = 'failed'), 0),
               coalesce(sum(g.jobs) filter (where g.state = 'cancelled'), 0),
               coalesce(bounded(sum(g.audio_ms), most), 0), min(coalesce(g.began, g.at))
        from gone g where g.state in ('completed', 'failed', 'cancelled') and g.jobs > 0 group by 1, 2
        on conflict (minute, queue) do update
        set completed = p.completed + excluded.completed, failed = p.failed + excluded.failed,
            cancelled = p.cancelled + excluded.cancelled, audio_ms = bounded(p.audio_ms::numeric + excluded.audio_ms, most),
            began = least(p.began, excluded.began)
    ), batches as (
        update batch b
        set delayed = b.delayed + n.delayed, waiting = b.waiting + n.waiting, running = b.running + n.running,
            publishing = b.publishing + n.publishing, completed = b.completed + n.completed, skipped = b.skipped + n.skipped,
            failed = b.failed + n.failed,
            cancelled = b.cancelled + n.cancelled, remarked = b.remarked + n.remarked
        from (
            select g.batch, coalesce(sum(g.remarked), 0) as remarked,
                   coalesce(sum(g.jobs) filter (where g.state = 'delayed'), 0) as delayed,
                   coalesce(sum(g.jobs) filter (where g.state = 'waiting'), 0) as waiting,
                   coalesce(sum(g.jobs) filter (where g.state = 'running'), 0) as running,
                   coalesce(sum(g.jobs) filter (where g.state = 'publishing'), 0) as publishing,
                   coalesce(sum(g.jobs) filter (where g.state = 'completed'), 0) as completed,
                   coalesce(sum(g.jobs) filter (where g.state = 'skipped'), 0) as skipped,
                   coalesce(sum(g.jobs) filter (where g.state = 'failed'), 0) as failed,
                   coalesce(sum(g.jobs) filter (where g.state = 'cancelled'), 0) as cancelled
            from gone g group by g.batch
        ) n where b.id = n.batch
    )
    select count(*) into folded from gone;

    with gone as (
        delete from failure_delta where id <= last_failure returning *
    ), counted as (
        insert into failure_count as c (queue, hour, code, class, stage, jobs, attempts, example, last_at)
        select g.queue, date_trunc('hour', g.at), g.code, g.class, g.stage, sum(g.jobs), sum(g.attempts), max(g.example),
               max(g.at)
        from gone g group by 1, 2, 3, 4, 5
        on conflict (hour, queue, code, class, stage) do update
        set jobs = c.jobs + excluded.jobs, attempts = c.attempts + excluded.attempts,
            example = case when excluded.jobs > 0 then excluded.example else c.example end,
            last_at = greatest(c.last_at, excluded.last_at)
    )
    select count(*) into failures from gone;
    affected := folded + failures;
end $$;

select set_config('role', 'none', true);
