-- Why: what has to be done and is nobody's job in particular. Any caller may keep house as often as it likes: begin_tick() says what
-- is due, and do_chore() does a page of one chore, in a transaction of its own. The caller calls it again as long as it answers that
-- there is more. So no chore is too large for the time that a caller has, one that fails does not stop the others, and lost workers
-- are found between two pages of whatever else there is to do.
--
-- One caller ticks at a time, and one does a page of a chore; others pass on and do not wait. There is no leader to elect, no
-- session to hold, and nothing to clean up if a caller dies: its page is rolled back, and the next caller goes on from there.
--
-- Conversions go on when nobody keeps house; only lost workers stay unnoticed and counts grow slower to read. In a fleet without
-- a coordinator the workers keep house.
select set_config('role', pg_get_userbyid(nspowner), true) from pg_namespace where nspname = current_schema();

-- MARK: Lost workers

-- Ends workers whose lease is over, and gives back, unspent and counted, up to `page` jobs of workers that have ended. Returns how
-- many jobs.
--
-- After an outage workers have time to come back first. That there was one is told by a gap between ticks, by a server that
-- started since, or by one that is not the server that was (failover): see begin_tick().
create function reap(page integer default 2000) returns integer
language plpgsql security definer set search_path from current set jit = off
as $$
declare
    -- The tick's time. If the server stood still since then, no worker could beat, and the next tick will see the gap.
    t timestamptz := (select least(h.tick_at, ledger_time()) from house h);
    given_back integer := 0;
    cause text;
    ended bigint[];
begin
    -- First of all: see the order of locks in 0002_tables.sql.
    perform pg_advisory_xact_lock_shared('job'::regclass::oid::integer, 0);
    if not exists (select from house where quiet_until > t) then
        -- A worker whose row is locked is beating or claiming right now.
        update worker w set ended_at = ledger_time(), end_reason = 'lost', holds_jobs = true
        where w.id = any (array(
            select s.id from worker s where s.ended_at is null and s.lease_until <= t
            order by s.id limit 1000 for no key update skip locked
        ));
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

-- How long a job may take by its recipe; null if it does not say so in a number. A century at most: what a submitter wrote there
-- must not end the look at everybody's jobs.
create function wall_limit(recipe jsonb) returns interval
language sql immutable parallel safe
as $$
    select case when jsonb_typeof(recipe #> '{limits,wallSeconds}') = 'number' then make_interval(
        secs => least(greatest((recipe #>> '{limits,wallSeconds}')::numeric, 0), 3155760000)::double precision
    ) end
$$;

-- Looks through what runs, `page` jobs with ids above `after`: jobs of workers that have ended, jobs whose frames stand still under
-- a worker that beats, and has beaten for as long, and jobs far beyond their own wall limit. The worker's own clocks are shorter; this
-- is for workers whose clocks hang. `reached` is the last id looked at; null: there is no more.
create function audit_running(page integer default 5000, after bigint default 0, out affected integer, out reached bigint)
language plpgsql security definer set search_path from current set jit = off
as $$
declare
    -- The tick's time, as in reap().
    t timestamptz := (select least(h.tick_at, ledger_time()) from house h);
    last_job bigint;
    overdue record;
    held taken[];
begin
    -- First of all: see the order of locks in 0002_tables.sql.
    perform pg_advisory_xact_lock_shared('job'::regclass::oid::integer, 0);
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
            -- What is left of such a worker is for reap() to give back.
            when w.holds_jobs then null
            when w.id is null or w.ended_at is not null then 'worker_lost'
            when greatest(r.moved_at, w.revived_at) < t - s.stall then 'stalled'
            when r.since + wall_limit(j.recipe) + s.deadline_grace < t then 'deadline_exceeded'
        end as reason) v
        where r.job > after and r.job <= last_job and v.reason is not null
        -- A row that is locked is on its way out of `running`, or is just being told to move.
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
                message => 'no frame came out for too long, though the worker gave signs of life')
            else ending(k, 'failed', o.reason, 'transient', 'lease', message => 'it took longer than its recipe allows')
        end
        from unnest(held) k join unnest(overdue.jobs, overdue.reasons) as o (job, reason) on o.job = k.job
    ));
    affected := cardinality(held);
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

