-- Why: the overview for people and programs: the ledger as a whole, queues, batches and workers. Counts are read from folded sums,
-- never by counting jobs.
select set_config('role', pg_get_userbyid(nspowner), true) from pg_namespace where nspname = current_schema();

-- MARK: Counts

create function counts() returns table (queue text, state job_state, jobs bigint)
language sql stable security definer set search_path from current set jit = off
as $$
    select q.name, s.state, coalesce(sum(n.jobs), 0)::bigint
    from queue q
    cross join unnest(enum_range(null::job_state)) as s (state)
    left join (
        select c.queue, c.state, c.jobs from queue_count c
        union all
        select d.queue, d.state, d.jobs from count_delta d
    ) n on n.queue = q.id and n.state = s.state
    group by q.name, s.state order by q.name, s.state
$$;

-- How many jobs want a slot, for programs that start and stop workers: those of one queue, or of all. Waiting jobs count as far as
-- claims may take them now: none of a paused queue, and of a limited queue only what its limit leaves. Running jobs count too, because
-- they keep their slots, and so do those that are being published; `waiting_only` leaves both out. A queue that does not exist has none.
create function demand(queue text default null, waiting_only boolean default false) returns bigint
language sql stable security definer set search_path from current set jit = off
as $$
    select coalesce(sum(
        case when n.paused then 0 else greatest(0, least(n.waiting, coalesce(n.running_limit - n.running, n.waiting))) end
        + case when demand.waiting_only then 0 else greatest(0, n.running + n.publishing) end
    ), 0)::bigint
    from (
        select q.paused, q.running_limit,
               coalesce(sum(c.jobs) filter (where c.state = 'waiting'), 0) as waiting,
               coalesce(sum(c.jobs) filter (where c.state = 'running'), 0) as running,
               coalesce(sum(c.jobs) filter (where c.state = 'publishing'), 0) as publishing
        from queue q
        left join (
            select c.queue, c.state, c.jobs from queue_count c
            union all
            select d.queue, d.state, d.jobs from count_delta d
        ) c on c.queue = q.id
        where demand.queue is null or q.name = demand.queue
        group by q.id
    ) n
$$;

-- One row about the whole ledger. `oldest_waiting` looks at the heads of the lanes.
create function status()
returns table (
    delayed bigint, waiting bigint, running bigint, publishing bigint, completed bigint, skipped bigint,
    failed bigint, cancelled bigint,
    oldest_waiting timestamptz, workers bigint, workers_quiet bigint, slots bigint,
    completed_last_hour bigint, audio_ms_last_hour bigint, pace_seconds double precision,
    kept_house_at timestamptz, quiet_until timestamptz, ledger_time timestamptz
)
language sql volatile security definer set search_path from current set jit = off
as $$
    select sum(c.jobs) filter (where c.state = 'delayed')::bigint, sum(c.jobs) filter (where c.state = 'waiting')::bigint,
           sum(c.jobs) filter (where c.state = 'running')::bigint, sum(c.jobs) filter (where c.state = 'publishing')::bigint,
           sum(c.jobs) filter (where c.state = 'completed')::bigint, sum(c.jobs) filter (where c.state = 'skipped')::bigint,
           sum(c.jobs) filter (where c.state = 'failed')::bigint,
           sum(c.jobs) filter (where c.state = 'cancelled')::bigint,
           (select min(h.since) from open_lane() l cross join lateral (
                select w.since from waiting w where w.lane = l.id and w.turn >= l.floor order by w.turn, w.job limit 1
            ) h),
           w.alive, w.quiet, w.slots, p.completed, p.audio_ms, p.seconds, h.tick_at, h.quiet_until, ledger_time()
    from counts() c
    cross join (
        select count(*) as alive, count(*) filter (where w.wish <> 'run') as quiet, coalesce(sum(w.slots), 0)::bigint as slots
        from worker w where w.ended_at is null and w.lease_until > ledger_time()
    ) w
    cross join (
        select coalesce(sum(p.completed), 0)::bigint as completed,
               coalesce(bounded(sum(p.audio_ms), 9000000000000000000), 0) as audio_ms,
               least(3600, extract(epoch from ledger_time() - min(p.began)))::double precision as seconds
        from pace p where p.minute > ledger_time() - interval '1 hour'
    ) p
    cross join house h
    group by w.alive, w.quiet, w.slots, p.completed, p.audio_ms, p.seconds, h.tick_at, h.quiet_until
