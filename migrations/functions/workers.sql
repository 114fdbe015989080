-- How a worker registers, keeps its jobs and stops. A worker process has one row, with a new id at every start. Its lease is the lease of
-- all its jobs.
--
-- An expired lease takes nothing away by itself. Only a function that ends the worker (`ended_at`) does, and until then the worker's next
-- call revives the lease. So an outage costs no worker its jobs.

-- Registers a worker that has just started. `abilities` are in the vocabulary of `needs`: `recipe:1`, `codec:flac`, `root:archive`,
-- `libav:59`. `libraries` names the libraries that convert, with their versions.
--
-- Returns its id, how long it may work after a heartbeat (this call counts as the first), and the secret by which it proves in later
-- calls that it is this worker.
create or replace function register_worker(
    worker_name text, worker_host text, worker_build text, worker_slots integer, worker_abilities text[],
    worker_libraries text default null
) returns table (worker bigint, lease_seconds double precision, secret uuid)
language plpgsql security definer set search_path from current
as $$
declare
    t timestamptz := ledger_time();
    ttl interval := (select lease from setting);
begin
    loop
        return query
            insert into worker as w (name, host, build, slots, abilities, libraries, started_at, beat_at, lease_until)
            values (worker_name, worker_host, worker_build, worker_slots, worker_abilities, worker_libraries, t, t, t + ttl)
            -- If two workers start in the same millisecond, one in a thousand draws the other's number.
            on conflict (id) do nothing
            returning w.id, extract(epoch from ttl)::double precision, w.secret;
        exit when found;
    end loop;
end $$;

-- Throws if the caller does not have the secret of the worker's registration. For a worker that the ledger does not know it does
-- nothing: the caller decides what to do.
create or replace function check_secret(known uuid, given uuid) returns void
language plpgsql immutable
as $$
begin
    if known is distinct from given and known is not null then
        raise exception 'this is not the worker that registered: its secret is another'
            using errcode = 'invalid_authorization_specification';
    end if;
end $$;

-- Replaces the abilities of a worker, for instance after a mount disappeared or came back. Takes effect at its next claim. Throws
-- SQLSTATE SL001 if the worker has been ended.
create or replace function set_abilities(worker_id bigint, worker_secret uuid, worker_abilities text[]) returns void
language plpgsql security definer set search_path from current
as $$
begin
    perform check_secret(w.secret, worker_secret) from worker w where w.id = worker_id;
    update worker w set abilities = worker_abilities where w.id = worker_id and w.ended_at is null;
    if not found then
        raise exception 'the lease of worker % has expired', worker_id using errcode = 'SL001';
    end if;
end $$;

-- The heartbeat of a whole worker process: one statement, whatever the number of slots.
--
-- Renews the lease, even an expired one, unless the worker has been ended. Until then the worker owns the jobs that it holds in
-- `running`, so an outage that outlasts a lease takes none of them. Stores the progress of the given jobs; `frames_totals` and
-- `slots` may contain nulls. A job with a slot is in a room: if its worker is lost now, that counts against the job. A job that waits for
-- a room, or whose output waits to be published, has none. The answer is one row:
-- `alive`: false means that all jobs are lost: the worker must stop everything, write nothing and register again.
-- `cancelled`: those of the given jobs that the worker must stop and report with fail() or release().
-- `lost`: those of the given jobs that this worker may no longer write (or that it has just finished itself).
create or replace function beat(
    worker_id bigint, worker_secret uuid,
    jobs bigint[] default '{}', epochs integer[] default '{}', lease_ids uuid[] default '{}',
    frames bigint[] default '{}', frames_totals bigint[] default '{}', slots smallint[] default '{}',
    worker_status jsonb default null
) returns table (
    alive boolean, wish worker_wish, lease_seconds double precision,
    cancelled bigint[], lost bigint[], paused_queues text[]
)
language plpgsql security definer set search_path from current
    set enable_seqscan = off set enable_nestloop = off set jit = off set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    t timestamptz;
    ttl interval;
    me record;
