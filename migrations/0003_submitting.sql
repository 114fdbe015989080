-- Why: how jobs come in. A submission is one transaction: small ones hand their jobs over as one JSON list; large ones call
-- stage_jobs(), COPY into the temporary table it makes, and then submit(). Both work for a role without a right to any table
-- and behind a pooler in transaction mode, and nothing of either outlives the transaction.
--
-- Fair turns: among the batches of one submitter in one queue a job's turn is decided here, once. A batch begins at the turn that
-- its line has come to and advances by cost / weight per job, so that a small batch behind a huge one starts at once, and a claim
-- need only follow an index. No turn is ever given out below the one that the line has come to, which is what lets a claim begin
-- its search at `lane.floor`. What submitters and queues have of the fleet is claim()'s to decide: however work is cut into
-- batches, they get no more by it.
select set_config('role', pg_get_userbyid(nspowner), true) from pg_namespace where nspname = current_schema();

-- MARK: Partitions

-- How many ids the next span has: `span_size`, or an eighth of what all spans have, in whole span sizes, if that is more. So the
-- number of spans grows with the logarithm of the ledger, up to `span_size_most`: 1,000 million jobs lie in 56 spans.
create function next_span_size() returns bigint
language sql volatile security definer set search_path from current
as $$
    select greatest(s.span_size, least(s.span_size_most, n.ids / 8) / s.span_size * s.span_size)
    from setting s, (select coalesce(sum(next_id - first_id), 0)::bigint as ids from span) n
$$;

-- Makes partitions until ids up to `last_id` have a place. Returns how many were made.
--
-- They are attached, not created in place, so that nobody who writes has to wait.
create function make_spans(last_id bigint) returns integer
language plpgsql security definer set search_path from current
as $$
declare
    first bigint;
    next bigint;
    made integer := 0;
    parent text;
    part text;
begin
    if exists (select from span where next_id > last_id) then
        return 0;
    end if;
    -- Two that make the same span: the second waits, and then finds it made.
    perform pg_advisory_xact_lock('span'::regclass::oid::integer, 0);
    loop
        select coalesce(max(next_id), (select (ledger_number::bigint << 43) + 1 from setting)) into first from span;
        exit when first > last_id;
        next := first + next_span_size();
        foreach parent in array array['job', 'attempt', 'finished'] loop
            part := parent || '_' || first;
            execute format('create table %I (like %I including all, constraint bounds check (%I >= %s and %I < %s))',
                           part, parent, case parent when 'job' then 'id' else 'job' end, first,
                           case parent when 'job' then 'id' else 'job' end, next);
            execute format('alter table %I attach partition %I for values from (%s) to (%s)', parent, part, first, next);
            -- The partition's own bounds say the same.
            execute format('alter table %I drop constraint bounds', part);
        end loop;
        insert into span (first_id, next_id) values (first, next);
        made := made + 1;
    end loop;
    return made;
end $$;

-- Gives the ledger its number, which its ids bear from then on: they lie from number * 2^43 + 1 up to (number + 1) * 2^43 - 1, and
-- so below 2^53, which every reader of JSON holds exactly. Only for a ledger without jobs and batches.
create function number_ledger(new_number integer) returns void
language plpgsql security definer set search_path from current
as $$
declare
    first bigint := (new_number::bigint << 43) + 1;
    last bigint := (new_number::bigint + 1 << 43) - 1;
    patience timestamptz := clock_timestamp() + interval '5 s';
    old span;
begin
    if new_number is null or new_number not between 0 and 1023 then
        raise exception 'the number of a ledger is 0 to 1023, not %', new_number using errcode = 'invalid_parameter_value';
    end if;
    if new_number = (select ledger_number from setting) then
        return;
    end if;
    loop
        if exists (select from batch) or exists (select from job) then
            raise exception 'the ledger holds jobs whose ids bear its number, %', (select ledger_number from setting)
                using errcode = 'invalid_parameter_value', hint = 'number a ledger before the first job is submitted to it';
        end if;
        -- Who submits meanwhile waits, and then takes the new ids. All tables or none: others take them in other orders.
        begin
            lock table batch, job, attempt, finished in access exclusive mode nowait;
            exit when not exists (select from batch) and not exists (select from job);
        exception when lock_not_available then
            if clock_timestamp() > patience then
                raise;
            end if;
            perform pg_sleep(0.01);
        end;
    end loop;
    -- Partitions that were made ahead hold nothing, and lie among the old ids.
    for old in select * from span loop
        execute format('drop table %I, %I, %I', 'job_' || old.first_id, 'finished_' || old.first_id, 'attempt_' || old.first_id);
    end loop;
    delete from span;
    delete from leaving;
    update setting set ledger_number = new_number;
    execute format('alter sequence job_id minvalue %s maxvalue %s start %s restart', first, last, first);
    execute format('alter table batch alter column id set minvalue %s set maxvalue %s set start %s restart', first, last, first);
