-- Why: how a worker gets work. A claim takes many jobs in one short call, from the heads of the lanes that this worker can serve. It
-- reads nothing else: no finished jobs, no jobs that the worker cannot do, no dead rows.
--
-- The planner's switches are set on the functions because a session keeps a plan that was made while a table was empty, and the plan
-- must still be right when a million jobs wait. For the same reason hot tables are always entered by `job = any (...)` or by a
-- lateral join with a limit. The planner knows how few rows are alive, but not how many dead ones a long transaction keeps there,
-- and a scan of the whole index would read them all.
--
-- `enable_nestloop = off` is set where arrays are joined to hot tables: if the tables were empty when they were analyzed, the plan
-- would compare each element with each row. Such a function looks up other values in sub-selects, and the functions that it calls
-- set the switch for themselves.
select set_config('role', pg_get_userbyid(nspowner), true) from pg_namespace where nspname = current_schema();

-- MARK: Shares

-- The oldest generation of `service` rows that counts. If more than four foldings happen between the start of a claim and its commit,
-- the rows of that claim are not counted.
create function first_generation() returns bigint
language plpgsql volatile security definer set search_path from current
as $$ begin return (select last_value - 4 from service_generation); end $$;

-- Adds the service that claims have given to the finish tags of queues and submitters, and to the virtual times. Returns the number
-- of rows folded.
--
-- A tag grows by cost x 100 / weight, starting from its old value or from the virtual time, whichever is later, so that
-- unused service cannot be saved up. With `ranked`, this also ranks the lanes again, if there are more of them than a claim looks at.
create function fold_service(ranked boolean default false) returns integer
language plpgsql security definer set search_path from current
    set enable_seqscan = off set enable_bitmapscan = off set jit = off
as $$
declare
    oldest bigint := first_generation();
    folded integer;
    served integer[];
begin
    if not pg_try_advisory_xact_lock('service'::regclass::oid::integer, 0) then
        return 0;
    end if;
    served := array(select distinct s.queue from service s where s.generation >= oldest and s.queue is not null);
    if cardinality(served) = 0 then
        return 0;
    end if;
    -- In the order in which claims lock the queues that have limits. A claim that calls this function already holds lanes, so it
    -- must not wait.
    if ranked then
        perform from queue q where q.id = any (served) order by q.id for no key update;
    elsif cardinality(served) > (select count(*) from (
        select from queue q where q.id = any (served) order by q.id for no key update skip locked
    ) q) then
        return 0;
    end if;
    with gone as materialized (
        -- Leaves out queues that were served since, because they are not locked.
        delete from service s where s.generation >= oldest and (s.queue is null or s.queue = any (served)) returning s.*
    ), queues as (
        update queue q
        set finish = greatest(q.finish, g.root_clock) + g.cost * 100 / q.weight, clock = greatest(q.clock, g.clock)
        from (
            select g.queue, min(g.root_clock) as root_clock, max(g.share_tag) as clock, sum(g.cost)::bigint as cost
            from gone g where g.queue is not null group by g.queue
        ) g
        where q.id = g.queue
    ), shares as (
        update share s set finish = greatest(s.finish, g.queue_clock) + g.cost * 100 / s.weight
        from (
            select g.share, min(g.queue_clock) as queue_clock, sum(g.cost)::bigint as cost
            from gone g where g.share is not null group by g.share
        ) g
        where s.id = g.share
    ), root as (
        insert into service (generation, root_clock, queue_tag)
        select nextval('service_generation'), max(greatest(g.root_clock, g.queue_tag)), max(greatest(g.root_clock, g.queue_tag))
        from gone g
    )
    select count(*) into folded from gone;
    if ranked and (select count(*) from (select from lane l where l.is_open limit 201) l) > 200 then
        perform from lane l where l.queue = any (served) and l.is_open order by l.id for no key update;
        update lane l set queue_rank = q.finish, share_rank = s.finish
        from queue q, share s
        where l.queue = any (served) and l.is_open and q.id = l.queue and s.id = l.share
          and (l.queue_rank, l.share_rank) <> (q.finish, s.finish);
    end if;
    return folded;
end $$;

