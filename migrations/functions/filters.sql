-- The jobs that a filter finds. A filter is a JSON object; all fields are optional, and all those given must match:
--   ids [..], states [..], batch, queue, codes [..], classes [..], stages [..], source_prefix, source_contains, remarks,
--   submitted_from, submitted_before, ended_from, ended_before, submitter.
-- `remarks`: true finds only jobs that were completed with remarks. `source_contains` is case-sensitive, as file names are.
--
-- Pages go from the newest job to the oldest; with a source_prefix they go by the first 640 characters of the source, which are what its
-- index holds. The `next` of each row is the cursor for the page that begins behind it. Pages follow an index by key, so that the
-- ten-millionth job costs what the first does.
--
-- The queries are fixed, and each call plans them anew (`force_custom_plan`): the planner then sees the filter's values as constants,
-- leaves out conditions that the filter does not have (`null is null or ...`), and makes the plan that fits this filter.
--
-- `finished` and `job` are read one span at a time, with the span's bounds as constants, from the newest span on and no further than the
-- page needs. A query over all spans would lock each of their tables and indexes until the transaction ends.

-- Parses a filter and restricts it to jobs that the caller may see.
create or replace function read_filter(filter jsonb) returns job_search
language plpgsql stable security definer set search_path from current set jit = off
as $$
declare
    known constant text[] := array['ids', 'states', 'batch', 'queue', 'codes', 'classes', 'stages', 'source_prefix',
                                   'source_contains', 'remarks', 'submitted_from', 'submitted_before', 'ended_from', 'ended_before',
                                   'submitter'];
    wrong text := (select k from jsonb_object_keys(filter) k where not k = any (known) limit 1);
    f job_search;
begin
    -- According to the lock order, because the caller reads several tables of spans: see locks.sql.
    perform share_job_lock();
    if wrong is not null then
        raise exception 'a filter has no field "%"', wrong
            using errcode = 'invalid_parameter_value', hint = 'known: ' || array_to_string(known, ', ');
    end if;
    f.ids := case when filter ? 'ids' then array(select v::bigint from jsonb_array_elements_text(filter -> 'ids') v) end;
    f.states := case when filter ? 'states'
        then array(select s::job_state from jsonb_array_elements_text(filter -> 'states') s) else enum_range(null::job_state) end;
    f.batch := (filter ->> 'batch')::bigint;
    f.codes := case when filter ? 'codes' then array(select jsonb_array_elements_text(filter -> 'codes')) end;
    f.classes := case when filter ? 'classes'
        then array(select c::failure_class from jsonb_array_elements_text(filter -> 'classes') c) end;
    f.stages := case when filter ? 'stages' then array(select jsonb_array_elements_text(filter -> 'stages')) end;
    f.submitted_from := (filter ->> 'submitted_from')::timestamptz;
    f.submitted_before := (filter ->> 'submitted_before')::timestamptz;
    f.submitter := case when sees_all() then filter ->> 'submitter' else caller() end;
    f.ended_from := (filter ->> 'ended_from')::timestamptz;
    f.ended_before := (filter ->> 'ended_before')::timestamptz;
    f.source_prefix := filter ->> 'source_prefix';
    -- Every source contains the empty text.
    f.source_contains := nullif(filter ->> 'source_contains', '');
    f.remarks := coalesce((filter ->> 'remarks')::boolean, false);
    if f.remarks then
        f.states := array(select s from unnest(f.states) s where s = 'completed');
    end if;
    f.queues := array(select q.id from queue q where not filter ? 'queue' or q.name = filter ->> 'queue');
    f.lanes := case when filter ? 'queue' then array(select l.id from lane l where l.queue = any (f.queues)) end;
    if f.codes is not null then
        f.failures := f.codes;
    elsif f.classes is not null or f.stages is not null then
        -- The counts list the existing codes, and each code is a range of an index.
        f.failures := array(
            select t.code from (
                select c.code, c.class, c.stage from failure_count c
                union all
                select d.code, d.class, d.stage from failure_delta d
            ) t
            where (f.classes is null or t.class = any (f.classes)) and (f.stages is null or t.stage = any (f.stages))
            group by t.code
        );
    end if;

    f.lowest := 0;
    f.highest := 9223372036854775807;
    if f.batch is not null then
        select b.first_job, b.last_job into f.lowest, f.highest from batch b where b.id = f.batch;
        f.lowest := coalesce(f.lowest, 1);
        f.highest := coalesce(f.highest, 0);
    end if;
    -- Ids grow with time. Concurrent submissions may be slightly out of order, so this looks at a thousand batches, and the batch's
    -- own time decides.
    if f.submitted_from is not null then
        f.lowest := greatest(f.lowest, coalesce((select min(n.first_job) from (
            select b.first_job from batch b where b.created_at >= f.submitted_from order by b.created_at limit 1000) n), f.highest));
    end if;
    -- A job that ended before a time was submitted before it.
    if least(f.submitted_before, f.ended_before) is not null then
        f.highest := least(f.highest, coalesce((select max(n.last_job) from (
            select b.last_job from batch b where b.created_at < least(f.submitted_before, f.ended_before)
            order by b.created_at desc limit 1000) n), 0));
    end if;
    if f.submitter is not null then
        f.lowest := greatest(f.lowest, coalesce((select min(b.first_job) from batch b where b.submitter = f.submitter), f.highest));
    end if;
    if f.ids is not null then
        f.lowest := greatest(f.lowest, (select min(i) from unnest(f.ids) i));
        f.highest := least(f.highest, (select max(i) from unnest(f.ids) i));
    end if;
    f.by_batch := f.submitted_from is not null or f.submitted_before is not null or f.submitter is not null;
    return f;
