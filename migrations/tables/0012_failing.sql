-- Why: the ways in which an attempt ends without an output: it fails, the worker hands the job back, or the worker stops. All of
-- them go through end_attempts(), which alone decides what happens to the job.
select set_config('role', pg_get_userbyid(nspowner), true) from pg_namespace where nspname = current_schema();

-- Reports failed attempts, of jobs in `running` or `publishing`. `failures` is a JSON list of objects with job, epoch, lease_id;
-- code, class, stage, message; and as far as known stream, position (text), frame, libav_name, libav_text, hint, last_words,
-- room_death (true if this job killed its room), slot, frames_in, frames_out, audio_ms, cpu_ms, peak_bytes, report, need (an ability
-- that the job requires and this worker lacks).
--
-- A permanent failure ends the job, a transient one spends an attempt and backs off, an infrastructure failure spends none. `lost`
-- changes nothing. A job that had been asked to stop ends as cancelled. Numbers come from outside: one that its column cannot hold
-- is stored as the nearest that fits, because a job whose failure was rejected would belong to no worker.
create function fail(failures jsonb)
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
    -- Must come first: see the lock order in 0002_tables.sql.
    perform pg_advisory_xact_lock_shared('job'::regclass::oid::integer, 0);
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
create function release(
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
    -- Must come first: see the lock order in 0002_tables.sql.
    perform pg_advisory_xact_lock_shared('job'::regclass::oid::integer, 0);
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

-- Gives back up to `page` jobs of workers that have ended, either `stopped` by themselves or `lost`. Returns the number of jobs.
--
-- A locked row is on its way out of `running`. If it stays there after all, a later page finds it: `holds_jobs` stays set.
create function give_back(worker_ids bigint[], reason text, t timestamptz, page integer) returns integer
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
                                        message => 'the worker gave no sign of life for a whole lease')
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

-- Ends workers and gives back their running jobs, the first `page` of them at once; reap() gives back the others. Returns the number
-- given back. For functions of the ledger only.
create function end_workers(worker_ids bigint[], reason text, t timestamptz, page integer default 5000) returns integer
language plpgsql security definer set search_path from current set jit = off
as $$
begin
    -- Must come first: see the lock order in 0002_tables.sql.
    perform pg_advisory_xact_lock_shared('job'::regclass::oid::integer, 0);
    update worker w set ended_at = t, end_reason = reason, holds_jobs = true
    where w.id = any (worker_ids) and w.ended_at is null;
    return give_back(worker_ids, reason, t, page);
end $$;

-- Ends a worker that stops. Jobs that it still holds go back without spending an attempt. Returns how many went back at once: see
-- end_workers().
create function stop_worker(worker_id bigint, worker_secret uuid) returns integer
language plpgsql security definer set search_path from current set jit = off
as $$
begin
    perform check_secret(w.secret, worker_secret) from worker w where w.id = worker_id;
    return end_workers(array[worker_id], 'stopped', ledger_time());
end $$;

select allow('sluice_worker', 'fail', 'release', 'recall', 'stop_worker');
select set_config('role', 'none', true);
