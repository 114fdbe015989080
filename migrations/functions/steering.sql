-- The changes that users may make to jobs: cancel, retry, reprioritise and accept them by id, batch or any filter. Submitters change jobs
-- of their own batches, and operators those of all. Each call changes one chunk of jobs in a separate transaction, so that a change of a
-- million jobs does not block other sessions. The answer holds the cursor for the next call, or null at the end. count_jobs() returns
-- beforehand how many jobs there are.

-- Cancels jobs. Jobs that have not begun end at once (`changed`). Workers stop running jobs (`asked`) at their next heartbeat, or
-- when the notification arrives. `publishing` is the number for which it is too late: their files may have their final names
-- already, so they are completed. They are not stopped, and `seen` does not count them.
create or replace function cancel_jobs(filter jsonb, behind jsonb default null, page integer default 1000)
returns table (seen bigint, changed bigint, asked bigint, publishing bigint, next jsonb)
language plpgsql security definer set search_path from current set jit = off set enable_seqscan = off
as $$
#variable_conflict use_column
declare
    t timestamptz := ledger_time();
    ids bigint[];
begin
    -- Must come first: see the lock order in locks.sql.
    lock table lock_job in row share mode;
    select array_agg(f.job) filter (where f.job is not null), count(*) filter (where f.state <> 'publishing'),
           count(*) filter (where f.state = 'publishing'),
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
    perform note_audit('cancel_jobs', jsonb_build_object('filter', filter), changed + asked, behind is not null);
    return next;
end $$;

-- Puts jobs that failed or were cancelled back into their lanes, with all their attempts available again and with their latest
-- priority. A failure that was accepted is accepted no longer. Delayed retries become runnable at once, but jobs whose `run_at` is to
-- come wait for it. The record of earlier attempts stays.
--
-- Jobs whose publication is overdue are handed out again at once to processes that can finish them (`publishing`); nothing else
-- about them changes.
--
-- Jobs that had ended remember who retried them.
--
-- With `new_damage` (`strict`, `conceal`, `skip`, `trust-packets`) all these jobs treat damage in that way from now on.
-- `conceal_seconds` limits the silence that `conceal` inserts. `trust-packets` needs version 4 of recipes, so these jobs go to lanes
-- that need it, too: workers that do not know it leave them. A recipe keeps that version, whatever mode it gets later.
create or replace function retry_jobs(
    filter jsonb, behind jsonb default null, page integer default 1000, new_damage text default null,
    conceal_seconds integer default null
)
returns table (seen bigint, changed bigint, publishing bigint, next jsonb)
language plpgsql security definer set search_path from current set jit = off set enable_seqscan = off
    -- With the ids as constants the planner leaves out spans that contain none of them.
    set plan_cache_mode = force_custom_plan
as $$
#variable_conflict use_column
declare
    t timestamptz := ledger_time();
    ids bigint[];
    again waiting[];
    returned bigint[];
    hurrying waiting[];
    amended bigint[];
    epochs integer[];
    hurried bigint;
    -- The lanes of delayed jobs whose recipes get a newer version, and those to which they move.
    old_lanes integer[];
    new_lanes integer[];
