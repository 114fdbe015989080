-- The overview for people and programs: the ledger as a whole, queues, batches, workers and failures. Counts are read from folded sums,
-- never by counting jobs.

-- One row about the whole ledger. For a tenant its own jobs, and of the installation only the number of workers and slots. It has no rates:
-- the pace of the ledger is kept by queue.
create or replace function status()
returns table (
    delayed bigint, waiting bigint, running bigint, publishing bigint, completed bigint, skipped bigint,
    failed bigint, cancelled bigint,
    oldest_waiting timestamptz, workers bigint, workers_quiet bigint, slots bigint,
    completed_last_hour bigint, audio_ms_last_hour bigint, pace_seconds double precision,
    completed_last_minute bigint, audio_ms_last_minute bigint, last_minute_seconds double precision,
    kept_house_at timestamptz, quiet_until timestamptz, ledger_time timestamptz, accepted bigint
)
language plpgsql volatile security definer set search_path from current set jit = off
as $$
#variable_conflict use_column
begin
    return query
        select c.delayed, c.waiting, c.running, c.publishing, c.completed, c.skipped, c.failed, c.cancelled,
               (select min(o.since) from oldest_of_lanes() o
                where not is_tenant() or exists (select from share s where s.id = o.share and s.submitter = caller())),
               w.alive, w.quiet, w.slots, p.completed, p.audio_ms, p.seconds, p.completed_last, p.audio_ms_last, p.seconds_last,
               h.tick_at, h.quiet_until, ledger_time(), c.accepted
        from (
            -- One row also for a tenant without jobs.
            select coalesce(sum(c.jobs) filter (where c.state = 'delayed'), 0)::bigint as delayed,
                   coalesce(sum(c.jobs) filter (where c.state = 'waiting'), 0)::bigint as waiting,
                   coalesce(sum(c.jobs) filter (where c.state = 'running'), 0)::bigint as running,
                   coalesce(sum(c.jobs) filter (where c.state = 'publishing'), 0)::bigint as publishing,
                   coalesce(sum(c.jobs) filter (where c.state = 'completed'), 0)::bigint as completed,
                   coalesce(sum(c.jobs) filter (where c.state = 'skipped'), 0)::bigint as skipped,
                   coalesce(sum(c.jobs) filter (where c.state = 'failed'), 0)::bigint as failed,
                   coalesce(sum(c.jobs) filter (where c.state = 'cancelled'), 0)::bigint as cancelled,
                   coalesce(sum(c.jobs) filter (where c.state = 'accepted'), 0)::bigint as accepted
            from counts(true) c
        ) c
        cross join (
            select count(*) as alive, count(*) filter (where w.wish <> 'run') as quiet, coalesce(sum(w.slots), 0)::bigint as slots
            from worker w where w.ended_at is null and w.lease_until > ledger_time()
        ) w
        cross join (
            select coalesce(sum(p.completed), 0)::bigint as completed,
                   coalesce(bounded(sum(p.audio_ms), 9000000000000000000), 0) as audio_ms,
                   least(3600, extract(epoch from ledger_time() - min(p.began)))::double precision as seconds,
                   -- Work is kept by minute: the last whole one, and what there is of the current one.
                   coalesce(sum(p.completed) filter (where p.minute >= m.start), 0)::bigint as completed_last,
                   coalesce(bounded(sum(p.audio_ms) filter (where p.minute >= m.start), 9000000000000000000), 0) as audio_ms_last,
                   case when max(p.minute) >= m.start
                       then extract(epoch from ledger_time() - greatest(m.start, min(p.began) filter (where p.minute >= m.start)))
                       end::double precision as seconds_last
            from (select date_trunc('minute', ledger_time()) - interval '1 minute' as start) m
            left join pace p on p.minute > ledger_time() - interval '1 hour' and not is_tenant()
            group by m.start
        ) p
        cross join house h;
end $$;

-- The jobs of each queue in each state: sums and the rows that are not folded yet. For a tenant its own jobs, in the queues that it has
-- used. Those that are accepted only if they are wanted: release 0.1 does not know their state.
create or replace function counts(with_accepted boolean default false) returns table (queue text, state job_state, jobs bigint)
language plpgsql stable security definer set search_path from current set jit = off
as $$
#variable_conflict use_column
declare
    whose text := caller();
