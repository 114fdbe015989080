-- Counts of jobs and failures, and what is measured of them. Each statement that changes jobs adds rows to `count_delta`, one per batch
-- and state whatever the number of jobs, so that statements do not wait for each other; rows that add running or ended jobs carry the
-- times, the audio and the bytes too. Ends without an output add rows to `meter_delta`. fold_counts() folds all of them into sums.

-- Folds into the sums what statements have added since: about `page` job deltas with ids above `after`, and as many failure deltas
-- and meter deltas.
-- `affected` is the number of rows folded, and `reached` the last id of the job deltas; null: there are no more. Rows that are added
-- behind it meanwhile wait for the next round.
--
-- Each delta moves from one table to the other in one statement, so that the two together are exact at every moment.
create or replace function fold_counts(page integer default 20000, after bigint default 0, out affected integer, out reached bigint)
language plpgsql security definer set search_path from current set jit = off
    set enable_seqscan = off set enable_bitmapscan = off
as $$
declare
    last_count bigint;
    last_failure bigint;
    found_counts bigint;
    found_failures bigint;
    last_meter bigint;
    found_meters bigint;
    lanes integer[];
    batches bigint[];
    folded integer;
    failures integer;
    meters integer;
    -- A sum that would overflow stays at this value. An error would stop all folding for good.
    most constant bigint := 9000000000000000000;