end $$;

-- The filter, once for each span in which it may find jobs.
create or replace function parts_of(f job_search) returns setof job_search
language plpgsql stable security definer set search_path from current
as $$
declare
    part span;
    whole job_search := f;
begin
    for part in select * from span s where s.next_id > f.lowest and s.first_id <= f.highest loop
        f.lowest := greatest(whole.lowest, part.first_id);
        f.highest := least(whole.highest, part.next_id - 1);
        return next f;
    end loop;
end $$;

-- Jobs that have not ended, from all four tables.
--
-- A function that the planner inlines, like open_lane(): a view would be one more relation to keep the roles away from.
create or replace function live_job()
returns table (job bigint, batch bigint, lane integer, state job_state, code text, class failure_class, stage text)
language sql stable
as $$
    select job, batch, lane, 'waiting'::job_state, null::text, null::failure_class, null::text from waiting
    union all
    select job, batch, lane, 'delayed', code, class, stage from delayed
    union all
    select job, batch, lane, 'running', null, null, null from running
    union all
    select job, batch, lane, 'publishing', null, null, null from publishing
$$;

-- The conditions that all queries have on a row. The planner inlines it, and the next.
create or replace function is_sought(
    f job_search, id bigint, batch_id bigint, code text, class failure_class, stage text, ended_at timestamptz
) returns boolean
language sql stable
as $$
    select id >= f.lowest and id <= f.highest and (f.ids is null or id = any (f.ids))
       and (f.batch is null or batch_id = f.batch) and (f.codes is null or code = any (f.codes))
       and (f.classes is null or class = any (f.classes)) and (f.stages is null or stage = any (f.stages))
       and (f.ended_from is null or ended_at >= f.ended_from) and (f.ended_before is null or ended_at < f.ended_before)
$$;

-- Those on its batch.
create or replace function is_sought(f job_search, created_at timestamptz, submitter text) returns boolean
language sql stable
as $$
    select (f.submitted_from is null or created_at >= f.submitted_from)
       and (f.submitted_before is null or created_at < f.submitted_before) and (f.submitter is null or submitter = f.submitter)
$$;

-- Whether a source has the prefix, and lies behind `after` and before `before` in the order of pages, if these are given.
create or replace function is_in_line(
    f job_search, source_start text, source text, id bigint, after found_job, before found_job
) returns boolean
language sql stable
as $$
    select source_start >= left(f.source_prefix, 640) and source_start < left(f.source_prefix, 640) || chr(1114111)
       and starts_with(source, f.source_prefix)
       and (after.source is null or (source_start, id) > (after.source, after.job))
       and (before.source is null or (source_start, id) < (before.source, before.job))
