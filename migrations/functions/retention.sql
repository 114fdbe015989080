-- How jobs that ended longer than `setting.keep` ago leave the ledger. A span is dropped as a whole, which costs next to nothing however
-- many jobs it held. The jobs that stay are first copied into a small table that takes the span's place: the rest. Adjacent rests are
-- merged, so there are few. Spans do not depend on each other: a job that has waited since the first day keeps itself, and no newer job.
--
-- drop_old() counts a span in pages (`leaving`, `leaving_count`), drops it in one short transaction, and then corrects the counts of its
-- batches in pages again. Each page excludes retry_jobs(), which alone could bring a job of the span back, by `lock_finished`.

-- Runs a page of dropping what ended longer ago than `setting.keep`. `affected` is the number of spans dropped, at most one in a
-- round; `reached` is null at the end of the round.
--
-- Counts cover what the ledger holds, so they fall. A batch's key becomes free when the last of its jobs has been dropped.
create or replace function drop_old(page integer default 20000, out affected integer, out reached bigint)
language plpgsql security definer set search_path from current set jit = off
    set lock_timeout = '200ms'
as $$
declare
    -- The number of jobs of a span that may stay, because they are copied: one in a hundred of a large span, within limits that keep
    -- the copy short.
    most integer;
    t timestamptz := ledger_time();
    kept_for interval := (select keep from setting);
    l leaving;
begin
    affected := 0;
    lock table lock_finished in exclusive mode;
    select * into l from leaving;
    if not found then
        -- Rows that fold_counts() is writing are left to the next round, because it takes these rows in no order.
        delete from pace where ctid = any (array(
            select p.ctid from pace p where p.minute < t - interval '2 days' for update skip locked));
        delete from failure_count where ctid = any (array(
            select c.ctid from failure_count c where c.hour < t - kept_for for update skip locked));
        delete from scan_result where place = any (array(
            select s.place from scan_result s where s.checked_at < t - (select keep_scans from setting)
            order by s.checked_at limit page for update skip locked));
        if kept_for is not null and choose_leaving(kept_for, t) then
            reached := 1;
        end if;
        return;
    end if;
    reached := 1;
    most := least(100000, greatest(10000, (l.next_id - l.first_id) / 100));
    if l.phase in ('counting', 'counted') and (l.ended_by <= t - kept_for) is not true then
        -- The setting has changed: the jobs are to be kept for longer, or for ever.
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
                -- A retry may have made it void. Otherwise the span is looked at again when more of its jobs can be dropped.
                update span set look_at = coalesce(t + kept_for / 20, t) where first_id = l.first_id;
                delete from leaving;
            end if;
    end case;
end $$;

-- Chooses the oldest span that may have enough jobs to drop. False: there is none.
create or replace function choose_leaving(kept_for interval, t timestamptz) returns boolean
language plpgsql security definer set search_path from current
as $$
begin
    update span set filled_at = t where filled_at is null and next_id <= (select last_value from job_id);
    insert into leaving (first_id, next_id, filled_at, ended_by, counted_to)
    select s.first_id, s.next_id, s.filled_at, t - kept_for, s.first_id - 1 from span s
    where s.filled_at <= t - kept_for and s.look_at <= t order by s.first_id limit 1;
    return found;
end $$;

-- The jobs of a range of ids that have not ended, up to `most`.
create or replace function living_jobs(first_id bigint, next_id bigint, most integer) returns bigint[]
language sql volatile security definer set search_path from current set enable_seqscan = off
as $$
    select array(
        (select job from waiting where job >= first_id and job < next_id limit most)
        union all (select job from delayed where job >= first_id and job < next_id limit most)
        union all (select job from running where job >= first_id and job < next_id limit most)
        union all (select job from publishing where job >= first_id and job < next_id limit most)
        limit most)
$$;

-- Counts a page of the jobs that would be dropped with a span. Gives the span up as soon as too many of its jobs stay.
create or replace function count_leaving(l leaving, page integer, most integer) returns void
language plpgsql security definer set search_path from current set jit = off
as $$
declare
    seen record;