begin
    select max(d.id), count(*), array_agg(distinct d.lane) filter (where d.lane is not null), array_agg(distinct d.batch)
    into last_count, found_counts, lanes, batches
    from (select d.id, d.lane, d.batch from count_delta d where d.id > after order by d.id limit page) d;
    select max(d.id), count(*) into last_failure, found_failures
    from (select d.id from failure_delta d order by d.id limit page) d;
    select max(d.id), count(*) into last_meter, found_meters
    from (select d.id from meter_delta d order by d.id limit page) d;
    if found_counts >= page or found_failures >= page or found_meters >= page then
        reached := greatest(last_count, after);
    end if;
    -- In order, because other transactions also lock several of them.
    perform from lane l where l.id = any (lanes) order by l.id for no key update;
    perform from batch b where b.id = any (batches) order by b.id for no key update;
    perform hold_tenant_counts();

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
    ), tenants as (
        insert into tenant_count as c (tenant, queue, state, jobs)
        select n.tenant, n.queue, n.state, sum(n.jobs)
        from (
            select tenant_of((select b.submitter from batch b where b.id = g.batch)) as tenant, g.queue, g.state, g.jobs
            from (select o.batch, o.queue, o.state, sum(o.jobs) as jobs from gone o group by 1, 2, 3) g
            where (select exists (select from tenant)) and g.jobs <> 0 offset 0
        ) n where n.tenant is not null group by 1, 2, 3
        on conflict (tenant, queue, state) do update set jobs = c.jobs + excluded.jobs
    ), paces as (
        insert into pace as p (minute, queue, completed, failed, cancelled, audio_ms, began)
        select date_trunc('minute', g.at), g.queue,
               coalesce(sum(g.jobs) filter (where g.state = 'completed'), 0),
               coalesce(sum(g.jobs) filter (where g.state = 'failed'), 0),
               coalesce(sum(g.jobs) filter (where g.state = 'cancelled'), 0),
               coalesce(bounded(sum(g.audio_ms), most), 0), min(coalesce(g.began, g.at))
        from gone g where g.state in ('completed', 'failed', 'cancelled') and g.jobs > 0 and is_end(g.state, g.began) group by 1, 2
        on conflict (minute, queue) do update
        set completed = p.completed + excluded.completed, failed = p.failed + excluded.failed,
            cancelled = p.cancelled + excluded.cancelled, audio_ms = bounded(p.audio_ms::numeric + excluded.audio_ms, most),
            began = least(p.began, excluded.began)
    ), metered as (
        insert into meter_total as m (meter, queue, key, class, amount)
        select p.meter, p.queue, p.key, p.class, sum(p.amount)
        from (
            select g.queue, g.state, g.codec, g.bucket, sum(g.jobs) as jobs, sum(g.seconds::numeric) as seconds,
                   sum(g.audio_ms) as audio_ms, sum(g.bytes) as bytes
            from gone g where g.bucket is not null group by g.queue, g.state, g.codec, g.bucket
        ) g cross join lateral count_parts(g.queue, g.state, g.codec, g.bucket, g.jobs, g.seconds, g.audio_ms, g.bytes) p
        group by p.meter, p.queue, p.key, p.class
        on conflict (meter, queue, key, class) do update set amount = m.amount + excluded.amount
    ), batches as (
        update batch b
        set delayed = b.delayed + n.delayed, waiting = b.waiting + n.waiting, running = b.running + n.running,
            publishing = b.publishing + n.publishing, completed = b.completed + n.completed, skipped = b.skipped + n.skipped,
            failed = b.failed + n.failed, accepted = b.accepted + n.accepted,
            cancelled = b.cancelled + n.cancelled, remarked = b.remarked + n.remarked
        from (
            select g.batch, coalesce(sum(g.remarked), 0) as remarked,
                   -- Without these, failures were accepted, or no longer are.
                   bool_or(g.state in ('delayed', 'waiting', 'running', 'publishing')) as moved,
                   coalesce(sum(g.jobs) filter (where g.state = 'delayed'), 0) as delayed,
                   coalesce(sum(g.jobs) filter (where g.state = 'waiting'), 0) as waiting,
                   coalesce(sum(g.jobs) filter (where g.state = 'running'), 0) as running,
                   coalesce(sum(g.jobs) filter (where g.state = 'publishing'), 0) as publishing,
                   coalesce(sum(g.jobs) filter (where g.state = 'completed'), 0) as completed,
                   coalesce(sum(g.jobs) filter (where g.state = 'skipped'), 0) as skipped,
                   coalesce(sum(g.jobs) filter (where g.state = 'failed'), 0) as failed,
                   coalesce(sum(g.jobs) filter (where g.state = 'accepted'), 0) as accepted,
                   coalesce(sum(g.jobs) filter (where g.state = 'cancelled'), 0) as cancelled
            from gone g group by g.batch
        ) n where b.id = n.batch
        returning b.id, b.submitter, b.queue, b.failed, n.moved, b.delayed + b.waiting + b.running + b.publishing as open
    ), news as (
        insert into batch_news (batch)
        select u.id from batches u
        where u.open = 0 and u.moved
          and (u.id in (select w.batch from webhook w where w.batch is not null)
               or exists (select from webhook_notice n where n.batch = u.id)
               or exists (
                   select from webhook w
                   where w.batch is null and not w.on_notify and w.removed_at is null and 'batch.ended' = any (w.events)
                     and (w.submitter is null or w.submitter = u.submitter) and (w.queue is null or w.queue = u.queue)))
    ), failing as (
        insert into failure_news (batch)
        select u.id from batches u where u.failed > 0 and exists (select from webhook_notice n where n.batch = u.id)
    ), telling as materialized (
        select distinct w.submitter from webhook w
        where w.submitter is not null and w.batch is null and not w.on_notify and 'failures.high' = any (w.events)
    ), submitters as (
        insert into submitter_pace as p (submitter, minute, ended, failed)
        select n.submitter, n.minute, sum(n.ended), sum(n.failed)
        from (
            select (select b.submitter from batch b where b.id = g.batch) as submitter, g.minute, g.ended, g.failed
            from (
                select o.batch, date_trunc('minute', o.at) as minute, sum(o.jobs) as ended,
                       coalesce(sum(o.jobs) filter (where o.state = 'failed'), 0) as failed
                from gone o where o.state in ('completed', 'failed') and o.jobs > 0 and is_end(o.state, o.began) group by 1, 2
            ) g
            where (select exists (select from telling)) offset 0
        ) n where n.submitter in (select l.submitter from telling l) group by 1, 2
        on conflict (submitter, minute) do update set ended = p.ended + excluded.ended, failed = p.failed + excluded.failed
    )
    select count(*) into folded from gone;

    with gone as (
        delete from failure_delta where id <= last_failure returning *
    ), counted as (
        insert into failure_count as c (queue, hour, code, class, stage, jobs, accepted, attempts, example, last_at)
        select g.queue, date_trunc('hour', g.at), g.code, g.class, g.stage, sum(g.jobs), sum(g.accepted), sum(g.attempts),
               max(g.example), max(g.at)
        from gone g group by 1, 2, 3, 4, 5
        on conflict (hour, queue, code, class, stage) do update
        set jobs = c.jobs + excluded.jobs, accepted = c.accepted + excluded.accepted, attempts = c.attempts + excluded.attempts,
            example = case when excluded.jobs > 0 then excluded.example else c.example end,
            last_at = greatest(c.last_at, excluded.last_at)
    ), metered as (
        insert into meter_total as m (meter, queue, key, class, amount)
        select 'failures', 0, g.code, '', sum(g.attempts) from gone g group by g.code
        on conflict (meter, queue, key, class) do update set amount = m.amount + excluded.amount
    )
    select count(*) into failures from gone;

    with gone as (
        delete from meter_delta where id <= last_meter returning meter_delta
    ), metered as (
        insert into meter_total as m (meter, queue, key, class, amount)
        select p.meter, p.queue, p.key, p.class, sum(p.amount)
        from gone g cross join lateral meter_parts(g.meter_delta) p group by p.meter, p.queue, p.key, p.class
        on conflict (meter, queue, key, class) do update set amount = m.amount + excluded.amount
    )
    select count(*) into meters from gone;
    affected := folded + failures + meters;
