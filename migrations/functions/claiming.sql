-- How a worker gets work: claim() takes many jobs in one short call, from the heads of the lanes that this worker can serve. It reads
-- nothing else: no finished jobs, no jobs that the worker cannot do, no dead rows. In this order it
--
--   1. locks the worker's row, checks its secret, and revives an expired lease;
--   2. moves due delayed jobs to their lanes, in case housekeeping has not run yet (wake_delayed() in lanes.sql);
--   3. asks near_lanes() for the lanes that come next, by priority and then by the tags of their queues and submitters (weigh_lanes());
--   4. locks the queues that have a limit, and reads again how many of their jobs may run;
--   5. decides how many jobs each lane gives (merge_lanes());
--   6. in one statement moves these jobs from `waiting` to `running`, adds to the counts, notes the service for shares.sql, and returns
--      the jobs with their recipes;
--   7. raises the floors of lanes from which it took many jobs, and closes lanes that it has emptied, if there are many;
--   8. looks again, at other lanes, while it lacks jobs and others took some of these; and folds the service if many rows of it wait.
--
-- The planner's switches are set on the functions because a session keeps a plan that was made while a table was empty, and the plan must
-- still be right when a million jobs wait. For the same reason hot tables are always entered by `job = any (...)` or by a lateral join
-- with a limit. The planner knows how few rows are alive, but not how many dead ones a long transaction keeps there, and a scan of the
-- whole index would read them all.
--
-- `enable_nestloop = off` is set where arrays are joined to hot tables: if the tables were empty when they were analyzed, the plan would
-- compare each element with each row. Such a function looks up other values in sub-selects, and the functions that it calls set the
-- switch for themselves.
--
-- Starting the plan of a small statement takes 3 to 15 us, and each further step of a large one adds to it. So the rows that count jobs
-- also carry what is measured of them, a claim from a single lane skips the statements for the other cases, and lanes are read by their
-- ids, not in a join that reads all of them.

-- Takes up to `wanted` jobs for a worker: by priority (higher first), then fairly among queues, among the submitters of a queue, and
-- among the batches of a submitter.
--
-- `queue_names` restricts the claim to these queues. Throws SQLSTATE SL001 if the worker has been ended; an expired lease is
-- revived. Epoch and lease id are the fence, which every later write repeats. `claim_number` grows with every claim of a worker. A
-- worker gives up an unanswered claim with bar_claims(); from then on held() lists all that the claim took.
--
-- `tenant` is the name of the tenant that submitted the job, or null: the worker converts the jobs of each tenant in rooms apart. Its
-- recipe carries the tenant's limits.
create or replace function claim(
    worker_id bigint, worker_secret uuid, wanted integer, queue_names text[] default null, claim_number bigint default null
)
returns table (
    job bigint, epoch integer, lease_id uuid, batch bigint, queue text, priority smallint, recipe jsonb, cost integer,
    labels jsonb, attempt integer, max_attempts smallint, lost smallint, room_deaths smallint, workers_lost smallint, tenant text
)
language plpgsql security definer set search_path from current
    set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set enable_mergejoin = off set jit = off
    set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    t timestamptz;
    me record;
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
    lane_id integer;
    level smallint;
    missing integer := least(wanted, 1000);
    fence uuid;
    taken integer;
