-- Why: a claim of 8 jobs took 1.2 times the processor time of a claim before release 0.1.0, and a call of finish() 1.5 times. Little
-- of that was work on rows: starting the plan of a small statement takes 3 to 15 us, and each further step of a large one adds to it.
--
-- Now the rows that count jobs also carry what is measured of them, so claim() and finish() need no steps for that. The codec of a
-- lane is stored. What concerns tenants is left out where there are none. A claim from a single lane, and a report of jobs that were
-- all the caller's, skip the statements for the other cases. Lanes are read by their ids, not in a join that reads all of them. Tables
-- have fewer checks, because each statement that writes to a table parses them.
--
-- Compatible from: 23
select set_config('role', pg_get_userbyid(nspowner), true) from pg_namespace where nspname = current_schema();

-- The calls of workers and submitters hold this lock while they lock tables, each in another order.
select pg_advisory_xact_lock('job'::regclass::oid::integer, 0);

-- MARK: Tables

-- What `meter_delta` said of claimed and completed jobs. In rows that add running, completed or skipped jobs, in others null.
alter table count_delta
    add column bucket smallint,
    add column seconds double precision,
    add column codec text collate "C",
    add column bytes numeric;

-- What a row of `count_delta` with a bucket, or several of them that differ in their sums alone, adds to which meters: see meter_parts().
-- `seconds` must be the sum of values that were converted to numeric one by one, or a counter could decrease when rows are folded.
create function count_parts(
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

do $$
declare
    hot text;
begin
    foreach hot in array array['waiting', 'delayed', 'running', 'publishing'] loop
        execute format('alter table %I drop constraint waiting_epoch_check, drop constraint waiting_spent_check, '
                       'drop constraint waiting_lost_check, drop constraint waiting_room_deaths_check', hot);
    end loop;
end $$;
alter table waiting add check (least(epoch, spent, lost, room_deaths) >= 0);
alter table delayed add check (least(epoch, spent, lost, room_deaths) >= 0);
alter table running drop constraint running_epoch_check, drop constraint running_frames_check,
    add check (epoch > 0 and least(spent, lost, room_deaths, frames) >= 0);
alter table publishing drop constraint publishing_epoch_check, drop constraint publishing_size_check,
    add check (epoch > 0 and least(spent, lost, room_deaths, size) >= 0);

-- After `count_delta`, like fold_counts().
alter table lane
    -- What its jobs encode to.
    add column codec text collate "C" not null generated always as (lane_codec(needs)) stored;

-- MARK: Claiming

-- What claim() read of the share and the queue of each lane once more.
alter type open_lane add attribute tenant text, add attribute queue_name text;

do $$
begin
    perform change_function(v.name, v.before, v.behind, v.times) from (values
        ('near_lanes', 3, $x$o.moved_at < t - interval '200 ms')::open_lane$x$,
         $x$o.moved_at < t - interval '200 ms', tenant_of(s.submitter), q.name)::open_lane$x$),
        ('near_lanes', 1, $x$f.lags and f.head < h.turn)::open_lane$x$,
         $x$f.lags and f.head < h.turn, f.tenant, f.queue_name)::open_lane$x$),
        ('near_lanes', 1, $x$
    l record;
begin$x$, $x$
    l record;
    single open_lane;
    marked integer;
begin$x$),
        ('near_lanes', 1, $x$
    is_crowded := cardinality(found_lanes) + (select count(*) from (select from lane o where o.is_open limit 201) o) > 200;
    if not is_crowded then$x$, $x$
    marked := (select count(*) from (select from lane o where o.is_open limit 201) o);
    is_crowded := cardinality(found_lanes) + marked > 200;
    if marked = 0 then
        -- All open lanes are among those that were opened since.
    elsif not is_crowded then$x$),
        ('near_lanes', 1, $x$
    for l in
        select row(f.lane,$x$, $x$
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
        select row(f.lane,$x$),
        ('weigh_lanes', 1, $x$greatest(l.queue_clock, q.clock), l.lags
$x$, $x$greatest(l.queue_clock, q.clock), l.lags, l.tenant, l.queue_name
$x$)
    ) as v (name, times, before, behind);
end $$;

-- As in 0029_metrics.sql, and with the tenant of each job.
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
    -- Must come first: see the lock order in 0002_tables.sql.
    perform pg_advisory_xact_lock_shared('job'::regclass::oid::integer, 0);
    select ledger_time(), overlay(gen_random_uuid()::text placing s.mark from 1) into t, fence from setting s;
    -- Locked until the commit, so that reap() cannot end this worker as lost and miss the jobs that it is about to take.
    select w.id, w.secret, w.abilities, w.wish, w.lease_until, w.claims_from, w.ended_at into me
    from worker w where w.id = claim.worker_id for no key update;
    if me.secret is distinct from claim.worker_secret then
        perform check_secret(me.secret, claim.worker_secret);
    end if;
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

-- MARK: Reporting

do $$
begin
    perform change_function('take_out', format('gone g join lane l on l.id = (g.%s).lane group by', row),
                            format('gone g cross join lateral (select * from lane where lane.id = (g.%s).lane limit 1) l group by', row))
    from unnest(array['r', 'p']) row;
end $$;

-- As in 0011_publishing.sql.
create or replace function publish(
    jobs bigint[], epochs integer[], lease_ids uuid[], attempt_names text[], digests text[], sizes bigint[],
    frames_in bigint[], frames_out bigint[], audio_ms bigint[], cpu_ms bigint[], peak_bytes bigint[],
    slots smallint[] default null, reports text[] default null, furthers text[] default null
)
returns table (job bigint, answer answer)
language plpgsql security definer set search_path from current
    set enable_seqscan = off set enable_bitmapscan = off set enable_nestloop = off set jit = off
    set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    t timestamptz := ledger_time();
    moved bigint[];
    stopped taken[];
begin
    -- Must come first: see the lock order in 0002_tables.sql.
    perform pg_advisory_xact_lock_shared('job'::regclass::oid::integer, 0);
    with given as materialized (
        select * from unnest(publish.jobs, publish.epochs, publish.lease_ids, publish.attempt_names, publish.digests,
                             publish.sizes, publish.frames_in, publish.frames_out, publish.audio_ms, publish.cpu_ms,
                             publish.peak_bytes, publish.slots, publish.reports, publish.furthers)
            as g (job, epoch, lease_id, attempt_name, digest, size, frames_in, frames_out, audio_ms, cpu_ms, peak_bytes,
                  slot, report, further)
        -- All functions use the order of ids: transactions that want the same rows then wait and do not deadlock.
        order by job
    ), gone as (
        delete from running r using given g
        where r.job = any (publish.jobs) and r.job = g.job and r.epoch = g.epoch and r.lease_id = g.lease_id
        returning r.job, r.batch, r.lane, r.cost, r.turn, r.epoch, r.spent, r.lost, r.room_deaths, r.lease_id, r.worker,
                  coalesce(g.slot, r.slot) as slot, r.since as started_at, r.cancel_asked,
                  case when r.cancel_asked then taken(r) end as stopped, g.attempt_name, g.digest, g.size, g.further,
                  g.frames_in, g.frames_out, g.audio_ms, g.cpu_ms, g.peak_bytes, g.report
    ), moved as (
        insert into publishing as p (job, batch, lane, cost, turn, epoch, spent, lost, room_deaths, since, lease_id, worker, slot,
                                     started_at, attempt_name, digest, size, further, handed_at, frames_in, frames_out,
                                     audio_ms, cpu_ms, peak_bytes, report)
        select r.job, r.batch, r.lane, r.cost, r.turn, r.epoch, r.spent, r.lost, r.room_deaths, t, r.lease_id, r.worker, r.slot,
               r.started_at, r.attempt_name, decode(r.digest, 'hex'), r.size, r.further::jsonb, t, r.frames_in, r.frames_out,
               bounded(r.audio_ms, 3155760000000), r.cpu_ms, r.peak_bytes, r.report::jsonb
        from gone r where not r.cancel_asked
        returning p.job
    ), counted as (
        insert into count_delta (queue, batch, state, jobs, at)
        select l.queue, n.batch, s.state, s.change, t
        from (
            select r.lane, r.batch, count(*)::integer as jobs, (count(*) filter (where not r.cancel_asked))::integer as moved
            from gone r group by r.lane, r.batch
        ) n
        cross join lateral (select * from lane where lane.id = n.lane limit 1) l
        cross join lateral (values ('running'::job_state, -n.jobs), ('publishing', n.moved)) as s (state, change)
        where s.change <> 0
    )
    select array(select m.job from moved m), array(select r.stopped from gone r where r.cancel_asked)
    into moved, stopped;

    if cardinality(moved) = cardinality(publish.jobs) then
        return query select j, 'done'::answer from unnest(publish.jobs) j;
        return;
    end if;
    if cardinality(stopped) > 0 then
        perform end_attempts(array(
            select ending(k, 'cancelled', 'cancelled', null, 'publish', slot => g.slot, frames_in => g.frames_in,
                          frames_out => g.frames_out, audio_ms => bounded(g.audio_ms, 3155760000000), cpu_ms => g.cpu_ms,
                          peak_bytes => g.peak_bytes, report => g.report::jsonb)
            from unnest(stopped) k
            join unnest(publish.jobs, publish.slots, publish.frames_in, publish.frames_out, publish.audio_ms, publish.cpu_ms,
                        publish.peak_bytes, publish.reports)
                as g (job, slot, frames_in, frames_out, audio_ms, cpu_ms, peak_bytes, report) on g.job = k.job
        ));
    end if;

    return query
        select g.job, (case
            when m.job is not null then 'done'
            when exists (select from unnest(stopped) s where s.job = g.job) then 'cancelled'
            when (select true from publishing p
                  where p.job = g.job and p.epoch = g.epoch and p.lease_id = g.lease_id) then 'repeated'
            else answer_for(g.job, g.epoch, g.lease_id, 'completed')::text
        end)::answer
        from unnest(publish.jobs, publish.epochs, publish.lease_ids) as g (job, epoch, lease_id)
        left join unnest(moved) as m (job) on m.job = g.job;
end $$;

-- What a job of a lane used.
create type lane_use as (lane integer, cpu_ms numeric, bytes numeric);

-- As in 0029_metrics.sql and 0035_tenants.sql.
create or replace function finish(
    jobs bigint[], epochs integer[], lease_ids uuid[], placements text[] default null, outputs text[] default null
)
returns table (job bigint, answer answer)
language plpgsql security definer set search_path from current
    set enable_seqscan = off set enable_bitmapscan = off set enable_nestloop = off set jit = off
    set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    t timestamptz := ledger_time();
    moved bigint[];
    has_tenants boolean := exists (select from tenant);
    used lane_use[];
begin
    -- Must come first: see the lock order in 0002_tables.sql.
    perform pg_advisory_xact_lock_shared('job'::regclass::oid::integer, 0);
    with given as materialized (
        select g.job, g.epoch, g.lease_id, nullif(g.placement::placement, 'published') as placement, g.outputs::jsonb as outputs
        from unnest(finish.jobs, finish.epochs, finish.lease_ids, finish.placements, finish.outputs)
            as g (job, epoch, lease_id, placement, outputs)
        order by g.job
    ), gone as (
        delete from publishing p using given g
        where p.job = any (finish.jobs) and p.job = g.job and p.epoch = g.epoch and p.lease_id = g.lease_id
        returning p.*, g.placement, coalesce(g.outputs ->> 0, g.placement::text) is not distinct from 'skipped' as lacks_first,
                  case when g.placement is distinct from 'skipped' and p.further is not null
                      then made_outputs(p.further, g.outputs) end as made_further,
                  g.placement is distinct from 'skipped' and coalesce(tells_remarks(p.report), false) as has_remarks
    ), lanes as materialized (
        -- A join with `lane` would read all lanes up to the last of these.
        select l.id, l.queue, l.priority, l.codec
        from (select distinct g.lane from gone g) g cross join lateral (select * from lane where lane.id = g.lane limit 1) l
    ), recorded as (
        insert into attempt (job, epoch, lease_id, worker, slot, started_at, ended_at, outcome, frames_in, frames_out,
                             audio_ms, cpu_ms, peak_bytes, report)
        select p.job, p.epoch, p.lease_id, p.worker, p.slot, p.started_at, t, 'completed', p.frames_in, p.frames_out,
               p.audio_ms, p.cpu_ms, p.peak_bytes, p.report
        from gone p
    ), moved as (
        insert into finished as f (job, batch, queue, state, epoch, spent, lost, room_deaths, priority, has_remarks, ended_at,
                                   worker, digest, size, further, placement)
        select p.job, p.batch, l.queue,
               (case when p.placement is distinct from 'skipped' then 'completed' else 'skipped' end)::job_state, p.epoch,
               p.spent + 1, p.lost, p.room_deaths, l.priority, p.has_remarks, t, p.worker,
               case when not p.lacks_first then p.digest end, case when not p.lacks_first then p.size end, p.made_further,
               p.placement
        from gone p join lanes l on l.id = p.lane
        returning f.job
    ), counted as (
        insert into count_delta (queue, batch, state, jobs, audio_ms, began, remarked, bucket, seconds, codec, bytes, at)
        select l.queue, n.batch, s.state, s.jobs, s.audio_ms, n.began, s.remarked, s.bucket, s.seconds, s.codec, s.bytes, t
        from (
            select r.lane, r.batch, r.was_skipped, span_bucket(r.seconds) as bucket, count(*)::integer as jobs,
                   sum(r.seconds) as seconds, bounded(sum(r.audio_ms), 9000000000000000000) as audio_ms,
                   min(r.started_at) as began, nullif((count(*) filter (where r.has_remarks))::integer, 0) as remarked,
                   coalesce(sum(r.size), 0) + coalesce(sum(r.further_bytes), 0) as bytes
            from (
                select p.lane, p.batch, p.placement is not distinct from 'skipped' as was_skipped, p.started_at,
                       span_seconds(p.started_at, t) as seconds, p.audio_ms, p.has_remarks,
                       case when not p.lacks_first then p.size end as size,
                       case when p.made_further is not null then further_bytes(p.made_further) end as further_bytes
                from gone p offset 0
            ) r group by 1, 2, 3, 4
        ) n join lanes l on l.id = n.lane
        cross join lateral (values
            ('publishing'::job_state, -n.jobs, null, null, null, null, null, null),
            (case when n.was_skipped then 'skipped' else 'completed' end::job_state, n.jobs, n.audio_ms, n.remarked, n.bucket,
             n.seconds, l.codec, n.bytes)
        ) as s (state, jobs, audio_ms, remarked, bucket, seconds, codec, bytes)
    )
    select array(select m.job from moved m), array(
        select row(p.lane, coalesce(bounded(p.cpu_ms, 3155760000000), 0),
                   case when not p.lacks_first then p.size else 0 end
                   + case when p.made_further is not null then further_bytes(p.made_further) else 0 end)::lane_use
        from gone p where has_tenants
    ) into moved, used;

    if cardinality(used) > 0 then
        insert into use_delta (tenant, cpu_ms, bytes, at)
        select n.tenant, sum(n.cpu_ms), sum(n.bytes), t
        from (
            select tenant_of((
                       select s.submitter from share s where s.id = (select l.share from lane l where l.id = u.lane)
                   )) as tenant, u.cpu_ms, u.bytes
            from (select r.lane, sum(r.cpu_ms) as cpu_ms, sum(r.bytes) as bytes from unnest(used) r group by r.lane) u offset 0
        ) n where n.tenant is not null and (n.cpu_ms > 0 or n.bytes > 0) group by n.tenant;
    end if;
    if cardinality(moved) = cardinality(finish.jobs) then
        return query select j, 'done'::answer from unnest(finish.jobs) j;
        return;
    end if;
    return query
        select g.job, case when m.job is not null then 'done' else answer_for(g.job, g.epoch, g.lease_id, 'completed') end
        from unnest(finish.jobs, finish.epochs, finish.lease_ids) as g (job, epoch, lease_id)
        left join unnest(moved) as m (job) on m.job = g.job;
end $$;

-- MARK: Counting

do $$
begin
    perform change_function(v.name, v.before, v.behind) from (values
        ('fold_counts', $x$
    ), batches as (
        update batch b$x$, $x$
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
        update batch b$x$),
        ('ledger_metrics', $x$
        select p.meter, p.queue, p.key, p.class, p.amount from meter_delta d cross join lateral meter_parts(d) p
        union all$x$, $x$
        select p.meter, p.queue, p.key, p.class, p.amount from meter_delta d cross join lateral meter_parts(d) p
        union all
        select p.meter, p.queue, p.key, p.class, p.amount
        from count_delta d
        cross join lateral count_parts(d.queue, d.state, d.codec, d.bucket, d.jobs, d.seconds::numeric, d.audio_ms, d.bytes) p
        where d.bucket is not null
        union all$x$)
    ) as v (name, before, behind);
end $$;

select apply_permissions();
select set_config('role', 'none', true);