$$;

-- A page of jobs that have not ended, from the newest on.
create or replace function find_live(f job_search, page bigint) returns setof found_job
language plpgsql stable security definer set search_path from current
    set plan_cache_mode = force_custom_plan set jit = off set random_page_cost = 1
as $$
begin
    return query
        select l.job, l.state, null::text, null::finished from live_job() l
        where l.state = any (f.states) and (f.lanes is null or l.lane = any (f.lanes))
          and is_sought(f, l.job, l.batch, l.code, l.class, l.stage, null)
          and (not f.by_batch
               or exists (select from batch b where b.id = l.batch and is_sought(f, b.created_at, b.submitter)))
        order by l.job desc limit page;
end $$;

-- A page of jobs that have ended, from the newest on. The filter's ids are those of one span.
create or replace function find_ended(f job_search, page bigint) returns setof found_job
language plpgsql stable security definer set search_path from current
    set plan_cache_mode = force_custom_plan set jit = off set random_page_cost = 1
as $$
begin
    -- One query for each index that returns ids in order under these conditions.
    if f.failures is not null then
        return query
            select e.job, e.state, null::text, e.ended
            from unnest(f.failures) as c (code) cross join lateral (
                select t.job, t.state, case when f.with_rows then t end as ended from finished t
                where t.code = c.code and t.state = any (f.states) and (not f.remarks or t.has_remarks)
                  and (f.lanes is null or t.queue = any (f.queues))
                  and is_sought(f, t.job, t.batch, t.code, t.class, t.stage, t.ended_at)
                  and (not f.by_batch
                       or exists (select from batch b where b.id = t.batch and is_sought(f, b.created_at, b.submitter)))
                order by t.job desc limit page
            ) e order by e.job desc limit page;
    elsif f.ids is null and f.remarks then
        return query
            select e.job, e.state, null::text, e.ended
            from unnest(f.queues) as q (id) cross join lateral (
                select t.job, t.state, case when f.with_rows then t end as ended from finished t
                where t.queue = q.id and t.has_remarks and t.state = any (f.states)
                  and is_sought(f, t.job, t.batch, t.code, t.class, t.stage, t.ended_at)
                  and (not f.by_batch
                       or exists (select from batch b where b.id = t.batch and is_sought(f, b.created_at, b.submitter)))
                order by t.job desc limit page
            ) e order by e.job desc limit page;
    elsif f.ids is null and (f.lanes is not null or f.states <> enum_range(null::job_state)) then
        return query
            select e.job, e.state, null::text, e.ended
            from unnest(f.queues) as q (id) cross join unnest(f.states) as s (state) cross join lateral (
                select t.job, t.state, case when f.with_rows then t end as ended from finished t
                where t.queue = q.id and t.state = s.state
                  and is_sought(f, t.job, t.batch, t.code, t.class, t.stage, t.ended_at)
                  and (not f.by_batch
                       or exists (select from batch b where b.id = t.batch and is_sought(f, b.created_at, b.submitter)))
                order by t.job desc limit page
            ) e where s.state in ('completed', 'skipped', 'failed', 'accepted', 'cancelled') order by e.job desc limit page;
    else
        return query
            select t.job, t.state, null::text, case when f.with_rows then t end from finished t
            where t.state = any (f.states) and (not f.remarks or t.has_remarks) and (f.lanes is null or t.queue = any (f.queues))
              and is_sought(f, t.job, t.batch, t.code, t.class, t.stage, t.ended_at)
              and (not f.by_batch
                   or exists (select from batch b where b.id = t.batch and is_sought(f, b.created_at, b.submitter)))
            order by t.job desc limit page;
    end if;
end $$;

-- How many jobs have not ended.
create or replace function count_live(f job_search) returns bigint
language plpgsql stable security definer set search_path from current
    set plan_cache_mode = force_custom_plan set jit = off set random_page_cost = 1
as $$
begin
    return (
        select count(*) from live_job() l
        where l.state = any (f.states) and (f.lanes is null or l.lane = any (f.lanes))
          and is_sought(f, l.job, l.batch, l.code, l.class, l.stage, null)
          and (not f.by_batch
               or exists (select from batch b where b.id = l.batch and is_sought(f, b.created_at, b.submitter)))
    );