begin
    -- Must come first: see the lock order in locks.sql.
    lock table lock_job in row share mode;
    select ledger_time(), overlay(gen_random_uuid()::text placing s.mark from 1) into t, fence from setting s;
    -- Locked until the commit, so that reap() cannot end this worker as lost and miss the jobs that it is about to take.
    select w.id, w.secret, w.abilities, w.wish, w.lease_until, w.claims_from, w.ended_at into me
    from worker w where w.id = claim.worker_id for no key update;
    if me.secret is distinct from claim.worker_secret then
        perform check_secret(me.secret, claim.worker_secret);
    end if;
    if me.id is null or me.ended_at is not null then
        raise exception 'the lease of worker % has expired', claim.worker_id using errcode = 'SL001';
    end if;
    if me.lease_until <= t then
        -- Otherwise reap() would take the claimed jobs away before the worker can beat.
        update worker w set lease_until = t + (select s.lease from setting s), revived_at = t where w.id = me.id;
    end if;
    if missing <= 0 or me.wish <> 'run' or claim.claim_number < me.claims_from then
        return;
    end if;

    -- Moves due jobs to their lanes, in case housekeeping has not run yet. The check is one index look-up.
    if exists (
        select from delayed d
        where d.ready_at >= (select f.ready_at from delayed_floor f order by f.id desc limit 1) and d.ready_at <= t
    ) then
        perform wake_delayed(100);
    end if;

    -- A claim looks again, at other lanes, if others took what it was about to take, or filled the gaps under the limits, meanwhile.
    for try in 1..12 loop
        near := near_lanes(me.abilities, claim.queue_names, missing, dry, t);
        lanes := near.lanes;
        is_short := false;
        is_shared := is_shared or near.is_shared;
        has_limits := cardinality(lanes) > 1 or lanes[1].capacity is not null;
        if has_limits then
            limited := array(select distinct l.queue from unnest(lanes) l where l.capacity is not null);
            has_limits := cardinality(limited) > 0;
        end if;
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
                               l.share_tag, l.share_weight, l.queue_clock, l.lags, l.tenant, l.queue_name)::open_lane
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
                    returning r.job, r.batch, r.lane, r.cost, r.turn, r.epoch, r.spent, r.lost, r.room_deaths, r.lease_id
                ), counted as (
                    insert into count_delta (queue, batch, state, jobs, bucket, seconds, at)
                    select l.queue, n.batch, s.state, s.sign * n.jobs, case s.sign when 1 then n.bucket end,
                           case s.sign when 1 then n.seconds end, t
                    from (
                        select w.lane, w.batch, span_bucket(w.seconds) as bucket, count(*)::integer as jobs,
                               sum(w.seconds) as seconds
                        from (select g.lane, g.batch, span_seconds(g.since, t) as seconds from gone g offset 0) w group by 1, 2, 3
                    ) n join lane_head l on l.lane = n.lane
                    cross join (values ('waiting'::job_state, -1), ('running', 1)) as s (state, sign)
                ), served as (
                    insert into service (generation, queue, share, cost, root_clock, queue_clock, queue_tag, share_tag)
                    select (select last_value from service_generation), l.queue, l.share, n.cost, l.root_clock, l.queue_clock,
                           l.queue_start, l.share_start
                    from (select h.lane, sum(h.cost) as cost from held h group by h.lane) n join lane_head l on l.lane = n.lane
                    where is_shared
                )
                select h.job, h.epoch, h.lease_id, h.batch, l.queue_name, l.priority,
                       case when l.tenant is null then j.recipe else limited_recipe(j.recipe, l.tenant) end, j.cost, j.labels,
                       h.spent + 1, j.max_attempts, h.lost, h.room_deaths,
                       case when (select exists (select from suspect))
                           then coalesce((select s.workers_lost from suspect s where s.job = h.job), 0) else 0 end::smallint, l.tenant
                from held h
                join jobs_of(array(select h.job from held h order by h.job)) j on j.id = h.job
                join lane_head l on l.lane = h.lane
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
                    perform lift_floor(lane_id);
                end loop;
            end if;
            -- Every later claim would look at the lanes that this claim has emptied, until housekeeping runs: thousands of lanes, if
            -- each queue has a job or two. At most 64 are closed, because each is a lock until the commit.
            if near.is_crowded then
                perform close_lanes(array(select n.lane from unnest(takes) n limit 64));
            end if;
        end loop;
        exit when missing = 0;
        exit when not near.is_cut
            and (not is_short or not exists (select from unnest(near.lanes) l where l.lane <> all (dry)));
    end loop;

    -- In case no process does the housekeeping, or there are many claims.
    if is_shared then
        if (select count(*) > 200 from (
            select from service s where s.generation >= (select first_generation()) limit 201
        ) s) then
            perform fold_service();
        end if;
    end if;
    if missing = least(wanted, 1000) then
        -- A crash may lose the changes of a claim that took nothing, so that an idle worker does not wait for the disk.
        perform set_config('synchronous_commit', 'off', true);
    end if;
