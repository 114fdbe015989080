-- Why: whose jobs come next. Queues share the cluster by their weights, and the submitters of a queue share it by theirs. Each has a
-- finish tag, which grows with the service that it gets: start-time fair queueing. Claims note the service that they give, and
-- fold_service() adds it to the tags. For the planner's switches see 0009_claiming.sql.
select set_config('role', pg_get_userbyid(nspowner), true) from pg_namespace where nspname = current_schema();

-- MARK: Service

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

-- MARK: Lanes

-- A lane in which a job waits, as a claim sees it.
create type open_lane as (
    lane integer, queue integer, share integer, priority smallint,
    -- The turn of its first job; until near_lanes() has looked that up, the lane's floor.
    head bigint,
    -- The number of its queue's jobs that may still be claimed; null means no limit.
    capacity integer,
    -- The start tags of the next job of its queue and of its submitter, the weights by which these advance, and the virtual times.
    queue_tag bigint, queue_weight integer, root_clock bigint, share_tag bigint, share_weight integer, queue_clock bigint,
    -- Whether the floor was last raised a while ago and is below the head, so that dead rows may lie between the two.
    lags boolean
);

-- These lanes with the current tags and virtual times, which include the service that claims have given since the last folding: by
-- priority, and then in the order of the queues.
--
-- It needs hash joins. claim() turns them off, and its settings hold in the functions that it calls; each lane would then be
-- compared with each row.
create function weigh_lanes(lanes open_lane[]) returns open_lane[]
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
                   l.share_weight, greatest(l.queue_clock, q.clock), l.lags
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
create function near_lanes(
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
begin
    lanes := '{}';
    is_cut := false;
    is_shared := false;
    found_lanes := '{}';
    if exists (select from opened) then
        -- The lanes that were opened since housekeeping last ran.
        found_lanes := array(
            select row(o.id, q.id, s.id, o.priority, o.floor, q.running_limit, q.finish, q.weight, 0, s.finish, s.weight, q.clock,
                       o.moved_at < t - interval '200 ms')::open_lane
            from (select distinct lane from opened) n
            cross join lateral (select * from lane where lane.id = n.lane and not lane.is_open limit 1) o
            join queue q on q.id = o.queue join share s on s.id = o.share
            cross join lateral (
                select from waiting w where w.lane = o.id and w.turn >= o.floor order by w.turn, w.job limit 1
            ) h
            where not q.paused and o.needs <@ abilities and (queue_names is null or q.name = any (queue_names)) and o.id <> all (dry)
            limit most
        );
    end if;
    is_crowded := cardinality(found_lanes) + (select count(*) from (select from lane o where o.is_open limit 201) o) > 200;
    if not is_crowded then
        found_lanes := found_lanes || array(
            select row(o.id, q.id, s.id, o.priority, o.floor, q.running_limit, q.finish, q.weight, 0, s.finish, s.weight, q.clock,
                       o.moved_at < t - interval '200 ms')::open_lane
            from lane o join queue q on q.id = o.queue join share s on s.id = o.share
            where o.is_open and not q.paused and o.needs <@ abilities and (queue_names is null or q.name = any (queue_names))
              and o.id <> all (dry)
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
                       o.moved_at < t - interval '200 ms')::open_lane as lane,
                   o.share, o.priority * 4294967296 + q.id as place,
                   q.finish <= greatest(o.queue_rank, root) and q.id <> all (served) as is_certain
            from lane o join queue q on q.id = o.queue join share s on s.id = o.share
            cross join lateral (
                select from waiting w where w.lane = o.id and w.turn >= o.floor order by w.turn, w.job limit 1
            ) h
            where o.is_open and not q.paused and o.needs <@ abilities and (queue_names is null or q.name = any (queue_names))
              and o.id <> all (dry)
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
    for l in
        select row(f.lane, f.queue, f.share, f.priority, h.turn, f.capacity, f.queue_tag, f.queue_weight, f.root_clock, f.share_tag,
                   f.share_weight, f.queue_clock, f.lags and f.head < h.turn)::open_lane as lane,
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

-- How many jobs to take from a lane, and the highest start tags of these jobs.
create type lane_take as (lane integer, jobs integer, queue_tag bigint, share_tag bigint);

-- How many jobs to take from each of these lanes, which have the same priority. The lanes are merged by the tags of their queues,
-- within a queue by the tags of its submitters, and within a submitter by turn.
create function merge_lanes(lanes open_lane[], wanted integer) returns setof lane_take
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

select set_config('role', 'none', true);