end $$;

-- MARK: Rows by their ids
--
-- Wherever a call knows ids, it looks their rows up by these functions and not in the partitioned tables: a plan that is kept, or that
-- gets the ids from another table, locks each table and each index of each span until the transaction ends.

-- The spans that ids lie in, and the text of a query for the rows of a table in such a span. `place` counts the spans from 1.
--
-- Names the partition, so it is put together: to plan a query over all spans for each list of ids takes twice as long. Ids that lie in
-- many spans cost no more locks than those of a few: from the third span on each gives its locks back.
create function spans_of(parent text, key text, ids bigint[]) returns table (place integer, query text)
language plpgsql stable security definer set search_path from current
as $$
declare
    rest bigint[] := ids;
    part span;
begin
    -- In the order of locks: see 0002_tables.sql.
    perform pg_advisory_xact_lock_shared('job'::regclass::oid::integer, 0);
    place := 0;
    while cardinality(rest) > 0 loop
        select * into part from span s where s.first_id <= rest[1] order by s.first_id desc limit 1;
        if not found or rest[1] >= part.next_id then
            -- Of a span that was dropped.
            rest := rest[2:];
            continue;
        end if;
        place := place + 1;
        query := format('select * from %I where %I = any ($1)', parent || '_' || part.first_id, key);
        if place > 2 then
            -- In an array rows hold all that they consist of, and stay whole when their table is dropped.
            query := format('select r.* from (select array_agg(t) as all_rows from %I t where %I = any ($1)) s, unnest(s.all_rows) r',
                parent || '_' || part.first_id, key);
        end if;
        return next;
        rest := array(select i from unnest(rest) i where i < part.first_id or i >= part.next_id);
    end loop;
end $$;

-- The rows of `job` with these ids, in any order.
create function job_rows(ids bigint[]) returns setof job
language plpgsql stable security definer set search_path from current
    set enable_seqscan = off set jit = off
as $$
declare
    part record;
begin
    for part in select * from spans_of('job', 'id', ids) loop
        begin
            return query execute part.query using ids;
            if part.place > 2 then
                -- Undone, the block gives its locks back. It has written nothing.
                raise exception using errcode = 'SL002';
            end if;
        exception when sqlstate 'SL002' or undefined_table then
            -- Of a table that was dropped since spans_of() found it, no row is left.
            null;
        end;
    end loop;
end $$;

-- The rows of `finished` with these ids, in any order.
create function finished_rows(ids bigint[]) returns setof finished
language plpgsql stable security definer set search_path from current
    set enable_seqscan = off set jit = off
as $$
declare
    part record;
begin
    for part in select * from spans_of('finished', 'job', ids) loop
        begin
            return query execute part.query using ids;
            if part.place > 2 then
                raise exception using errcode = 'SL002';
            end if;
        exception when sqlstate 'SL002' or undefined_table then
            -- Of a table that was dropped since spans_of() found it, no row is left.
            null;
        end;
    end loop;
end $$;

-- The rows of `attempt` with these ids, in any order.
create function attempt_rows(ids bigint[]) returns setof attempt
language plpgsql stable security definer set search_path from current
    set enable_seqscan = off set jit = off
as $$
declare
    part record;
begin
    for part in select * from spans_of('attempt', 'job', ids) loop
        begin
            return query execute part.query using ids;
            if part.place > 2 then
                raise exception using errcode = 'SL002';
            end if;
        exception when sqlstate 'SL002' or undefined_table then
            -- Of a table that was dropped since spans_of() found it, no row is left.
            null;
        end;
    end loop;
end $$;

-- The same of `job` for claims, which have no time to plan: a query for each span, whose plan a session keeps, and which takes locks
-- only if one of the ids lies there. `ids` are sorted. write_jobs_of() writes the body whenever a span comes or goes.
create function jobs_of(ids bigint[]) returns setof job
language plpgsql stable security definer set search_path from current
as $$ begin end $$;