end $$;

-- How many jobs have ended. The filter's ids are those of one span.
create or replace function count_ended(f job_search) returns bigint
language plpgsql stable security definer set search_path from current
    set plan_cache_mode = force_custom_plan set jit = off set random_page_cost = 1
as $$
begin
    return (
        select count(*) from finished t
        where t.state = any (f.states) and (not f.remarks or t.has_remarks) and (f.lanes is null or t.queue = any (f.queues))
          and (f.failures is null or t.code = any (f.failures))
          and is_sought(f, t.job, t.batch, t.code, t.class, t.stage, t.ended_at)
          and (not f.by_batch
               or exists (select from batch b where b.id = t.batch and is_sought(f, b.created_at, b.submitter)))
    );
end $$;

-- A page of jobs by source, behind `after` and, if given, before `before`. Returns one page for each state of jobs that have not
-- ended. The filter's ids are those of one span.
create or replace function find_by_source(f job_search, after found_job, before found_job, page bigint) returns setof found_job
language plpgsql stable security definer set search_path from current
    set plan_cache_mode = force_custom_plan set jit = off set random_page_cost = 1
as $$
declare
    one_state job_state;
    live bigint;
begin
    if f.states && '{completed,skipped,failed,accepted,cancelled}' then
        return query
            select j.id, s.state, left(j.source, 640), s.ended
            from job j cross join lateral (
                select l.state, l.lane, l.code, l.class, l.stage, null::timestamptz as ended_at, null::integer as queue,
                       false as has_remarks, null::finished as ended
                from live_job() l where l.job = j.id
                union all
                select e.state, null, e.code, e.class, e.stage, e.ended_at, e.queue, e.has_remarks, case when f.with_rows then e end
                from finished e where e.job = j.id and e.job >= f.lowest and e.job <= f.highest
            ) s
            where is_in_line(f, left(j.source, 640), j.source, j.id, after, before)
              and s.state = any (f.states) and (not f.remarks or s.has_remarks)
              and (f.lanes is null or s.lane = any (f.lanes) or s.queue = any (f.queues))
              and is_sought(f, j.id, j.batch, s.code, s.class, s.stage, s.ended_at)
              and (not f.by_batch
                   or exists (select from batch b where b.id = j.batch and is_sought(f, b.created_at, b.submitter)))
            order by left(j.source, 640), j.id limit page;
        return;
    end if;
    -- Jobs that have not ended are few compared to those that have, and millions of the latter may have matching sources. If the
    -- jobs in one state are few, the query starts from them.
    foreach one_state in array f.states loop
        select count(*) into live from (
            select from live_job() l where l.state = one_state and l.job >= f.lowest and l.job <= f.highest limit 20000
        ) l;
        if live between 1 and 19999 then
            return query
                select l.job, l.state, left(j.source, 640), null::finished
                from live_job() l cross join lateral (
                    select o.source from job o where o.id = l.job and o.id >= f.lowest and o.id <= f.highest limit 1
                ) j
                where is_in_line(f, left(j.source, 640), j.source, l.job, after, before)
                  and l.state = one_state and (f.lanes is null or l.lane = any (f.lanes))
                  and is_sought(f, l.job, l.batch, l.code, l.class, l.stage, null)
                  and (not f.by_batch
                       or exists (select from batch b where b.id = l.batch and is_sought(f, b.created_at, b.submitter)))
                order by left(j.source, 640), l.job limit page;
        elsif live > 0 then
            return query
                select l.job, l.state, left(j.source, 640), null::finished
                from job j join live_job() l on l.job = j.id
                where is_in_line(f, left(j.source, 640), j.source, j.id, after, before)
                  and j.id >= f.lowest and j.id <= f.highest and l.state = one_state and (f.lanes is null or l.lane = any (f.lanes))
                  and is_sought(f, l.job, l.batch, l.code, l.class, l.stage, null)
                  and (not f.by_batch
                       or exists (select from batch b where b.id = l.batch and is_sought(f, b.created_at, b.submitter)))
                order by left(j.source, 640), j.id limit page;
        end if;
    end loop;
end $$;