$$;

-- What ended in each minute since `since`, for charts and rates.
create function paces(since timestamptz)
returns table (
    minute timestamptz, queue text, completed bigint, failed bigint, cancelled bigint, audio_ms bigint, began timestamptz
)
language sql stable security definer set search_path from current
as $$
    select p.minute, q.name, p.completed, p.failed, p.cancelled, p.audio_ms, p.began
    from pace p join queue q on q.id = p.queue where p.minute >= since order by p.minute, q.name
$$;

create function list_queues()
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

-- Batches from the newest on: those before `before`, or only `only_batch`. `remarked` is the number of completed jobs with remarks.
create function list_batches(before bigint default null, page integer default 50, only_batch bigint default null)
returns table (
    batch bigint, name text, key text, queue text, priority smallint, weight integer, labels jsonb, submitter text,
    created_at timestamptz, first_job bigint, last_job bigint, jobs bigint,
    delayed bigint, waiting bigint, running bigint, publishing bigint, completed bigint, skipped bigint,
    failed bigint, cancelled bigint, remarked bigint
)
language sql stable security definer set search_path from current set jit = off
as $$
    with chosen as materialized (
        (select b.* from batch b where only_batch is null and b.id < coalesce(before, 9223372036854775807)
           and ((select sees_all()) or b.submitter = session_user)
         order by b.id desc limit page)
        union all
        select b.* from batch b where b.id = only_batch and ((select sees_all()) or b.submitter = session_user)
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
           c.remarked + coalesce((select n.remarked from newer n where n.batch = c.id and n.state = 'completed'), 0)::bigint
    from chosen c join queue q on q.id = c.queue
    order by c.id desc
$$;

-- Workers that have not ended, and also those that ended since `ended_since`, if given. `holds` is the number of running jobs of
-- each.
create function list_workers(ended_since timestamptz default null)
returns table (
    worker bigint, name text, host text, build text, slots integer, abilities text[], wish worker_wish, status jsonb,
    started_at timestamptz, beat_at timestamptz, lease_until timestamptz, ended_at timestamptz, end_reason text, holds bigint
)
language sql volatile security definer set search_path from current set jit = off
as $$
    select w.id, w.name, w.host, w.build, w.slots, w.abilities, w.wish, w.status, w.started_at, w.beat_at, w.lease_until,
           w.ended_at, w.end_reason, coalesce(h.jobs, 0)
    from worker w
    left join (select r.worker, count(*) as jobs from running r group by r.worker) h on h.worker = w.id
    where w.ended_at is null or w.ended_at >= ended_since
    order by w.name, w.id
$$;

-- The batches with this name that the caller may see, newest first, six at most. Without a name: the newest batch that the caller
-- submitted.
--
-- The bounds are ranges and the order has both columns, so that only the index on both gives it: by the primary key alone, a rare name
-- would be looked for in all batches.
create function find_batches(batch_name text) returns table (batch bigint)
language plpgsql stable security definer set search_path from current set jit = off
    set enable_seqscan = off set enable_sort = off set enable_bitmapscan = off set plan_cache_mode = force_generic_plan
as $$
begin
    if batch_name is null then
        return query
            select b.id from batch b where b.submitter >= session_user::text and b.submitter <= session_user::text
            order by b.submitter desc, b.first_job desc limit 1;
    else
        return query
            select b.id from batch b
            where b.name >= batch_name and b.name <= batch_name and ((select sees_all()) or b.submitter = session_user)
            order by b.name desc, b.id desc limit 6;
    end if;
end $$;

select allow('sluice_viewer', 'find_batches');
select allow('sluice_operator', 'find_batches');
select allow('sluice_submitter', 'find_batches');
select allow('sluice_viewer', 'demand', 'counts', 'status', 'paces', 'list_queues', 'list_batches', 'list_workers');
select allow('sluice_operator', 'demand', 'counts', 'status', 'paces', 'list_queues', 'list_batches', 'list_workers');
select allow('sluice_submitter', 'demand', 'counts', 'status', 'paces', 'list_queues', 'list_batches', 'list_workers');
select set_config('role', 'none', true);
