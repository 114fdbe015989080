-- The order of jobs in their lanes. A lane holds the jobs of one submitter, queue, priority and set of needs, ordered by their turns. A
-- job enters it when it is submitted, when its time has come, and when it returns for another try.
--
-- Fair turns: a job's turn among the batches of one submitter in one queue is decided once, when the job enters the lane. A batch begins
-- at the lane's current turn and advances by cost / weight per job. So a small batch behind a huge one starts at once, and a claim only
-- follows an index. No turn is ever given out below the lane's current one, which allows a claim to begin its search at `lane.floor`.
-- claim() decides how the fleet is shared among submitters and queues: cutting work into batches gets them no more of it.

-- The lanes in which jobs may wait.
--
-- A function that the planner inlines: a view would be one more relation to keep the roles away from.
create or replace function open_lane() returns setof lane
language sql stable
as $$
    select l.* from lane l where l.is_open
    union all
    -- Keeps the join going from the few rows to the many, whatever statistics the planner has.
    select l.* from (select distinct lane from opened) o
    cross join lateral (select * from lane where lane.id = o.lane and not lane.is_open limit 1) l
$$;

-- The queue with this name. Creates it if it is missing.
create or replace function queue_for(queue_name text) returns integer
language plpgsql security definer set search_path from current set enable_seqscan = off
as $$
declare
    found_id integer;
    allowed integer;
begin
    loop
        select id into found_id from queue where name = queue_name;
        exit when found;
        if queue_name is null or queue_name !~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$' then
            raise exception '"%" cannot be the name of a queue', left(queue_name, 100)
                using errcode = 'invalid_parameter_value',
                      hint = 'allowed: 1 to 63 letters, digits and . _ - beginning with a letter or a digit';
        end if;
        -- The exact count is taken only if it may matter: ids only grow, and a submission that was rolled back leaves a gap.
        select queues_allowed into allowed from setting;
        if (select max(id) from queue) >= allowed and (select count(*) from queue) >= allowed then
            raise exception 'there is no queue "%", and there are as many as the ledger makes', left(queue_name, 100)
                using errcode = 'invalid_parameter_value', hint = 'submit to a queue that exists';
        end if;
        -- Excerpts are made for people who wait for them, and may take a share of the slots only. An operator changes the limit.
        insert into queue (name, running_limit) values (queue_name, case queue_name when 'excerpts' then
            greatest(1, (select sum(w.slots) / 4 from worker w where w.ended_at is null)) end) on conflict do nothing;
    end loop;
    return found_id;
end $$;

-- The id of a submitter's share of a queue. The first submission creates the row; a new share has the marks of the tenant's others.
create or replace function share_for(queue_id integer, whose text) returns integer
language plpgsql security definer set search_path from current set enable_seqscan = off
as $$
declare found_id integer;
begin
    loop
        select id into found_id from share where queue = queue_id and submitter = whose;
        exit when found;
        insert into share (queue, submitter, held_until, held_for)
        select queue_id, whose, h.held_until, h.held_for
        from (values (1)) as one (number) left join (
            select o.held_until, o.held_for from share o
            where o.submitter = whose and o.held_until is not null order by o.held_until desc limit 1
        ) h on true
        on conflict do nothing;
    end loop;
    return found_id;
end $$;

-- The lane for a submitter's jobs of this queue and priority with these needs. Creates the lane if it is missing. A caller that may
-- create several calls this in the lock order.
create or replace function lane_for(share_id integer, job_priority integer, job_needs text[]) returns integer
language plpgsql security definer set search_path from current set enable_seqscan = off
as $$
declare
    wanted text[] := sorted_needs(job_needs);
    found_id integer;
