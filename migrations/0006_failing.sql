-- Why: the ways in which an attempt ends without an output: it failed, it is handed back, its worker stops. All of them go
-- through end_attempts(), which alone decides what becomes of the job.
select set_config('role', pg_get_userbyid(nspowner), true) from pg_namespace where nspname = current_schema();

-- Takes fenced rows out of `running` (and `publishing`, if asked) and answers them as endings without a cause.
create function take_out(
    jobs bigint[], epochs integer[], lease_ids uuid[], from_publishing boolean, t timestamptz
) returns setof ending
language plpgsql security definer set search_path from current
    set enable_seqscan = off set enable_nestloop = off set jit = off set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
begin
    return query
        with given as materialized (
            select * from unnest(take_out.jobs, take_out.epochs, take_out.lease_ids) as g (job, epoch, lease_id)
        ), mine as materialized (
            select r.job from given g
            join running r on r.job = g.job and r.epoch = g.epoch and r.lease_id = g.lease_id
            where r.job = any (take_out.jobs)
            order by r.job for update of r
        ), gone as (
            delete from running r where r.job = any (array(select m.job from mine m)) returning r.*
        ), counted as (
            insert into count_delta (queue, batch, state, jobs, at)
            select l.queue, r.batch, 'running', -count(*), t
            from gone r join lane l on l.id = r.lane group by l.queue, r.batch
        )
        select r.job, r.batch, r.lane, r.turn, r.epoch, r.spent, r.lost, r.room_deaths, r.lease_id, r.worker, r.since,
               r.cancel_asked, null::attempt_outcome, null::text, null::failure_class, null::text, null::integer,
               null::text, null::bigint, null::text, null::text, null::text, null::text, null::text, r.slot,
               null::bigint, nullif(r.frames, 0), null::bigint, null::bigint, null::bigint, null::jsonb,
               false, null::text, null::interval
        from gone r;
    if not from_publishing then
        return;
    end if;
    return query
        with given as materialized (
            select * from unnest(take_out.jobs, take_out.epochs, take_out.lease_ids) as g (job, epoch, lease_id)
        ), mine as materialized (
            select p.job from given g
            join publishing p on p.job = g.job and p.epoch = g.epoch and p.lease_id = g.lease_id
            where p.job = any (take_out.jobs)
            order by p.job for update of p
        ), gone as (
            delete from publishing p where p.job = any (array(select m.job from mine m)) returning p.*
        ), counted as (
            insert into count_delta (queue, batch, state, jobs, at)
            select l.queue, p.batch, 'publishing', -count(*), t
            from gone p join lane l on l.id = p.lane group by l.queue, p.batch
        )
        select p.job, p.batch, p.lane, p.turn, p.epoch, p.spent, p.lost, p.room_deaths, p.lease_id, p.worker, p.started_at,
               false, null::attempt_outcome, null::text, null::failure_class, null::text, null::integer,
               null::text, null::bigint, null::text, null::text, null::text, null::text, null::text, p.slot,
               p.frames_in, p.frames_out, p.audio_ms, p.cpu_ms, p.peak_bytes, p.report, false, null::text, null::interval
        from gone p;
end $$;

-- Reports attempts that failed, in `running` or `publishing`. `failures` is a JSON list of objects with
-- job, epoch, lease_id; code, class, stage, message, and as known stream, position (text), frame, libav_name, libav_text, hint,
-- last_words, room_death (true if the room died of this job), slot, frames_in, frames_out, audio_ms, cpu_ms, peak_bytes,
-- report, need (what a worker must be able to do that this one cannot).
--
-- Permanent failures end the job, transient ones spend an attempt and back off, infrastructure spends none. `lost` changes
-- nothing. A job that was to be stopped ends as cancelled. Figures are other people's: one that its column cannot
-- hold is stored as the nearest that it can, since to refuse it would leave the job with nobody.
create function fail(failures jsonb)
returns table (job bigint, answer answer)
language plpgsql security definer set search_path from current
    set jit = off set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    most constant bigint := 9223372036854775807;
    t timestamptz := ledger_time();
    endings ending[];
    ids bigint[];
    epochs integer[];
    leases uuid[];
begin
    select array_agg(f.job), array_agg(f.epoch), array_agg(f.lease_id) into ids, epochs, leases
    from jsonb_to_recordset(failures) as f (job bigint, epoch integer, lease_id uuid);

    -- The taking first and in a statement of its own; what is joined to it then is values only.
    endings := array(select e from take_out(ids, epochs, leases, true, t) e);
    endings := array(
        select row(e.job, e.batch, e.lane, e.turn, e.epoch, e.spent, e.lost, e.room_deaths, e.lease_id, e.worker,
                   e.started_at, e.cancel_asked, 'failed', f.code, f.class, f.stage,
                   case when f.stream between 0 and 2147483647 then f.stream end, f.position, bounded(f.frame, most),
                   f.libav_name, f.libav_text, f.message, f.hint, f.last_words,
                   coalesce(bounded(f.slot, 32767), e.slot), bounded(f.frames_in, most),
                   coalesce(bounded(f.frames_out, most), e.frames_out), bounded(f.audio_ms, 3155760000000),
                   bounded(f.cpu_ms, most), bounded(f.peak_bytes, most), f.report,
                   coalesce(f.room_death, false), f.need, null)::ending
        from unnest(endings) e
        join jsonb_to_recordset(failures) as f (
            job bigint, epoch integer, lease_id uuid, code text, class failure_class, stage text, stream numeric,
            "position" text, frame numeric, libav_name text, libav_text text, message text, hint text, last_words text,
            room_death boolean, slot numeric, frames_in numeric, frames_out numeric, audio_ms numeric, cpu_ms numeric,
            peak_bytes numeric, report jsonb, need text
        ) on f.job = e.job and f.epoch = e.epoch
    );
    perform end_attempts(endings);

    return query
        select f.job, (case
            when e.job is not null and e.cancel_asked then 'cancelled'
            when e.job is not null then 'done'
            else answer_for(f.job, f.epoch, f.lease_id, 'failed')::text
        end)::answer
        from unnest(ids, epochs, leases) as f (job, epoch, lease_id)
        left join unnest(endings) e on e.job = f.job and e.epoch = f.epoch and e.lease_id = f.lease_id;
