-- Why: the end of an attempt, and what happens to its job. Every end without an output goes through end_attempts().
select set_config('role', pg_get_userbyid(nspowner), true) from pg_namespace where nspname = current_schema();

-- A job that was taken out of `running` or `publishing`: its row there, and what is known of its attempt so far.
create type taken as (
    job bigint, batch bigint, lane integer, turn bigint, epoch integer, spent smallint, lost smallint, room_deaths smallint,
    lease_id uuid, worker bigint, started_at timestamptz, cancel_asked boolean,
    slot smallint, frames_in bigint, frames_out bigint, audio_ms bigint, cpu_ms bigint, peak_bytes bigint, report jsonb
);

-- From a row of `running`.
create function taken(r running) returns taken
language sql immutable parallel safe
as $$
    select row(
        r.job, r.batch, r.lane, r.turn, r.epoch, r.spent, r.lost, r.room_deaths, r.lease_id, r.worker, r.since, r.cancel_asked,
        r.slot, null, nullif(r.frames, 0), null, null, null, null
    )::taken
$$;

-- From a row of `publishing`, where it is too late to cancel the job.
create function taken(p publishing) returns taken
language sql immutable parallel safe
as $$
    select row(
        p.job, p.batch, p.lane, p.turn, p.epoch, p.spent, p.lost, p.room_deaths, p.lease_id, p.worker, p.started_at, false,
        p.slot, p.frames_in, p.frames_out, p.audio_ms, p.cpu_ms, p.peak_bytes, p.report
    )::taken
$$;

-- An attempt that ended without an output: its job's row, and why the attempt ended.
create type ending as (
    job bigint, batch bigint, lane integer, turn bigint, epoch integer, spent smallint, lost smallint, room_deaths smallint,
    lease_id uuid, worker bigint, started_at timestamptz, cancel_asked boolean,
    slot smallint, frames_in bigint, frames_out bigint, audio_ms bigint, cpu_ms bigint, peak_bytes bigint, report jsonb,
    outcome attempt_outcome, code text, class failure_class, stage text, stream integer, "position" text, frame bigint,
    libav_name text, libav_text text, message text, hint text, last_words text,
    -- Whether the room died while it converted the job; an ability that the next worker must have; how long to delay the job.
    room_death boolean, need text, hold_for interval
);

-- The only constructor of `ending`, so that callers name their arguments. A value that they leave out keeps what was known before.
create function ending(
    held taken, outcome attempt_outcome, code text, class failure_class, stage text,
    stream integer default null, "position" text default null, frame bigint default null, libav_name text default null,
    libav_text text default null, message text default null, hint text default null, last_words text default null,
    slot smallint default null, frames_in bigint default null, frames_out bigint default null, audio_ms bigint default null,
    cpu_ms bigint default null, peak_bytes bigint default null, report jsonb default null,
    room_death boolean default false, need text default null, hold_for interval default null
) returns ending
language sql immutable parallel safe
as $$
    select row(
        held.job, held.batch, held.lane, held.turn, held.epoch, held.spent, held.lost, held.room_deaths,
        held.lease_id, held.worker, held.started_at, held.cancel_asked,
        coalesce(slot, held.slot), coalesce(frames_in, held.frames_in), coalesce(frames_out, held.frames_out),
        coalesce(audio_ms, held.audio_ms), coalesce(cpu_ms, held.cpu_ms), coalesce(peak_bytes, held.peak_bytes),
        coalesce(report, held.report),
        outcome, code, class, stage, stream, "position", frame, libav_name, libav_text, message, hint, last_words,
        room_death, need, hold_for
    )::ending
$$;

-- Takes fenced rows out of `running` (and `publishing`, if asked), and subtracts them from the counts there.
create function take_out(
    jobs bigint[], epochs integer[], lease_ids uuid[], from_publishing boolean, t timestamptz
) returns taken[]
language plpgsql security definer set search_path from current
    set enable_seqscan = off set enable_nestloop = off set jit = off set plan_cache_mode = force_generic_plan
as $$
declare
    held taken[];
    published taken[];
begin
    with given as materialized (
        select * from unnest(take_out.jobs, take_out.epochs, take_out.lease_ids) as g (job, epoch, lease_id)
    ), mine as materialized (
        select r.job from given g
        join running r on r.job = g.job and r.epoch = g.epoch and r.lease_id = g.lease_id
        where r.job = any (take_out.jobs)
        order by r.job for update of r
    ), gone as (
        delete from running r where r.job = any (array(select m.job from mine m)) returning r
    ), counted as (
        insert into count_delta (queue, batch, state, jobs, at)
        select l.queue, (g.r).batch, 'running', -count(*), t
        from gone g join lane l on l.id = (g.r).lane group by l.queue, (g.r).batch
    )
    select array(select taken(g.r) from gone g) into held;
    if not from_publishing then
        return held;
    end if;
    with given as materialized (
        select * from unnest(take_out.jobs, take_out.epochs, take_out.lease_ids) as g (job, epoch, lease_id)
    ), mine as materialized (
        select p.job from given g
        join publishing p on p.job = g.job and p.epoch = g.epoch and p.lease_id = g.lease_id
        where p.job = any (take_out.jobs)
        order by p.job for update of p
    ), gone as (
        delete from publishing p where p.job = any (array(select m.job from mine m)) returning p
    ), counted as (
        insert into count_delta (queue, batch, state, jobs, at)
        select l.queue, (g.p).batch, 'publishing', -count(*), t
        from gone g join lane l on l.id = (g.p).lane group by l.queue, (g.p).batch
    )
    select array(select taken(g.p) from gone g) into published;
    return held || published;
end $$;

-- The only place that decides whether a job is tried again. Writes the attempts and moves each job to where it now belongs:
-- `finished`, `delayed` or back into its lane. The caller has taken the rows out of `running` or `publishing` and subtracted them
-- from the counts there.
create function end_attempts(endings ending[]) returns void
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
    )
    select array_agg(row(v.job, v.batch, v.next_lane, v.cost, case when v.next_lane = v.lane then v.turn else 0 end,
                         v.epoch, v.spent_now, v.lost_now, v.deaths_now, t)::waiting)
    into again from judged v where v.verdict = 'again';
    if again is not null then
        perform enter_lanes(again, true, t);
    end if;
end $$;

-- The answer to a fence that no longer matches a row: `repeated` if its attempt ended in exactly the way that the caller reports.
create function answer_for(fenced_job bigint, fenced_epoch integer, fenced_lease uuid, said attempt_outcome) returns answer
language sql stable security definer set search_path from current
as $$
    select coalesce((
        select case a.outcome when said then 'repeated' when 'cancelled' then 'cancelled' else 'lost' end
        from attempt_rows(array[fenced_job]) a where a.epoch = fenced_epoch and a.lease_id = fenced_lease
    ), 'lost')::answer
$$;

select set_config('role', 'none', true);