end $$;

-- The lanes from which a worker with these abilities may take `wanted` jobs: those of the queues that come next, by priority and then
-- by tags. Each of these queues has a job, and is below its limit; its running jobs include counts that are not yet folded. Leaves out
-- the lanes `dry`, whose jobs other claims hold.
--
-- `is_cut`: the search ended after `wanted` queues. `is_shared`: more than one queue or submitter has jobs. `is_crowded`: there are so
-- many lanes that claims must not look at empty ones. `takes_turns`: each lane is of another queue, and the first jobs of all of them
-- come before the second of any.
--
-- Looking up the head of a lane and counting the running jobs of a queue take several times as long as reading the lane, and so are
-- done in the order of the tags, until there are enough queues.
create or replace function near_lanes(
    abilities text[], queue_names text[], wanted integer, dry integer[], t timestamptz,
    out lanes open_lane[], out is_cut boolean, out is_shared boolean, out is_crowded boolean, out takes_turns boolean
)
language plpgsql volatile security definer set search_path from current
    set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set enable_hashjoin = off
    set enable_mergejoin = off set jit = off
    set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    -- A claim looks at no more lanes of a crowd. Each has a job, and service that is not yet in the ranks changes the order of some
    -- two hundred.
    most integer := wanted + 256;
    oldest bigint;
    root bigint;
    served integer[];
    found_lanes open_lane[];
    first_share integer;
    -- A queue and a priority.
    place bigint;
    places bigint[] := '{}';
    queues integer := 0;
    second_tag bigint;
    last_tag bigint;
    l record;
    single open_lane;
    marked integer;