begin
    loop
        select id into found_id from lane
        where share = share_id and priority = job_priority and needs = wanted;
        exit when found;
        -- A new array, because a variable holds its arrays in a form that takes three bytes more when it is stored. The first update
        -- of the row would store a shorter one, and so count as a change of the lane's key: it would wait for all foreign keys that
        -- are being checked against the lane, and they for it.
        insert into lane (queue, share, priority, needs)
        select s.queue, s.id, job_priority, array(select unnest(wanted)) from share s where s.id = share_id
        on conflict do nothing;
    end loop;
    return found_id;
end $$;

-- Needs in the form in which a lane stores them: sorted, without duplicates.
--
-- plpgsql keeps the plan. A function in SQL that cannot be inlined is parsed and planned in each statement that calls it, which takes
-- four times as long.
create or replace function sorted_needs(job_needs text[]) returns text[]
language plpgsql immutable parallel safe
as $$
begin
    return (
        select coalesce(array_agg(distinct n collate "C" order by n collate "C"), '{}')
        from unnest(job_needs) as given (n) where n is not null
    );
end $$;

-- Throws if the caller has too many open lanes and one of `lanes` would be opened as well. It counts the caller's own open lanes,
-- and only if a lane would be opened.
create or replace function check_lanes(lanes integer[], most integer) returns void
language plpgsql security definer set search_path from current
    set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
    set plan_cache_mode = force_generic_plan
as $$
begin
    if most is not null
        and exists (
            select from lane l where l.id = any (lanes) and not l.is_open
            and not exists (select from opened o where o.lane = l.id)
        )
        -- Counting a few thousand in all takes a millisecond.
        and most <= (select count(*) from (select from lane l where l.is_open limit most) o)
                    + (select count(*) from (select from opened limit most) o)
        and most <= (select count(*) from (
            select from share s cross join lateral (
                select l.id from lane l where l.share = s.id and l.is_open
                union
                select o.lane from opened o where o.share = s.id
            ) open where s.submitter = caller() limit most
        ) open)
    then
        raise exception '% has waiting jobs with % different requirements, queues and priorities, and may have no more',
            caller(), most
            using errcode = 'invalid_parameter_value', hint = 'let some of them end, or cancel them';
    end if;
end $$;

-- A lane's current turn: that of its first job or, if it is empty, the lowest that the submitter's other lanes of the same queue and
-- priority have reached.
create or replace function current_turn(lane_id integer) returns bigint
language plpgsql security definer set search_path from current
    set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set enable_hashjoin = off
    set enable_mergejoin = off set jit = off set plan_cache_mode = force_generic_plan
as $$
declare
    own record;
    first bigint;
begin
    select l.floor, l.priority, l.share into strict own from lane l where l.id = lane_id;
    select w.turn into first from waiting w
    where w.lane = lane_id and w.turn >= own.floor order by w.turn, w.job limit 1;
    if first is not null then
        return first;
    end if;
    -- Only open lanes: there may be thousands that were used once.
    select min(h.turn) into first
    from (
        select l.id, l.floor from lane l where l.share = own.share and l.priority = own.priority and l.is_open
        union all
        select l.id, l.floor from (select distinct lane from opened where share = own.share) o
        cross join lateral (
            select * from lane where lane.id = o.lane and priority = own.priority and not is_open limit 1
        ) l
    ) l cross join lateral (
        select w.turn from waiting w where w.lane = l.id and w.turn >= l.floor order by w.turn, w.job limit 1
    ) h
    where l.id <> lane_id;
    return greatest(own.floor, first);
end $$;

-- Keeps the floors of `lanes` unchanged until the transaction ends, so that no turn given out meanwhile ends up below them. Opens
-- lanes that are closed.
--
-- Must be called before the floors are read, in a separate statement. Any number of transactions may hold a lane.
create or replace function hold_lanes(lanes integer[]) returns void
language plpgsql security definer set search_path from current
    set enable_seqscan = off set enable_bitmapscan = off set plan_cache_mode = force_generic_plan
as $$
begin
    perform share_lane_locks(lanes);
    perform from lane l where l.id = any (lanes) order by l.id for key share;
    -- From here on no other transaction closes the lane.
    insert into opened (lane, share)
    select l.id, l.share from lane l
    where l.id = any (lanes) and not l.is_open and not exists (select from opened o where o.lane = l.id);
