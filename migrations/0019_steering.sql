-- Why: what people may change: cancel, retry and reprioritise jobs by id, batch or any filter; pause and limit queues; quieten
-- workers. Submitters change jobs of their own batches; what concerns others is for operators. Jobs are changed a chunk per call,
-- each in a transaction of its own, so that a million of them do not block other sessions; the answer holds the cursor for the next call,
-- null at the end. count_jobs() says beforehand how many it would be.
select set_config('role', pg_get_userbyid(nspowner), true) from pg_namespace where nspname = current_schema();

-- Only states in which the change means something, of those that the filter asks for.
create function narrowed(filter jsonb, states job_state[]) returns jsonb
language sql stable set search_path from current
as $$
    select filter || jsonb_build_object('states', coalesce(jsonb_agg(s), '[]')) from unnest(states) s
    where not filter ? 'states' or filter -> 'states' ? s::text
$$;

-- Cancels jobs. Those not begun end at once (`changed`); those that run are stopped by their workers (`asked`), within a beat
-- or when the notification comes. `publishing`: for so many it is too late. Their files may have their names by now, so they are
-- completed; they are neither stopped nor counted as seen.
create function cancel_jobs(filter jsonb, behind jsonb default null, page integer default 1000)
returns table (seen bigint, changed bigint, asked bigint, publishing bigint, next jsonb)
language plpgsql security definer set search_path from current set jit = off set enable_seqscan = off
as $$
#variable_conflict use_column
declare
    t timestamptz := ledger_time();
    ids bigint[];
begin
    -- First of all: see the order of locks in 0002_tables.sql.
    perform pg_advisory_xact_lock_shared('job'::regclass::oid::integer, 0);
    select array_agg(f.job), count(*) filter (where f.state <> 'publishing'), count(*) filter (where f.state = 'publishing'),
           (array_agg(f.next order by f.place desc))[1]
    into ids, seen, publishing, next
    from find_jobs(narrowed(steerable(filter), '{delayed,waiting,running,publishing}'), behind, page)
        with ordinality as f (job, state, next, place);
    with unheld as materialized (
        select w.job from waiting w where w.job = any (ids) order by w.job for update of w
    ), undue as materialized (
        select d.job from delayed d where d.job = any (ids) order by d.job for update of d
    ), from_waiting as (
        delete from waiting w where w.job = any (array(select v.job from unheld v)) returning w.*
    ), from_delayed as (
        delete from delayed d where d.job = any (array(select v.job from undue v)) returning d.*
    ), gone as (
        select 'waiting'::job_state as state, w.job, w.batch, w.lane, w.epoch, w.spent, w.lost, w.room_deaths
        from from_waiting w
        union all
        select 'delayed', d.job, d.batch, d.lane, d.epoch, d.spent, d.lost, d.room_deaths from from_delayed d
    ), ended as (
        insert into finished (job, batch, queue, state, epoch, spent, lost, room_deaths, priority, ended_at)
        select g.job, g.batch, l.queue, 'cancelled', g.epoch, g.spent, g.lost, g.room_deaths, l.priority, t
        from gone g join lane l on l.id = g.lane
    ), counted as (
        insert into count_delta (queue, batch, state, jobs, at)
        select n.queue, n.batch, s.state, s.sign * n.jobs, t
        from (
            select l.queue, g.batch, g.state, count(*)::integer as jobs from gone g join lane l on l.id = g.lane
            group by l.queue, g.batch, g.state
        ) n cross join lateral (values (n.state, -1), ('cancelled'::job_state, 1)) as s (state, sign)
    ), held as materialized (
        select r.job from running r where r.job = any (ids) and not r.cancel_asked order by r.job for update of r
    ), stopped as (
        update running r set cancel_asked = true where r.job = any (array(select h.job from held h)) returning r.job
    )
    select (select count(*) from gone), (select count(*) from stopped) into changed, asked;
    if asked > 0 then
        perform pg_notify(current_schema(), 'cancel');
    end if;
    return next;
end $$;

