-- The ends of attempts without an output: an attempt fails, or the worker hands the job back, or the worker stops or is lost. Each function
-- takes the rows out of `running` or `publishing` (take_out()), and end_attempts() alone decides what happens to the job.

-- Reports failed attempts, of jobs in `running` or `publishing`. `failures` is a JSON list of objects with job, epoch, lease_id;
-- code, class, stage, message; and as far as known stream, position (text), frame, libav_name, libav_text, hint, last_words,
-- room_death (true if this job killed its room), slot, frames_in, frames_out, audio_ms, cpu_ms, peak_bytes, report, need (an ability
-- that the job requires and this worker lacks).
--
-- A permanent failure ends the job, a transient one spends an attempt and backs off, an infrastructure failure spends none. `lost`
-- changes nothing. A job that had been asked to stop ends as cancelled. Numbers come from outside: one that its column cannot hold
-- is stored as the nearest that fits, because a job whose failure was rejected would belong to no worker.
create or replace function fail(failures jsonb)
returns table (job bigint, answer answer)
language plpgsql security definer set search_path from current
    set jit = off set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    most constant bigint := 9223372036854775807;
    t timestamptz := ledger_time();
    held taken[];
    ids bigint[];
    epochs integer[];
    leases uuid[];
begin
    -- Must come first: see the lock order in locks.sql.
    lock table lock_job in row share mode;
    select array_agg(f.job), array_agg(f.epoch), array_agg(f.lease_id) into ids, epochs, leases
    from jsonb_to_recordset(failures) as f (job bigint, epoch integer, lease_id uuid);

    -- Takes the rows out first, in a separate statement, so that the join below works on values only.
    held := take_out(ids, epochs, leases, true, t);
    perform end_attempts(array(
        select ending(
            k, 'failed', f.code, f.class, f.stage, stream => case when f.stream between 0 and 2147483647 then f.stream::integer end,
            "position" => f.position, frame => bounded(f.frame, most), libav_name => f.libav_name, libav_text => f.libav_text,
            message => f.message, hint => f.hint, last_words => f.last_words, slot => bounded(f.slot, 32767)::smallint,
            frames_in => bounded(f.frames_in, most), frames_out => bounded(f.frames_out, most),
            audio_ms => bounded(f.audio_ms, 3155760000000), cpu_ms => bounded(f.cpu_ms, most),
            peak_bytes => bounded(f.peak_bytes, most), report => f.report, room_death => coalesce(f.room_death, false),
            need => f.need
        )
        from unnest(held) k
        join jsonb_to_recordset(failures) as f (
            job bigint, epoch integer, lease_id uuid, code text, class failure_class, stage text, stream numeric,
            "position" text, frame numeric, libav_name text, libav_text text, message text, hint text, last_words text,
            room_death boolean, slot numeric, frames_in numeric, frames_out numeric, audio_ms numeric, cpu_ms numeric,
            peak_bytes numeric, report jsonb, need text
        ) on f.job = k.job and f.epoch = k.epoch
    ));

    return query
        select f.job, (case
            when k.job is not null and k.cancel_asked then 'cancelled'
            when k.job is not null then 'done'
            else answer_for(f.job, f.epoch, f.lease_id, 'failed')::text
        end)::answer
        from unnest(ids, epochs, leases) as f (job, epoch, lease_id)
        left join unnest(held) k on k.job = f.job and k.epoch = f.epoch and k.lease_id = f.lease_id;
end $$;

-- Hands running jobs back without spending an attempt: in a drain, in a deployment, after the crash of a neighbour, or when this
-- worker cannot do the job.
--
-- The jobs return to their places in their lanes, at once or after `hold_for`. `needs[i]`, if given and not null, is an ability that
-- the next worker must have. `message` is for people. The answer `publishing` means that it is too late: this fence has published
-- the job, and any process may finish it and needs its file.
create or replace function release(
    jobs bigint[], epochs integer[], lease_ids uuid[], reason text default 'handed_back',
    needs text[] default null, hold_for interval default null, message text default null
) returns table (job bigint, answer answer)
language plpgsql security definer set search_path from current
    set jit = off set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    held taken[];
begin
    -- Must come first: see the lock order in locks.sql.
    lock table lock_job in row share mode;
    held := take_out(release.jobs, release.epochs, release.lease_ids, false, ledger_time());
    perform end_attempts(array(
        select ending(k, 'released', release.reason, 'infrastructure', 'release', message => release.message, need => g.need,
                      hold_for => release.hold_for)
        from unnest(held) k join unnest(release.jobs, release.needs) as g (job, need) on g.job = k.job
    ));

    return query
        select g.job, (case
            when k.job is not null and k.cancel_asked then 'cancelled'
            when k.job is not null then 'done'
            when (select true from publishing p where p.job = g.job and p.epoch = g.epoch and p.lease_id = g.lease_id)
                then 'publishing'
            else answer_for(g.job, g.epoch, g.lease_id, 'released')::text
        end)::answer
        from unnest(release.jobs, release.epochs, release.lease_ids) as g (job, epoch, lease_id)
        left join unnest(held) k on k.job = g.job and k.epoch = g.epoch and k.lease_id = g.lease_id;
end $$;