begin
    if is_tenant() then
        return query
            with mine as materialized (
                select c.queue, c.state, c.jobs from tenant_count c where c.tenant = tenant_of(whose)
                union all
                -- Each of them by its batch: they are few, and a plan that joins them may read all batches.
                select d.queue, d.state, d.jobs from count_delta d
                where (select b.submitter from batch b where b.id = d.batch) = whose
            )
            select q.name, s.state, coalesce((
                       select sum(m.jobs) from mine m where m.queue = q.id and m.state = s.state
                   ), 0)::bigint
            from share h join queue q on q.id = h.queue
            cross join unnest(enum_range(null::job_state)) as s (state)
            where h.submitter = whose and (with_accepted or s.state <> 'accepted') order by q.name, s.state;
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
            where with_accepted or s.state <> 'accepted'
            group by q.name, s.state order by q.name, s.state;
    end if;
end $$;

-- What ended in each minute since `since`, for charts and rates.
create or replace function paces(since timestamptz)
returns table (
    minute timestamptz, queue text, completed bigint, failed bigint, cancelled bigint, audio_ms bigint, began timestamptz
)
language sql stable security definer set search_path from current
as $$
    select refuse_tenants('read the rates of all submitters');
    select p.minute, q.name, p.completed, p.failed, p.cancelled, p.audio_ms, p.began
    from pace p join queue q on q.id = p.queue where p.minute >= since order by p.minute, q.name
$$;

-- How many jobs want a slot, for programs that start and stop workers: those of one queue, or of all. Waiting jobs count as far as
-- claims may take them now: none of a paused queue, of a limited queue only what its limit leaves, and none of a tenant that has used up
-- what it may use, whose workers would idle. Running jobs count too, because they keep their slots, and so do those that are being
-- published; `waiting_only` leaves both out. A queue that does not exist has none.
create or replace function demand(queue text default null, waiting_only boolean default false) returns bigint
language sql stable security definer set search_path from current set jit = off
as $$
    select refuse_tenants('read how many slots all submitters want');
    select coalesce(sum(
        case when n.paused then 0 else greatest(0, least(n.waiting, coalesce(n.running_limit - n.running, n.waiting))) end
        + case when demand.waiting_only then 0 else greatest(0, n.running + n.publishing) end
    ), 0)::bigint
    from (
        select q.paused, q.running_limit,
               coalesce(sum(c.jobs) filter (where c.state = 'waiting'), 0) - coalesce(max(h.jobs), 0) as waiting,
               coalesce(sum(c.jobs) filter (where c.state = 'running'), 0) as running,
               coalesce(sum(c.jobs) filter (where c.state = 'publishing'), 0) as publishing
        from queue q
        left join (
            select c.queue, c.state, c.jobs from queue_count c
            union all
            select d.queue, d.state, d.jobs from count_delta d
        ) c on c.queue = q.id
        left join (
            -- Counted for each lane, so that without marks no plan reads `waiting`.
            select l.queue, sum(w.jobs) as jobs
            from share s join lane l on l.share = s.id
            cross join lateral (select count(*) as jobs from waiting w where w.lane = l.id and w.turn >= l.floor) w
            where s.held_until > ledger_time() group by l.queue
        ) h on h.queue = q.id
        where demand.queue is null or q.name = demand.queue
        group by q.id
    ) n
$$;

-- The queues with their settings and counts. For a tenant the queues that it has used; limits and weights are set for all.
create or replace function list_queues()
returns table (
    queue text, paused boolean, running_limit integer, weight integer,
    delayed bigint, waiting bigint, running bigint, publishing bigint, completed bigint, skipped bigint,
    failed bigint, cancelled bigint, accepted bigint
)
language sql stable security definer set search_path from current set jit = off
as $$
    select q.name, q.paused, q.running_limit, q.weight,
           sum(c.jobs) filter (where c.state = 'delayed')::bigint, sum(c.jobs) filter (where c.state = 'waiting')::bigint,
           sum(c.jobs) filter (where c.state = 'running')::bigint, sum(c.jobs) filter (where c.state = 'publishing')::bigint,
           sum(c.jobs) filter (where c.state = 'completed')::bigint, sum(c.jobs) filter (where c.state = 'skipped')::bigint,
           sum(c.jobs) filter (where c.state = 'failed')::bigint,
           sum(c.jobs) filter (where c.state = 'cancelled')::bigint,
           sum(c.jobs) filter (where c.state = 'accepted')::bigint
    from queue q join counts(true) c on c.queue = q.name
    group by q.id order by q.name