begin
    lanes := '{}';
    is_cut := false;
    is_shared := false;
    found_lanes := '{}';
    if exists (select from opened) then
        -- The lanes that were opened since housekeeping last ran.
        found_lanes := array(
            select row(o.id, q.id, s.id, o.priority, o.floor, q.running_limit, q.finish, q.weight, 0, s.finish, s.weight, q.clock,
                       o.moved_at < t - interval '200 ms', tenant_of(s.submitter), q.name)::open_lane
            from (select distinct lane from opened) n
            cross join lateral (select * from lane where lane.id = n.lane and not lane.is_open limit 1) o
            join queue q on q.id = o.queue join share s on s.id = o.share
            cross join lateral (
                select from waiting w where w.lane = o.id and w.turn >= o.floor order by w.turn, w.job limit 1
            ) h
            where not q.paused and (s.held_until is null or s.held_until <= t) and o.needs <@ abilities
              and (queue_names is null or q.name = any (queue_names)) and o.id <> all (dry)
            limit most
        );
    end if;
    marked := (select count(*) from (select from lane o where o.is_open limit 201) o);
    is_crowded := cardinality(found_lanes) + marked > 200;
    if marked = 0 then
        -- All open lanes are among those that were opened since.
    elsif not is_crowded then
        found_lanes := found_lanes || array(
            select row(o.id, q.id, s.id, o.priority, o.floor, q.running_limit, q.finish, q.weight, 0, s.finish, s.weight, q.clock,
                       o.moved_at < t - interval '200 ms', tenant_of(s.submitter), q.name)::open_lane
            from lane o join queue q on q.id = o.queue join share s on s.id = o.share
            where o.is_open and not q.paused and (s.held_until is null or s.held_until <= t) and o.needs <@ abilities
              and (queue_names is null or q.name = any (queue_names)) and o.id <> all (dry)
            order by o.priority desc, o.queue_rank, o.share_rank, o.id
        );
    else
        oldest := first_generation();
        root := coalesce((select max(greatest(s.root_clock, s.queue_tag)) from service s where s.generation >= oldest), 0);
        served := array(select distinct s.queue from service s where s.generation >= oldest and s.queue is not null);
        -- In the order of their ranks. A tag is never below the rank and never below the root, so the search ends after `wanted`
        -- queues that have had no service since they were ranked, or that are at the root: none farther on comes before them.
        for l in
            select row(o.id, q.id, s.id, o.priority, o.floor, q.running_limit, q.finish, q.weight, 0, s.finish, s.weight, q.clock,
                       o.moved_at < t - interval '200 ms', tenant_of(s.submitter), q.name)::open_lane as lane,
                   o.share, o.priority * 4294967296 + q.id as place,
                   q.finish <= greatest(o.queue_rank, root) and q.id <> all (served) as is_certain
            from lane o join queue q on q.id = o.queue join share s on s.id = o.share
            cross join lateral (
                select from waiting w where w.lane = o.id and w.turn >= o.floor order by w.turn, w.job limit 1
            ) h
            where o.is_open and not q.paused and (s.held_until is null or s.held_until <= t) and o.needs <@ abilities
              and (queue_names is null or q.name = any (queue_names)) and o.id <> all (dry)
              and (q.running_limit is null or q.running_limit >
                   coalesce((select c.jobs from queue_count c where c.queue = q.id and c.state = 'running'), 0)
                   + coalesce((select sum(d.jobs) from count_delta d where d.queue = q.id and d.state = 'running'), 0))
            order by o.priority desc, o.queue_rank, o.share_rank, o.id limit most
        loop
            found_lanes := found_lanes || l.lane;
            first_share := coalesce(first_share, l.share);
            is_shared := is_shared or l.share <> first_share;
            if l.is_certain and l.place <> all (places) then
                places := places || l.place;
            end if;
            is_cut := is_shared and cardinality(places) >= wanted;
            exit when is_cut;
        end loop;
    end if;

    if cardinality(found_lanes) > 1 then
        if exists (select from unnest(found_lanes) f where f.share <> found_lanes[1].share) then
            found_lanes := weigh_lanes(found_lanes);
        else
            found_lanes := array(select f from unnest(found_lanes) f order by f.priority desc);
        end if;
    end if;
    if cardinality(found_lanes) = 1 and found_lanes[1].capacity is null then
        -- Like the loop below, which costs more.
        single := found_lanes[1];
        select w.turn into place from waiting w
        where w.lane = single.lane and w.turn >= single.head order by w.turn, w.job limit 1;
        takes_turns := found;
        if found then
            single.lags := single.lags and single.head < place;
            single.head := place;
            lanes := array[single];
        end if;
        return;
    end if;
    for l in
        select row(f.lane, f.queue, f.share, f.priority, h.turn, f.capacity, f.queue_tag, f.queue_weight, f.root_clock, f.share_tag,
                   f.share_weight, f.queue_clock, f.lags and f.head < h.turn, f.tenant, f.queue_name)::open_lane as lane,
               f.share, f.priority * 4294967296 + f.queue as place, f.queue_tag,
               f.queue_tag + h.cost::bigint * 100 / f.queue_weight as second_tag
        from unnest(found_lanes) f cross join lateral (
            select w.turn, w.cost from waiting w where w.lane = f.lane and w.turn >= f.head order by w.turn, w.job limit 1
        ) h
        where f.capacity is null or f.capacity >
              coalesce((select c.jobs from queue_count c where c.queue = f.queue and c.state = 'running'), 0)
              + coalesce((select sum(d.jobs) from count_delta d where d.queue = f.queue and d.state = 'running'), 0)
    loop
        first_share := coalesce(first_share, l.share);
        is_shared := is_shared or l.share <> first_share;
        if place is distinct from l.place then
            if is_shared and queues >= wanted then
                is_cut := true;
                exit;
            end if;
            place := l.place;
            queues := queues + 1;
        end if;
        lanes := lanes || l.lane;
        second_tag := least(second_tag, l.second_tag);
        last_tag := greatest(last_tag, l.queue_tag);
    end loop;
    takes_turns := cardinality(lanes) = queues and second_tag > last_tag;