-- A lane in which a job waits, as a claim sees it.
create type open_lane as (
    lane integer, queue integer, share integer, priority smallint,
    -- The turn of its first job.
    head bigint,
    -- The number of its queue's jobs that may still be claimed; null means no limit.
    capacity integer,
    -- The start tags of the next job of its queue and of its submitter, the weights by which these advance, and the virtual times.
    queue_tag bigint, queue_weight integer, root_clock bigint, share_tag bigint, share_weight integer, queue_clock bigint,
    -- Whether the floor was last raised a while ago and is below the head, so that dead rows may lie between the two.
    lags boolean
);

-- The lanes in which jobs wait, from which a worker with these abilities may take, and whose queues are below their limits. Returns
-- about `most` of them, in order of priority and then of shares. Shares, tags and times are as of the last folding. `capacity` is the
-- queue's limit. The number of a queue's running jobs includes counts that are committed but not yet folded.
create function open_lanes(abilities text[], queue_names text[], most integer, t timestamptz) returns setof open_lane
language plpgsql volatile security definer set search_path from current
    set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set enable_hashjoin = off
    set enable_mergejoin = off set jit = off
    set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
begin
    return query
        select l.id, q.id, s.id, l.priority, h.turn, q.running_limit, q.finish, q.weight, 0::bigint, s.finish, s.weight,
               q.clock, l.floor < h.turn and l.moved_at < t - interval '200 ms'
        from lane l join queue q on q.id = l.queue join share s on s.id = l.share
        cross join lateral (
            select w.turn from waiting w where w.lane = l.id and w.turn >= l.floor order by w.turn, w.job limit 1
        ) h
        where l.is_open and not q.paused and l.needs <@ abilities and (queue_names is null or q.name = any (queue_names))
          and (q.running_limit is null or q.running_limit >
               coalesce((select c.jobs from queue_count c where c.queue = q.id and c.state = 'running'), 0)
               + coalesce((select sum(d.jobs) from count_delta d where d.queue = q.id and d.state = 'running'), 0))
        order by l.priority desc, l.queue_rank, l.share_rank, l.id limit most;
    -- Plus the lanes that were opened since housekeeping last ran.
    return query
        select l.id, q.id, s.id, l.priority, h.turn, q.running_limit, q.finish, q.weight, 0::bigint, s.finish, s.weight,
               q.clock, l.floor < h.turn and l.moved_at < t - interval '200 ms'
        from (select distinct lane from opened) o
        cross join lateral (select * from lane where lane.id = o.lane and not lane.is_open limit 1) l
        join queue q on q.id = l.queue join share s on s.id = l.share
        cross join lateral (
            select w.turn from waiting w where w.lane = l.id and w.turn >= l.floor order by w.turn, w.job limit 1
        ) h
        where not q.paused and l.needs <@ abilities and (queue_names is null or q.name = any (queue_names))
          and (q.running_limit is null or q.running_limit >
               coalesce((select c.jobs from queue_count c where c.queue = q.id and c.state = 'running'), 0)
               + coalesce((select sum(d.jobs) from count_delta d where d.queue = q.id and d.state = 'running'), 0))
        limit most;
end $$;

-- The same lanes with the current tags and virtual times, which include the service that claims have given since the last folding.
--
-- It needs hash joins. claim() turns them off, and its settings hold in the functions that it calls; each lane would then be
-- compared with each row.
create function weigh_lanes(lanes open_lane[]) returns setof open_lane
language plpgsql volatile security definer set search_path from current
    set enable_seqscan = off set enable_bitmapscan = off set enable_nestloop = off set enable_hashjoin = on set jit = off
    set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    oldest bigint := first_generation();
    root bigint;
begin
    root := coalesce((select max(greatest(s.root_clock, s.queue_tag)) from service s where s.generation >= oldest), 0);
    return query
        with recent as materialized (
            select s.* from service s where s.generation >= oldest and s.queue is not null
        ), of_queue as materialized (
            select r.queue, min(r.root_clock) as root_clock, sum(r.cost)::bigint as cost, max(r.share_tag) as clock
            from recent r group by r.queue
        ), of_share as materialized (
            select r.share, min(r.queue_clock) as queue_clock, sum(r.cost)::bigint as cost from recent r group by r.share
        )
        select l.lane, l.queue, l.share, l.priority, l.head, l.capacity,
               greatest(root, greatest(l.queue_tag, q.root_clock) + coalesce(q.cost, 0) * 100 / l.queue_weight),
               l.queue_weight, root,
               greatest(l.queue_clock, q.clock,
                        greatest(l.share_tag, s.queue_clock) + coalesce(s.cost, 0) * 100 / l.share_weight),
               l.share_weight, greatest(l.queue_clock, q.clock), l.lags
        from unnest(lanes) l left join of_queue q on q.queue = l.queue left join of_share s on s.share = l.share;