-- Raises the floors of the lines to their first jobs, and closes lines in which nothing has waited for a while: `page` lines with
-- ids above `after`. `reached` is the last one looked at; null: there is no more.
--
-- A line into which somebody is submitting is waited for shortly, so that an unbroken run of small submissions cannot keep this away
-- for ever, and then left for the next round: what is not committed yet cannot be seen, and may be lower. It is waited for only
-- as the first of a page, while the page holds no other line: submissions and claims may hold several.
create function raise_floors(page integer default 200, after bigint default 0, out affected integer, out reached bigint)
language plpgsql security definer set search_path from current
    set lock_timeout = '20ms'
as $$
declare
    l record;
    t timestamptz := ledger_time();
    holds_others boolean := false;
    looked integer := 0;
    opening integer[];
    -- Where lines are many, claims look at empty ones for too long.
    patience interval := case when (select count(*) from (select from lane where is_open limit 201) l) > 200
                              then '5 s' else '10 min' end;
begin
    affected := 0;
    if after = 0 then
        opening := array(
            select i.id from lane i where i.id in (select o.lane from opened o) and not i.is_open
            order by i.id for no key update of i skip locked
        );
        update lane set is_open = true, moved_at = greatest(moved_at, t) where id = any (opening);
        delete from opened o where exists (select from lane where lane.id = o.lane and lane.is_open);
        holds_others := cardinality(opening) > 0;
    end if;
    for l in select id, moved_at from lane where is_open and id > after order by id limit page loop
        if not pg_try_advisory_xact_lock('lane'::regclass::oid::integer, l.id) then
            if holds_others then
                -- The next page begins with it. Below the first line comes what opens them, which is done.
                reached := case when l.id > 1 then l.id - 1 else -1 end;
                return;
            end if;
            begin
                perform pg_advisory_xact_lock('lane'::regclass::oid::integer, l.id);
            exception when lock_not_available then
                reached := l.id;
                return;
            end;
        end if;
        holds_others := true;
        looked := looked + 1;
        reached := l.id;
        affected := affected + lift_floor(l.id)::integer;
        if l.moved_at < t - patience then
            update lane o set is_open = false
            where o.id = (select i.id from lane i where i.id = l.id for no key update skip locked)
              and o.moved_at < t - patience
              and not exists (select from waiting w where w.lane = o.id and w.turn >= o.floor);
        end if;
    end loop;
    if looked < page then
        reached := null;
    end if;
end $$;

-- Folds what statements added to the counts since: about `page` deltas with ids above `after`, and as many of failures. `affected` is how
-- many; `reached` is the last id of those of jobs; null: there is no more. What is added behind it meanwhile is for the next round.
--
-- Each delta goes from the one table into the other in one statement, so that both together are exact at every moment.
create function fold_counts(page integer default 20000, after bigint default 0, out affected integer, out reached bigint)
language plpgsql security definer set search_path from current set jit = off
    set enable_seqscan = off set enable_bitmapscan = off
as $$
declare
    last_count bigint;
    last_failure bigint;
    found_counts bigint;
    found_failures bigint;
    lanes integer[];
    batches bigint[];
    folded integer;
    failures integer;
    -- A sum that would not fit stays at this, or nothing would ever be folded again.
    most constant bigint := 9000000000000000000;
begin
    select max(d.id), count(*), array_agg(distinct d.lane) filter (where d.lane is not null), array_agg(distinct d.batch)
    into last_count, found_counts, lanes, batches
    from (select d.id, d.lane, d.batch from count_delta d where d.id > after order by d.id limit page) d;
    select max(d.id), count(*) into last_failure, found_failures
    from (select d.id from failure_delta d order by d.id limit page) d;
    if found_counts >= page or found_failures >= page then
        reached := greatest(last_count, after);
    end if;
    -- In order: others lock several of them too.
    perform from lane l where l.id = any (lanes) order by l.id for no key update;
    perform from batch b where b.id = any (batches) order by b.id for no key update;

    with gone as (
        delete from count_delta where id > after and id <= last_count returning *
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
    )
    select count(*) into failures from gone;
    affected := folded + failures;
end $$;

-- MARK: Space

