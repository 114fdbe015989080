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
    near record;
    -- The claim does not look before the heads of these lanes: it leaves jobs that have returned to earlier turns since to the next
    -- claim.
    lanes open_lane[];
    here open_lane[];
    below_limit open_lane[];
    -- The lanes that had fewer jobs than this claim wanted from them, or whose queues it may not take from.
    dry integer[] := '{}';
    is_short boolean;
    takes lane_take[];
    -- How many jobs they are in all.
    asked integer;
    limited integer[];
    is_shared boolean := false;
    has_limits boolean;
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

    -- A claim looks again, at other lanes, if others took what it was about to take, or filled the gaps under the limits, meanwhile.
    for try in 1..12 loop
        select n.* into near from near_lanes(me.abilities, claim.queue_names, missing, dry, t) n;
        lanes := near.lanes;
        is_short := false;
        is_shared := is_shared or near.is_shared;
        limited := array(select distinct l.queue from unnest(lanes) l where l.capacity is not null);
        has_limits := cardinality(limited) > 0;
        -- Claims from a limited queue run one after another, or two of them would fill the same gap.
        if has_limits and try = 1 then
            perform from queue q where q.id = any (limited) order by q.id for no key update;
        elsif has_limits then
            -- By now the transaction has locked other queues and lanes, and must not wait.
            limited := array(select q.id from queue q where q.id = any (limited) order by q.id for no key update skip locked);
        end if;

        while missing > 0 and cardinality(lanes) > 0 loop
            -- One priority after the other, from the highest.
            level := lanes[1].priority;
            if level = lanes[cardinality(lanes)].priority then
                here := lanes;
                lanes := '{}';
            else
                here := array(select l from unnest(lanes) l where l.priority = level);
                lanes := array(select l from unnest(lanes) l where l.priority < level);
            end if;
            if has_limits then
                -- With the limits as they are now that the queues are locked.
                below_limit := array(
                    select row(l.lane, l.queue, l.share, l.priority, l.head, n.capacity, l.queue_tag, l.queue_weight, l.root_clock,
                               l.share_tag, l.share_weight, l.queue_clock, l.lags)::open_lane
                    from unnest(here) l
                    left join (
                        select q.id, q.paused, coalesce(q.running_limit, 2147483647)
                            - coalesce((select c.jobs from queue_count c where c.queue = q.id and c.state = 'running'), 0)
                            - coalesce((select sum(d.jobs) from count_delta d where d.queue = q.id and d.state = 'running'), 0)
                            as capacity
                        from unnest(limited) u (id)
                        cross join lateral (select * from queue where queue.id = u.id limit 1) q
                    ) n on n.id = l.queue
                    where l.capacity is null or n.capacity > 0 and not n.paused
                );
                if cardinality(below_limit) < cardinality(here) then
                    is_short := true;
                    dry := dry || array(
                        select l.lane from unnest(here) l where l.lane <> all (array(select b.lane from unnest(below_limit) b))
                    );
                end if;
                here := below_limit;
                continue when cardinality(here) = 0;
            end if;
            if cardinality(here) = 1 then
                asked := least(missing, here[1].capacity);
                takes := array[row(here[1].lane, asked, here[1].queue_tag, here[1].share_tag)::lane_take];
            elsif near.takes_turns and cardinality(here) = missing then
                asked := missing;
                takes := array(select row(h.lane, 1, h.queue_tag, h.share_tag)::lane_take from unnest(here) h);
            else
                select sum(m.jobs), array_agg(m) into asked, takes from merge_lanes(here, missing) m;
            end if;

            return query
                with lane_head as materialized (
                    select h.*, n.jobs as take, n.queue_tag as queue_start, n.share_tag as share_start
                    from unnest(takes) n join unnest(here) h on h.lane = n.lane
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
                    join lane_head l on l.lane = n.lane
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
                join lane_head l on l.lane = h.lane
                cross join lateral (select * from queue where queue.id = l.queue limit 1) q
                order by h.turn, h.job;
            get diagnostics taken = row_count;
            missing := missing - taken;
            if taken < asked and (near.is_cut or cardinality(near.lanes) > 1) then
                -- The rest of these lanes' jobs are gone, or other claims hold them.
                is_short := true;
                dry := dry || array(
                    select l.lane from unnest(here) l
                    where l.lane = any (array(select n.lane from unnest(takes) n)) and (
                        select w.job from waiting w where w.lane = l.lane and w.turn >= l.head
                        order by w.turn, w.job limit 1 for update skip locked
                    ) is null
                );
            end if;

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
            if near.is_crowded then
                perform close_lanes(array(select n.lane from unnest(takes) n limit 64));
            end if;
        end loop;
        exit when missing = 0 or not near.is_cut
            and (not is_short or not exists (select from unnest(near.lanes) l where l.lane <> all (dry)));
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