$$;

-- Batches from the newest on: those before `before`, or only `only_batch`. `remarked` is the number of completed jobs with remarks.
create or replace function list_batches(before bigint default null, page integer default 50, only_batch bigint default null)
returns table (
    batch bigint, name text, key text, queue text, priority smallint, weight integer, labels jsonb, submitter text,
    created_at timestamptz, first_job bigint, last_job bigint, jobs bigint,
    delayed bigint, waiting bigint, running bigint, publishing bigint, completed bigint, skipped bigint,
    failed bigint, cancelled bigint, remarked bigint, accepted bigint, sources_skipped bigint
)
language sql stable security definer set search_path from current set jit = off
as $$
    with chosen as materialized (
        (select b.* from batch b where only_batch is null and b.id < coalesce(before, 9223372036854775807) and not is_tenant()
           and ((select sees_all()) or b.submitter = caller())
         order by b.id desc limit page)
        union all
        (select b.* from batch b where only_batch is null and b.id < coalesce(before, 9223372036854775807) and is_tenant()
           and starts_with(b.submitter, 'tenant:')
           -- Ranges, and an order by both columns, as in find_batches(): only the tenants' index gives it.
           and b.submitter >= (select caller()::text collate "default") and b.submitter <= (select caller()::text collate "default")
         order by b.submitter desc, b.id desc limit page)
        union all
        select b.* from batch b where b.id = only_batch and ((select sees_all()) or b.submitter = caller())
    ), newer as materialized (
        select d.batch, d.state, sum(d.jobs) as jobs, sum(d.remarked) as remarked from count_delta d
        where d.batch in (select id from chosen) group by d.batch, d.state
    )
    select c.id, c.name, c.key, q.name, c.priority, c.weight, c.labels, c.submitter, c.created_at, c.first_job, c.last_job,
           c.jobs,
           c.delayed + coalesce((select n.jobs from newer n where n.batch = c.id and n.state = 'delayed'), 0)::bigint,
           c.waiting + coalesce((select n.jobs from newer n where n.batch = c.id and n.state = 'waiting'), 0)::bigint,
           c.running + coalesce((select n.jobs from newer n where n.batch = c.id and n.state = 'running'), 0)::bigint,
           c.publishing + coalesce((select n.jobs from newer n where n.batch = c.id and n.state = 'publishing'), 0)::bigint,
           c.completed + coalesce((select n.jobs from newer n where n.batch = c.id and n.state = 'completed'), 0)::bigint,
           c.skipped + coalesce((select n.jobs from newer n where n.batch = c.id and n.state = 'skipped'), 0)::bigint,
           c.failed + coalesce((select n.jobs from newer n where n.batch = c.id and n.state = 'failed'), 0)::bigint,
           c.cancelled + coalesce((select n.jobs from newer n where n.batch = c.id and n.state = 'cancelled'), 0)::bigint,
           c.remarked + coalesce((select n.remarked from newer n where n.batch = c.id and n.state = 'completed'), 0)::bigint,
           c.accepted + coalesce((select n.jobs from newer n where n.batch = c.id and n.state = 'accepted'), 0)::bigint,
           c.sources_skipped
    from chosen c join queue q on q.id = c.queue
    order by c.id desc
$$;

-- The batches with this name that the caller may see, newest first, six at most. Without a name: the newest batch that the caller
-- submitted.
--
-- The bounds are ranges and the order has both columns, so that only the index on both gives it: by the primary key alone, a rare name
-- would be looked for in all batches.
create or replace function find_batches(batch_name text) returns table (batch bigint)
language plpgsql stable security definer set search_path from current set jit = off
    set enable_seqscan = off set enable_sort = off set enable_bitmapscan = off set plan_cache_mode = force_generic_plan