end $$;

-- These lanes with the current tags and virtual times, which include the service that claims have given since the last folding: by
-- priority, and then in the order of the queues.
--
-- It needs hash joins. claim() turns them off, and its settings hold in the functions that it calls; each lane would then be
-- compared with each row.
create or replace function weigh_lanes(lanes open_lane[]) returns open_lane[]
language plpgsql volatile security definer set search_path from current
    set enable_seqscan = off set enable_bitmapscan = off set enable_nestloop = off set enable_hashjoin = on set jit = off
    set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    oldest bigint := first_generation();
    root bigint := coalesce((select max(greatest(s.root_clock, s.queue_tag)) from service s where s.generation >= oldest), 0);
begin
    return array(
        select row(w.*)::open_lane
        from (
            select l.lane, l.queue, l.share, l.priority, l.head, l.capacity,
                   greatest(root, greatest(l.queue_tag, q.root_clock) + coalesce(q.cost, 0) * 100 / l.queue_weight) as queue_tag,
                   l.queue_weight, root,
                   greatest(l.queue_clock, q.clock,
                            greatest(l.share_tag, s.queue_clock) + coalesce(s.cost, 0) * 100 / l.share_weight),
                   l.share_weight, greatest(l.queue_clock, q.clock), l.lags, l.tenant, l.queue_name
            from unnest(lanes) l
            left join (
                select r.queue, min(r.root_clock) as root_clock, sum(r.cost)::bigint as cost, max(r.share_tag) as clock
                from service r where r.generation >= oldest and r.queue is not null group by r.queue
            ) q on q.queue = l.queue
            left join (
                select r.share, min(r.queue_clock) as queue_clock, sum(r.cost)::bigint as cost
                from service r where r.generation >= oldest and r.queue is not null group by r.share
            ) s on s.share = l.share
        ) w
        order by w.priority desc, w.queue_tag, w.queue
    );
end $$;

-- How many jobs to take from each of these lanes, which have the same priority. The lanes are merged by the tags of their queues,
-- within a queue by the tags of its submitters, and within a submitter by turn.
create or replace function merge_lanes(lanes open_lane[], wanted integer) returns setof lane_take
language plpgsql volatile security definer set search_path from current
    set enable_seqscan = off set enable_bitmapscan = off set jit = off set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
begin
    return query select b.lane, count(*)::integer, max(b.queue_start), max(b.share_start)
        from (
            select q.lane, q.queue_start, q.share_start
            from (
                select s.lane, s.queue, s.capacity, s.share_start, row_number() over in_queue as place,
                       s.queue_tag + coalesce(
                           sum(s.cost / s.queue_weight) over (in_queue rows between unbounded preceding and 1 preceding), 0
                       )::bigint as queue_start
                from (
                    select l.lane, l.queue, l.share, l.capacity, l.queue_tag, l.queue_weight, w.turn, w.job,
                           w.cost::bigint * 100 as cost,
                           l.share_tag + coalesce(
                               sum(w.cost::bigint * 100 / l.share_weight) over (
                                   partition by l.share order by w.turn, w.job rows between unbounded preceding and 1 preceding
                               ), 0
                           )::bigint as share_start
                    from (
                        select u.*, dense_rank() over (order by u.queue_tag, u.queue)::integer as place from unnest(lanes) u
                    ) l cross join lateral (
                        -- Each queue has a job, which precedes all jobs of the queues after it.
                        select w.turn, w.job, w.cost from waiting w
                        where w.lane = l.lane and w.turn >= l.head order by w.turn, w.job limit greatest(0, wanted + 1 - l.place)
                    ) w
                ) s window in_queue as (partition by s.queue order by s.share_start, s.share, s.turn, s.job)
            ) q where q.capacity is null or q.place <= q.capacity
            order by q.queue_start, q.queue, q.place limit wanted
        ) b group by b.lane;
end $$;
