-- What a monitoring system reads: counters that only grow, and the state of the moment. The counters survive the jobs that they counted and
-- every process. Reading them costs the same however many jobs the ledger holds.

-- All metrics of the ledger, one row for each value. `key` is the state, the outcome, the code and so on, and `class` belongs to
-- `attempts`. Counters come from sums and the rows that are not folded yet, in one snapshot.
create or replace function ledger_metrics() returns table (meter text, queue text, key text, class text, amount double precision)
language sql volatile security definer set search_path from current set jit = off
as $$
    select refuse_tenants('read the metrics');
    with live as materialized (
        select w.slots, w.status, case
                   when w.wish <> 'run' then w.wish::text
                   when w.status ->> 'pausedBecause' is not null and w.status -> 'pausedRoots' is null then 'paused'
                   else 'run'
               end as state
        from worker w where w.ended_at is null and w.lease_until > (select ledger_time())
    ), busy as (
        select coalesce(sum(l.slots), 0) as slots, coalesce(sum(case
                   when jsonb_typeof(l.status -> 'busySlots') = 'number'
                   then least(greatest((l.status ->> 'busySlots')::numeric, 0), l.slots)
               end), 0) as busy
        from live l
    )
    select m.meter, q.name, m.key, m.class, sum(m.amount)::double precision
    from (
        select t.meter, t.queue, t.key, t.class, t.amount from meter_total t
        union all
        select p.meter, p.queue, p.key, p.class, p.amount from meter_delta d cross join lateral meter_parts(d) p
        union all
        select p.meter, p.queue, p.key, p.class, p.amount
        from count_delta d
        cross join lateral count_parts(d.queue, d.state, d.codec, d.bucket, d.jobs, d.seconds::numeric, d.audio_ms, d.bytes) p
        where d.bucket is not null
        union all
        select 'failures', 0, f.code, '', f.attempts from failure_delta f
    ) m left join queue q on q.id = m.queue
    group by m.meter, q.name, m.key, m.class
    union all
    select 'jobs', c.queue, c.state::text, '', c.jobs from counts(true) c
    union all
    select 'oldest', q.name, '', '', coalesce(max(span_seconds(o.since, ledger_time())), 0)
    from queue q left join oldest_of_lanes() o on o.queue = q.id
    group by q.name
    union all
    select 'unsent', null, '', '', coalesce((select u.deliveries from unsent_deliveries() u), 0)
    union all
    select 'slots', null, s.state, '', s.slots
    from busy b cross join lateral (values ('busy', b.busy), ('free', b.slots - b.busy)) as s (state, slots)
    union all
    select 'workers', null, s.state, '', count(l.state)
    from (values ('run'), ('paused'), ('quiet'), ('drain')) as s (state) left join live l on l.state = s.state group by s.state
    union all
    select 'paused_roots', null, r.root, '', count(*)
    from live l cross join lateral (
        select jsonb_array_elements_text(case when jsonb_typeof(l.status -> 'pausedRoots') = 'array'
                                              then l.status -> 'pausedRoots' else '[]' end)
        union
        select e ->> 'name' from jsonb_array_elements(case when jsonb_typeof(l.status -> 'unwritableRoots') = 'array'
                                                           then l.status -> 'unwritableRoots' else '[]' end) e
    ) as r (root) where r.root is not null group by r.root
    union all
    select 'housekeeping', null, '', '', date_part('epoch', h.tick_at) from house h where h.tick_at > '-infinity'
    union all
    select 'dead_rows', null, c.relname, '', pg_stat_get_dead_tuples(c.oid)
    from pg_class c
    where c.relnamespace = current_schema()::regnamespace and c.relname in (
        'waiting', 'delayed', 'running', 'publishing', 'count_delta', 'failure_delta', 'meter_delta', 'lane', 'worker', 'queue_count'
    )
$$;

-- Since when the oldest job of each lane waits. One look at the index for each open lane, however many jobs wait.
create or replace function oldest_of_lanes() returns table (queue integer, share integer, since timestamptz)
language plpgsql stable security definer set search_path from current
    set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set jit = off
as $$
#variable_conflict use_column
begin
    return query
        select l.queue, l.share, h.since from open_lane() l
        cross join lateral (select w.since from waiting w where w.lane = l.id order by w.since limit 1) h;
end $$;

-- The age in seconds of the oldest transaction in this database whose snapshot keeps dead rows from being removed; 0 if there is none.
-- Null unless the caller's login may see the sessions of others: `grant pg_read_all_stats`. It has the rights of the caller, for no
-- other reason than that.
create or replace function oldest_snapshot_age() returns double precision
language sql volatile set search_path from current
as $$
    select case when pg_has_role(current_user, 'pg_read_all_stats', 'usage') then greatest(0, coalesce((
        select max(date_part('epoch', clock_timestamp() - o.since))
        from (
            select a.xact_start as since from pg_stat_activity a
            where a.datname = current_database() and a.pid <> pg_backend_pid() and a.backend_type = 'client backend'
                and (a.backend_xmin is not null or a.backend_xid is not null)
            union all
            select p.prepared from pg_prepared_xacts p where p.database = current_database()
        ) o
    ), 0)) end
$$;