end $$;

-- Raises the floor of a lane to its first job, unless another transaction holds the lane: its rows are not yet committed, so they are
-- invisible, and may have lower turns. Does not wait, because the caller may be a claim.
create or replace function lift_floor(lane_id integer) returns boolean
language plpgsql security definer set search_path from current
    set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set jit = off
    set plan_cache_mode = force_generic_plan
as $$
declare
    own record;
    lifted bigint;
begin
    select l.floor, l.tail into own from lane l where l.id = lane_id for update skip locked;
    if not found then
        return false;
    end if;
    -- In a statement after the lock, which sees what the last transaction that held the lane has committed.
    lifted := coalesce(
        (select w.turn from waiting w where w.lane = lane_id and w.turn >= own.floor order by w.turn, w.job limit 1),
        own.tail + 1
    );
    update lane l set floor = lifted, moved_at = ledger_time() where l.id = lane_id and l.floor < lifted;
    return found;
end $$;

-- Closes those of these lanes in which no job waits. Leaves out lanes that a submission holds.
create or replace function close_lanes(lanes integer[]) returns void
language plpgsql security definer set search_path from current
    set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set jit = off
    set plan_cache_mode = force_generic_plan
as $$
declare
    -- Read after the locks are taken: rows that were not yet committed before are invisible to an earlier statement.
    held integer[] := array(
        select l.id from lane l where l.id = any (lanes) for update skip locked
    );
    empty integer[];
begin
    empty := array(
        select l.id from lane l
        where l.id = any (held)
          and (select w.job from waiting w where w.lane = l.id and w.turn >= l.floor order by w.turn, w.job limit 1) is null
    );
    -- Skips rows of `opened` that housekeeping has locked, without waiting for them.
    delete from opened where ctid = any (array(select o.ctid from opened o where o.lane = any (empty) for update skip locked));
    -- A lane whose row of `opened` housekeeping is deleting stays open. The next submission would see that row, add no other, and
    -- its jobs would be in a lane that no claim looks at.
    update lane l set is_open = false, floor = greatest(l.floor, l.tail + 1), moved_at = ledger_time()
    where l.id = any (empty) and not exists (select from opened o where o.lane = l.id);
end $$;

-- Raises the floors of lanes to their first jobs, and closes lanes in which no job has waited for a while: `page` lanes with ids
-- above `after` that need either. `reached` is the last of them; null: there are no more.
--
-- Jobs of a submission that has not committed are invisible, and may belong below the floor. So this function waits for a lane that
-- a submission holds. It waits only briefly, because submissions wait behind it, and then it leaves the lane for the next round. It
-- waits only for the first lane of a page, while it holds no other, because submissions and claims may hold several.
create or replace function raise_floors(page integer default 200, after bigint default 0, out affected integer, out reached bigint)
language plpgsql security definer set search_path from current
    set enable_seqscan = off set enable_bitmapscan = off set jit = off
    set plan_cache_mode = force_generic_plan
as $$
declare
    l record;
    t timestamptz := ledger_time();
    holds_others boolean := false;
    looked integer := 0;
    opening integer[];
    -- When there are many lanes, claims spend too long on empty ones.
    patience interval := case when (select count(*) from (select from lane where is_open limit 201) l) > 200
                              then '5 s' else '10 min' end;
