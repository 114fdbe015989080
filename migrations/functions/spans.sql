-- The tables of jobs, of ended jobs and of attempts are partitioned by the ids of jobs. One partition of each table together make a span.
-- make_spans() adds spans ahead of the ids that are given out; retention.sql drops them. jobs_of(), which claims read by, is rewritten
-- whenever a span is added or removed, by a trigger: see tables/0004_spans.sql.

-- The number of ids of the next span: `span_size`, or an eighth of the ids of all spans, in whole multiples of `span_size` and up to
-- `span_size_most`, if that is more. The number of spans thus grows with the logarithm of the ledger until that limit: 1,000 million
-- jobs lie in 57 spans.
create or replace function next_span_size() returns bigint
language sql volatile security definer set search_path from current
as $$
    select greatest(s.span_size, least(s.span_size_most, n.ids / 8) / s.span_size * s.span_size)
    from setting s, (select coalesce(sum(next_id - first_id), 0)::bigint as ids from span) n
$$;

-- Makes partitions until ids up to `last_id` have one. Returns the number of spans made. The ids are taken as ids of the number that the
-- ledger has now, whatever number they carry: the number may have changed since the caller asked for them.
--
-- The partitions are attached, not created in place, so that no writer has to wait.
create or replace function make_spans(last_id bigint) returns integer
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
    -- If two transactions make the same span, the second waits here, and then finds it made.
    lock table lock_span in exclusive mode;
    -- number_ledger() changes this row. It waits for this transaction, or gives way to it.
    select (s.ledger_number::bigint << 43) | (last_id & ((1::bigint << 43) - 1)) into strict last_id from setting s for share;
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
            -- The partition's bounds imply the constraint.
            execute format('alter table %I drop constraint bounds', part);
        end loop;
        insert into span (first_id, next_id) values (first, next);
        made := made + 1;
    end loop;
    return made;
end $$;

-- Keeps partitions for two spans ahead of the last id.
create or replace function make_spans_ahead() returns integer
language sql security definer set search_path from current
as $$
    select make_spans((select last_value from job_id) + 2 * next_span_size())
$$;

-- The number of spans, each with its partitions: for `doctor`.
create or replace function count_spans() returns bigint
language sql stable security definer set search_path from current
as $$
    select refuse_tenants('read how large the ledger is');
    select count(*) from span
$$;

-- Sets the ledger's number, which becomes part of all later ids: they lie between number * 2^43 + 1 and (number + 1) * 2^43 - 1, and
-- so below 2^53, which every JSON parser represents exactly. Only for a ledger without jobs and batches.
create or replace function number_ledger(new_number integer) returns void
language plpgsql security definer set search_path from current
    -- Shorter than `deadlock_timeout`: where calls wait for each other, this one gives way, and tries again.
    set lock_timeout = '50ms'
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
    loop
        -- If a step has to wait, all are undone, and no lock remains.
        begin
            if new_number = (select ledger_number from setting) then
                return;
            end if;
            if exists (select from batch) or exists (select from job) then
                raise exception 'the ledger holds jobs whose ids bear its number, %', (select ledger_number from setting)
                    using errcode = 'invalid_parameter_value', hint = 'number a ledger before the first job is submitted to it';
            end if;
            -- Concurrent submissions wait here, and then take the new ids. It locks all tables or none, because others lock them
            -- in other orders.
            lock table batch, job, attempt, finished in access exclusive mode nowait;
            -- A sequence that is altered gets a new file, and a query that reads the old one finds no row, or fails. `lock` takes no
            -- sequences, but a change of the owner, also to the same one, keeps all readers away.
            alter sequence job_id owner to current_user;
            continue when exists (select from batch) or exists (select from job);
            -- Partitions that were made ahead are empty, and lie in the old range of ids.
            for old in select * from span loop
                execute format('drop table %I, %I, %I', 'job_' || old.first_id, 'finished_' || old.first_id,
                               'attempt_' || old.first_id);
            end loop;
            delete from span;
            delete from leaving;
            update setting set ledger_number = new_number;
            execute format('alter sequence job_id minvalue %s maxvalue %s start %s restart', first, last, first);
            execute format('alter table batch alter column id set minvalue %s set maxvalue %s set start %s restart',
                           first, last, first);
            return;
        exception when lock_not_available then
            if clock_timestamp() > patience then
                raise;
            end if;
            perform pg_sleep(0.01);
        end;
    end loop;
end $$;

-- The spans in which ids lie, each with the text of a query for its rows. `place` numbers the spans from 1.
--
-- The query names the partition, so it is dynamic SQL: planning a query over all spans for each list of ids takes twice as long. Ids
-- in many spans take no more locks than ids in a few, because the callers release the locks of the third and every later span.
create or replace function spans_of(parent text, key text, ids bigint[]) returns table (place integer, query text)
language plpgsql stable security definer set search_path from current
as $$
declare
    rest bigint[] := ids;
    part span;
begin
    -- According to the lock order: see locks.sql.
    perform share_job_lock();
    place := 0;
    while cardinality(rest) > 0 loop
        select * into part from span s where s.first_id <= rest[1] order by s.first_id desc limit 1;
        if not found or rest[1] >= part.next_id then
            -- The id is of a span that was dropped.
            rest := rest[2:];
            continue;
        end if;
        place := place + 1;
        query := format('select * from %I where %I = any ($1)', parent || '_' || part.first_id, key);
        if place > 2 then
            -- In an array, rows contain all their values, and stay intact when their table is dropped.
            query := format('select r.* from (select array_agg(t) as all_rows from %I t where %I = any ($1)) s, unnest(s.all_rows) r',
                parent || '_' || part.first_id, key);
        end if;
        return next;
        rest := array(select i from unnest(rest) i where i < part.first_id or i >= part.next_id);
    end loop;
end $$;

-- The rows of `job` with these ids, in any order.
create or replace function job_rows(ids bigint[]) returns setof job
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
                -- Rolling the block back releases its locks. It has written nothing.
                raise exception using errcode = 'SL002';
            end if;
        exception when sqlstate 'SL002' or undefined_table then
            -- The table was dropped after spans_of() found it, so its rows are gone.
            null;
        end;
    end loop;
end $$;

-- The rows of `finished` with these ids, in any order.
create or replace function finished_rows(ids bigint[]) returns setof finished
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
            -- The table was dropped after spans_of() found it, so its rows are gone.
            null;
        end;
    end loop;
end $$;

-- The rows of `attempt` with these ids, in any order.
create or replace function attempt_rows(ids bigint[]) returns setof attempt
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
            -- The table was dropped after spans_of() found it, so its rows are gone.
            null;
        end;
    end loop;
end $$;