end $$;

-- MARK: Claiming

-- How many jobs to take from each of these lanes, which have the same priority. The lanes are merged by the tags of their queues,
-- within a queue by the tags of its submitters, and within a submitter by turn.
create function merge_lanes(lanes open_lane[], wanted integer)
returns table (lane integer, take integer, queue_tag bigint, share_tag bigint)
language plpgsql volatile security definer set search_path from current
    set enable_seqscan = off set enable_bitmapscan = off set jit = off set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
begin
    return query with lane_head as materialized (
        select * from unnest(lanes)
    ), near as materialized (
        -- Each queue has at least one job, so `wanted` queues are enough.
        select l.queue from (select distinct l.queue, l.queue_tag from lane_head l) l order by l.queue_tag, l.queue limit wanted
    ), candidate as materialized (
        select l.*, w.turn, w.job, w.cost::bigint * 100 as cost
        from lane_head l cross join lateral (
            select w.turn, w.job, w.cost from waiting w
            where w.lane = l.lane and w.turn >= l.head order by w.turn, w.job limit wanted
        ) w
        where l.queue in (select n.queue from near n)
    ), by_share as materialized (
        select c.*, c.share_tag + coalesce(
            sum(c.cost / c.share_weight) over (partition by c.share order by c.turn, c.job
                                               rows between unbounded preceding and 1 preceding), 0)::bigint as share_start
        from candidate c
    ), by_queue as materialized (
        select s.*, row_number() over in_queue as place, s.queue_tag + coalesce(
            sum(s.cost / s.queue_weight) over (in_queue rows between unbounded preceding and 1 preceding), 0)::bigint
            as queue_start
        from by_share s window in_queue as (partition by s.queue order by s.share_start, s.share, s.turn, s.job)
    ), best as (
        select q.lane, q.queue_start, q.share_start from by_queue q where q.capacity is null or q.place <= q.capacity
        order by q.queue_start, q.queue, q.place limit wanted
    )
    select b.lane, count(*)::integer, max(b.queue_start), max(b.share_start) from best b group by b.lane;
end $$;

-- Takes up to `wanted` jobs for a worker: by priority (higher first), then fairly among queues, among the submitters of a queue, and
-- among the batches of a submitter.
--
-- `queue_names` restricts the claim to these queues. Throws SQLSTATE SL001 if the worker has been ended; an expired lease is
-- revived. Epoch and lease id are the fence, which every later write repeats. `claim_number` grows with every claim of a worker. A
-- worker gives up an unanswered claim with bar_claims(); from then on held() lists all that the claim took.
create function claim(
    worker_id bigint, worker_secret uuid, wanted integer, queue_names text[] default null, claim_number bigint default null
)
returns table (
    job bigint, epoch integer, lease_id uuid, batch bigint, queue text, priority smallint, recipe jsonb, cost integer,
    labels jsonb, attempt integer, max_attempts smallint, lost smallint, room_deaths smallint, workers_lost smallint
)
language plpgsql security definer set search_path from current
    set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set enable_mergejoin = off set jit = off
    set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    t timestamptz := ledger_time();
    due_from timestamptz;
    me worker;
    -- The open lanes. The claim does not look before their heads: it leaves jobs that have returned to earlier turns since to the next
    -- claim.
    lanes open_lane[];
    here open_lane[];
    -- How many jobs to take from each of `here`, and the highest start tags of these jobs.
    takes integer[];
    queue_tags bigint[];
    share_tags bigint[];
    limited integer[];
    is_shared boolean;
    has_limits boolean;
    -- Whether there are so many lanes that claims must not look at empty ones.
    is_crowded boolean;
    oldest bigint;
    lane_id integer;
    level smallint;
    missing integer := least(wanted, 1000);
    fence uuid := overlay(gen_random_uuid()::text placing (select mark from setting) from 1);
    taken integer;