as $$
begin
    if batch_name is null then
        return query
            select b.id from batch b where b.submitter >= caller()::text and b.submitter <= caller()::text
            order by b.submitter desc, b.first_job desc limit 1;
    else
        return query
            select b.id from batch b
            where b.name >= batch_name and b.name <= batch_name and ((select sees_all()) or b.submitter = caller())
            order by b.name desc, b.id desc limit 6;
    end if;
end $$;

-- Batches whose jobs wait in paused queues, as far as the caller may see them, newest first, 20 at most: of each lane those that claims
-- would come to first. The turns of a lane's batches alternate.
create or replace function paused_batches() returns table (batch bigint)
language sql stable security definer set search_path from current set jit = off
as $$
    select distinct h.batch
    from open_lane() l join queue q on q.id = l.queue
    cross join lateral (
        select w.batch from waiting w where w.lane = l.id and w.turn >= l.floor order by w.turn, w.job limit 20
    ) h
    where q.paused and ((select sees_all()) or exists (select from share s where s.id = l.share and s.submitter = caller()))
    order by h.batch desc limit 20
$$;

-- Workers that have not ended, and also those that ended since `ended_since`, if given. `holds` is the number of running jobs of
-- each, `begun` that of those at which a room works: the others have been claimed ahead.
create or replace function list_workers(ended_since timestamptz default null)
returns table (
    worker bigint, name text, host text, build text, slots integer, abilities text[], wish worker_wish, status jsonb,
    started_at timestamptz, beat_at timestamptz, lease_until timestamptz, ended_at timestamptz, end_reason text, holds bigint,
    begun bigint, libraries text
)
language plpgsql volatile security definer set search_path from current set jit = off
as $$
#variable_conflict use_column
begin
    perform refuse_tenants('list workers');
    return query
        select w.id, w.name, w.host, w.build, w.slots, w.abilities, w.wish, w.status, w.started_at, w.beat_at, w.lease_until,
               w.ended_at, w.end_reason, coalesce(h.jobs, 0), coalesce(h.begun, 0), w.libraries
        from worker w
        left join (
            select r.worker, count(*) as jobs, count(r.slot) as begun from running r group by r.worker
        ) h on h.worker = w.id
        where w.ended_at is null or w.ended_at >= ended_since
        order by w.name, w.id;
end $$;

-- Lanes with waiting jobs that no running worker can do, with the missing needs: for `doctor`. For a tenant the lanes of its own jobs.
create or replace function list_unable()
returns table (queue text, priority smallint, needs text[], missing text[], example bigint)
language plpgsql volatile security definer set search_path from current set jit = off
as $$
#variable_conflict use_column
begin
    return query
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
        order by q.name, l.priority desc, l.id;
end $$;

-- The failed jobs of a batch by code, class and stage, and those that are accepted.
create or replace function failures_of(b batch, since timestamptz)
returns table (code text, class failure_class, stage text, jobs bigint, accepted bigint, last_at timestamptz, example bigint)
language plpgsql stable security definer set search_path from current
    -- With the batch's ids as constants the planner leaves out spans that contain none of them.
    set plan_cache_mode = force_custom_plan set jit = off
as $$
begin
    return query
        select f.code::text, f.class, f.stage, count(*) filter (where f.state = 'failed'), count(*) filter (where f.state = 'accepted'),
               max(f.ended_at), coalesce(max(f.job) filter (where f.state = 'failed'), max(f.job))
        from finished f
        where f.queue = b.queue and f.state in ('failed', 'accepted') and f.batch = b.id and f.job >= b.first_job and f.job <= b.last_job
          and (since is null or f.ended_at >= since)
        group by 1, 2, 3;
end $$;

-- Failures by code, class and stage, the most frequent first. `jobs` is the number of jobs that ended so and are not `accepted`; `attempts`
-- includes those that were retried since.
--
-- Without `batch_id` this reads the hourly counts. For a batch it counts the jobs themselves. For a tenant it counts its failed jobs, the
-- latest 100,000 at most: the hourly counts are of all submitters.
create or replace function list_failures(since timestamptz default null, queue_name text default null, batch_id bigint default null)
returns table (
    code text, class failure_class, stage text, jobs bigint, attempts bigint, last_at timestamptz, example bigint,
    example_source text, example_hint text, accepted bigint
)
language plpgsql stable security definer set search_path from current
    set jit = off set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    filter jsonb;