create function write_jobs_of() returns trigger
language plpgsql security definer set search_path from current
as $$
declare
    queries text;
begin
    -- As make_spans(): of two who write at the same time the second waits.
    perform pg_advisory_xact_lock('span'::regclass::oid::integer, 0);
    -- From the newest on, where most of what is claimed lies.
    select string_agg(format(
        'if highest >= %1$s then
            return query select * from job_%1$s where id = any (ids);
            if ids[1] >= %1$s then return; end if;
            ids := array(select i from unnest(ids) i where i < %1$s order by i);
            highest := ids[cardinality(ids)];
        end if;', s.first_id), E'\n' order by s.first_id desc) into queries
    from span s;
    execute format(
        'create or replace function jobs_of(ids bigint[]) returns setof job
        language plpgsql stable security definer set search_path from current
        as $body$
        declare
            highest bigint := ids[cardinality(ids)];
        begin
            %s
        end $body$', queries);
    return null;
end $$;
create trigger write_jobs_of after insert or delete on span for each statement execute function write_jobs_of();

-- MARK: Lines

-- Keeps the floors of `lanes` where they are until the transaction ends, so that no turn given out meanwhile ends up below, and
-- opens those that are closed.
--
-- Has to be called before the floors are read, in a statement of its own. Costs no write where a line is open; any number may hold
-- a lane.
create function hold_lanes(lanes integer[]) returns void
language plpgsql security definer set search_path from current
    set enable_seqscan = off set enable_bitmapscan = off set plan_cache_mode = force_generic_plan
as $$
begin
    perform pg_advisory_xact_lock_shared('lane'::regclass::oid::integer, l.id)
    from (select distinct id from unnest(lanes) as given (id) where id is not null order by id) l;
    -- Nobody closes it from here on.
    insert into opened (lane, share)
    select l.id, l.share from lane l
    where l.id = any (lanes) and not l.is_open and not exists (select from opened o where o.lane = l.id);
end $$;

-- Raises the floor of a line to its first job. The caller holds the line for itself alone, by a lock that it got in a statement
-- before this one: what is not committed yet cannot be seen, and may be lower.
create function lift_floor(lane_id integer) returns boolean
language plpgsql security definer set search_path from current
    set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set jit = off
    set plan_cache_mode = force_generic_plan
as $$
declare
    own record;
    lifted bigint;
begin
    -- Housekeeping may be at it; it has time, and this may be a claim.
    select l.floor, l.tail into own from lane l where l.id = lane_id for no key update skip locked;
    if not found then
        return false;
    end if;
    lifted := coalesce(
        (select w.turn from waiting w where w.lane = lane_id and w.turn >= own.floor order by w.turn, w.job limit 1),
        own.tail + 1
    );
    update lane l set floor = lifted, moved_at = ledger_time() where l.id = lane_id and l.floor < lifted;
    return found;
end $$;

-- Closes a line if nothing waits in it. The caller holds it as for lift_floor().
create function close_lane(lane_id integer) returns void
language plpgsql security definer set search_path from current
    set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set jit = off
    set plan_cache_mode = force_generic_plan
as $$
declare
    own record;
begin
    select l.floor, l.is_open into own from lane l where l.id = lane_id for no key update skip locked;
    if not found or exists (select from waiting w where w.lane = lane_id and w.turn >= own.floor) then
        return;
    end if;
    -- Rows that housekeeping is taking out are not waited for.
    delete from opened where ctid = any (array(select o.ctid from opened o where o.lane = lane_id for update skip locked));
    update lane l set is_open = false, floor = greatest(l.floor, l.tail + 1), moved_at = ledger_time() where l.id = lane_id;
end $$;

-- The turn that a line has come to: that of its first job, or, if it is empty, the one that the submitter's other lines of the queue
-- and priority have come to.
create function current_turn(lane_id integer) returns bigint
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
    -- Open ones: of those that were used once there may be thousands.
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

-- What a submitter has of a queue, made at the first submission.
create function share_for(queue_id integer, whose text) returns integer
language plpgsql security definer set search_path from current set enable_seqscan = off
as $$
declare found_id integer;
begin
    loop
        select id into found_id from share where queue = queue_id and submitter = whose;
        exit when found;
        insert into share (queue, submitter) values (queue_id, whose) on conflict do nothing;
    end loop;
    return found_id;
end $$;

-- Needs as a lane has them: sorted, without doubles.
create function sorted_needs(job_needs text[]) returns text[]
language sql immutable parallel safe
as $$
    select coalesce(array_agg(distinct n collate "C" order by n collate "C"), '{}') from unnest(job_needs) as given (n)
    where n is not null
$$;

-- The lane for a submitter's jobs of a queue and priority with these needs, made if it is the first of its kind. Where several may be
-- made, it is called in the order of locks.
create function lane_for(share_id integer, job_priority integer, job_needs text[]) returns integer
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
        insert into lane (queue, share, priority, needs)
        select s.queue, s.id, job_priority, wanted from share s where s.id = share_id
        on conflict do nothing;
    end loop;
    return found_id;
end $$;

-- Refuses to open a line for a submitter who has opened too many. Looks at the submitter's own open lines, and only if one is to be
-- opened.
create function check_lanes(lanes integer[], most integer) returns void
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
        -- A few thousand in all are counted in a millisecond.
        and most <= (select count(*) from (select from lane l where l.is_open limit most) o)
                    + (select count(*) from (select from opened limit most) o)
        and most <= (select count(*) from (
            select from share s cross join lateral (
                select l.id from lane l where l.share = s.id and l.is_open
                union
                select o.lane from opened o where o.share = s.id
            ) open where s.submitter = session_user limit most
        ) open)
    then
        raise exception '% has jobs with % different needs, queues and priorities that wait, and may have no more',
            session_user, most
            using errcode = 'invalid_parameter_value', hint = 'let some of them end, or cancel them';
    end if;
end $$;

-- The queue of that name, made if need be.
create function queue_for(queue_name text) returns integer
language plpgsql security definer set search_path from current set enable_seqscan = off
as $$
declare
    found_id integer;
    allowed integer;
begin
    loop
        select id into found_id from queue where name = queue_name;
        exit when found;
        -- Counted only where it may matter: numbers count up, and are left out where a submission was undone.
        select queues_allowed into allowed from setting;
        if (select max(id) from queue) >= allowed and (select count(*) from queue) >= allowed then
            raise exception 'there is no queue "%", and there are as many as the ledger makes', left(queue_name, 100)
                using errcode = 'invalid_parameter_value', hint = 'submit to a queue that exists';
        end if;
        insert into queue (name) values (queue_name) on conflict do nothing;
    end loop;
    return found_id;
end $$;

-- MARK: What is not due yet

-- Nothing in `delayed` is due before.
create function delayed_from() returns timestamptz
language plpgsql volatile security definer set search_path from current
    set enable_seqscan = off set enable_bitmapscan = off
as $$ begin return (select f.ready_at from delayed_floor f order by f.id desc limit 1); end $$;

-- Raises it to the first row that is due, or to the present if none is; and lowers it to the present if the clock went back.
create function lift_delayed(t timestamptz) returns void
language plpgsql security definer set search_path from current
    set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set jit = off
    set plan_cache_mode = force_generic_plan
as $$
declare
    own delayed_floor;
    lifted timestamptz;
begin
    -- Not while a transaction puts jobs there: they cannot be seen yet, and may be due before.
    if not pg_try_advisory_xact_lock('delayed'::regclass::oid::integer, 0) then
        return;
    end if;
    select * into own from delayed_floor f order by f.id desc limit 1;
    lifted := coalesce((
        select d.ready_at from delayed d where d.ready_at >= own.ready_at and d.ready_at <= t order by d.ready_at, d.job limit 1
    ), t);
    if lifted <> own.ready_at then
        insert into delayed_floor (ready_at) values (lifted);
        -- By its number: those that went before it are dead rows.
        delete from delayed_floor f where f.id = own.id;
    end if;
end $$;

-- Keeps that time from being raised until the transaction ends, and answers it. A row that is put into `delayed` from then on has no
-- earlier one: the transaction may have begun long ago.
create function hold_delayed() returns timestamptz
language plpgsql volatile security definer set search_path from current
as $$
begin
    -- The clock went back, as that of a server that took over may.
    if delayed_from() > ledger_time() + interval '1 s' then
        perform lift_delayed(ledger_time());
    end if;
    perform pg_advisory_xact_lock_shared('delayed'::regclass::oid::integer, 0);
    return delayed_from();
end $$;

-- MARK: Submitting

-- When a job may be begun: a century from now at the latest, since a job that never ends keeps all later ones from being dropped.
create function sooner(run_at timestamptz, t timestamptz) returns timestamptz
language sql stable parallel safe
as $$ select case when run_at is not null then least(run_at, t + interval '100 years') end $$;

-- What is wrong with a job that is to be submitted, in a sentence; null if nothing is. Whatever else a recipe says is for workers
-- to judge, who read it strictly; this bounds what the ledger and its workers have to carry or to compute with.
--
-- Touches no table, and is not pinned: that would cost more than it does. In plpgsql, which keeps its plan.
create function job_fault(recipe jsonb, needs jsonb, labels jsonb, most integer) returns text
language plpgsql immutable parallel safe
as $$ begin
    return case
        -- A value that is stored small may be large when it is read: compression takes off 255 parts of 256 at most.
        when pg_column_size(recipe) > most / 300 and octet_length(recipe::text) > most
            then format('a recipe takes %s bytes, and may take %s', octet_length(recipe::text), most)
        when pg_column_size(labels) > most / 300 and octet_length(labels::text) > most
            then format('the labels of a job take %s bytes, and may take %s', octet_length(labels::text), most)
        when jsonb_typeof(needs) not in ('array', 'null') then 'the needs of a job are no list'
        when jsonb_typeof(needs) = 'array' and (
            jsonb_array_length(needs) > 32
            or exists (select from jsonb_array_elements(needs) n where jsonb_typeof(n) <> 'string' or length(n::text) > 200)
        ) then 'a job may need 32 words of up to 200 letters'
        when recipe ? 'version' and (jsonb_typeof(recipe -> 'version') <> 'number' or length(recipe ->> 'version') > 9)
            then 'the version of a recipe is no whole number of up to nine digits'
        when recipe ? 'limits' and jsonb_typeof(recipe -> 'limits') <> 'null' and (
            jsonb_typeof(recipe -> 'limits') <> 'object'
            or exists (
                select from jsonb_each(case when jsonb_typeof(recipe -> 'limits') = 'object' then recipe -> 'limits' end) f
                where jsonb_typeof(f.value) not in ('number', 'null')
                   or jsonb_typeof(f.value) = 'number' and not (f.value::text::numeric between 0 and 9223372036854775807)
            )
        ) then 'a limit of a recipe is no number from 0 to 2^63 - 1'
    end;
end $$;

-- Makes the temporary table `staged_job` for this transaction; the caller may only insert into it.
--
-- Columns: ordinal integer (decides the order of the ids), recipe jsonb, and as wished cost integer, needs text[],
-- max_attempts smallint, run_at timestamptz, labels jsonb;
-- work, source_bytes and source_modified bigint as in `job`.
create function stage_jobs() returns void
language plpgsql security definer set search_path from current
as $$
begin
    create temporary table staged_job (
        ordinal integer not null,
        recipe jsonb not null,
        cost integer,
        needs text[],
        max_attempts smallint,
        run_at timestamptz,
        labels jsonb,
        work bigint,
        source_bytes bigint,
        source_modified bigint
    ) on commit drop;
    -- Nobody outside of this session can reach it.
    grant insert on pg_temp.staged_job to public;
end $$;

-- Two functions by one text, enter_staged() and enter_listed(), which write the jobs of a batch into `job` and their lines. They
-- differ in where the jobs come from: from the temporary table, which a statement can only name where it is, or from a JSON list.
-- One function for both would have to write each job down once more, or be planned at each call.
--
-- `heads` are the turns that `lanes` have come to. Answers the first and the last id, and how many jobs may be claimed at once.
do $make$
declare
    source record;
begin
    for source in values
        ('enter_staged', $given$
            select s.recipe, s.cost, coalesce(to_jsonb(s.needs), '[]') as needs, s.max_attempts, s.run_at, s.labels, s.work,
                   s.source_bytes, s.source_modified
            from pg_temp.staged_job s order by s.ordinal
        $given$),
        ('enter_listed', $given$
            select s.recipe, s.cost, coalesce(nullif(s.needs, 'null'), '[]') as needs, s.max_attempts, s.run_at, s.labels, s.work,
                   s.source_bytes, s.source_modified
            from rows from (jsonb_to_recordset(listed) as (
                recipe jsonb, cost integer, needs jsonb, max_attempts smallint, run_at timestamptz, labels jsonb, work bigint,
                source_bytes bigint, source_modified bigint
            )) with ordinality as s (recipe, cost, needs, max_attempts, run_at, labels, work, source_bytes, source_modified,
                                     ordinal)
            order by s.ordinal
        $given$)
    loop
        execute format($function$
            create function %I(
                listed jsonb, the_batch bigint, the_queue integer, batch_weight integer, usual_attempts smallint,
                usual_run_at timestamptz, lanes integer[], heads bigint[], lane_of_kind jsonb, t timestamptz,
                out first_id bigint, out last_id bigint, out ready bigint
            )
            language plpgsql security definer set search_path from current
                -- What 100,000 staged jobs take to be sorted without a file.
                set work_mem = '64MB' set jit = off
            as $body$
            begin
                with given as (%s), entered as (
                    insert into job (id, batch, lane, recipe, source, cost, max_attempts, run_at, labels, work, source_bytes,
                                     source_modified)
                    select nextval('job_id'), the_batch,
                           case when cardinality(lanes) = 1 then lanes[1]
                                else (lane_of_kind ->> jsonb_build_array(g.needs, g.recipe -> 'version')::text)::integer end,
                           g.recipe, g.recipe #>> '{sources,0,location}', coalesce(g.cost, 1000),
                           coalesce(g.max_attempts, usual_attempts), sooner(coalesce(g.run_at, usual_run_at), t), g.labels,
                           g.work, g.source_bytes, g.source_modified
                    from given g
                    returning id, lane, cost, run_at
                ), turned as materialized (
                    select e.id, e.lane, e.cost, e.run_at > t as is_early, e.run_at,
                           h.head + sum(greatest(1, e.cost::bigint * 100 / batch_weight)) over (
                               order by e.id rows between unbounded preceding and current row
                           )::bigint - greatest(1, e.cost::bigint * 100 / batch_weight) as turn
                    from entered e join unnest(lanes, heads) as h (lane, head) on h.lane = e.lane
                ), now_waiting as (
                    insert into waiting (job, batch, lane, cost, turn, epoch, spent, lost, room_deaths, since)
                    select n.id, the_batch, n.lane, n.cost, n.turn, 0, 0, 0, 0, t from turned n where n.is_early is not true
                ), now_delayed as (
                    insert into delayed (job, batch, lane, cost, turn, epoch, spent, lost, room_deaths, since, ready_at)
                    select n.id, the_batch, n.lane, n.cost, n.turn, 0, 0, 0, 0, t, greatest(n.run_at, (select hold_delayed()))
                    from turned n where n.is_early
                ), counted as (
                    insert into count_delta (queue, batch, state, jobs, lane, tail, at)
                    select the_queue, the_batch, (case when n.is_early then 'delayed' else 'waiting' end)::job_state,
                           count(*), n.lane, max(n.turn), t
                    from turned n group by 3, n.lane
                )
                select min(n.id), max(n.id), count(*) filter (where n.is_early is not true)
                into first_id, last_id, ready from turned n;
            end $body$
        $function$, source.column1, source.column2);
    end loop;
end $make$;

-- Puts a batch of jobs into the ledger. Nothing of it is seen before the commit.
--
-- `jobs` is a JSON list of objects with the columns of `staged_job` but for the ordinal; if it is null, the staged rows are
-- taken. A `batch_key` that the caller has used answers the batch it stands for and adds nothing (`added` is false); `same_request` then
-- says whether the digests agree. Two who submit under one key at the same moment: the second waits for the first.
create function submit(
    jobs jsonb default null,
    queue_name text default 'default',
    batch_name text default null,
    batch_key text default null,
    request_digest bytea default null,
    job_priority integer default 0,
    batch_weight integer default 100,
    max_attempts integer default null,
    run_at timestamptz default null,
    batch_labels jsonb default '{}',
    wake boolean default true
) returns table (batch bigint, first_job bigint, last_job bigint, job_count bigint, added boolean, same_request boolean)
language plpgsql security definer set search_path from current set jit = off
    -- Plans made while there were few queues are kept, by foreign keys as well.
    set enable_seqscan = off
as $$
#variable_conflict use_column
declare
    t timestamptz := ledger_time();
    the_queue integer;
    the_share integer;
    the_batch bigint;
    staged regclass;
    asked bigint;
    lanes integer[];
    -- The turns that they have come to.
    heads bigint[];
    kinds jsonb;
    lane_of_kind jsonb;
    the_attempts smallint;
    most integer;
    most_kinds integer;
    most_lanes integer;
    fault text;
    entered record;
begin
    -- First of all: see the order of locks in 0002_tables.sql.
    perform pg_advisory_xact_lock_shared('job'::regclass::oid::integer, 0);
    if submit.batch_key is not null then
        return query
            select b.id, b.first_job, b.last_job, b.jobs, false,
                   b.request_digest is not distinct from submit.request_digest
            from batch b where b.key = submit.batch_key and b.submitter = session_user;
        if found then return; end if;
    end if;

    if submit.jobs is null then
        staged := to_regclass('pg_temp.staged_job');
        -- Only the table that stage_jobs() made: reading a view of the caller's would run the caller's code as the owner.
        if staged is null or not exists (
            select from pg_class c where c.oid = staged and c.relkind = 'r' and c.relowner = current_user::regrole
        ) then
            raise exception 'no jobs are staged in this transaction'
                using errcode = 'object_not_in_prerequisite_state', hint = 'call stage_jobs() and COPY into staged_job';
        end if;
    elsif jsonb_typeof(submit.jobs) <> 'array' then
        raise exception 'jobs is no list' using errcode = 'invalid_parameter_value';
    end if;

    the_queue := queue_for(submit.queue_name);
    the_share := share_for(the_queue, session_user);
    the_attempts := coalesce(submit.max_attempts, (select s.max_attempts from setting s));

    insert into batch as b (name, key, request_digest, queue, priority, weight, labels, created_at)
    values (submit.batch_name, submit.batch_key, submit.request_digest, the_queue, submit.job_priority,
            submit.batch_weight, submit.batch_labels, t)
    on conflict (key, submitter) do nothing
    returning b.id into the_batch;
    if the_batch is null then
        return query
            select b.id, b.first_job, b.last_job, b.jobs, false,
                   b.request_digest is not distinct from submit.request_digest
            from batch b where b.key = submit.batch_key and b.submitter = session_user;
        return;
    end if;

    select s.recipe_bytes, s.lanes_per_submission, s.lanes_per_submitter into most, most_kinds, most_lanes from setting s;
    if greatest(octet_length(submit.batch_name), octet_length(submit.batch_key)) > 1000
        or octet_length(submit.batch_labels::text) > most or octet_length(submit.request_digest) > 1000
    then
        raise exception 'the name, the key or the labels of the batch are too long'
            using errcode = 'invalid_parameter_value', hint = format('1000 bytes for names and keys, %s for labels', most);
    end if;
    if submit.jobs is null then
        select f.fault into fault from pg_temp.staged_job s
        cross join lateral (select job_fault(s.recipe, to_jsonb(s.needs), s.labels, most) as fault offset 0) f
        -- Nearly all are plain, and there may be a million.
        where (pg_column_size(s.recipe) > most / 300 or s.recipe ? 'limits' or s.recipe -> 'version' is distinct from '1'
               or pg_column_size(s.labels) > most / 300 or pg_column_size(s.needs) > 1000)
          and f.fault is not null
        order by s.ordinal limit 1;
    else
        select f.fault into fault from jsonb_array_elements(submit.jobs) with ordinality as j (job, place)
        cross join lateral (
            select job_fault(j.job -> 'recipe', j.job -> 'needs', j.job -> 'labels', most) as fault
        ) f where f.fault is not null order by j.place limit 1;
    end if;
    if fault is not null then
        raise exception '%', fault using errcode = 'invalid_parameter_value';
    end if;

    -- Each kind of needs is looked up once, not once per job.
    if submit.jobs is null then
        select coalesce(sum(k.jobs), 0), jsonb_agg(distinct jsonb_build_array(coalesce(to_jsonb(k.needs), '[]'), k.version))
        into asked, kinds
        from (select s.needs, s.recipe -> 'version' as version, count(*) as jobs from pg_temp.staged_job s
              group by s.needs, s.recipe -> 'version') k;
    else
        asked := jsonb_array_length(submit.jobs);
        kinds := (select jsonb_agg(distinct jsonb_build_array(coalesce(nullif(j -> 'needs', 'null'), '[]'),
                                                              j -> 'recipe' -> 'version'))
                  from jsonb_array_elements(submit.jobs) j);
    end if;
    if asked = 0 then
        raise exception 'a submission has at least one job' using errcode = 'invalid_parameter_value';
    end if;
    if jsonb_array_length(kinds) > most_kinds then
        raise exception 'the jobs need % different things, and those of one submission may need %',
            jsonb_array_length(kinds), most_kinds
            using errcode = 'invalid_parameter_value', hint = 'submit jobs of different needs in several batches';
    end if;
    -- The same needs in another order, or some of them twice, make another kind and no other lane.
    select array_agg(distinct lane_id), jsonb_object_agg(kind, lane_id) into lanes, lane_of_kind
    from (
        select kind::text as kind,
               lane_for(the_share, submit.job_priority, k.needs) as lane_id
        from (
            -- In order, since some may be new: see 0002_tables.sql.
            select kind, sorted_needs(array(select jsonb_array_elements_text(kind -> 0)) || ('recipe:' || (kind ->> 1)))
                       collate "C" as needs
            from jsonb_array_elements(kinds) as k (kind) order by needs offset 0
        ) k
    ) found_lanes;
    perform check_lanes(lanes, most_lanes);
    perform hold_lanes(lanes);

    heads := (select array_agg(current_turn(l.id) order by l.place) from unnest(lanes) with ordinality as l (id, place));

    -- Housekeeping keeps partitions ahead. Where it does not, or many submit at once, they are made here.
    loop
        if not exists (select from span where next_id > (select last_value from job_id) + asked) then
            perform make_spans((select last_value from job_id) + asked);
        end if;
        begin
            if submit.jobs is null then
                select * into entered from enter_staged(
                    null, the_batch, the_queue, submit.batch_weight, the_attempts, submit.run_at, lanes, heads, lane_of_kind, t
                );
            else
                select * into entered from enter_listed(
                    submit.jobs, the_batch, the_queue, submit.batch_weight, the_attempts, submit.run_at, lanes, heads,
                    lane_of_kind, t
                );
            end if;
            exit;
        exception when check_violation then
            -- Others took so many ids meanwhile that ours had no partition; any other check is not ours to mend.
            if exists (select from span where next_id > (select last_value from job_id)) then
                raise;
            end if;
        end;
    end loop;

    update batch b set first_job = entered.first_id, last_job = entered.last_id, jobs = asked where b.id = the_batch;
    if submit.wake and entered.ready > 0 then
        -- One for the whole submission, sent at the commit. See tell_workers() for many small ones.
        perform pg_notify(current_schema(), 'jobs');
    end if;
    return query select the_batch, entered.first_id, entered.last_id, asked, true, true;
end $$;

-- Tells workers that there is work: for a submitter that submitted with `wake` false, and has committed. Once for many submissions is
-- enough.
--
-- The server lets transactions that notify commit one after another, each with its wait for the disk. This one waits for none: it
-- has written nothing.
create function tell_workers() returns void
language plpgsql security definer set search_path from current
as $$
begin
    perform set_config('synchronous_commit', 'off', true);
    perform pg_notify(current_schema(), 'jobs');
end $$;

-- What stands under a key of the caller's: no row if nothing does. Answers the question of a submitter whose COMMIT was not answered.
create function find_batch(batch_key text)
returns table (batch bigint, first_job bigint, last_job bigint, job_count bigint, request_digest bytea)
language sql stable security definer set search_path from current
as $$
    select b.id, b.first_job, b.last_job, b.jobs, b.request_digest from batch b
    where b.key = find_batch.batch_key and b.submitter = session_user
$$;

-- The ids of a batch in the order in which they were submitted, from behind `after` on.
create function batch_jobs(batch_id bigint, after bigint default 0, page integer default 1000)
returns table (job bigint)
language plpgsql stable security definer set search_path from current
    set plan_cache_mode = force_custom_plan set jit = off
as $$
declare
    b batch;
    part span;
    missing bigint := page;
    found_jobs bigint;
begin
    select * into b from batch where id = batch_id and ((select sees_all()) or submitter = session_user);
    for part in
        select * from span s where s.first_id <= b.last_job and s.next_id > greatest(b.first_job, after + 1) order by s.first_id
    loop
        return query
            select j.id from job j
            where j.batch = b.id and j.id > after and j.id >= b.first_job and j.id <= b.last_job
              and j.id >= part.first_id and j.id < part.next_id
            order by j.id limit missing;
        get diagnostics found_jobs = row_count;
        missing := missing - found_jobs;
        exit when missing <= 0;
    end loop;
end $$;

select allow('sluice_submitter', 'stage_jobs', 'submit', 'tell_workers', 'find_batch', 'batch_jobs');
select allow('sluice_viewer', 'batch_jobs');
select allow('sluice_operator', 'batch_jobs');
select apply_permissions();
select set_config('role', 'none', true);
