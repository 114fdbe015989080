-- Pages of the jobs that a filter finds, and how many it finds. The `next` of each row is the cursor for the page that begins behind it.
--
-- No index finds a text inside a source: it would cost more on each submission than all other indexes together. With a source_contains a
-- call reads the sources of 20,000 jobs at most that match the other conditions. If it then lacks jobs for a full page, and there may be
-- more, it adds a row whose `job` is null and whose `next` is the cursor from which the search continues.

-- Ids and states of a page of jobs, with the cursor behind each. With a source_contains the last row may have the cursor alone.
create or replace function find_jobs(filter jsonb default '{}', behind jsonb default null, page integer default 50)
returns table (job bigint, state job_state, next jsonb)
language plpgsql stable security definer set search_path from current set jit = off
as $$
#variable_conflict use_column
begin
    return query
        select case when n.state is not null then n.job end, n.state, cursor_behind(n.job, n.source)
        from find_page(filter, behind, page, false) n;
end $$;

-- A page of jobs, with the rows of those that have ended if `with_rows` is set.
create or replace function find_page(filter jsonb, behind jsonb, page bigint, with_rows boolean) returns setof found_job
language plpgsql stable security definer set search_path from current set jit = off
as $$
declare
    f job_search := read_filter(filter);
    after found_job;
begin
    f.with_rows := with_rows;
    after.job := (behind ->> 'job')::bigint;
    after.source := left(behind ->> 'source', 640);
    if f.source_contains is not null then
        return query select n.* from find_containing(f, after, page) n;
    elsif f.source_prefix is not null then
        return query select n.* from find_by_source(f, after, page) n;
    else
        f.highest := least(f.highest, after.job - 1);
        return query select n.* from find_by_id(f, page) n;
    end if;
end $$;

-- A page of jobs from the newest on.
create or replace function find_by_id(f job_search, page bigint) returns setof found_job
language plpgsql stable security definer set search_path from current set jit = off
as $$
declare
    live found_job[] := array(select l from find_live(f, page) l);
    missing bigint := page;
    part job_search;
    found_jobs bigint;
begin
    for part in select p.* from parts_of(f) p order by p.lowest desc loop
        begin
            return query
                select n.* from (
                    select l.* from unnest(live) l where l.job between part.lowest and part.highest
                    union all
                    select e.* from find_ended(part, missing) e where f.states && '{completed,skipped,failed,accepted,cancelled}'
                ) n order by n.job desc limit missing;
            get diagnostics found_jobs = row_count;
            -- Rolling the block back releases its locks, because a filter that finds little goes through all spans. It has written
            -- nothing.
            raise exception using errcode = 'SL002';
        exception when sqlstate 'SL002' then
            null;
        end;
        missing := missing - found_jobs;
        exit when missing <= 0;
    end loop;
end $$;

-- The same by source, for jobs behind `after`.
create or replace function find_by_source(f job_search, after found_job, page bigint) returns setof found_job
language plpgsql stable security definer set search_path from current set jit = off
as $$
declare
    found_jobs found_job[] := '{}';
    part job_search;
begin
    -- Any span may hold a source that comes before those already found. Names mostly grow with time, as ids do: after the oldest
    -- span little is left to find in the others.
    for part in select p.* from parts_of(f) p order by p.lowest loop
        begin
            found_jobs := array(
                select n from unnest(found_jobs || array(select b from find_by_source(part, after, found_jobs[page], page) b)) n
                order by n.source, n.job limit page
            );
            raise exception using errcode = 'SL002';
        exception when sqlstate 'SL002' then
            null;
        end;
    end loop;
    return query select n.* from unnest(found_jobs) n order by n.source, n.job;
end $$;

-- A page of jobs whose sources contain a text, behind `after`. Reads the sources of `most` jobs at most; see above. In the row for
-- continuing `state` is null, and the other columns are those of the last job read.
create or replace function find_containing(f job_search, after found_job, page bigint, most integer default 20000) returns setof found_job
language plpgsql stable security definer set search_path from current set jit = off
    set enable_hashjoin = on set enable_nestloop = off set enable_mergejoin = off