begin
    if new_damage not in ('strict', 'conceal', 'skip', 'trust-packets') then
        raise exception 'invalid damage mode "%"; use strict, conceal, skip or trust-packets', new_damage
            using errcode = 'invalid_parameter_value';
    end if;
    if conceal_seconds <= 0 or conceal_seconds is not null and new_damage is distinct from 'conceal' then
        raise exception 'conceal_seconds must be positive and requires conceal; got % with "%"', conceal_seconds, new_damage
            using errcode = 'invalid_parameter_value';
    end if;
    -- Excludes drop_old(), which counts and drops old jobs.
    lock table lock_finished in row share mode;
    lock table lock_job in row share mode;
    if is_tenant() then
        perform hold_tenant();
    end if;
    select array_agg(f.job) filter (where f.job is not null), count(*) filter (where f.state <> 'publishing'),
           (array_agg(f.next order by f.place desc))[1]
    into ids, seen, next
    from find_jobs(narrowed(steerable(filter), '{delayed,publishing,failed,accepted,cancelled}'), behind, page)
        with ordinality as f (job, state, next, place);
    -- Locks the jobs in lock order, and then puts them into their lanes together. Delayed jobs that are already due move on their
    -- own; they count only if their recipes change.
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
    if new_damage = 'trust-packets' then
        old_lanes := array(select h.lane from unnest(hurrying) h union select d.lane from delayed d where d.job = any (amended));
    end if;
    -- The process that has the order may still be working on it; carrying it out twice does no harm.
    with late as materialized (
        select p.job from publishing p
        where p.job = any (ids) and p.since < t - (select s.publish_grace from setting s) order by p.job for update of p
    )
    update publishing p set handed_at = '-infinity' where p.job = any (array(select l.job from late l));
    get diagnostics publishing = row_count;
    with chosen as materialized (
        select f.job from finished f
        where f.job = any (ids) and f.state in ('failed', 'accepted', 'cancelled') order by f.job for update of f
    ), gone as (
        delete from finished f where f.job = any (array(select c.job from chosen c)) and f.job = any (ids) returning f.*
    ), counted as (
        insert into count_delta (queue, batch, state, jobs, at)
        select n.queue, n.batch, s.state, s.sign * n.jobs, t
        from (select g.queue, g.batch, g.state, count(*)::integer as jobs from gone g group by g.queue, g.batch, g.state) n
        cross join lateral (values (n.state, -1)) as s (state, sign)
    ), forgiven as (
        insert into failure_delta (queue, code, class, stage, jobs, accepted, attempts, example, at)
        select g.queue, g.code, g.class, g.stage, -count(*) filter (where g.state = 'failed'),
               -count(*) filter (where g.state = 'accepted'), 0, max(g.job), date_trunc('hour', g.ended_at)
        from gone g where g.state <> 'cancelled' group by g.queue, g.code, g.class, g.stage, date_trunc('hour', g.ended_at)
    ), asked as materialized (
        select g.job, g.batch, g.queue, g.epoch, g.priority, j.lane, j.cost, case when j.run_at > t then j.run_at end as starts_at,
               coalesce(new_damage = 'trust-packets' or (j.recipe ->> 'version')::numeric >= 4, false) as is_newer
        from gone g
        join job_rows(array(select c.job from chosen c)) j on j.id = g.job
    ), lanes as materialized (
        -- The needs are those that the job was submitted with, and those of its recipe if that became newer; the priority is its
        -- latest. In lock order.
        select k.lane, k.priority, k.is_newer, k.is_own_priority,
               case when k.is_own_priority and k.needs = k.old_needs then k.lane
                   else lane_for(k.share, k.priority, k.needs) end as new_lane
        from (
            select distinct l.share, a.priority, n.needs, a.lane, a.is_newer, l.priority = a.priority as is_own_priority,
                   l.needs as old_needs
            from (
                select a.lane, a.priority, a.is_newer from asked a
                union select l.id, l.priority, true from lane l where l.id = any (old_lanes)
            ) a
            join lane l on l.id = a.lane
            cross join lateral (
                select case when a.is_newer
                    then sorted_needs(array(select u from unnest(l.needs) as needs (u) where u !~ '^recipe:[123]?$') || array['recipe:4'])
                    else l.needs end collate "C" as needs
                offset 0
            ) n
            order by l.share, a.priority, n.needs offset 0
        ) k
    ), placed as materialized (
        select a.*, n.new_lane from asked a
        join lanes n on n.lane = a.lane and n.priority = a.priority and n.is_newer = a.is_newer
    ), moves as (
        select array_agg(n.lane order by n.lane) as from_lanes, array_agg(n.new_lane order by n.lane) as to_lanes
        from lanes n where n.lane = any (old_lanes) and n.is_newer and n.is_own_priority
    ), put_off as (
        insert into delayed (job, batch, lane, cost, turn, epoch, spent, lost, room_deaths, since, ready_at)
        select p.job, p.batch, p.new_lane, p.cost, 0, p.epoch, 0, 0, 0, t, greatest(p.starts_at, (select hold_delayed()))
        from placed p where p.starts_at is not null
    ), counted_again as (
        insert into count_delta (queue, batch, state, jobs, at)
        select n.queue, n.batch, n.state, count(*), t
        from (
            select p.queue, p.batch, (case when p.starts_at is null then 'waiting' else 'delayed' end)::job_state as state
            from placed p
        ) n group by n.queue, n.batch, n.state
    )
    select array_agg(row(p.job, p.batch, p.new_lane, p.cost, 0, p.epoch, 0, 0, 0, t)::waiting) filter (where p.starts_at is null),
           amended || array_agg(p.job), epochs || array_agg(p.epoch), array_agg(p.job),
           (select m.from_lanes from moves m), (select m.to_lanes from moves m)
    into again, amended, epochs, returned, old_lanes, new_lanes
    from placed p;
    if old_lanes is not null then
        hurrying := array(select row(h.job, h.batch, n.new_lane, h.cost, h.turn, h.epoch, h.spent, h.lost, h.room_deaths, h.since)::waiting
                          from unnest(hurrying) h join unnest(old_lanes, new_lanes) as n (id, new_lane) on n.id = h.lane);
        update delayed d set lane = n.new_lane from unnest(old_lanes, new_lanes) as n (id, new_lane)
        where d.job = any (amended) and d.lane = n.id and n.new_lane <> n.id;
    end if;
    if returned is not null then
        delete from suspect s where s.job = any (returned);
        update job j set retried_by = caller() where j.id = any (returned);
        perform void_leaving(returned);
    end if;

    if new_damage is not null then
        update job j
        set recipe = j.recipe || jsonb_build_object('damage', new_damage) || case when conceal_seconds is null then '{}'
                else jsonb_build_object('limits', coalesce(j.recipe -> 'limits', '{}')
                    || jsonb_build_object('concealSeconds', conceal_seconds)) end
                || case when new_damage = 'trust-packets'
                    then jsonb_build_object('version', greatest((j.recipe ->> 'version')::numeric, 4)) else '{}' end,
            amendments = coalesce(j.amendments, '[]') || jsonb_build_array(jsonb_strip_nulls(jsonb_build_object(
                'until', c.epoch, 'damage', coalesce(j.recipe ->> 'damage', 'strict'),
                'conceal_seconds', j.recipe #> '{limits,concealSeconds}', 'at', t, 'by', caller())))
        from unnest(amended, epochs) as c (job, epoch)
        where j.id = c.job and j.id = any (amended)
            and (coalesce(j.recipe ->> 'damage', 'strict') <> new_damage
                or j.recipe #> '{limits,concealSeconds}' is distinct from coalesce(to_jsonb(conceal_seconds),
                    j.recipe #> '{limits,concealSeconds}'));
    end if;
    if again is not null or cardinality(hurrying) > 0 then
        perform enter_lanes(again || hurrying, false, t);
    end if;
    changed := coalesce(cardinality(returned), 0) + hurried;
    if changed > 0 and is_tenant() then
        perform check_waiting(0);
    end if;
    if changed > 0 then
        perform pg_notify(current_schema(), 'jobs');
    end if;
    perform note_audit('retry_jobs', jsonb_strip_nulls(jsonb_build_object(
        'filter', filter, 'damage', new_damage, 'conceal_seconds', conceal_seconds)), changed + publishing, behind is not null);
    return next;
end $$;

-- Accepts failures: the jobs count apart from those that failed, and no wait fails for them. With `undo` it takes that back. With
-- `not_after` it leaves alone jobs that were accepted, or that failed, after that time.
create or replace function accept_jobs(
    filter jsonb, behind jsonb default null, page integer default 1000, undo boolean default false,
    not_after timestamptz default null
)
returns table (seen bigint, changed bigint, next jsonb)
language plpgsql security definer set search_path from current set jit = off set enable_seqscan = off
    -- As in retry_jobs().
    set plan_cache_mode = force_custom_plan
as $$
#variable_conflict use_column
declare
    t timestamptz := ledger_time();
    before job_state := case when undo then 'accepted' else 'failed' end;
    afterwards job_state := case when undo then 'failed' else 'accepted' end;
    ids bigint[];
    marked bigint[];
begin
    -- Excludes drop_old(), which counts and drops old jobs.
    lock table lock_finished in row share mode;
    lock table lock_job in row share mode;
    select array_agg(f.job) filter (where f.job is not null), count(f.job), (array_agg(f.next order by f.place desc))[1]
    into ids, seen, next
    from find_jobs(narrowed(steerable(filter), array[before]), behind, page) with ordinality as f (job, state, next, place);
    with chosen as materialized (
        select f.job from finished f
        where f.job = any (ids) and f.state = before
          and (not_after is null or coalesce(f.accepted_at, f.ended_at) <= not_after)
        order by f.job for update of f
    ), changed as (
        update finished f
        set state = afterwards, accepted_at = case when not undo then t end,
            accepted_by = case when not undo then caller_name() end
        where f.job = any (array(select c.job from chosen c)) and f.job = any (ids)
        returning f.job, f.batch, f.queue, f.code, f.class, f.stage, f.ended_at
    ), counted as (
        insert into count_delta (queue, batch, state, jobs, at)
        select n.queue, n.batch, s.state, s.sign * n.jobs, t
        from (select g.queue, g.batch, count(*)::integer as jobs from changed g group by g.queue, g.batch) n
        cross join lateral (values (before, -1), (afterwards, 1)) as s (state, sign)
    ), told as (
        insert into failure_delta (queue, code, class, stage, jobs, accepted, attempts, example, at)
        select n.queue, n.code, n.class, n.stage, n.jobs * n.sign, n.jobs * -n.sign, 0, n.example, n.hour
        from (
            select g.queue, g.code, g.class, g.stage, count(*) as jobs, max(g.job) as example, date_trunc('hour', g.ended_at) as hour,
                   case when undo then 1 else -1 end as sign
            from changed g group by g.queue, g.code, g.class, g.stage, date_trunc('hour', g.ended_at)
        ) n
    )
    select array_agg(g.job) into marked from changed g;
    changed := coalesce(cardinality(marked), 0);
    perform void_leaving(marked);
    perform note_audit('accept_jobs', jsonb_strip_nulls(jsonb_build_object('filter', filter, 'undo', nullif(undo, false))), changed,
                       behind is not null);
    return next;
end $$;

-- The counts of a span that contains these jobs, whose states have changed, are no longer right.
create or replace function void_leaving(job_ids bigint[]) returns void
language plpgsql security definer set search_path from current
as $$
begin
    update leaving l set phase = 'void'
    where l.phase in ('counting', 'counted')
      and exists (select from unnest(job_ids) j (job) where j.job between l.first_id and l.counted_to);
end $$;

-- Moves waiting jobs to another priority (higher goes first), behind those of their batch that were moved there earlier.
create or replace function prioritize_jobs(filter jsonb, new_priority integer, behind jsonb default null, page integer default 1000)
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
    if is_tenant() then
        perform check_priority(new_priority);
    end if;
    select array_agg(f.job) filter (where f.job is not null), count(f.job), (array_agg(f.next order by f.place desc))[1]
    into ids, seen, next
    from find_jobs(narrowed(steerable(filter), '{delayed,waiting}'), behind, page) with ordinality as f (job, state, next, place);
    -- Locks jobs first, then creates lanes, then holds lanes: see locks.sql. Jobs that enter these tables meanwhile are left
    -- alone.
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
        perform enter_lanes(moved, false, t);
    end if;
    changed := coalesce(cardinality(moved), 0) + later;
    perform note_audit('prioritize_jobs', jsonb_build_object('filter', filter, 'priority', new_priority), changed,
                       behind is not null);
    return next;
end $$;

-- Restricts a filter to the jobs that the caller may change: submitters change their own batches only, and a token with a queue only that
-- queue.
create or replace function steerable(filter jsonb) returns jsonb
language plpgsql stable security definer set search_path from current
as $$
declare
    owner text;
begin
    if is_operator() and only_queue() is null then
        return filter;
    end if;
    -- A value that is not an object could not take the field that is added below.
    if jsonb_typeof(filter) <> 'object' then
        raise exception 'a filter is an object' using errcode = 'invalid_parameter_value';
    end if;
    filter := coalesce(filter, '{}');
    if only_queue() is not null then
        if filter ? 'queue' then
            perform check_queue(filter ->> 'queue');
        end if;
        filter := filter || jsonb_build_object('queue', only_queue());
    end if;
    if is_operator() then
        return filter;
    end if;
    if filter ? 'batch' then
        select b.submitter into owner from batch b where b.id = (filter ->> 'batch')::bigint;
        if owner <> caller() and is_tenant() then
            raise exception 'batch % belongs to another', filter ->> 'batch' using errcode = 'insufficient_privilege';
        elsif owner <> caller() then
            raise exception 'batch % belongs to %', filter ->> 'batch', owner
                using errcode = 'insufficient_privilege', hint = 'ask for the role sluice_operator';
        end if;
    end if;
    return filter || jsonb_build_object('submitter', caller());
end $$;

-- Restricts a filter to the states in which the change is possible.
create or replace function narrowed(filter jsonb, states job_state[]) returns jsonb
language sql stable set search_path from current
as $$
    select filter || jsonb_build_object('states', coalesce(jsonb_agg(s), '[]')) from unnest(states) s
    where not filter ? 'states' or filter -> 'states' ? s::text
$$;