begin
    affected := 0;
    if after = 0 then
        opening := array(
            select i.id from lane i where i.id = any (array(select distinct o.lane from opened o)) and not i.is_open
            order by i.id for no key update of i skip locked
        );
        update lane set is_open = true, moved_at = greatest(moved_at, t) where id = any (opening);
        -- Skips rows that a claim is deleting, without waiting for it.
        delete from opened where ctid = any (array(
            select o.ctid from opened o where exists (select from lane where lane.id = o.lane and lane.is_open) for update skip locked
        ));
        holds_others := cardinality(opening) > 0;
    end if;
    for l in
        -- Looking at a lane costs microseconds, and locking it costs a write. Of thousands, most already have their floor at their
        -- first job.
        select o.id, o.moved_at from lane o
        left join lateral (
            select w.turn from waiting w where w.lane = o.id and w.turn >= o.floor order by w.turn, w.job limit 1
        ) h on true
        where o.is_open and o.id::bigint > after
          and (coalesce(h.turn, o.tail + 1) > o.floor or h.turn is null and o.moved_at < t - patience)
        order by o.id::bigint limit page
    loop
        perform from lane o where o.id = l.id for update skip locked;
        if not found then
            if holds_others then
                -- The next page begins with this lane. What happens before the first lane is the opening of lanes, and that is done.
                reached := case when l.id > 1 then l.id - 1 else -1 end;
                return;
            end if;
            if not wait_for_lane(l.id) then
                reached := l.id;
                return;
            end if;
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

-- Locks a lane's row until the transaction ends, against those that hold the lane. Waits only briefly; false: another transaction has
-- it, or one of the other lanes with the same lock.
--
-- The limit is a setting of this function alone: raise_floors() may wait for a table, for instance while autovacuum shortens it.
create or replace function wait_for_lane(lane_id integer) returns boolean
language plpgsql security definer set search_path from current set lock_timeout = '20ms'
    set enable_seqscan = off set enable_bitmapscan = off set plan_cache_mode = force_generic_plan
as $$
begin
    -- Without it, each transaction that holds the lane next would be waited for in its turn.
    execute format('lock table lock_lane_%s in exclusive mode', lane_id % 8);
    perform from lane l where l.id = lane_id for update;
    return true;
exception when lock_not_available then
    return false;
end $$;

-- Puts jobs (rows without their final turn) into `waiting`. The caller has taken them out of the table that they were in.
--
-- `at_head` is for work that was begun in its turn and has to be repeated: it gets its old place back. All other jobs go behind
-- those of the same batch that returned earlier.
create or replace function enter_lanes(returning_jobs waiting[], at_head boolean, t timestamptz) returns void
language plpgsql security definer set search_path from current
    set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off set jit = off
    set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    lanes integer[] := array(select distinct r.lane from unnest(returning_jobs) r);
begin
    perform hold_lanes(lanes);
    if at_head then
        insert into waiting (job, batch, lane, cost, turn, epoch, spent, lost, room_deaths, since)
        select r.job, r.batch, r.lane, r.cost, greatest(r.turn, l.floor), r.epoch, r.spent, r.lost, r.room_deaths, t
        from unnest(returning_jobs) r join lane l on l.id = r.lane;
        return;
    end if;

    insert into flow (batch, lane, finish)
    select distinct r.batch, r.lane, 0 from unnest(returning_jobs) r order by 1, 2
    on conflict do nothing;
    perform from flow f join (select distinct r.batch, r.lane from unnest(returning_jobs) r) g
        on g.batch = f.batch and g.lane = f.lane
        order by f.batch, f.lane for no key update of f;
    with heads as materialized (
        select l.id, current_turn(l.id) as head from unnest(lanes) as l (id)
    ), spaced as materialized (
        select r.job, r.batch, r.lane, r.cost, r.epoch, r.spent, r.lost, r.room_deaths, greatest(h.head, f.finish) as start,
               greatest(1, r.cost::bigint * 100 / b.weight) as advance
        from unnest(returning_jobs) r
        join heads h on h.id = r.lane
        join flow f on f.batch = r.batch and f.lane = r.lane
        join batch b on b.id = r.batch
    ), turned as materialized (
        select s.*, s.start + sum(s.advance) over (partition by s.batch, s.lane order by s.job)::bigint as finish from spaced s
    ), entered as (
        insert into waiting (job, batch, lane, cost, turn, epoch, spent, lost, room_deaths, since)
        select n.job, n.batch, n.lane, n.cost, n.finish - n.advance, n.epoch, n.spent, n.lost, n.room_deaths, t from turned n
    ), counted as (
        -- The tails only; the caller counts the jobs.
        insert into count_delta (queue, batch, state, jobs, lane, tail, at)
        select l.queue, max(n.batch), 'waiting', 0, n.lane, max(n.finish), t
        from turned n join lane l on l.id = n.lane group by l.queue, n.lane
    )
    update flow f set finish = n.finish
    from (select n.batch, n.lane, max(n.finish) as finish from turned n group by n.batch, n.lane) n
    where f.batch = n.batch and f.lane = n.lane;