as $$
declare
    chunk constant integer := 1000;
    with_rows constant boolean := f.with_rows;
    candidates found_job[];
    reached found_job := after;
    jobs_read integer := 0;
    missing bigint := page;
    found_jobs bigint;
begin
    f.with_rows := false;
    loop
        if f.source_prefix is not null then
            candidates := array(select n from find_by_source(f, reached, chunk) n);
        else
            f.highest := least(f.highest, reached.job - 1);
            candidates := array(select n from find_by_id(f, chunk) n);
        end if;
        return query
            with matching as materialized (
                select c.job, c.state, c.source, c.place
                from unnest(candidates) with ordinality as c (job, state, source, ended, place)
                join job_rows(array(select n.job from unnest(candidates) n)) j on j.id = c.job
                where strpos(j.source, f.source_contains) > 0
                order by c.place limit missing
            )
            select m.job, m.state, m.source, e
            from matching m
            left join finished_rows(array(
                select m.job from matching m where with_rows and m.state in ('completed', 'skipped', 'failed', 'accepted', 'cancelled')
            )) e on e.job = m.job
            order by m.place;
        get diagnostics found_jobs = row_count;
        missing := missing - found_jobs;
        exit when missing <= 0 or cardinality(candidates) < chunk;
        reached := candidates[cardinality(candidates)];
        jobs_read := jobs_read + cardinality(candidates);
        if jobs_read >= most then
            return query select reached.job, null::job_state, reached.source, null::finished;
            exit;
        end if;
    end loop;
end $$;

-- The cursor for the page behind a job. The planner inlines it.
create or replace function cursor_behind(job bigint, source text) returns jsonb
language sql stable
as $$
    select case when source is null then jsonb_build_object('job', job) else jsonb_build_object('job', job, 'source', source) end
$$;

-- How many jobs a filter finds. With a source_contains this reads all sources that match the other conditions, and count_containing()
-- is the way to count a large ledger. Uses the folded counts if the filter allows it, and counts otherwise. With `to_steer` only jobs that
-- the caller may change.
create or replace function count_jobs(filter jsonb default '{}', to_steer boolean default false) returns bigint
language plpgsql stable security definer set search_path from current set jit = off
as $$
declare
    f job_search;
    part job_search;
    found_jobs bigint := 0;
    counted bigint;
    reached jsonb;
begin
    if filter ->> 'source_contains' <> '' then
        loop
            select c.jobs, c.next into counted, reached from count_containing(filter, to_steer, reached) c;
            found_jobs := found_jobs + counted;
            exit when reached is null;
        end loop;
        return found_jobs;
    end if;
    if to_steer then
        filter := steerable(filter);
    end if;
    f := read_filter(filter);
    if (filter - '{states,queue}'::text[]) = '{}' and f.submitter is null then
        return coalesce((select sum(c.jobs) from counts(true) c where c.state = any (f.states)
                         and (not filter ? 'queue' or c.queue = filter ->> 'queue')), 0);
    end if;
    if f.source_prefix is null then
        found_jobs := count_live(f);
    end if;
    for part in select p.* from parts_of(f) p loop
        begin
            -- Releases its locks as find_by_id() does.
            found_jobs := found_jobs + case when f.source_prefix is null then count_ended(part)
                else (select count(*) from find_by_source(part, null, null, null)) end;
            raise exception using errcode = 'SL002';
        exception when sqlstate 'SL002' then
            null;
        end;
    end loop;
    return found_jobs;
end $$;

-- How many jobs a filter with a source_contains finds behind a cursor, as far as one call reads. `next` is the cursor from which the
-- count continues; null: it is complete.
create or replace function count_containing(
    filter jsonb, to_steer boolean default false, behind jsonb default null, out jobs bigint, out next jsonb
)
language plpgsql stable security definer set search_path from current set jit = off
as $$
begin
    if to_steer then
        filter := steerable(filter);
    end if;
    select count(f.job), (array_agg(f.next) filter (where f.job is null))[1] into jobs, next
    from find_jobs(filter, behind, 1000000) f;
end $$;