begin
    execute format($sql$
        with page as materialized (
            select job, batch, queue, state, has_remarks, ended_at from %I where job > $1 order by job limit $2
        ), counted as (
            insert into leaving_count as c (batch, queue, state, jobs, remarked)
            select p.batch, p.queue, p.state, count(*), count(*) filter (where p.has_remarks)
            from page p where p.ended_at <= $3 group by 1, 2, 3
            on conflict (batch, queue, state) do update
            set jobs = c.jobs + excluded.jobs, remarked = c.remarked + excluded.remarked
        )
        select max(p.job) as last_job, count(*) as jobs, count(*) filter (where p.ended_at > $3) as stays from page p
        $sql$, 'finished_' || l.first_id) into seen using l.counted_to, page, l.ended_by;
    update leaving set
        counted_to = case when seen.jobs < page then next_id - 1 else seen.last_job end,
        stays = leaving.stays + seen.stays,
        phase = case when leaving.stays + seen.stays > most then 'void' when seen.jobs < page then 'counted' else phase end;
end $$;

-- Drops a span that was counted. The jobs that stay, if any, become its rest, together with the rest before it. False: too many of
-- them stay for now, and nothing was done.
create or replace function drop_leaving(l leaving, most integer, t timestamptz) returns boolean
language plpgsql security definer set search_path from current set jit = off
as $$
declare
    old span;
    before span;
    sources bigint[] := array[l.first_id];
    first bigint := l.first_id;
    source bigint;
    -- Jobs that have not ended, and all jobs that stay.
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
    -- Copying the jobs that stay must be worth it.
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

    -- From here on all callers wait for as long as it takes to drop three tables. If these locks are not available within the lock
    -- timeout, the drop is left to the next round, because callers would wait behind it.
    lock table lock_job in exclusive mode;
    lock table only job, only attempt, only finished in access exclusive mode;
    if exists (select unnest(living_jobs(first, l.next_id, 2 * most)) except select unnest(living)) then
        raise exception 'jobs came into the partition from % while it was to be dropped', l.first_id;
    end if;
    -- Copies what happened to living jobs while they were copied.
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
    delete from album_track m where m.job >= l.first_id and m.job < l.next_id and m.job <> all (coalesce(staying, '{}'));
    -- With no batch: the counts of batches are corrected later, separately.
    insert into count_delta (queue, batch, state, jobs, at)
    select c.queue, 0, c.state, -sum(c.jobs), t from leaving_count c group by c.queue, c.state;
    update leaving set phase = 'dropped';
    return true;
end $$;

-- Subtracts a page of the dropped jobs from the counts of their batches, and deletes batches that have no jobs left. Their keys
-- become free.
create or replace function tell_batches(page integer) returns integer
language plpgsql security definer set search_path from current set jit = off
    set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
declare
    batches bigint[] := array(select distinct c.batch from (select c.batch from leaving_count c order by c.batch limit page) c);
    empty bigint[];
begin
    perform from batch b where b.id = any (batches) order by b.id for update;
    perform hold_tenant_counts();
    update tenant_count c set jobs = c.jobs - n.jobs
    from (
        select tenant_of(b.submitter) as tenant, l.queue, l.state, sum(l.jobs) as jobs
        from leaving_count l join batch b on b.id = l.batch
        where l.batch = any (batches) and tenant_of(b.submitter) is not null group by 1, 2, 3
    ) n where c.tenant = n.tenant and c.queue = n.queue and c.state = n.state;
    with gone as (
        delete from leaving_count c where c.batch = any (batches) returning *
    )
    update batch b
    set completed = b.completed - n.completed, skipped = b.skipped - n.skipped, failed = b.failed - n.failed,
        accepted = b.accepted - n.accepted, cancelled = b.cancelled - n.cancelled, remarked = b.remarked - n.remarked
    from (
        select g.batch, sum(g.remarked) as remarked,
               coalesce(sum(g.jobs) filter (where g.state = 'completed'), 0) as completed,
               coalesce(sum(g.jobs) filter (where g.state = 'skipped'), 0) as skipped,
               coalesce(sum(g.jobs) filter (where g.state = 'failed'), 0) as failed,
               coalesce(sum(g.jobs) filter (where g.state = 'accepted'), 0) as accepted,
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
    delete from album a where a.batch = any (empty);
    delete from batch b where b.id = any (empty);
    return cardinality(batches);
end $$;

-- Deletes workers that ended before a dropped span was full, and so before jobs of later spans were submitted, except those that a
-- job of a rest names. It does nothing while an older span still exists in full, because its jobs may name any worker.
create or replace function forget_workers(l leaving, page integer) returns void
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