end $$;

-- Whether a row of `count_delta` is about jobs that ended in that state. Jobs whose failure is no longer accepted have ended before: no
-- attempt of theirs began.
create or replace function is_end(state job_state, began timestamptz) returns boolean
language sql immutable parallel safe
as $$ select state <> 'failed' or began is not null $$;

-- Locks the counts of tenants until the transaction ends, if there are tenants.
create or replace function hold_tenant_counts() returns void
language plpgsql security definer set search_path from current
as $$
begin
    if exists (select from tenant) then
        lock table lock_tenant_count in exclusive mode;
    end if;
end $$;

-- The seconds between two times, at least 0.
create or replace function span_seconds(since timestamptz, until timestamptz) returns double precision
language sql immutable parallel safe
as $$ select greatest(0, date_part('epoch', until - since)) $$;

-- The bucket of a histogram of times: the number of limits that are below `seconds`. `SpanHistogram` in Swift has the same limits.
create or replace function span_bucket(seconds double precision) returns smallint
language sql immutable parallel safe
as $$
    -- Negated, because a bucket includes its upper limit, and width_bucket() the lower one.
    select (19 - width_bucket(-seconds, '{-21600, -7200, -3600, -1800, -600, -300, -120, -60, -30, -10, -5, -2.5, -1, -0.5, -0.25,
                                          -0.1, -0.05, -0.025, -0.01}'::double precision[]))::smallint
$$;

-- What a row of `meter_delta` adds to which meters.
create or replace function meter_parts(d meter_delta)
returns table (meter text, queue integer, key text, class text, amount numeric)
language sql immutable parallel safe
as $$
    select p.* from (values
        ('attempts', d.queue, d.outcome::text, d.class, d.jobs::numeric),
        ('rooms', 0, d.room, '', d.jobs)
    ) as p (meter, queue, key, class, amount)
    where p.key is not null
$$;

-- What a row of `count_delta` with a bucket, or several of them that differ in their sums alone, adds to which meters.
-- `seconds` must be the sum of values that were converted to numeric one by one, or a counter could decrease when rows are folded.
create or replace function count_parts(
    of_queue integer, state job_state, codec text, bucket smallint, jobs numeric, seconds numeric, audio_ms numeric, bytes numeric
)
returns table (meter text, queue integer, key text, class text, amount numeric)
language sql immutable parallel safe
as $$
    select p.* from (values
        ('attempts', of_queue, case when state <> 'running' then 'completed' end, '', jobs),
        ('wait', 0, case when state = 'running' then bucket::text end, '', jobs),
        ('wait_seconds', 0, case when state = 'running' then '' end, '', seconds),
        ('run', 0, case when state <> 'running' then bucket::text end, '', jobs),
        ('run_seconds', 0, case when state <> 'running' then '' end, '', seconds),
        ('audio_ms', 0, codec, '', audio_ms),
        ('bytes', 0, case when state <> 'running' then 'out' end, '', bytes)
    ) as p (meter, queue, key, class, amount)
    where p.key is not null and p.amount is not null
$$;