begin
    -- According to the lock order, because this function reads two tables of spans: see locks.sql.
    perform share_job_lock();
    if is_tenant() then
        filter := jsonb_strip_nulls(jsonb_build_object(
            'states', '["failed", "accepted"]'::jsonb, 'ended_from', since, 'queue', queue_name, 'batch', batch_id));
        return query
            with kind as materialized (
                select (f.ended).code::text as code, (f.ended).class as class, (f.ended).stage as stage,
                       count(*) filter (where f.state = 'failed') as jobs, null::bigint as attempts,
                       max((f.ended).ended_at) as last_at, coalesce(max(f.job) filter (where f.state = 'failed'), max(f.job)) as example,
                       count(*) filter (where f.state = 'accepted') as accepted
                from find_page(filter, null, 100000, true) f where f.state is not null
                group by 1, 2, 3
            )
            select k.code, k.class, k.stage, k.jobs, k.attempts, k.last_at, k.example, j.source, h.hint, k.accepted
            from kind k left join job_rows(array(select k.example from kind k)) j on j.id = k.example
            left join last_hints(array(select k.example from kind k)) h on h.job = k.example and h.code = k.code
            order by k.jobs desc, k.code;
        return;
    end if;
    return query
        with kind as materialized (
            select f.code, f.class, f.stage, f.jobs, null::bigint as attempts, f.last_at, f.example, f.accepted
            from batch b cross join lateral failures_of(b, since) f
            where b.id = batch_id
            union all
            select n.code::text, n.class, n.stage, sum(n.jobs)::bigint, sum(n.attempts)::bigint, max(n.last_at),
                   (array_agg(n.example order by n.jobs > 0 desc, n.last_at desc))[1], sum(n.accepted)::bigint
            from (
                select c.queue, c.code, c.class, c.stage, c.jobs, c.attempts, c.last_at, c.example, c.accepted from failure_count c
                where since is null or c.hour >= date_trunc('hour', since)
                union all
                select d.queue, d.code, d.class, d.stage, d.jobs, d.attempts, d.at, d.example, d.accepted from failure_delta d
                where since is null or d.at >= date_trunc('hour', since)
            ) n
            where batch_id is null and (queue_name is null or n.queue = (select q.id from queue q where q.name = queue_name))
            group by 1, 2, 3 having sum(n.attempts) > 0
        )
        select k.code, k.class, k.stage, k.jobs, k.attempts, k.last_at, k.example, j.source, h.hint, k.accepted
        from kind k left join job_rows(array(select k.example from kind k where (select sees_all()))) j on j.id = k.example
        left join last_hints(array(select k.example from kind k where (select sees_all()))) h
            on h.job = k.example and h.code = k.code
        order by k.jobs desc, k.attempts desc, k.code;
end $$;

-- How many attempts failed in each hour, by code, class and stage, since the hour of `since`: from the hourly counts, which are of all
-- submitters.
create or replace function failure_hours(since timestamptz, queue_name text default null)
returns table (code text, class failure_class, stage text, hour timestamptz, attempts bigint)
language plpgsql stable security definer set search_path from current set jit = off
as $$
#variable_conflict use_column
begin
    perform refuse_tenants('see the failures of all');
    return query
        select n.code::text, n.class, n.stage, n.hour, sum(n.attempts)::bigint
        from (
            select c.queue, c.code, c.class, c.stage, c.hour, c.attempts from failure_count c where c.hour >= date_trunc('hour', since)
            union all
            select d.queue, d.code, d.class, d.stage, date_trunc('hour', d.at), d.attempts from failure_delta d
            where d.at >= date_trunc('hour', since)
        ) n
        where queue_name is null or n.queue = (select q.id from queue q where q.name = queue_name)
        group by 1, 2, 3, 4 having sum(n.attempts) > 0
        order by 4, 1, 2, 3;
end $$;

-- What the last failed attempts at some jobs say that can be done.
create or replace function last_hints(job_ids bigint[]) returns table (job bigint, code text, hint text)
language sql stable set search_path from current
as $$
    select distinct on (a.job) a.job, a.code::text, a.hint from attempt_rows(job_ids) a where a.code is not null
    order by a.job, a.epoch desc
$$;