end $$;

-- Hands running jobs back unspent: a drain, a deploy, a neighbour's crash, a job that this worker cannot do.
--
-- The jobs go back to where they were in line, at once or after `hold_for`. `needs[i]`, if given and not null, is a word that
-- the next worker's abilities must hold. `message` is for people. `publishing`: too late, this fence has published it; anybody
-- may finish it and counts on its file.
create function release(
    jobs bigint[], epochs integer[], lease_ids uuid[], reason text default 'handed_back',
    needs text[] default null, hold_for interval default null, message text default null
) returns table (job bigint, answer answer)
language plpgsql security definer set search_path from current
    set jit = off set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    endings ending[];
begin
    endings := array(
        select e from take_out(release.jobs, release.epochs, release.lease_ids, false, ledger_time()) e
    );
    endings := array(
        select row(e.job, e.batch, e.lane, e.turn, e.epoch, e.spent, e.lost, e.room_deaths, e.lease_id, e.worker,
                   e.started_at, e.cancel_asked, 'released', release.reason, 'infrastructure', 'release', null, null, null,
                   null, null, release.message, null, null, e.slot, null, e.frames_out, null, null, null, null, false, g.need,
                   release.hold_for)::ending
        from unnest(endings) e
        join unnest(release.jobs, release.needs) as g (job, need) on g.job = e.job
    );
    perform end_attempts(endings);

    return query
        select g.job, (case
            when e.job is not null and e.cancel_asked then 'cancelled'
            when e.job is not null then 'done'
            when (select true from publishing p where p.job = g.job and p.epoch = g.epoch and p.lease_id = g.lease_id)
                then 'publishing'
            else answer_for(g.job, g.epoch, g.lease_id, 'released')::text
        end)::answer
        from unnest(release.jobs, release.epochs, release.lease_ids) as g (job, epoch, lease_id)
        left join unnest(endings) e on e.job = g.job and e.epoch = g.epoch and e.lease_id = g.lease_id;
end $$;

-- Lets jobs go on at once that were handed back for `why` and wait, `page` of them; how many these were. What they waited for
-- is there again.
create function recall(why text, page integer default 1000) returns integer
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

-- Ends workers and gives their running jobs back: `stopped` by themselves, or `lost`. For the functions of the ledger.
create function end_workers(worker_ids bigint[], reason text, t timestamptz) returns integer
language plpgsql security definer set search_path from current set jit = off
as $$
declare
    endings ending[];
    held record;
begin
    update worker w set ended_at = t, end_reason = reason where w.id = any (worker_ids) and w.ended_at is null;
    select array_agg(r.job) as jobs, array_agg(r.epoch) as epochs, array_agg(r.lease_id) as leases into held
    from running r where r.worker = any (worker_ids);
    if held.jobs is null then
        return 0;
    end if;
    endings := array(select e from take_out(held.jobs, held.epochs, held.leases, false, t) e);
    endings := array(
        select row(e.job, e.batch, e.lane, e.turn, e.epoch, e.spent, e.lost, e.room_deaths, e.lease_id, e.worker,
                   e.started_at, e.cancel_asked, case reason when 'lost' then 'lost' else 'released' end,
                   case reason when 'lost' then 'worker_lost' else 'handed_back' end, 'infrastructure',
                   case reason when 'lost' then 'lease' else 'release' end, null, null, null, null, null,
                   case reason when 'lost' then 'the worker gave no sign of life for a whole lease' end,
                   null, null, e.slot, null, e.frames_out, null, null, null, null, false, null, null)::ending
        from unnest(endings) e
    );
    perform end_attempts(endings);
    return cardinality(endings);
end $$;

-- A worker's goodbye: what it still holds goes back unspent. Returns how many jobs that were.
create function stop_worker(worker_id bigint, worker_secret uuid) returns integer
language plpgsql security definer set search_path from current set jit = off
as $$
begin
    perform check_secret(w.secret, worker_secret) from worker w where w.id = worker_id;
    return end_workers(array[worker_id], 'stopped', ledger_time());
end $$;

select allow('sluice_worker', 'publish', 'finish', 'fail', 'release', 'recall', 'stop_worker');
select apply_permissions();
select set_config('role', 'none', true);