begin
    -- Must come first: see the lock order in 0002_tables.sql.
    perform pg_advisory_xact_lock_shared('job'::regclass::oid::integer, 0);
    -- Locked until the commit, so that reap() cannot end this worker as lost and miss the jobs that it is about to take.
    select * into me from worker w where w.id = claim.worker_id for no key update;
    perform check_secret(me.secret, claim.worker_secret);
    if me.id is null or me.ended_at is not null then
        raise exception 'the lease of worker % is over', claim.worker_id using errcode = 'SL001';
    end if;
    if me.lease_until <= t then
        -- Otherwise reap() would take the claimed jobs away before the worker can beat.
        update worker w set lease_until = t + (select s.lease from setting s), revived_at = t where w.id = me.id;
    end if;
    if missing <= 0 or me.wish <> 'run' or claim.claim_number < me.claims_from then
        return;
    end if;

    -- Moves due jobs to their lanes, in case housekeeping has not run yet. The check is one index look-up.
    due_from := delayed_from();
    if exists (select from delayed d where d.ready_at >= due_from and d.ready_at <= t) then
        perform wake_delayed(100);
    end if;

    -- More lanes than needed: each has a job, and service that is not yet folded changes the order of at most some two hundred.
    lanes := array(select l from open_lanes(me.abilities, claim.queue_names, missing + 256, t) l);
    is_shared := (select count(distinct l.share) > 1 from unnest(lanes) l);
    if is_shared then
        lanes := array(select l from weigh_lanes(lanes) l);
    end if;
    has_limits := exists (select from unnest(lanes) l where l.capacity is not null);
    is_crowded := cardinality(lanes) > 100;
    if has_limits then
        -- Claims from a limited queue run one after another, or two of them would fill the same gap. This locks as many queues as
        -- the claim could use.
        limited := array(
            select l.queue from (
                select l.queue, l.capacity, dense_rank() over (partition by l.priority order by l.queue_tag, l.queue) as place
                from unnest(lanes) l
            ) l where l.capacity is not null and l.place <= missing
        );
        perform from queue q where q.id = any (limited) order by q.id for no key update;
    end if;

    while missing > 0 and cardinality(lanes) > 0 loop
        -- One priority after the other, from the highest.
        level := (select max(l.priority) from unnest(lanes) l);
        here := array(select l from unnest(lanes) l where l.priority = level);
        lanes := array(select l from unnest(lanes) l where l.priority < level);
        if has_limits then
            here := array(
                select row(l.lane, l.queue, l.share, l.priority, l.head, l.capacity - n.jobs, l.queue_tag, l.queue_weight,
                           l.root_clock, l.share_tag, l.share_weight, l.queue_clock, l.lags)::open_lane
                from unnest(here) l
                left join (
                    select q.id, coalesce((select c.jobs from queue_count c where c.queue = q.id and c.state = 'running'), 0)
                        + coalesce((select sum(d.jobs) from count_delta d where d.queue = q.id and d.state = 'running'), 0) as jobs
                    from (select distinct id from unnest(limited) q (id)) q
                ) n on n.id = l.queue
                where l.capacity is null or n.jobs < l.capacity
            );
            continue when cardinality(here) = 0;
        end if;
        if cardinality(here) = 1 then
            takes := array[least(missing, here[1].capacity)];
            queue_tags := array[here[1].queue_tag];
            share_tags := array[here[1].share_tag];
        else
            select array_agg(m.take order by h.place), array_agg(m.queue_tag order by h.place),
                   array_agg(m.share_tag order by h.place)
            into takes, queue_tags, share_tags
            from unnest(here) with ordinality as h (
                lane, queue, share, priority, head, capacity, queue_tag, queue_weight, root_clock, share_tag, share_weight,
                queue_clock, lags, place
            ) left join merge_lanes(here, missing) m on m.lane = h.lane;
        end if;

        return query
            with lane_head as materialized (
                select h.*, n.take, n.queue_start, n.share_start
                from unnest(takes, queue_tags, share_tags) with ordinality as n (take, queue_start, share_start, place)
                join unnest(here) with ordinality as h (
                    lane, queue, share, priority, head, capacity, queue_tag, queue_weight, root_clock, share_tag, share_weight,
                    queue_clock, lags, place
                ) on h.place = n.place
                where n.take > 0
            ), chosen as materialized (
                select w.ctid as place from lane_head l
                cross join lateral (
                    select w.ctid from waiting w
                    where w.lane = l.lane and w.turn >= l.head
                    order by w.turn, w.job limit l.take for update skip locked
                ) w
            ), gone as (
                -- The rows are locked, so no other row can take their place.
                delete from waiting w where w.ctid = any (array(select c.place from chosen c)) returning w.*
            ), held as (
                insert into running as r
                    (job, batch, lane, cost, turn, epoch, spent, lost, room_deaths, since, lease_id, worker, moved_at)
                select g.job, g.batch, g.lane, g.cost, g.turn, g.epoch + 1, g.spent, g.lost, g.room_deaths, t, fence, me.id, t
                from gone g
                returning r.*
            ), counted as (
                insert into count_delta (queue, batch, state, jobs, at)
                select l.queue, n.batch, s.state, s.sign * n.jobs, t
                from (select h.lane, h.batch, count(*)::integer as jobs from held h group by h.lane, h.batch) n
                cross join lateral (select * from lane where lane.id = n.lane limit 1) l
                cross join (values ('waiting'::job_state, -1), ('running', 1)) as s (state, sign)
            ), served as (
                insert into service (generation, queue, share, cost, root_clock, queue_clock, queue_tag, share_tag)
                select (select last_value from service_generation), l.queue, l.share, n.cost, l.root_clock, l.queue_clock,
                       l.queue_start, l.share_start
                from (select h.lane, sum(h.cost) as cost from held h group by h.lane) n join lane_head l on l.lane = n.lane
                where is_shared
            )
            select h.job, h.epoch, h.lease_id, h.batch, q.name, l.priority, j.recipe, j.cost, j.labels,
                   h.spent + 1, j.max_attempts, h.lost, h.room_deaths,
                   coalesce((select s.workers_lost from suspect s where s.job = h.job), 0::smallint)
            from held h
            join jobs_of(array(select h.job from held h order by h.job)) j on j.id = h.job
            cross join lateral (select * from lane where lane.id = h.lane limit 1) l
            cross join lateral (select * from queue where queue.id = l.queue limit 1) q
            order by h.turn, h.job;
        get diagnostics taken = row_count;
        missing := missing - taken;

        -- If claims take hundreds of jobs between two rounds of housekeeping, and a long transaction elsewhere keeps their dead
        -- rows, the next claims would read all of them.
        if taken >= 50 then
            for lane_id in select l.lane from unnest(here) l where l.lags loop
                -- Not while a submission holds the lane.
                if pg_try_advisory_xact_lock('lane'::regclass::oid::integer, lane_id) then
                    perform lift_floor(lane_id);
                end if;
            end loop;
        end if;
        -- Every later claim would look at the lanes that this claim has emptied, until housekeeping runs: thousands of lanes, if
        -- each queue has a job or two. At most 64 are closed, because each is a lock until the commit.
        if is_crowded then
            for lane_id in select (here[n.place]).lane from unnest(takes) with ordinality as n (take, place) where n.take > 0 limit 64
            loop
                if pg_try_advisory_xact_lock('lane'::regclass::oid::integer, lane_id) then
                    perform close_lane(lane_id);
                end if;
            end loop;
        end if;
    end loop;

    -- In case no process does the housekeeping, or there are many claims.
    oldest := first_generation();
    if is_shared and (select count(*) > 200 from (
        select from service s where s.generation >= oldest limit 201
    ) s) then
        perform fold_service();
    end if;
    if missing = least(wanted, 1000) then
        -- A crash may lose the changes of a claim that took nothing, so that an idle worker does not wait for the disk.
        perform set_config('synchronous_commit', 'off', true);
    end if;
end $$;

-- Gives up the worker's claims up to this number. Waits for a claim that is in progress. A claim that arrives later, because it was
-- stuck in a network or in a dying connection, takes nothing; otherwise it would assign jobs to a worker that does not know of them.
create function bar_claims(worker_id bigint, worker_secret uuid, up_to bigint) returns void
language plpgsql security definer set search_path from current
as $$
begin
    perform check_secret(w.secret, worker_secret) from worker w where w.id = worker_id;
    update worker w set claims_from = greatest(w.claims_from, up_to + 1) where w.id = worker_id;
end $$;

select allow('sluice_worker', 'claim', 'bar_claims');
select set_config('role', 'none', true);