begin
    -- A crash of the server may lose a heartbeat: the next one follows in seconds.
    perform set_config('synchronous_commit', 'off', true);
    select ledger_time(), s.lease into t, ttl from setting s;

    perform check_secret(w.secret, beat.worker_secret) from worker w where w.id = beat.worker_id;
    update worker w
    set beat_at = t, lease_until = t + ttl, revived_at = case when w.lease_until <= t then t else w.revived_at end,
        status = coalesce(worker_status, w.status)
    where w.id = beat.worker_id and w.ended_at is null
    returning w.id, w.wish into me;
    if me.id is null then
        return query select false, null::worker_wish, 0::double precision, '{}'::bigint[], beat.jobs, '{}'::text[];
        return;
    end if;

    -- A locked row is on its way out of `running`; waiting for it could end in a deadlock.
    with given as (
        select * from unnest(beat.jobs, beat.epochs, beat.lease_ids, beat.frames, beat.frames_totals, beat.slots)
            as g (job, epoch, lease_id, frames, frames_total, slot)
    ), mine as materialized (
        select r.job from running r join given g on r.job = g.job and r.epoch = g.epoch and r.lease_id = g.lease_id
        where r.worker = me.id and r.job = any (beat.jobs)
        order by r.job for no key update of r skip locked
    )
    update running r
    set moved_at = case when g.frames > r.frames then t else r.moved_at end,
        frames = greatest(r.frames, coalesce(g.frames, 0)), frames_total = coalesce(g.frames_total, r.frames_total),
        slot = g.slot
    from given g join mine m on m.job = g.job
    where r.job = m.job and r.job = any (beat.jobs)
      and (g.frames > r.frames or g.frames_total is distinct from r.frames_total or g.slot is distinct from r.slot);

    return query
        select true, me.wish, extract(epoch from ttl)::double precision,
               coalesce(array_agg(g.job) filter (where r.cancel_asked), '{}'),
               coalesce(array_agg(g.job) filter (where r.job is null and p.job is null), '{}'),
               array(select q.name from queue q where q.paused order by q.name)
        from unnest(beat.jobs, beat.epochs, beat.lease_ids) as g (job, epoch, lease_id)
        left join running r on r.job = g.job and r.epoch = g.epoch and r.lease_id = g.lease_id
            and r.job = any (beat.jobs)
        left join publishing p on p.job = g.job and p.epoch = g.epoch and p.lease_id = g.lease_id
            and p.job = any (beat.jobs);
end $$;

-- All jobs that a worker holds, in the form in which claim() returned them, for a worker whose claim was not answered. A fence
-- permits writes, so only the worker itself gets them. Each worker also calls it once in the time of a lease. In a fleet of a thousand
-- workers that is 33 calls a second, so it reads only the worker's own jobs.
create or replace function held(worker_id bigint, worker_secret uuid)
returns table (
    job bigint, epoch integer, lease_id uuid, batch bigint, queue text, priority smallint, recipe jsonb, cost integer,
    labels jsonb, attempt integer, max_attempts smallint, lost smallint, room_deaths smallint, workers_lost smallint, tenant text
)
language plpgsql stable security definer set search_path from current
    set enable_seqscan = off set enable_bitmapscan = off set jit = off set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    mine bigint[];
begin
    perform check_secret(w.secret, held.worker_secret) from worker w where w.id = held.worker_id;
    if not found then
        return;
    end if;
    mine := array(select r.job from running r where r.worker = held.worker_id order by r.job);
    return query select r.job, r.epoch, r.lease_id, r.batch, q.name, l.priority,
           limited_recipe(j.recipe, tenant_of((select s.submitter from share s where s.id = l.share))), j.cost, j.labels,
           r.spent + 1, j.max_attempts, r.lost, r.room_deaths,
           coalesce((select s.workers_lost from suspect s where s.job = r.job), 0::smallint),
           tenant_of((select s.submitter from share s where s.id = l.share))
    from running r
    join jobs_of(mine) j on j.id = r.job
    join lane l on l.id = r.lane join queue q on q.id = l.queue
    where r.job = any (mine) order by r.job;
end $$;

-- Gives up the worker's claims up to this number. Waits for a claim that is in progress. A claim that arrives later, because it was
-- stuck in a network or in a dying connection, takes nothing; otherwise it would assign jobs to a worker that does not know of them.
create or replace function bar_claims(worker_id bigint, worker_secret uuid, up_to bigint) returns void
language plpgsql security definer set search_path from current
as $$
begin
    perform check_secret(w.secret, worker_secret) from worker w where w.id = worker_id;
    update worker w set claims_from = greatest(w.claims_from, up_to + 1) where w.id = worker_id;
end $$;

-- Ends a worker that stops. Jobs that it still holds go back without spending an attempt. Returns how many went back at once: see
-- end_workers().
create or replace function stop_worker(worker_id bigint, worker_secret uuid) returns integer
language plpgsql security definer set search_path from current set jit = off
as $$
begin
    perform check_secret(w.secret, worker_secret) from worker w where w.id = worker_id;
    return end_workers(array[worker_id], 'stopped', ledger_time());
end $$;

-- Ends workers and gives back their running jobs, the first `page` of them at once; reap() gives back the others. Returns the number
-- given back. For functions of the ledger only.
create or replace function end_workers(worker_ids bigint[], reason text, t timestamptz, page integer default 5000) returns integer
language plpgsql security definer set search_path from current set jit = off
as $$
begin
    -- Must come first: see the lock order in locks.sql.
    lock table lock_job in row share mode;
    update worker w set ended_at = t, end_reason = reason, holds_jobs = true
    where w.id = any (worker_ids) and w.ended_at is null;
    return give_back(worker_ids, reason, t, page);
end $$;
