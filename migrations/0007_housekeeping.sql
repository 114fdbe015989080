-- Why: what has to be done and is nobody's job in particular. keep_house() does all of it and may be called by anybody as
-- often as they like: whoever gets the row lock of `house` keeps house for this tick, all others return at once, and ticks
-- that come too soon do nothing. There is no leader to elect, no session to hold, and nothing to clean up if one dies.
--
-- Conversions go on when nobody keeps house; only lost workers stay unnoticed and counts grow slower to read. A fleet without
-- a coordinator lets its workers call keep_house() after their beats.
select set_config('role', pg_get_userbyid(nspowner), true) from pg_namespace where nspname = current_schema();

-- MARK: Lost workers

-- Ends workers whose lease is over and gives their jobs back, unspent and counted. Returns how many jobs.
--
-- After an outage workers have time to come back first. That there was one is told by a gap between ticks, by a server that
-- started since, or by one that is not the server that was (failover): see keep_house().
create function reap() returns integer
language plpgsql security definer set search_path from current set jit = off
as $$
declare
    -- The tick's time. If the server stood still since then, no worker could beat, and the next tick will see the gap.
    t timestamptz := (select least(h.tick_at, ledger_time()) from house h);
    silent bigint[];
begin
    if exists (select from house where quiet_until > t) then
        return 0;
    end if;
    -- A worker whose row is locked is beating or claiming right now.
    silent := array(
        select w.id from worker w where w.ended_at is null and w.lease_until <= t
        order by w.id limit 1000 for no key update skip locked
    );
    if cardinality(silent) = 0 then
        return 0;
    end if;
    return end_workers(silent, 'lost', ledger_time());
end $$;

