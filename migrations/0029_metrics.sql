-- Why: what a monitoring system needs and the ledger did not fold yet: attempts by outcome, how long jobs wait and run, converted
-- audio, published bytes, lost leases. They are counters that only grow: they survive the jobs that they counted and every process.
--
-- The calls that claim and end jobs add a row for each queue, outcome and bucket of a histogram, not for each job. Housekeeping folds
-- these rows into sums. Reading the metrics therefore costs the same however many jobs the ledger holds.
--
-- Compatible from: 23
select set_config('role', pg_get_userbyid(nspowner), true) from pg_namespace where nspname = current_schema();

-- MARK: Tables

create table meter_delta (
    id bigint generated always as identity primary key,
    queue integer not null,
    -- How attempts ended. Null: the row is about jobs that were claimed.
    outcome attempt_outcome,
    -- Empty for attempts that did not fail.
    class text not null default '',
    -- The encoder of the lane of completed jobs: see lane_codec().
    codec text collate "C",
    -- The code of the failure in which the room of the job died.
    room text collate "C",
    -- Of `seconds`: see span_bucket().
    bucket smallint,
    jobs integer not null,
    -- The sum of the times that claimed jobs waited, or that completed attempts took.
    seconds double precision,
    audio_ms numeric,
    bytes numeric
);

-- What was counted since the ledger has metrics. Nothing in this table ever decreases.
create table meter_total (
    -- As in meter_parts().
    meter text collate "C" not null,
    -- 0 where the meter is not by queue.
    queue integer not null,
    key text collate "C" not null,
    class text collate "C" not null,
    amount numeric not null,
    primary key (meter, queue, key, class)
) with (fillfactor = 50);

do $$
declare hot text;
begin
    foreach hot in array array['meter_delta', 'meter_total'] loop
        execute format('alter table %I set (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 500, '
                       'autovacuum_vacuum_cost_delay = 0, autovacuum_analyze_scale_factor = 0.1)', hot);
    end loop;
end $$;

-- MARK: Measures

create function span_seconds(since timestamptz, until timestamptz) returns double precision
language sql immutable parallel safe
as $$ select greatest(0, date_part('epoch', until - since)) $$;