-- Puts jobs that failed or were cancelled back into their lines, with all their attempts before them again and with the priority that
-- they had last; and lets those that wait for another try go at once. What they tried before stays on record.
--
-- Jobs that are half published, for longer than it should take, are handed out again at once to those who can finish them
-- (`publishing`); nothing else of them changes.
--
-- With `new_damage` (`strict`, `conceal`, `skip`) all of them meet damage in that way from now on. With `conceal_seconds` as well,
-- `conceal` adds at most so much silence.
create function retry_jobs(
    filter jsonb, behind jsonb default null, page integer default 1000, new_damage text default null,
    conceal_seconds integer default null
)
returns table (seen bigint, changed bigint, publishing bigint, next jsonb)
language plpgsql security definer set search_path from current set jit = off set enable_seqscan = off
    -- With the ids as constants the planner leaves out the spans that hold none of them.
    set plan_cache_mode = force_custom_plan
as $$
#variable_conflict use_column
declare
    t timestamptz := ledger_time();
    ids bigint[];
    again waiting[];
    hurrying waiting[];
    amended bigint[];
    epochs integer[];
    hurried bigint;
begin
    if new_damage not in ('strict', 'conceal', 'skip') then
        raise exception 'damage is met by strict, conceal or skip, not by "%"', new_damage
            using errcode = 'invalid_parameter_value';
    end if;
    if conceal_seconds <= 0 or conceal_seconds is not null and new_damage is distinct from 'conceal' then
        raise exception 'conceal_seconds is more than 0 and goes with conceal, not % with "%"', conceal_seconds, new_damage
            using errcode = 'invalid_parameter_value';
    end if;
    -- Not while drop_old() counts or drops what ended long ago.
    perform pg_advisory_xact_lock_shared('finished'::regclass::oid::integer, 0);
    perform pg_advisory_xact_lock_shared('job'::regclass::oid::integer, 0);
    select array_agg(f.job), count(*) filter (where f.state <> 'publishing'), (array_agg(f.next order by f.place desc))[1]
    into ids, seen, next
    from find_jobs(narrowed(steerable(filter), '{delayed,publishing,failed,cancelled}'), behind, page)
        with ordinality as f (job, state, next, place);
    -- Jobs are locked in the order of locks, and then enter their lines in one go. Those whose time has come go by themselves; they count
    -- if their recipes change.
    with chosen as materialized (
        select d.job, d.epoch, d.ready_at > t as is_early from delayed d
        where d.job = any (ids) and (d.ready_at > t or new_damage is not null) and d.epoch > 0
        order by d.job for update of d
    ), gone as (
        delete from delayed d where d.job = any (array(select c.job from chosen c where c.is_early)) returning d.*
    ), counted as (
        insert into count_delta (queue, batch, state, jobs, at)
        select l.queue, n.batch, s.state, s.sign * n.jobs, t
        from (select g.lane, g.batch, count(*)::integer as jobs from gone g group by g.lane, g.batch) n
        join lane l on l.id = n.lane
        cross join (values ('delayed'::job_state, -1), ('waiting', 1)) as s (state, sign)
    )
    select array(select row(g.job, g.batch, g.lane, g.cost, g.turn, g.epoch, g.spent, g.lost, g.room_deaths, t)::waiting from gone g),
           array_agg(c.job), array_agg(c.epoch), count(*)
    into hurrying, amended, epochs, hurried from chosen c;
    -- The process that has the order may be at it still; to carry it out twice is as good as once.
    with late as materialized (
        select p.job from publishing p
        where p.job = any (ids) and p.since < t - (select s.publish_grace from setting s) order by p.job for update of p
    )
    update publishing p set handed_at = '-infinity' where p.job = any (array(select l.job from late l));
    get diagnostics publishing = row_count;
    with chosen as materialized (
        select f.job from finished f
        where f.job = any (ids) and f.state in ('failed', 'cancelled') order by f.job for update of f
    ), gone as (
        delete from finished f where f.job = any (array(select c.job from chosen c)) and f.job = any (ids) returning f.*
    ), counted as (
        insert into count_delta (queue, batch, state, jobs, at)
        select n.queue, n.batch, s.state, s.sign * n.jobs, t
        from (select g.queue, g.batch, g.state, count(*)::integer as jobs from gone g group by g.queue, g.batch, g.state) n
        cross join lateral (values (n.state, -1), ('waiting'::job_state, 1)) as s (state, sign)
    ), forgiven as (
        insert into failure_delta (queue, code, class, stage, jobs, attempts, example, at)
        select g.queue, g.code, g.class, g.stage, -count(*), 0, max(g.job), date_trunc('hour', g.ended_at)
        from gone g where g.state = 'failed' group by g.queue, g.code, g.class, g.stage, date_trunc('hour', g.ended_at)
    ), asked as materialized (
        select g.job, g.batch, g.epoch, g.priority, j.lane, j.cost from gone g
        join job_rows(array(select c.job from chosen c)) j on j.id = g.job
    ), lanes as materialized (
        -- The needs are those that the job was submitted with; the priority is the last that it had. In the order of locks.
        select k.lane, k.priority,
               case when k.old_priority = k.priority then k.lane else lane_for(k.share, k.priority, k.needs) end as new_lane
        from (
            select distinct l.share, a.priority, l.needs, a.lane, l.priority as old_priority
            from asked a join lane l on l.id = a.lane order by l.share, a.priority, l.needs offset 0
        ) k
    )
    select array_agg(row(a.job, a.batch, n.new_lane, a.cost, 0, a.epoch, 0, 0, 0, t)::waiting),
           amended || array_agg(a.job), epochs || array_agg(a.epoch)
    into again, amended, epochs
    from asked a join lanes n on n.lane = a.lane and n.priority = a.priority;
    if again is not null then
        delete from suspect s where s.job in (select a.job from unnest(again) a);
        -- What was counted of a span with these jobs is no longer so.
        update leaving l set phase = 'void'
        where l.phase in ('counting', 'counted')
          and exists (select from unnest(again) a where a.job between l.first_id and l.counted_to);
    end if;

    if new_damage is not null then
        update job j
        set recipe = j.recipe || jsonb_build_object('damage', new_damage) || case when conceal_seconds is null then '{}'
                else jsonb_build_object('limits', coalesce(j.recipe -> 'limits', '{}')
                    || jsonb_build_object('concealSeconds', conceal_seconds)) end,
            amendments = coalesce(j.amendments, '[]') || jsonb_build_array(jsonb_strip_nulls(jsonb_build_object(
                'until', c.epoch, 'damage', coalesce(j.recipe ->> 'damage', 'strict'),
                'conceal_seconds', j.recipe #> '{limits,concealSeconds}', 'at', t, 'by', session_user)))
        from unnest(amended, epochs) as c (job, epoch)
        where j.id = c.job and j.id = any (amended)
            and (coalesce(j.recipe ->> 'damage', 'strict') <> new_damage
                or j.recipe #> '{limits,concealSeconds}' is distinct from coalesce(to_jsonb(conceal_seconds),
                    j.recipe #> '{limits,concealSeconds}'));
    end if;
    if again is not null or cardinality(hurrying) > 0 then
        perform enter_lines(again || hurrying, false, t);
    end if;
    changed := coalesce(cardinality(again), 0) + hurried;
    if changed > 0 then
        perform pg_notify(current_schema(), 'jobs');
    end if;
    return next;
end $$;

-- Moves jobs that wait to another priority (higher goes first), behind those of their batch that went there before.
create function prioritize_jobs(filter jsonb, new_priority integer, behind jsonb default null, page integer default 1000)
returns table (seen bigint, changed bigint, next jsonb)
language plpgsql security definer set search_path from current set jit = off set enable_seqscan = off
as $$
#variable_conflict use_column
declare
    t timestamptz := ledger_time();
    ids bigint[];
    in_line bigint[];
    put_off bigint[];
    moved waiting[];
    old_lanes integer[];
    new_lanes integer[];
    later bigint;
begin
    select array_agg(f.job), count(*), (array_agg(f.next order by f.place desc))[1] into ids, seen, next
    from find_jobs(narrowed(steerable(filter), '{delayed,waiting}'), behind, page) with ordinality as f (job, state, next, place);
    -- Jobs first, then lines that are made, then lines that are held: see 0002_tables.sql.
    -- What comes into these tables meanwhile is left alone.
    in_line := array(select w.job from waiting w where w.job = any (ids) order by w.job for update of w);
    put_off := array(select d.job from delayed d where d.job = any (ids) order by d.job for update of d);
    select array_agg(n.id), array_agg(lane_for(n.share, new_priority, n.needs)) into old_lanes, new_lanes
    from (
        select l.id, l.share, l.needs from lane l
        where l.priority <> new_priority and l.id in (
            select w.lane from waiting w where w.job = any (in_line)
            union select d.lane from delayed d where d.job = any (put_off)
        ) order by l.share, l.needs offset 0
    ) n;
    with gone as (
        delete from waiting w where w.job = any (in_line) and w.lane = any (old_lanes) returning w.*
    )
    select array_agg(row(g.job, g.batch, n.new_lane, g.cost, 0, g.epoch, g.spent, g.lost, g.room_deaths, g.since)::waiting) into moved
    from gone g join unnest(old_lanes, new_lanes) as n (id, new_lane) on n.id = g.lane;
    update delayed d set lane = n.new_lane from unnest(old_lanes, new_lanes) as n (id, new_lane)
    where d.job = any (put_off) and d.lane = n.id;
    get diagnostics later = row_count;
    if moved is not null then
        perform check_lanes(array(select m.lane from unnest(moved) m), (select lanes_per_submitter from setting));
        perform enter_lines(moved, false, t);
    end if;
    changed := coalesce(cardinality(moved), 0) + later;
    return next;
end $$;

-- MARK: Queues and workers

-- Pauses a queue or lets it go on; jobs that run are not touched. Refuses a name that no queue has.
create function pause_queue(queue_name text, pause boolean default true) returns void
language plpgsql security definer set search_path from current
as $$
declare
    q queue;
begin
    select * into q from queue where name = queue_name for no key update;
    if not found then
        raise exception 'there is no queue "%"', queue_name using errcode = 'no_data_found';
    end if;
    update queue set paused = pause where id = q.id;
    if q.paused and not pause then
        perform pg_notify(current_schema(), 'jobs');
    end if;
end $$;

-- At most `running_limit` jobs of the queue at once; null lifts the limit.
create function limit_queue(queue_name text, new_limit integer) returns void
language plpgsql security definer set search_path from current
as $$
declare
    q queue;
begin
    select * into q from queue where name = queue_name for no key update;
    if not found then
        raise exception 'there is no queue "%"', queue_name using errcode = 'no_data_found';
    end if;
    update queue set running_limit = new_limit where id = q.id;
    if q.running_limit is not null and (new_limit is null or new_limit > q.running_limit) then
        perform pg_notify(current_schema(), 'jobs');
    end if;
end $$;

-- The queue's share beside others, from the next claim on.
create function weigh_queue(queue_name text, new_weight integer) returns void
language plpgsql security definer set search_path from current
as $$
begin
    update queue set weight = new_weight where name = queue_name;
    if not found then
        raise exception 'there is no queue "%"', queue_name using errcode = 'no_data_found';
    end if;
end $$;

-- A submitter's share of a queue beside others, from the next claim on.
create function weigh_submitter(queue_name text, whose text, new_weight integer) returns void
language plpgsql security definer set search_path from current
as $$
begin
    update share s set weight = new_weight from queue q where q.id = s.queue and q.name = queue_name and s.submitter = whose;
    if not found then
        raise exception '"%" has submitted nothing to a queue "%"', whose, queue_name using errcode = 'no_data_found';
    end if;
end $$;

-- Asks a worker to claim nothing more (`quiet`), to stop once empty (`drain`), or to go on (`run`). It hears of it at its next
-- beat. False if it has ended.
create function wish_worker(worker_id bigint, new_wish worker_wish) returns boolean
language sql security definer set search_path from current
as $$
    with wished as (update worker set wish = new_wish where id = worker_id and ended_at is null returning id)
    select exists (select from wished)
$$;

select allow('sluice_submitter', 'cancel_jobs', 'retry_jobs', 'prioritize_jobs');
select allow('sluice_operator', 'cancel_jobs', 'retry_jobs', 'prioritize_jobs', 'pause_queue', 'limit_queue', 'weigh_queue',
             'weigh_submitter', 'wish_worker');
select apply_permissions();
select set_config('role', 'none', true);