-- How long a job may take by its recipe; null if it does not say so in a number. A century at most: what a submitter wrote there
-- must not end the look at everybody's jobs.
create function wall_limit(recipe jsonb) returns interval
language sql immutable parallel safe
as $$
    select case when jsonb_typeof(recipe #> '{limits,wallSeconds}') = 'number' then make_interval(
        secs => least(greatest((recipe #>> '{limits,wallSeconds}')::numeric, 0), 3155760000)::double precision
    ) end
$$;

-- Looks through everything that runs: jobs of workers that have ended, jobs whose frames stand still under a worker that
-- beats, and has beaten for as long, and jobs far beyond their own wall limit. The worker's own clocks are shorter; this is for
-- workers whose clocks hang.
create function audit_running() returns integer
language plpgsql security definer set search_path from current set jit = off
as $$
declare
    -- The tick's time, as in reap().
    t timestamptz := (select least(h.tick_at, ledger_time()) from house h);
    overdue record;
    held taken[];
begin
    if exists (select from house where quiet_until > t) then
        return 0;
    end if;
    select array_agg(r.job) as jobs, array_agg(r.epoch) as epochs, array_agg(r.lease_id) as leases,
           array_agg(r.reason) as reasons into overdue
    from (
        select r.job, r.epoch, r.lease_id, case
                   when w.id is null or w.ended_at is not null then 'worker_lost'
                   when greatest(r.moved_at, w.revived_at) < t - s.stall then 'stalled'
                   when r.since + wall_limit(j.recipe) + s.deadline_grace < t then 'deadline_exceeded'
               end as reason
        from running r
        cross join setting s
        left join worker w on w.id = r.worker
        left join job_rows(array(
            select o.job from running o where o.since < t - (select deadline_grace from setting)
        )) j on j.id = r.job
    ) r where r.reason is not null;
    if overdue.jobs is null then
        return 0;
    end if;
    held := take_out(overdue.jobs, overdue.epochs, overdue.leases, false, t);
    perform end_attempts(array(
        select case o.reason
            when 'worker_lost' then ending(k, 'lost', o.reason, 'infrastructure', 'lease', message => 'its worker has ended')
            when 'stalled' then ending(
                k, 'failed', o.reason, 'transient', 'lease',
                message => 'no frame came out for too long, though the worker gave signs of life')
            else ending(k, 'failed', o.reason, 'transient', 'lease', message => 'it took longer than its recipe allows')
        end
        from unnest(held) k join unnest(overdue.jobs, overdue.reasons) as o (job, reason) on o.job = k.job
    ));
    return cardinality(held);
end $$;

-- MARK: Half published

-- Hands out jobs that are `publishing` for too long, for the caller to finish: rename what is still to be renamed, then
-- finish() with the fence given here, or fail() with it if that is impossible. Each is handed to one caller per grace period.
--
-- `roots`: the roots that the caller may write to. It gets only jobs whose output lies in one of them, since what it cannot finish
-- would be kept from the others for a grace period. Null: any job. A job that was skipped has no file and needs no root.
create function take_unfinished(page integer default 100, roots text[] default null)
returns table (
    job bigint, epoch integer, lease_id uuid, recipe jsonb, attempt_name text, digest text, size bigint, since timestamptz
)
language plpgsql security definer set search_path from current set jit = off
as $$
#variable_conflict use_column
declare
    t timestamptz := ledger_time();
begin
    return query
        with late as materialized (
            select p.job from publishing p where p.handed_at < t - (select s.publish_grace from setting s)
        ), elsewhere as materialized (
            select j.id from job_rows(array(
                select l.job from late l where roots is not null
            )) j where split_part(j.recipe #>> '{outputs,0,location}', ':', 1) <> all (roots)
        ), stuck as materialized (
            select p.job from publishing p
            where p.job = any (array(select l.job from late l))
              and (p.attempt_name = '' or not exists (select from elsewhere e where e.id = p.job))
            order by p.handed_at, p.job limit page for update of p skip locked
        ), handed as (
            update publishing p set handed_at = t where p.job = any (array(select s.job from stuck s)) returning p.*
        )
        select h.job, h.epoch, h.lease_id, j.recipe, h.attempt_name, encode(h.digest, 'hex'), h.size, h.since
        from handed h join job_rows(array(select s.job from stuck s)) j on j.id = h.job order by h.job;
end $$;

-- Which of these fences still stand: for the sweep of attempt files, whose names hold them. A file without one is litter.
create function standing_fences(jobs bigint[], epochs integer[], lease_ids uuid[]) returns table (job bigint)
language sql stable security definer set search_path from current set jit = off
as $$
    select g.job from unnest(standing_fences.jobs, epochs, lease_ids) as g (job, epoch, lease_id)
    where (select true from running r where r.job = g.job and r.epoch = g.epoch and r.lease_id = g.lease_id)
       or (select true from publishing p where p.job = g.job and p.epoch = g.epoch and p.lease_id = g.lease_id)
$$;

-- MARK: Lines and counts

-- Raises the floors of the lines to their first jobs, and closes lines in which nothing has waited for a while. A line into which
-- somebody is submitting is left for the next time: what is not committed yet cannot be seen, and may be lower.
create function raise_floors() returns integer
language plpgsql security definer set search_path from current
    set lock_timeout = '20ms'
as $$
declare
    l record;
    t timestamptz := ledger_time();
    raised integer := 0;
begin
    with gone as (
        delete from opened returning lane
    )
    update lane set is_open = true, moved_at = greatest(moved_at, t) where id in (select g.lane from gone g) and not is_open;
    -- Each line is a lock until the tick ends, and a server has room for some thousands: beginning somewhere else each time, all
    -- have their turn.
    for l in
        select id, moved_at from lane
        where is_open order by id < (select floor(random() * max(id)) from lane where is_open), id limit 2000
    loop
        begin
            -- Waited for shortly, so that an unbroken run of small submissions cannot keep it away for ever.
            perform pg_advisory_xact_lock('lane'::regclass::oid::integer, l.id);
        exception when lock_not_available then
            continue;
        end;
        raised := raised + lift_floor(l.id)::integer;
        if l.moved_at < t - interval '10 min' then
            update lane o set is_open = false
            where o.id = l.id and o.moved_at < t - interval '10 min'
              and not exists (select from waiting w where w.lane = o.id and w.turn >= o.floor);
        end if;
    end loop;
    return raised;
end $$;

-- Folds what statements added to the counts since. Returns how many deltas.
create function fold_counts() returns integer
language plpgsql security definer set search_path from current set jit = off
as $$
declare
    folded integer;
    failures integer;
    -- A sum that would not fit stays at this, or nothing would ever be folded again.
    most constant bigint := 9000000000000000000;
begin
    with gone as (
        delete from count_delta returning *
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
            cancelled = b.cancelled + n.cancelled
        from (
            select g.batch,
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
        delete from failure_delta returning *
    ), counted as (
        insert into failure_count as c (queue, hour, code, class, stage, jobs, attempts, example, last_at)
        select g.queue, date_trunc('hour', g.at), g.code, g.class, g.stage, sum(g.jobs), sum(g.attempts), max(g.example),
               max(g.at)
        from gone g group by 1, 2, 3, 4, 5
        on conflict (hour, queue, code, class, stage) do update
        set jobs = c.jobs + excluded.jobs, attempts = c.attempts + excluded.attempts,
            example = case when excluded.jobs > 0 then excluded.example else c.example end,
            last_at = greatest(c.last_at, excluded.last_at)
    )
    select count(*) into failures from gone;
    return folded + failures;
end $$;

-- MARK: Space

-- Keeps two spans of partitions ahead of the last id.
create function make_spans_ahead() returns integer
language sql security definer set search_path from current
as $$
    select make_spans((select last_value from job_id) + 2 * next_span_size())
$$;

-- Whether a span holds a job that has not ended, or one that was submitted less than `kept_for` ago.
create function is_live(old span, kept_for interval, t timestamptz) returns boolean
language sql volatile security definer set search_path from current
as $$
    select exists (select from waiting where job >= old.first_id and job < old.next_id)
        or exists (select from delayed where job >= old.first_id and job < old.next_id)
        or exists (select from running where job >= old.first_id and job < old.next_id)
        or exists (select from publishing where job >= old.first_id and job < old.next_id)
        or exists (select from batch b where b.last_job >= old.first_id and b.first_job < old.next_id
                   and b.created_at > t - kept_for)
$$;

-- Drops the oldest partition, if all its jobs ended longer ago than `setting.keep`, with their attempts, and the batches and
-- workers that nothing refers to any more. Returns how many partitions went, one at most: the tables are locked meanwhile.
--
-- Counts are of what the ledger holds, so they fall. The key of a batch is free when the last of its jobs has gone.
create function drop_old() returns integer
language plpgsql security definer set search_path from current set jit = off
    set lock_timeout = '200ms'
as $$
declare
    t timestamptz := ledger_time();
    kept_for interval := (select keep from setting);
    old span;
begin
    delete from pace where minute < t - interval '2 days';
    if kept_for is null then
        return 0;
    end if;
    -- Oldest first and without gaps: behind the first that must stay, all stay.
    select * into old from span order by first_id limit 1;
    if old.first_id is null or old.next_id > (select last_value from job_id) or is_live(old, kept_for, t) then
        return 0;
    end if;
    -- Keeps people from retrying its jobs while they are counted; nobody else has business here.
    execute format('lock table %I in share mode', 'finished_' || old.first_id);
    if exists (select from finished where job >= old.first_id and job < old.next_id and ended_at > t - kept_for) then
        return 0;
    end if;
    insert into count_delta (queue, batch, state, jobs, at)
    select f.queue, f.batch, f.state, -count(*), t
    from finished f where f.job >= old.first_id and f.job < old.next_id group by f.queue, f.batch, f.state;

    -- From here on everybody waits, for as long as it takes to forget three tables. Waiting for long for that is worse:
    -- then it is left for the next time.
    lock table job, finished, attempt in access exclusive mode;
    if is_live(old, kept_for, t) then
        raise exception 'jobs came into the span from % while it was to be dropped', old.first_id;
    end if;
    execute format('drop table %I, %I, %I', 'job_' || old.first_id, 'finished_' || old.first_id, 'attempt_' || old.first_id);
    delete from span where first_id = old.first_id;
    delete from flow f using batch b where f.batch = b.id and b.last_job < old.next_id;
    delete from suspect where job < old.next_id;
    delete from batch where last_job < old.next_id;
    delete from worker w where w.ended_at < (select min(b.created_at) from batch b);
    delete from failure_count where hour < t - kept_for;
    return 1;
end $$;

-- MARK: The tick

insert into chore (name, place, every) values
    ('reap', 1, '1 s'), ('wake_delayed', 2, '1 s'), ('fold_counts', 3, '2 s'), ('raise_floors', 4, '1 s'),
    ('audit_running', 5, '15 s'), ('make_spans_ahead', 6, '60 s'), ('drop_old', 7, '5 min'),
    -- Last, since claims from limited queues wait for it.
    ('fold_service', 8, '1 s');

-- Does what is due. Answers a row for each chore done; no row: somebody else is at it, or nothing is due.
--
-- `error` is set where a chore failed; the others are done all the same, and it is tried again when it is due next.
-- Meant to be called every second by every coordinator, alone in its transaction.
create function keep_house() returns table (chore text, affected integer, took_ms double precision, error text)
language plpgsql security definer set search_path from current set jit = off
as $$
#variable_conflict use_column
declare
    t timestamptz;
    h house;
    due chore;
    started timestamptz;
begin
    select * into h from house for update skip locked;
    if not found then
        return;
    end if;
    t := ledger_time();
    -- The clock of another server may be behind the one that ticked last.
    if t < h.tick_at + interval '900 ms' and t > h.tick_at - interval '1 min' then
        return;
    end if;
    update house set
        tick_at = t,
        postmaster_at = pg_postmaster_start_time(),
        -- An outage, a failover, or nobody kept house: in each case nobody can know which workers are alive before they have had
        -- time to come back. They look for the ledger every second, and a connection that hangs costs them five. A beat comes
        -- every third of a lease, so that after a shorter gap there is a third left.
        quiet_until = case
            -- Nobody has ever looked: who beat before, and what a crash took of it, is not known either.
            when h.tick_at = '-infinity' then t + s.lease
            -- Ticks come about every second, so that a shorter gap says nothing, however short a lease is.
            when h.postmaster_at <> pg_postmaster_start_time() or t < h.tick_at
                or t - h.tick_at > greatest(s.lease / 3, interval '3 s')
                then t + greatest(s.lease, interval '10 s')
            else h.quiet_until
        end
    from setting s;

    for due in select * from chore c where c.due_at <= t or c.due_at > t + interval '2 h' order by c.place loop
        started := clock_timestamp();
        chore := due.name;
        error := null;
        affected := 0;
        begin
            affected := case due.name
                when 'reap' then reap()
                when 'wake_delayed' then wake_delayed(5000)
                when 'fold_counts' then fold_counts()
                when 'raise_floors' then raise_floors()
                when 'audit_running' then audit_running()
                when 'make_spans_ahead' then make_spans_ahead()
                when 'drop_old' then drop_old()
                when 'fold_service' then fold_service(ranked => true)
            end;
        exception when others then
            -- Kept and answered: the caller says it to people.
            error := format('%s (%s)', sqlerrm, sqlstate);
        end;
        took_ms := extract(epoch from clock_timestamp() - started) * 1000;
        -- What takes long, because a long transaction elsewhere keeps dead rows alive, is done less often.
        update chore c set due_at = t + greatest(due.every, 20 * make_interval(secs => keep_house.took_ms / 1000)),
                           took_ms = keep_house.took_ms, error = keep_house.error,
                           error_at = case when keep_house.error is null then c.error_at else t end
        where c.name = due.name;
        return next;
    end loop;
end $$;

select allow('sluice_worker', 'keep_house', 'take_unfinished', 'standing_fences');
select apply_permissions();
select set_config('role', 'none', true);