-- Keeps two spans of partitions ahead of the last id.
create function make_spans_ahead() returns integer
language sql security definer set search_path from current
as $$
    select make_spans((select last_value from job_id) + 2 * next_span_size())
$$;

-- MARK: Retention
--
-- A span is dropped whole, which costs next to nothing however many jobs it held. What has not ended, or ended less than `setting.keep`
-- ago, is copied before into a small table that takes the span's place: the rest. Rests of neighbours become one, so there are few.
-- Spans do not depend on each other: a job that waits since the first day keeps itself, and no newer job.
--
-- The span is counted in pages (`leaving`, `leaving_count`), is then dropped in one short transaction, and its batches are told in
-- pages again. Each page excludes retry_jobs(), which alone could bring a job of the span back, by an advisory lock.

-- Chooses the oldest span that is worth a look. False: there is none.
create function choose_leaving(kept_for interval, t timestamptz) returns boolean
language plpgsql security definer set search_path from current
as $$
begin
    update span set filled_at = t where filled_at is null and next_id <= (select last_value from job_id);
    insert into leaving (first_id, next_id, filled_at, ended_by, counted_to)
    select s.first_id, s.next_id, s.filled_at, t - kept_for, s.first_id - 1 from span s
    where s.filled_at <= t - kept_for and s.look_at <= t order by s.first_id limit 1;
    return found;
end $$;

-- The jobs of a stretch of ids that have not ended, up to `most`.
create function living_jobs(first_id bigint, next_id bigint, most integer) returns bigint[]
language sql volatile security definer set search_path from current set enable_seqscan = off
as $$
    select array(
        (select job from waiting where job >= first_id and job < next_id limit most)
        union all (select job from delayed where job >= first_id and job < next_id limit most)
        union all (select job from running where job >= first_id and job < next_id limit most)
        union all (select job from publishing where job >= first_id and job < next_id limit most)
        limit most)
$$;

-- Counts a page of the jobs that leave with a span; gives the span up as soon as too many of its jobs stay.
create function count_leaving(l leaving, page integer, most integer) returns void
language plpgsql security definer set search_path from current set jit = off
as $$
declare
    seen record;
begin
    execute format($sql$
        with page as materialized (
            select job, batch, queue, state, ended_at from %I where job > $1 order by job limit $2
        ), counted as (
            insert into leaving_count as c (batch, queue, state, jobs)
            select p.batch, p.queue, p.state, count(*) from page p where p.ended_at <= $3 group by 1, 2, 3
            on conflict (batch, queue, state) do update set jobs = c.jobs + excluded.jobs
        )
        select max(p.job) as last_job, count(*) as jobs, count(*) filter (where p.ended_at > $3) as stays from page p
        $sql$, 'finished_' || l.first_id) into seen using l.counted_to, page, l.ended_by;
    update leaving set
        counted_to = case when seen.jobs < page then next_id - 1 else seen.last_job end,
        stays = leaving.stays + seen.stays,
        phase = case when leaving.stays + seen.stays > most then 'void' when seen.jobs < page then 'counted' else phase end;
end $$;

-- Drops a span that was counted. What stays becomes its rest, if there is any, together with the rest before it. False: too much of it
-- stays for now, and nothing was done.
create function drop_leaving(l leaving, most integer, t timestamptz) returns boolean
language plpgsql security definer set search_path from current set jit = off
as $$
declare
    old span;
    before span;
    sources bigint[] := array[l.first_id];
    first bigint := l.first_id;
    source bigint;
    -- Jobs that have not ended, and all that stay.
    living bigint[] := living_jobs(l.first_id, l.next_id, most + 1);
    staying bigint[];
    goes bigint := (select coalesce(sum(c.jobs), 0) from leaving_count c);
    parent text;
    parents constant text[] := array['job', 'attempt', 'finished'];
    has_rest boolean;
    in_rest bigint;
