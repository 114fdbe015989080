-- Housekeeping finds workers that no longer beat, and jobs that make no progress although their worker beats.

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
    -- Must come first: see the lock order in locks.sql.
    lock table lock_job in row share mode;
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

-- How long a job may take by its recipe; null if the recipe gives no number. At most a century: a value from a submitter must not
-- stop the audit of all jobs.
create or replace function wall_limit(recipe jsonb) returns interval
language sql immutable parallel safe
as $$
    select case when jsonb_typeof(recipe #> '{limits,wallSeconds}') = 'number' then make_interval(
        secs => least(greatest((recipe #>> '{limits,wallSeconds}')::numeric, 0), 3155760000)::double precision
    ) end
$$;

-- Audits `page` running jobs with ids above `after`. It ends jobs of workers that have ended; jobs whose frames have not moved for
-- the stall limit, although their worker has been beating for as long; and jobs far beyond their wall-clock limit. The worker's own
-- clocks are shorter; this is for workers whose clocks hang. `reached` is the last id audited; null: there are no more.
create or replace function audit_running(page integer default 5000, after bigint default 0, out affected integer, out reached bigint)
language plpgsql security definer set search_path from current set jit = off
as $$
declare
    -- The time of the tick, as in reap().
    t timestamptz := (select least(h.tick_at, ledger_time()) from house h);
    last_job bigint;
    overdue record;
    held taken[];
begin
    -- Must come first: see the lock order in locks.sql.
    lock table lock_job in row share mode;
    affected := 0;
    if exists (select from house where quiet_until > t) then
        return;
    end if;
    select max(r.job), case when count(*) >= page then max(r.job) end into last_job, reached
    from (select r.job from running r where r.job > after order by r.job limit page) r;
    select array_agg(r.job) as jobs, array_agg(r.epoch) as epochs, array_agg(r.lease_id) as leases,
           array_agg(r.reason) as reasons into overdue
    from (
        select r.job, r.epoch, r.lease_id, v.reason
        from running r
        cross join setting s
        left join worker w on w.id = r.worker
        left join job_rows(array(
            select o.job from running o
            where o.job > after and o.job <= last_job and o.since < t - (select deadline_grace from setting)
        )) j on j.id = r.job
        cross join lateral (select case
            -- reap() gives back the rest of such a worker's jobs.
            when w.holds_jobs then null
            when w.id is null or w.ended_at is not null then 'worker_lost'
            when greatest(r.moved_at, w.revived_at) < t - s.stall then 'stalled'
            when r.since + wall_limit(j.recipe) + s.deadline_grace < t then 'deadline_missed'
        end as reason) v
        where r.job > after and r.job <= last_job and v.reason is not null
        -- A locked row is on its way out of `running`, or its progress is being updated.
        order by r.job for update of r skip locked
    ) r;
    if overdue.jobs is null then
        return;
    end if;
    held := take_out(overdue.jobs, overdue.epochs, overdue.leases, false, t);
    perform end_attempts(array(
        select case o.reason
            when 'worker_lost' then ending(k, 'lost', o.reason, 'infrastructure', 'lease', message => 'its worker has ended')
            when 'stalled' then ending(
                k, 'failed', o.reason, 'transient', 'lease',
                message => 'no frame came out for too long, although the worker sent heartbeats')
            else ending(k, 'failed', o.reason, 'transient', 'lease', message => 'it took longer than its recipe allows')
        end
        from unnest(held) k join unnest(overdue.jobs, overdue.reasons) as o (job, reason) on o.job = k.job
    ));
    affected := cardinality(held);
end $$;