-- Makes up to `page` waiting jobs runnable that were handed back for `why`, because what they lacked is available again. Returns the
-- number of jobs.
create or replace function recall(why text, page integer default 1000) returns integer
language plpgsql security definer set search_path from current set jit = off set enable_seqscan = off
as $$
declare
    t timestamptz := ledger_time();
    hurried integer;
begin
    with chosen as materialized (
        select d.job from delayed d where d.code = why and d.stage = 'release' and d.ready_at > t
        order by d.job limit page for update skip locked
    )
    update delayed d set ready_at = greatest(t, (select hold_delayed())) where d.job = any (array(select c.job from chosen c));
    get diagnostics hurried = row_count;
    if hurried > 0 then
        perform wake_delayed(page);
        perform pg_notify(current_schema(), 'jobs');
    end if;
    return hurried;
end $$;

-- Takes fenced rows out of `running` (and `publishing`, if asked), and subtracts them from the counts there.
create or replace function take_out(
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
        from gone g cross join lateral (select * from lane where lane.id = (g.r).lane limit 1) l group by l.queue, (g.r).batch
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
        from gone g cross join lateral (select * from lane where lane.id = (g.p).lane limit 1) l group by l.queue, (g.p).batch
    )
    select array(select taken(g.p) from gone g) into published;
    return held || published;
end $$;

-- From a row of `running`.
create or replace function taken(r running) returns taken
language sql immutable parallel safe
as $$
    select row(
        r.job, r.batch, r.lane, r.turn, r.epoch, r.spent, r.lost, r.room_deaths, r.lease_id, r.worker, r.since, r.cancel_asked,
        r.slot, null, nullif(r.frames, 0), null, null, null, null
    )::taken
$$;

-- From a row of `publishing`, where it is too late to cancel the job.
create or replace function taken(p publishing) returns taken
language sql immutable parallel safe
as $$
    select row(
        p.job, p.batch, p.lane, p.turn, p.epoch, p.spent, p.lost, p.room_deaths, p.lease_id, p.worker, p.started_at, false,
        p.slot, p.frames_in, p.frames_out, p.audio_ms, p.cpu_ms, p.peak_bytes, p.report
    )::taken
$$;

-- The only constructor of `ending`, so that callers name their arguments. A value that they leave out keeps what was known before.
create or replace function ending(
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
    -- Creates new lanes in lock order: see locks.sql.
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
               -- A job with a slot was in a room. Others only waited in the worker, for a room or to be published.
               case when e.outcome = 'lost' and e.slot is not null then least(
                   32767, 1 + coalesce((select p.workers_lost from suspect p where p.job = e.job), 0)
               ) end as workers_now,
               -- Until close_albums() wakes it.
               e.outcome = 'released' and e.code = 'album_waits' as waits_for_album,
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
                   when w.hold_for > '0' or w.waits_for_album then 'backed off'
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
               greatest(case when v.waits_for_album then 'infinity' else t + v.pause end, (select hold_delayed())),
               v.code, v.class, v.stage
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
    ), used as (
        insert into use_delta (tenant, cpu_ms, bytes, at)
        select n.tenant, sum(n.cpu_ms), 0, t
        from (
            select tenant_of((
                       select s.submitter from share s where s.id = (select l.share from lane l where l.id = r.lane)
                   )) as tenant, r.cpu_ms
            from (
                select v.lane, sum(bounded(v.cpu_ms, 3155760000000)) as cpu_ms from judged v where v.cpu_ms > 0 group by v.lane
            ) r
            where (select exists (select from tenant)) offset 0
        ) n where n.tenant is not null group by n.tenant
    )
    select array_agg(row(v.job, v.batch, v.next_lane, v.cost, case when v.next_lane = v.lane then v.turn else 0 end,
                         v.epoch, v.spent_now, v.lost_now, v.deaths_now, t)::waiting)
    into again from judged v where v.verdict = 'again';
    if again is not null then
        perform enter_lanes(again, true, t);
    end if;
end $$;

-- Gives back up to `page` jobs of workers that have ended, either `stopped` by themselves or `lost`. Returns the number of jobs.
--
-- A locked row is on its way out of `running`. If it stays there after all, a later page finds it: `holds_jobs` stays set.
create or replace function give_back(worker_ids bigint[], reason text, t timestamptz, page integer) returns integer
language plpgsql security definer set search_path from current set jit = off
as $$
declare
    fences record;
    held taken[];
begin
    select array_agg(r.job) as jobs, array_agg(r.epoch) as epochs, array_agg(r.lease_id) as leases into fences
    from (
        select r.job, r.epoch, r.lease_id from running r where r.worker = any (worker_ids)
        order by r.job limit page for update of r skip locked
    ) r;
    if fences.jobs is not null then
        held := take_out(fences.jobs, fences.epochs, fences.leases, false, t);
        perform end_attempts(array(
            select case reason
                when 'lost' then ending(k, 'lost', 'worker_lost', 'infrastructure', 'lease',
                                        message => 'the worker sent no heartbeat for a whole lease')
                else ending(k, 'released', 'handed_back', 'infrastructure', 'release')
            end
            from unnest(held) k
        ));
    end if;
    if coalesce(cardinality(fences.jobs), 0) < page then
        update worker w set holds_jobs = false
        where w.id = any (worker_ids) and w.holds_jobs
          and w.id <> all (array(select distinct r.worker from running r where r.worker = any (worker_ids)));
    end if;
    return coalesce(cardinality(held), 0);
end $$;