begin
    select * into old from span where span.first_id = l.first_id;
    has_rest := cardinality(living) + l.stays > 0;
    -- To copy what stays is to be worth it.
    if cardinality(living) + l.stays > most or has_rest and goes * 10 < cardinality(living) + l.stays then
        return false;
    end if;
    if has_rest then
        select * into before from span where span.first_id < l.first_id order by span.first_id desc limit 1;
        if before.is_rest then
            execute format('select count(*) from (select from %I limit %s) j', 'job_' || before.first_id, most) into in_rest;
            if in_rest + cardinality(living) + l.stays <= most then
                sources := array[before.first_id, l.first_id];
                first := before.first_id;
                living := living_jobs(first, l.next_id, 2 * most);
            end if;
        end if;
        foreach parent in array parents loop
            execute format('create table %I (like %I including all)', parent || '_rest', parent);
        end loop;
        foreach source in array sources loop
            execute format('insert into finished_rest select * from %I where ended_at > $1 or $2', 'finished_' || source)
            using l.ended_by, source <> l.first_id;
        end loop;
        select living || array_agg(f.job) into staying from finished_rest f;
        foreach source in array sources loop
            execute format('insert into job_rest select * from %I where id = any ($1)', 'job_' || source) using staying;
            execute format('insert into attempt_rest select * from %I where job = any ($1)', 'attempt_' || source) using staying;
        end loop;
    end if;

    -- From here on everybody waits, for as long as it takes to forget three tables. To wait for long for that is worse: then it is left
    -- for the next time.
    perform pg_advisory_xact_lock('job'::regclass::oid::integer, 0);
    lock table only job, only attempt, only finished in access exclusive mode;
    if exists (select unnest(living_jobs(first, l.next_id, 2 * most)) except select unnest(living)) then
        raise exception 'jobs came into the span from % while it was to be dropped', l.first_id;
    end if;
    -- What happened to living jobs while they were copied.
    foreach source in array case when has_rest then sources else '{}' end loop
        execute format('insert into finished_rest select * from %I where job = any ($1) on conflict do nothing', 'finished_' || source)
        using living;
        execute format('insert into attempt_rest select * from %I where job = any ($1) on conflict do nothing', 'attempt_' || source)
        using living;
    end loop;
    foreach source in array sources loop
        execute format('drop table %I, %I, %I', 'job_' || source, 'attempt_' || source, 'finished_' || source);
    end loop;
    delete from span where span.first_id = any (sources);
    if has_rest then
        foreach parent in array parents loop
            execute format('alter table %I rename to %I', parent || '_rest', parent || '_' || first);
            execute format('alter table %I attach partition %I for values from (%s) to (%s)',
                           parent, parent || '_' || first, first, l.next_id);
        end loop;
        insert into span (first_id, next_id, filled_at, is_rest, look_at)
        values (first, l.next_id, old.filled_at, true, t + (t - l.ended_by) / 20);
    end if;
    delete from suspect s where s.job >= l.first_id and s.job < l.next_id and s.job <> all (coalesce(staying, '{}'));
    -- Of no batch: those are told later, and by themselves.
    insert into count_delta (queue, batch, state, jobs, at)
    select c.queue, 0, c.state, -sum(c.jobs), t from leaving_count c group by c.queue, c.state;
    update leaving set phase = 'dropped';
    return true;
end $$;

-- Takes a page of what left out of the counts of its batches, and deletes batches of which no job is left. Their keys are free then.
create function tell_batches(page integer) returns integer
language plpgsql security definer set search_path from current set jit = off
    set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
declare
    batches bigint[] := array(select distinct c.batch from (select c.batch from leaving_count c order by c.batch limit page) c);
    empty bigint[];
begin
    perform from batch b where b.id = any (batches) order by b.id for update;
    with gone as (
        delete from leaving_count c where c.batch = any (batches) returning *
    )
    update batch b
    set completed = b.completed - n.completed, skipped = b.skipped - n.skipped, failed = b.failed - n.failed,
        cancelled = b.cancelled - n.cancelled
    from (
        select g.batch,
               coalesce(sum(g.jobs) filter (where g.state = 'completed'), 0) as completed,
               coalesce(sum(g.jobs) filter (where g.state = 'skipped'), 0) as skipped,
               coalesce(sum(g.jobs) filter (where g.state = 'failed'), 0) as failed,
               coalesce(sum(g.jobs) filter (where g.state = 'cancelled'), 0) as cancelled
        from gone g group by g.batch
    ) n where b.id = any (batches) and b.id = n.batch;
    empty := array(
        select b.id from batch b where b.id = any (batches) and not exists (
            select from job j where j.batch = b.id and j.id >= b.first_job and j.id <= b.last_job
        )
    );
    delete from flow f where (f.batch, f.lane) in (
        select o.batch, o.lane from flow o where o.batch = any (empty) order by o.batch, o.lane for update of o skip locked
    );
    delete from batch b where b.id = any (empty);
    return cardinality(batches);