-- The bucket of a histogram of times: the number of limits that are below `seconds`. `SpanHistogram` in Swift has the same limits.
create function span_bucket(seconds double precision) returns smallint
language sql immutable parallel safe
as $$
    -- Negated, because a bucket includes its upper limit, and width_bucket() the lower one.
    select (19 - width_bucket(-seconds, '{-21600, -7200, -3600, -1800, -600, -300, -120, -60, -30, -10, -5, -2.5, -1, -0.5, -0.25,
                                          -0.1, -0.05, -0.025, -0.01}'::double precision[]))::smallint
$$;

-- The codec that the jobs of a lane encode to, by what they need: `none` if nothing is encoded, as in copies; `several` if their
-- outputs have different codecs.
create function lane_codec(needs text[]) returns text
language sql immutable parallel safe
as $$
    select case count(*) when 0 then 'none' when 1 then substr(min(n), 7) else 'several' end
    from unnest(needs) n where n like 'codec:%'
$$;

create function further_bytes(further jsonb) returns numeric
language sql immutable parallel safe
as $$
    select coalesce(sum((e ->> 'bytes')::numeric), 0) from jsonb_array_elements(further) e where jsonb_typeof(e) = 'object'
$$;

-- What a row of `meter_delta` adds to which meters.
create function meter_parts(d meter_delta)
returns table (meter text, queue integer, key text, class text, amount numeric)
language sql immutable parallel safe
as $$
    select p.* from (values
        ('attempts', d.queue, d.outcome::text, d.class, d.jobs::numeric),
        ('wait', 0, case when d.outcome is null then d.bucket::text end, '', d.jobs),
        ('wait_seconds', 0, case when d.outcome is null then '' end, '', d.seconds::numeric),
        ('run', 0, case when d.outcome = 'completed' then d.bucket::text end, '', d.jobs),
        ('run_seconds', 0, case when d.outcome = 'completed' then '' end, '', d.seconds::numeric),
        ('audio_ms', 0, d.codec, '', d.audio_ms),
        ('bytes', 0, case when d.outcome = 'completed' then 'out' end, '', d.bytes),
        ('rooms', 0, d.room, '', d.jobs)
    ) as p (meter, queue, key, class, amount)
    where p.key is not null and p.amount is not null
$$;

-- MARK: Counting

-- Takes up to `wanted` jobs for a worker: by priority (higher first), then fairly among queues, among the submitters of a queue, and
-- among the batches of a submitter.
--
-- `queue_names` restricts the claim to these queues. Throws SQLSTATE SL001 if the worker has been ended; an expired lease is
-- revived. Epoch and lease id are the fence, which every later write repeats. `claim_number` grows with every claim of a worker. A
-- worker gives up an unanswered claim with bar_claims(); from then on held() lists all that the claim took.
create or replace function claim(
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
                ), metered as (
                    insert into meter_delta (queue, bucket, jobs, seconds)
                    select l.queue, n.bucket, sum(n.jobs), sum(n.seconds)
                    from (
                        select w.lane, span_bucket(w.seconds) as bucket, count(*) as jobs, sum(w.seconds) as seconds
                        from (select g.lane, span_seconds(g.since, t) as seconds from gone g offset 0) w group by 1, 2
                    ) n join lane_head l on l.lane = n.lane group by l.queue, n.bucket
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

-- Moves jobs from `publishing` to `finished`: the output has its final name or, according to `placements`, is not wanted. Any
-- process that holds the fence may call it; the first call counts. `outputs` has, for a job with several outputs, a JSON list with
-- the placement of each.
create or replace function finish(
    jobs bigint[], epochs integer[], lease_ids uuid[], placements text[] default null, outputs text[] default null
)
returns table (job bigint, answer answer)
language plpgsql security definer set search_path from current
    -- Without bitmaps the rows come in the order of their jobs, which is the lock order.
    set enable_seqscan = off set enable_bitmapscan = off set enable_nestloop = off set jit = off
    set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    t timestamptz := ledger_time();
    moved bigint[];
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
        from gone p join lane l on l.id = p.lane
        returning f.job
    ), counted as (
        insert into count_delta (queue, batch, state, jobs, audio_ms, began, remarked, at)
        select l.queue, n.batch, s.state, s.sign * n.jobs, case s.sign when 1 then n.audio_ms end, n.began,
               case s.sign when 1 then nullif(n.remarked, 0) end, t
        from (
            select p.lane, p.batch, p.placement is not distinct from 'skipped' as was_skipped, count(*)::integer as jobs,
                   bounded(sum(p.audio_ms), 9000000000000000000) as audio_ms, min(p.started_at) as began,
                   (count(*) filter (where p.has_remarks))::integer as remarked
            from gone p group by 1, 2, 3
        ) n join lane l on l.id = n.lane
        cross join lateral (
            values ('publishing'::job_state, -1), (case when n.was_skipped then 'skipped' else 'completed' end::job_state, 1)
        ) as s (state, sign)
    ), metered as (
        insert into meter_delta (queue, outcome, codec, bucket, jobs, seconds, audio_ms, bytes)
        select l.queue, 'completed', lane_codec(l.needs), n.bucket, sum(n.jobs), sum(n.seconds), sum(n.audio_ms), sum(n.bytes)
        from (
            select r.lane, span_bucket(r.seconds) as bucket, count(*) as jobs, sum(r.seconds) as seconds,
                   sum(r.audio_ms) as audio_ms, sum(r.bytes) as bytes
            from (
                select p.lane, p.audio_ms, span_seconds(p.started_at, t) as seconds,
                       case when not p.lacks_first then p.size else 0 end
                       + case when p.made_further is not null then further_bytes(p.made_further) else 0 end as bytes
                from gone p offset 0
            ) r group by 1, 2
        ) n join lane l on l.id = n.lane group by 1, 3, 4
    )
    select array(select m.job from moved m) into moved;

    return query
        select g.job, case when m.job is not null then 'done' else answer_for(g.job, g.epoch, g.lease_id, 'completed') end
        from unnest(finish.jobs, finish.epochs, finish.lease_ids) as g (job, epoch, lease_id)
        left join unnest(moved) as m (job) on m.job = g.job;
end $$;

-- The only place that decides whether a job is tried again. Writes the attempts and moves each job to where it now belongs:
-- `finished`, `delayed` or back into its lane. The caller has taken the rows out of `running` or `publishing` and subtracted them
-- from the counts there.
create or replace function end_attempts(endings ending[]) returns void
language plpgsql security definer set search_path from current
    set enable_nestloop = on set enable_hashjoin = on set enable_mergejoin = off set enable_seqscan = off set jit = off
    set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    t timestamptz := ledger_time();
    again waiting[];
begin
    if coalesce(cardinality(endings), 0) = 0 then
        return;
    end if;
    -- Creates new lanes in lock order: see 0002_tables.sql.
    perform lane_for(n.share, n.priority, n.needs) from (
        select distinct l.share, l.priority, sorted_needs(l.needs || e.need) collate "C" as needs
        from unnest(endings) e join lane l on l.id = e.lane where e.need is not null
        order by l.share, l.priority, needs offset 0
    ) n;

    with weighed as materialized (
        select e.*, case when e.outcome = 'lost' then 'workers_lost' else 'rooms_crashed' end as why, j.max_attempts, j.cost, l.queue,
               l.priority,
               case when e.need is null then e.lane
                    else lane_for(l.share, l.priority, l.needs || e.need) end as next_lane,
               least(32767, e.spent + (e.outcome = 'failed' and e.class <> 'infrastructure')::integer) as spent_now,
               least(32767, e.lost + (e.outcome = 'lost' or e.outcome = 'failed' and e.class = 'infrastructure')::integer)
                   as lost_now,
               least(32767, e.room_deaths + coalesce(e.room_death, false)::integer) as deaths_now,
               -- A job with a slot had begun. Others only waited in the worker.
               case when e.outcome = 'lost' and e.slot is not null then least(
                   32767, 1 + coalesce((select p.workers_lost from suspect p where p.job = e.job), 0)
               ) end as workers_now,
               s.retry_base, s.retry_cap, s.room_deaths_allowed, s.workers_lost_allowed, s.losses_without_delay
        from unnest(endings) e
        join job_rows(array(select e.job from unnest(endings) e)) j on j.id = e.job
        cross join lateral (select * from lane where lane.id = e.lane limit 1) l
        cross join setting s
    ), judged as materialized (
        select w.*,
               case
                   when w.cancel_asked or w.outcome = 'cancelled' then 'cancelled'
                   when w.outcome = 'failed' and w.class = 'permanent' then 'failed'
                   when w.room_death and w.deaths_now >= w.room_deaths_allowed then 'quarantined'
                   when w.workers_now >= w.workers_lost_allowed then 'quarantined'
                   when w.outcome = 'failed' and w.class = 'transient' and w.spent_now >= w.max_attempts then 'failed'
                   when w.outcome = 'failed' and w.class = 'transient' then 'backed off'
                   when w.outcome <> 'released' and w.lost_now > w.losses_without_delay then 'backed off'
                   when w.hold_for > '0' then 'backed off'
                   else 'again'
               end as verdict,
               -- Full jitter, so that jobs that failed together do not return together.
               coalesce(nullif(greatest(w.hold_for, '0'), '0'), random() * least(
                   w.retry_cap,
                   w.retry_base * power(2, least(20, greatest(0, case w.class
                       when 'transient' then w.spent_now - 1
                       else w.lost_now - w.losses_without_delay - 1 end)))
               )) as pause
        from weighed w
    ), recorded as (
        insert into attempt (job, epoch, lease_id, worker, slot, started_at, ended_at, outcome, code, class, stage, stream,
                             position, frame, libav_name, libav_text, message, hint, last_words, frames_in, frames_out,
                             audio_ms, cpu_ms, peak_bytes, report)
        select v.job, v.epoch, v.lease_id, v.worker, v.slot, v.started_at, t,
               case when v.verdict = 'cancelled' then 'cancelled' else v.outcome end,
               v.code, v.class, v.stage, v.stream, v.position, v.frame, v.libav_name, v.libav_text, v.message, v.hint,
               v.last_words, v.frames_in, v.frames_out, v.audio_ms, v.cpu_ms, v.peak_bytes, v.report
        from judged v
    ), ended as (
        insert into finished (job, batch, queue, state, epoch, spent, lost, room_deaths, priority, ended_at, worker, code, class,
                              stage)
        select v.job, v.batch, v.queue, (case v.verdict when 'cancelled' then 'cancelled' else 'failed' end)::job_state,
               v.epoch, v.spent_now, v.lost_now, v.deaths_now, v.priority, t, v.worker,
               case v.verdict when 'cancelled' then null when 'quarantined' then v.why else v.code end,
               case v.verdict when 'cancelled' then null when 'quarantined' then 'permanent' else v.class end,
               case when v.verdict <> 'cancelled' then v.stage end
        from judged v where v.verdict in ('failed', 'quarantined', 'cancelled')
    ), suspected as (
        insert into suspect as p (job, workers_lost)
        select v.job, v.workers_now from judged v where v.workers_now is not null and v.verdict <> 'cancelled'
        on conflict (job) do update set workers_lost = excluded.workers_lost
    ), put_off as (
        insert into delayed (job, batch, lane, cost, turn, epoch, spent, lost, room_deaths, since, ready_at, code, class, stage)
        select v.job, v.batch, v.next_lane, v.cost, v.turn, v.epoch, v.spent_now, v.lost_now, v.deaths_now, t,
               greatest(t + v.pause, (select hold_delayed())), v.code, v.class, v.stage
        from judged v where v.verdict = 'backed off'
    ), counted as (
        insert into count_delta (queue, batch, state, jobs, began, at)
        select n.queue, n.batch, n.state, count(*), min(n.started_at), t
        from (
            select v.queue, v.batch, v.started_at, (case v.verdict
                when 'cancelled' then 'cancelled' when 'backed off' then 'delayed' when 'again' then 'waiting' else 'failed'
            end)::job_state as state from judged v
        ) n group by n.queue, n.batch, n.state
    ), told as (
        insert into failure_delta (queue, code, class, stage, jobs, attempts, example, at)
        select v.queue, case v.verdict when 'quarantined' then v.why else v.code end as code,
               case v.verdict when 'quarantined' then 'permanent' else v.class end, v.stage,
               count(*) filter (where v.verdict in ('failed', 'quarantined')), count(*), max(v.job), t
        from judged v where v.outcome in ('failed', 'lost') and v.verdict <> 'cancelled' group by 1, 2, 3, 4
    ), metered as (
        insert into meter_delta (queue, outcome, class, room, jobs)
        select n.queue, n.outcome, case when n.outcome <> 'cancelled' then n.class::text else '' end, n.room, count(*)
        from (
            select v.queue, v.class, case when v.verdict = 'cancelled' then 'cancelled' else v.outcome end as outcome,
                   case when v.room_death then v.code end as room
            from judged v
        ) n group by 1, 2, 3, 4
    )
    select array_agg(row(v.job, v.batch, v.next_lane, v.cost, case when v.next_lane = v.lane then v.turn else 0 end,
                         v.epoch, v.spent_now, v.lost_now, v.deaths_now, t)::waiting)
    into again from judged v where v.verdict = 'again';
    if again is not null then
        perform enter_lanes(again, true, t);
    end if;
end $$;

-- Ends workers whose lease has expired, and gives back up to `page` jobs of workers that have ended; their attempts are not spent,
-- but counted as lost. Returns the number of jobs.
--
-- After an outage workers first get time to return. A gap between ticks, a server that has been started since, or a different server
-- (a failover) shows that there was one: see begin_tick().
create or replace function reap(page integer default 2000) returns integer
language plpgsql security definer set search_path from current set jit = off
as $$
declare
    -- The time of the tick. If the server stood still since then, no worker could beat, and the next tick will see the gap.
    t timestamptz := (select least(h.tick_at, ledger_time()) from house h);
    given_back integer := 0;
    cause text;
    ended bigint[];
    newly_lost bigint;
begin
    -- Must come first: see the lock order in 0002_tables.sql.
    perform pg_advisory_xact_lock_shared('job'::regclass::oid::integer, 0);
    if not exists (select from house where quiet_until > t) then
        -- A worker whose row is locked is beating or claiming at this moment.
        update worker w set ended_at = ledger_time(), end_reason = 'lost', holds_jobs = true
        where w.id = any (array(
            select s.id from worker s where s.ended_at is null and s.lease_until <= t
            order by s.id limit 1000 for no key update skip locked
        ));
        get diagnostics newly_lost = row_count;
        if newly_lost > 0 then
            -- Only reap() writes this row, and one process at a time runs it.
            insert into meter_total as m (meter, queue, key, class, amount) values ('leases_lost', 0, '', '', newly_lost)
            on conflict (meter, queue, key, class) do update set amount = m.amount + excluded.amount;
        end if;
    end if;
    foreach cause in array array['lost', 'stopped'] loop
        ended := array(
            select w.id from worker w where w.holds_jobs and w.end_reason = cause
            order by w.id limit 1000 for no key update skip locked
        );
        continue when cardinality(ended) = 0 or given_back >= page;
        given_back := given_back + give_back(ended, cause, ledger_time(), page - given_back);
    end loop;
    return given_back;
end $$;

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

-- MARK: Reading

-- All metrics of the ledger, one row for each value. `key` is the state, the outcome, the code and so on, and `class` belongs to
-- `attempts`. Counters come from sums and the rows that are not folded yet, in one snapshot.
create function ledger_metrics() returns table (meter text, queue text, key text, class text, amount double precision)
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
        select 'failures', 0, f.code, '', f.attempts from failure_delta f
    ) m left join queue q on q.id = m.queue
    group by m.meter, q.name, m.key, m.class
    union all
    select 'jobs', c.queue, c.state::text, '', c.jobs from counts() c
    union all
    -- At the heads of the lanes, as in status().
    select 'oldest', q.name, '', '', coalesce(max(span_seconds(h.since, ledger_time())), 0)
    from queue q
    left join (
        select l.queue, w.since from open_lane() l
        cross join lateral (
            select w.since from waiting w where w.lane = l.id and w.turn >= l.floor order by w.turn, w.job limit 1
        ) w
    ) h on h.queue = q.id
    group by q.name
    union all
    select 'slots', null, s.state, '', s.slots
    from busy b cross join lateral (values ('busy', b.busy), ('free', b.slots - b.busy)) as s (state, slots)
    union all
    select 'workers', null, s.state, '', count(l.state)
    from (values ('run'), ('paused'), ('quiet'), ('drain')) as s (state) left join live l on l.state = s.state group by s.state
    union all
    select 'paused_roots', null, r.root, '', count(*)
    from live l cross join lateral jsonb_array_elements_text(
        case when jsonb_typeof(l.status -> 'pausedRoots') = 'array' then l.status -> 'pausedRoots' else '[]' end
    ) as r (root) group by r.root
    union all
    select 'housekeeping', null, '', '', date_part('epoch', h.tick_at) from house h where h.tick_at > '-infinity'
    union all
    select 'dead_rows', null, c.relname, '', pg_stat_get_dead_tuples(c.oid)
    from pg_class c
    where c.relnamespace = current_schema()::regnamespace and c.relname in (
        'waiting', 'delayed', 'running', 'publishing', 'count_delta', 'failure_delta', 'meter_delta', 'lane', 'worker', 'queue_count'
    )
$$;

-- The age in seconds of the oldest transaction in this database whose snapshot keeps dead rows from being removed; 0 if there is none.
-- Null unless the caller's login may see the sessions of others: `grant pg_read_all_stats`. It has the rights of the caller, for no
-- other reason than that.
create function oldest_snapshot_age() returns double precision
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

select allow('sluice_viewer', 'ledger_metrics', 'oldest_snapshot_age');
select allow('sluice_operator', 'ledger_metrics', 'oldest_snapshot_age');
select apply_permissions();
select set_config('role', 'none', true);