end $$;

-- A time before which no row of `delayed` is due.
create or replace function delayed_from() returns timestamptz
language plpgsql volatile security definer set search_path from current
    set enable_seqscan = off set enable_bitmapscan = off
as $$ begin return (select f.ready_at from delayed_floor f order by f.id desc limit 1); end $$;

-- Raises that time to the first row that is due, or to the present if none is. Lowers it to the present if the clock went back.
create or replace function lift_delayed(t timestamptz) returns void
language plpgsql security definer set search_path from current
    set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set jit = off
    set plan_cache_mode = force_generic_plan
as $$
declare
    own delayed_floor;
    lifted timestamptz;
begin
    -- Does nothing while a transaction adds jobs: they are still invisible, and may be due earlier.
    if not try_lock('lock_delayed') then
        return;
    end if;
    select * into own from delayed_floor f order by f.id desc limit 1;
    lifted := coalesce((
        select d.ready_at from delayed d where d.ready_at >= own.ready_at and d.ready_at <= t order by d.ready_at, d.job limit 1
    ), t);
    if lifted <> own.ready_at then
        insert into delayed_floor (ready_at) values (lifted);
        -- By its id, because the rows before it are dead.
        delete from delayed_floor f where f.id = own.id;
    end if;
end $$;

-- Keeps that time from being raised until the transaction ends, and returns it. Rows that the caller then adds to `delayed` must not
-- be due earlier: the transaction may have begun long ago.
create or replace function hold_delayed() returns timestamptz
language plpgsql volatile security definer set search_path from current
as $$
begin
    -- The clock went back, as that of a server after a failover may.
    if delayed_from() > ledger_time() + interval '1 s' then
        perform lift_delayed(ledger_time());
    end if;
    lock table lock_delayed in row share mode;
    return delayed_from();
end $$;

-- Moves jobs that are due from `delayed` into their lanes. Returns the number moved.
create or replace function wake_delayed(page integer) returns integer
language plpgsql security definer set search_path from current
    set enable_seqscan = off set enable_sort = off set jit = off set plan_cache_mode = force_generic_plan
as $$
declare
    t timestamptz := ledger_time();
    due_from timestamptz := delayed_from();
    woken waiting[];
begin
    with due as materialized (
        select d.job from delayed d where d.ready_at >= due_from and d.ready_at <= t
        order by d.ready_at, d.job limit page for update skip locked
    ), gone as (
        delete from delayed d where d.job = any (array(select due.job from due)) returning d.*
    ), counted as (
        insert into count_delta (queue, batch, state, jobs, at)
        select l.queue, n.batch, s.state, s.sign * n.jobs, t
        from (select g.lane, g.batch, count(*)::integer as jobs from gone g group by g.lane, g.batch) n
        join lane l on l.id = n.lane
        cross join (values ('delayed'::job_state, -1), ('waiting', 1)) as s (state, sign)
    )
    select array_agg(row(g.job, g.batch, g.lane, g.cost, g.turn, g.epoch, g.spent, g.lost, g.room_deaths, t)::waiting)
    into woken from gone g;
    if woken is not null then
        perform enter_lanes(woken, false, t);
    end if;
    perform lift_delayed(t);
    return coalesce(cardinality(woken), 0);
end $$;