end $$;

-- Forgets workers that ended before a span that was dropped was full, and so before jobs of later spans were submitted, but for those that
-- a job of a rest knows. While an older span stands whole, it may know any.
create function forget_workers(l leaving, page integer) returns void
language plpgsql security definer set search_path from current set jit = off
as $$
declare
    rest span;
    here bigint[];
    known bigint[] := '{}';
begin
    if exists (select from span where not is_rest and first_id < l.first_id) then
        return;
    end if;
    for rest in select * from span where is_rest loop
        execute format('select array_agg(distinct worker) from %I', 'attempt_' || rest.first_id) into here;
        known := known || here;
    end loop;
    delete from worker w where w.id = any (array(
        select w.id from worker w
        where not w.holds_jobs and w.id <> all (known) and w.ended_at < l.filled_at
        limit page for update skip locked
    ));
end $$;

-- A page of dropping what ended longer ago than `setting.keep`: see above. `affected` is the number of spans that were dropped, one at most
-- in a round; `reached` is null at the end of the round.
--
-- Counts are of what the ledger holds, so they fall. The key of a batch is free when the last of its jobs has gone.
create function drop_old(page integer default 20000, out affected integer, out reached bigint)
language plpgsql security definer set search_path from current set jit = off
    set lock_timeout = '200ms'
as $$
declare
    -- So many jobs of a span may stay, for they are copied.
    most constant integer := 10000;
    t timestamptz := ledger_time();
    kept_for interval := (select keep from setting);
    l leaving;
begin
    affected := 0;
    perform pg_advisory_xact_lock('finished'::regclass::oid::integer, 0);
    select * into l from leaving;
    if not found then
        delete from pace where minute < t - interval '2 days';
        delete from failure_count where hour < t - kept_for;
        if kept_for is not null and choose_leaving(kept_for, t) then
            reached := 1;
        end if;
        return;
    end if;
    reached := 1;
    if l.phase in ('counting', 'counted') and (l.ended_by <= t - kept_for) is not true then
        -- They are to be kept for longer now, or for ever.
        l.phase := 'void';
        update leaving set phase = l.phase;
    end if;
    case l.phase
        when 'counting' then
            perform count_leaving(l, page, most);
        when 'counted' then
            if drop_leaving(l, most, t) then
                affected := 1;
            else
                update leaving set phase = 'void';
            end if;
        when 'dropped' then
            if tell_batches(page) = 0 then
                delete from leaving;
                perform forget_workers(l, page);
                reached := null;
            end if;
        when 'void' then
            delete from leaving_count where ctid = any (array(select ctid from leaving_count limit page));
            if not found then
                -- A retry may have made it void. Otherwise it is looked at again when more of it may go.
                update span set look_at = coalesce(t + kept_for / 20, t) where first_id = l.first_id;
                delete from leaving;
            end if;
    end case;
end $$;

-- MARK: The tick

insert into chore (name, place, every, page, largest_page) values
    ('reap', 1, '1 s', 2000, 5000), ('wake_delayed', 2, '1 s', 5000, 5000), ('fold_counts', 3, '2 s', 20000, 50000),
    ('raise_floors', 4, '1 s', 200, 500), ('audit_running', 5, '15 s', 5000, 20000),
    ('make_spans_ahead', 6, '60 s', 1, 1), ('drop_old', 7, '5 min', 5000, 20000),
    -- Last, since claims from limited queues wait for it.
    ('fold_service', 8, '1 s', 1, 1);

-- Ticks, and answers the chores that are due, the most urgent first; those that are under way are due. No row: somebody else ticks, or
-- has just ticked, or nothing is due. Meant to be called every second by everybody who keeps house, alone in its transaction.
create function begin_tick() returns table (chore text)
language plpgsql security definer set search_path from current set jit = off
as $$
#variable_conflict use_column
declare
    t timestamptz;
    h house;
begin
    -- A tick that a crash of the server forgets is missed by nobody: the server's start says that there was an outage.
    perform set_config('synchronous_commit', 'off', true);
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
    return query select c.name from chore c where c.due_at <= t or c.due_at > t + interval '2 h' order by c.place;
end $$;

-- Does a page of a chore. One row, or none: it is not due, or somebody else is at it. `more`: its round goes on, and it may be called
-- again at once.
--
-- `error` is set where it failed; it is kept, what the page did is undone, and the round goes on when the chore is due next. Pages
-- grow and shrink so that each takes a moment. Alone in its transaction.
create function do_chore(chore_name text)
returns table (affected integer, took_ms double precision, error text, more boolean)
language plpgsql security definer set search_path from current set jit = off
as $$
#variable_conflict use_column
declare
    t timestamptz := ledger_time();
    started timestamptz := clock_timestamp();
    c chore;
    last_reached bigint;
    slow boolean;
begin
    -- What a crash of the server forgets is done again.
    perform set_config('synchronous_commit', 'off', true);
    select * into c from chore where name = chore_name for update skip locked;
    if not found or c.due_at > t and c.due_at <= t + interval '2 h' then
        return;
    end if;
    affected := 0;
    begin
        case c.name
            when 'reap' then affected := reap(c.page);
            when 'wake_delayed' then affected := wake_delayed(c.page);
            when 'fold_counts' then select f.* into affected, last_reached from fold_counts(c.page, c.reached) f;
            when 'raise_floors' then select f.* into affected, last_reached from raise_floors(c.page, c.reached) f;
            when 'audit_running' then select f.* into affected, last_reached from audit_running(c.page, c.reached) f;
            when 'make_spans_ahead' then affected := make_spans_ahead();
            when 'drop_old' then select f.* into affected, last_reached from drop_old(c.page) f;
            when 'fold_service' then affected := fold_service(ranked => true);
        end case;
        more := case when c.name in ('reap', 'wake_delayed') then affected >= c.page else last_reached is not null end;
    exception when others then
        -- Kept and answered: the caller says it to people.
        error := format('%s (%s)', sqlerrm, sqlstate);
        affected := 0;
        more := false;
    end;
    took_ms := extract(epoch from clock_timestamp() - started) * 1000;
    if c.began_at is null then
        c.pages := 0;
        c.affected := 0;
        c.took_ms := 0;
    end if;
    c.pages := c.pages + 1;
    c.took_ms := c.took_ms + took_ms;
    update chore set
        pages = c.pages, affected = c.affected + do_chore.affected, took_ms = c.took_ms, error = do_chore.error,
        error_at = case when do_chore.error is null then error_at else t end,
        page = least(largest_page, case
            when do_chore.took_ms > 1000 then greatest(page / 2, 50)
            when do_chore.took_ms < 200 and do_chore.more then page * 2
            else page
        end),
        began_at = case when do_chore.more or do_chore.error is not null then coalesce(began_at, t) end,
        reached = case when do_chore.error is not null then reached else coalesce(last_reached, 0) end,
        done_at = case when do_chore.more or do_chore.error is not null then done_at else t end,
        -- What takes long, because a long transaction elsewhere keeps dead rows alive, is done less often.
        due_at = case when do_chore.more then due_at
                      else t + greatest(every, make_interval(secs => c.took_ms / c.pages / 50)) end
    where name = c.name;
    return next;
end $$;

-- Notes that a page of a chore did not end in the time that its caller had. The next ones are smaller.
create function shrink_chore(chore_name text) returns void
language plpgsql security definer set search_path from current
as $$
begin
    update chore set
        error = format('a page of %s was not done in time', page), error_at = ledger_time(),
        page = least(page, greatest(page / 2, 50)), due_at = ledger_time() + every
    where name = (select c.name from chore c where c.name = chore_name for update skip locked);
end $$;

select allow('sluice_worker', 'begin_tick', 'do_chore', 'shrink_chore', 'take_unfinished', 'standing_fences');
select apply_permissions();
select set_config('role', 'none', true);
