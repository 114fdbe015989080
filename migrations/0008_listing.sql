-- Why: what people and programs may look at. Counts are read from folded sums, never by counting jobs; pages are keyset-paged
-- along an index, so that the ten-millionth job costs what the first does.
--
-- Filters are JSON objects, all fields optional, all of them have to hold:
--   ids [..], states [..], batch, queue, codes [..], classes [..], stages [..], source_prefix,
--   submitted_from, submitted_before, ended_from, ended_before, submitter.
-- Pages go from the newest job to the oldest; with a source_prefix by the first 640 letters of the source, which are what its index
-- holds. Each row's `next` is the cursor behind it.
select set_config('role', pg_get_userbyid(nspowner), true) from pg_namespace where nspname = current_schema();

-- MARK: Counts

create function counts() returns table (queue text, state job_state, jobs bigint)
language sql stable security definer set search_path from current set jit = off
as $$
    select q.name, s.state, coalesce(sum(n.jobs), 0)::bigint
    from queue q
    cross join unnest(enum_range(null::job_state)) as s (state)
    left join (
        select c.queue, c.state, c.jobs from queue_count c
        union all
        select d.queue, d.state, d.jobs from count_delta d
    ) n on n.queue = q.id and n.state = s.state
    group by q.name, s.state order by q.name, s.state
$$;

-- One row about everything. `oldest_waiting` looks at the heads of the lines.
create function status()
returns table (
    delayed bigint, waiting bigint, running bigint, publishing bigint, completed bigint, skipped bigint,
    failed bigint, cancelled bigint,
    oldest_waiting timestamptz, workers bigint, workers_quiet bigint, slots bigint,
    completed_last_hour bigint, audio_ms_last_hour bigint, pace_seconds double precision,
    kept_house_at timestamptz, quiet_until timestamptz, ledger_time timestamptz
)
language sql volatile security definer set search_path from current set jit = off
as $$
    select sum(c.jobs) filter (where c.state = 'delayed')::bigint, sum(c.jobs) filter (where c.state = 'waiting')::bigint,
           sum(c.jobs) filter (where c.state = 'running')::bigint, sum(c.jobs) filter (where c.state = 'publishing')::bigint,
           sum(c.jobs) filter (where c.state = 'completed')::bigint, sum(c.jobs) filter (where c.state = 'skipped')::bigint,
           sum(c.jobs) filter (where c.state = 'failed')::bigint,
           sum(c.jobs) filter (where c.state = 'cancelled')::bigint,
           (select min(h.since) from open_lane() l cross join lateral (
                select w.since from waiting w where w.lane = l.id and w.turn >= l.floor order by w.turn, w.job limit 1
            ) h),
           w.alive, w.quiet, w.slots, p.completed, p.audio_ms, p.seconds, h.tick_at, h.quiet_until, ledger_time()
    from counts() c
    cross join (
        select count(*) as alive, count(*) filter (where w.wish <> 'run') as quiet, coalesce(sum(w.slots), 0)::bigint as slots
        from worker w where w.ended_at is null and w.lease_until > ledger_time()
    ) w
    cross join (
        select coalesce(sum(p.completed), 0)::bigint as completed,
               coalesce(bounded(sum(p.audio_ms), 9000000000000000000), 0) as audio_ms,
               least(3600, extract(epoch from ledger_time() - min(p.began)))::double precision as seconds
        from pace p where p.minute > ledger_time() - interval '1 hour'
    ) p
    cross join house h
    group by w.alive, w.quiet, w.slots, p.completed, p.audio_ms, p.seconds, h.tick_at, h.quiet_until
$$;

-- What ended in each minute since `since`, for charts and rates.
create function paces(since timestamptz)
returns table (
    minute timestamptz, queue text, completed bigint, failed bigint, cancelled bigint, audio_ms bigint, began timestamptz
)
language sql stable security definer set search_path from current
as $$
    select p.minute, q.name, p.completed, p.failed, p.cancelled, p.audio_ms, p.began
    from pace p join queue q on q.id = p.queue where p.minute >= since order by p.minute, q.name
$$;

create function list_queues()
returns table (
    queue text, paused boolean, running_limit integer, weight integer,
    delayed bigint, waiting bigint, running bigint, publishing bigint, completed bigint, skipped bigint,
    failed bigint, cancelled bigint
)
language sql stable security definer set search_path from current set jit = off
as $$
    select q.name, q.paused, q.running_limit, q.weight,
           sum(c.jobs) filter (where c.state = 'delayed')::bigint, sum(c.jobs) filter (where c.state = 'waiting')::bigint,
           sum(c.jobs) filter (where c.state = 'running')::bigint, sum(c.jobs) filter (where c.state = 'publishing')::bigint,
           sum(c.jobs) filter (where c.state = 'completed')::bigint, sum(c.jobs) filter (where c.state = 'skipped')::bigint,
           sum(c.jobs) filter (where c.state = 'failed')::bigint,
           sum(c.jobs) filter (where c.state = 'cancelled')::bigint
    from queue q join counts() c on c.queue = q.name
    group by q.id order by q.name
$$;

-- Batches from the newest on: those before `before`, or only `only_batch`.
create function list_batches(before bigint default null, page integer default 50, only_batch bigint default null)
returns table (
    batch bigint, name text, key text, queue text, priority smallint, weight integer, labels jsonb, submitter text,
    created_at timestamptz, first_job bigint, last_job bigint, jobs bigint,
    delayed bigint, waiting bigint, running bigint, publishing bigint, completed bigint, skipped bigint,
    failed bigint, cancelled bigint
)
language sql stable security definer set search_path from current set jit = off
as $$
    with chosen as materialized (
        (select b.* from batch b where only_batch is null and b.id < coalesce(before, 9223372036854775807)
           and ((select sees_all()) or b.submitter = session_user)
         order by b.id desc limit page)
        union all
        select b.* from batch b where b.id = only_batch and ((select sees_all()) or b.submitter = session_user)
    ), newer as materialized (
        select d.batch, d.state, sum(d.jobs) as jobs from count_delta d
        where d.batch in (select id from chosen) group by d.batch, d.state
    )
    select c.id, c.name, c.key, q.name, c.priority, c.weight, c.labels, c.submitter, c.created_at, c.first_job, c.last_job,
           c.jobs,
           c.delayed + coalesce((select n.jobs from newer n where n.batch = c.id and n.state = 'delayed'), 0)::bigint,
           c.waiting + coalesce((select n.jobs from newer n where n.batch = c.id and n.state = 'waiting'), 0)::bigint,
           c.running + coalesce((select n.jobs from newer n where n.batch = c.id and n.state = 'running'), 0)::bigint,
           c.publishing + coalesce((select n.jobs from newer n where n.batch = c.id and n.state = 'publishing'), 0)::bigint,
           c.completed + coalesce((select n.jobs from newer n where n.batch = c.id and n.state = 'completed'), 0)::bigint,
           c.skipped + coalesce((select n.jobs from newer n where n.batch = c.id and n.state = 'skipped'), 0)::bigint,
           c.failed + coalesce((select n.jobs from newer n where n.batch = c.id and n.state = 'failed'), 0)::bigint,
           c.cancelled + coalesce((select n.jobs from newer n where n.batch = c.id and n.state = 'cancelled'), 0)::bigint
    from chosen c join queue q on q.id = c.queue
    order by c.id desc
$$;

-- Workers: those alive, or also those that ended since `ended_since`. `holds` is what each has in hand.
create function list_workers(ended_since timestamptz default null)
returns table (
    worker bigint, name text, host text, build text, slots integer, abilities text[], wish worker_wish, status jsonb,
    started_at timestamptz, beat_at timestamptz, lease_until timestamptz, ended_at timestamptz, end_reason text, holds bigint
)
language sql volatile security definer set search_path from current set jit = off
as $$
    select w.id, w.name, w.host, w.build, w.slots, w.abilities, w.wish, w.status, w.started_at, w.beat_at, w.lease_until,
           w.ended_at, w.end_reason, coalesce(h.jobs, 0)
    from worker w
    left join (select r.worker, count(*) as jobs from running r group by r.worker) h on h.worker = w.id
    where w.ended_at is null or w.ended_at >= ended_since
    order by w.name, w.id
$$;

-- MARK: Jobs

-- The text of the query that finds jobs: (job, state, source for paging). For find_jobs() and count_jobs().
--
-- Made for each filter anew, so that each gets the plan that fits it. Values are quoted, never pasted.
create function jobs_query(filter jsonb, behind jsonb, page bigint) returns text
language plpgsql stable security definer set search_path from current
as $$
declare
    known constant text[] := array['ids', 'states', 'batch', 'queue', 'codes', 'classes', 'stages', 'source_prefix',
                                   'submitted_from', 'submitted_before', 'ended_from', 'ended_before', 'submitter'];
    wrong text := (select k from jsonb_object_keys(filter) k where not k = any (known) limit 1);
    states job_state[] := enum_range(null::job_state);
    lowest bigint := 0;
    highest bigint := 9223372036854775807;
    b batch;
    queues integer[];
    codes text[];
    by_failure boolean := filter ?| '{codes,classes,stages}';
    by_end boolean := filter ?| '{ended_from,ended_before}';
    plain text := '';    -- of the columns that all tables have
    of_failure text := '';
    of_end text := '';
    of_source text;
    of_queue text;
    hot text;
    first_live bigint;
    last_live bigint;
    is_short boolean;
    up_to text := case when page is not null then 'limit ' || page else '' end;
    parts text[] := '{}';
begin
    if not sees_all() then
        filter := coalesce(filter, '{}') || jsonb_build_object('submitter', session_user);
    end if;
    if wrong is not null then
        raise exception 'a filter has no field "%"', wrong
            using errcode = 'invalid_parameter_value', hint = 'known: ' || array_to_string(known, ', ');
    end if;
    if filter ? 'states' then
        states := array(select s::job_state from jsonb_array_elements_text(filter -> 'states') s);
    end if;
    if filter ? 'batch' then
        select * into b from batch where id = (filter ->> 'batch')::bigint;
        lowest := coalesce(b.first_job, 1);
        highest := coalesce(b.last_job, 0);
        plain := plain || format(' and t.batch = %s', (filter ->> 'batch')::bigint);
    end if;
    -- Ids grow with time. Submissions that overlap may lie a little out of order, so a few neighbours are asked, and the
    -- batch's own time decides.
    if filter ? 'submitted_from' then
        lowest := greatest(lowest, coalesce((select min(n.first_job) from (
            select first_job from batch where created_at >= (filter ->> 'submitted_from')::timestamptz
            order by created_at limit 1000) n), highest));
        plain := plain || format(' and exists (select from batch b where b.id = t.batch and b.created_at >= %L)',
                                 (filter ->> 'submitted_from')::timestamptz);
    end if;
    if filter ? 'submitted_before' then
        highest := least(highest, coalesce((select max(n.last_job) from (
            select last_job from batch where created_at < (filter ->> 'submitted_before')::timestamptz
            order by created_at desc limit 1000) n), 0));
        plain := plain || format(' and exists (select from batch b where b.id = t.batch and b.created_at < %L)',
                                 (filter ->> 'submitted_before')::timestamptz);
    end if;
    if filter ? 'submitter' then
        lowest := greatest(lowest, coalesce(
            (select min(first_job) from batch where submitter = filter ->> 'submitter'), highest));
        plain := plain || format(' and exists (select from batch b where b.id = t.batch and b.submitter = %L)',
                                 filter ->> 'submitter');
    end if;
    if filter ? 'ids' then
        plain := plain || format(' and t.job = any (%L::bigint[])',
                                 array(select v::bigint from jsonb_array_elements_text(filter -> 'ids') v));
    end if;
    if filter ? 'codes' then
        codes := array(select v from jsonb_array_elements_text(filter -> 'codes') v);
        of_failure := of_failure || format(' and t.code = any (%L::text[])', codes);
    end if;
    if filter ? 'classes' then
        of_failure := of_failure || format(' and t.class = any (%L::failure_class[])',
                                           array(select v from jsonb_array_elements_text(filter -> 'classes') v));
    end if;
    if filter ? 'stages' then
        of_failure := of_failure || format(' and t.stage = any (%L::text[])',
                                           array(select v from jsonb_array_elements_text(filter -> 'stages') v));
    end if;
    if by_failure and codes is null then
        -- Which codes there are is known from the counts, and each is a stretch of an index.
        codes := array(
            select t.code from (
                select f.code, f.class, f.stage from failure_count f
                union all
                select d.code, d.class, d.stage from failure_delta d
            ) t
            where (not filter ? 'classes' or filter -> 'classes' ? t.class::text)
              and (not filter ? 'stages' or filter -> 'stages' ? t.stage)
            group by t.code
        );
    end if;
    if filter ? 'ended_from' then
        of_end := of_end || format(' and t.ended_at >= %L', (filter ->> 'ended_from')::timestamptz);
    end if;
    if filter ? 'ended_before' then
        of_end := of_end || format(' and t.ended_at < %L', (filter ->> 'ended_before')::timestamptz);
        -- What ended before then was submitted before then: the page begins near what it looks for.
        highest := least(highest, coalesce((select max(n.last_job) from (
            select last_job from batch where created_at < (filter ->> 'ended_before')::timestamptz
            order by created_at desc limit 1000) n), 0));
    end if;
    queues := array(select id from queue where not filter ? 'queue' or name = filter ->> 'queue');

    if filter ? 'source_prefix' then
        of_source := format(
            'left(j.source, 640) >= left(%1$L, 640) and left(j.source, 640) < left(%1$L, 640) || chr(1114111)
             and starts_with(j.source, %1$L) %2$s',
            filter ->> 'source_prefix',
            case when behind is not null then format('and (left(j.source, 640), j.id) > (left(%L, 640), %s)',
                                                     behind ->> 'source', (behind ->> 'job')::bigint) else '' end);
        if states && '{completed,skipped,failed,cancelled}' then
            return format(
                'select t.job, t.state, t.source from (
                    select j.id as job, j.batch, left(j.source, 640) as source, s.state, s.code, s.class, s.stage, s.ended_at,
                           s.queue
                    from job j cross join lateral (
                        select ''waiting''::job_state as state, null::text as code, null::failure_class as class,
                               null::text as stage, null::timestamptz as ended_at, lane, null::integer as queue
                        from waiting where job = j.id
                        union all select ''delayed'', code, class, stage, null, lane, null from delayed where job = j.id
                        union all select ''running'', null, null, null, null, lane, null from running where job = j.id
                        union all select ''publishing'', null, null, null, null, lane, null from publishing where job = j.id
                        union all select state, code, class, stage, ended_at, null, queue from finished where job = j.id
                    ) s
                    where %1$s and j.id between %2$s and %3$s %4$s
                ) t where t.state = any (%5$L::job_state[]) %6$s order by t.source, t.job %7$s',
                of_source, lowest, highest,
                case when filter ? 'queue' then format(
                    ' and j.batch in (select id from batch where queue = any (%L::integer[]))', queues) else '' end,
                states, plain || of_failure || of_end, up_to);
        end if;
        -- Jobs that have not ended are few beside those that have, and millions of these may have such sources. So a short hot table
        -- is read itself. A long one is looked up from the sources on, between its oldest job and its newest.
        of_queue := case when filter ? 'queue' then format(
            'and t.lane in (select id from lane where queue = any (%L::integer[]))', queues) else '' end;
        foreach hot in array array['delayed', 'waiting', 'running', 'publishing'] loop
            continue when not hot::job_state = any (states) or by_end or by_failure and hot <> 'delayed';
            execute format('select count(*) < 20000 from (select from %I limit 20000) t', hot) into is_short;
            execute format('select min(t.job), max(t.job) from %I t', hot) into first_live, last_live;
            continue when first_live is null;
            parts := parts || format(
                case when is_short then
                    '(select t.job, %1$L::job_state as state, left(j.source, 640) as source
                      from %2$I t cross join lateral (
                          select o.id, o.source from job o where o.id = t.job and o.id between %4$s and %5$s limit 1
                      ) j
                      where %3$s %6$s order by left(j.source, 640), t.job %7$s)'
                else
                    '(select t.job, %1$L::job_state as state, left(j.source, 640) as source
                      from job j join %2$I t on t.job = j.id
                      where %3$s and j.id between %4$s and %5$s %6$s order by left(j.source, 640), j.id %7$s)'
                end,
                hot, hot, of_source, greatest(lowest, first_live), least(highest, last_live),
                plain || of_queue || case when hot = 'delayed' then of_failure else '' end, up_to);
        end loop;
        if cardinality(parts) = 0 then
            return 'select null::bigint as job, null::job_state as state, null::text as source where false';
        end if;
        return 'select u.job, u.state, u.source from (' || array_to_string(parts, ' union all ')
            || ') u order by u.source, u.job ' || up_to;
    end if;

    if behind is not null then
        highest := least(highest, (behind ->> 'job')::bigint - 1);
    end if;
    plain := plain || format(' and t.job between %s and %s', lowest, highest);
    foreach hot in array array['delayed', 'waiting', 'running', 'publishing'] loop
        continue when not hot::job_state = any (states) or by_end or by_failure and hot <> 'delayed';
        parts := parts || format(
            '(select t.job, %L::job_state as state from %I t where true %s %s %s order by t.job desc %s)', hot, hot, plain,
            case when filter ? 'queue' then format(
                'and t.lane in (select id from lane where queue = any (%L::integer[]))', queues) else '' end,
            case when hot = 'delayed' then of_failure else '' end, up_to);
    end loop;
    if states && '{completed,skipped,failed,cancelled}' then
        if by_failure then
            parts := parts || format(
                '(select f.job, f.state from unnest(%L::text[]) as c (code) cross join lateral (
                    select t.job, t.state from finished t
                    where t.code = c.code and t.state = any (%L::job_state[]) and t.queue = any (%L::integer[]) %s
                    order by t.job desc %s) f)',
                codes, states, queues, plain || of_failure || of_end, up_to);
        elsif filter ?| '{states,queue}' and not filter ? 'ids' then
            parts := parts || format(
                '(select f.job, f.state from unnest(%L::integer[]) as q (id) cross join unnest(%L::job_state[]) as s (state)
                  cross join lateral (
                    select t.job, t.state from finished t where t.queue = q.id and t.state = s.state %s
                    order by t.job desc %s) f)',
                queues, array(select s from unnest(states) s where s in ('completed', 'skipped', 'failed', 'cancelled')),
                plain || of_end,
                up_to);
        else
            parts := parts || format(
                '(select t.job, t.state from finished t
                  where t.state = any (%L::job_state[]) and t.queue = any (%L::integer[]) %s
                  order by t.job desc %s)',
                states, queues, plain || of_end, up_to);
        end if;
    end if;
    if cardinality(parts) = 0 then
        return 'select null::bigint as job, null::job_state as state, null::text as source where false';
    end if;
    return 'select u.job, u.state, null::text as source from (' || array_to_string(parts, ' union all ')
        || ') u order by u.job desc' || case when page is not null then ' limit ' || page else '' end;
end $$;

-- Ids and states of a page of jobs, with the cursor behind each.
create function find_jobs(filter jsonb default '{}', behind jsonb default null, page integer default 50)
returns table (job bigint, state job_state, next jsonb)
language plpgsql stable security definer set search_path from current set jit = off set random_page_cost = 1
as $$
begin
    return query execute format(
        'select f.job, f.state, jsonb_strip_nulls(jsonb_build_object(''job'', f.job, ''source'', f.source)) from (%s) f',
        jobs_query(filter, behind, page));
end $$;

-- The filter as far as the caller may change what it finds: submitters steer their own batches.
create function steerable(filter jsonb) returns jsonb
language plpgsql stable security definer set search_path from current
as $$
declare
    owner text;
begin
    if is_operator() then
        return filter;
    end if;
    -- What is no object would take no further field.
    if jsonb_typeof(filter) <> 'object' then
        raise exception 'a filter is an object' using errcode = 'invalid_parameter_value';
    end if;
    if filter ? 'batch' then
        select b.submitter into owner from batch b where b.id = (filter ->> 'batch')::bigint;
        if owner <> session_user then
            raise exception 'batch % belongs to %', filter ->> 'batch', owner
                using errcode = 'insufficient_privilege', hint = 'ask for the role sluice_operator';
        end if;
    end if;
    return coalesce(filter, '{}') || jsonb_build_object('submitter', session_user);
end $$;

-- How many jobs a filter finds. Told from folded counts where the filter allows it, else counted. With `to_steer` only those that
-- the caller may change.
create function count_jobs(filter jsonb default '{}', to_steer boolean default false) returns bigint
language plpgsql stable security definer set search_path from current set jit = off set random_page_cost = 1
as $$
declare
    found_jobs bigint;
    states job_state[] := enum_range(null::job_state);
begin
    if to_steer then
        filter := steerable(filter);
    elsif not sees_all() then
        filter := coalesce(filter, '{}') || jsonb_build_object('submitter', session_user);
    end if;
    if (filter - '{states,queue}'::text[]) = '{}' then
        if filter ? 'states' then
            states := array(select s::job_state from jsonb_array_elements_text(filter -> 'states') s);
        end if;
        select coalesce(sum(c.jobs), 0) into found_jobs from counts() c
        where c.state = any (states) and (not filter ? 'queue' or c.queue = filter ->> 'queue');
    else
        execute format('select count(*) from (%s) f', jobs_query(filter, null, null)) into found_jobs;
    end if;
    return found_jobs;
end $$;

select allow('sluice_viewer', 'counts', 'status', 'paces', 'list_queues', 'list_batches', 'list_workers', 'find_jobs',
             'count_jobs');
select allow('sluice_operator', 'counts', 'status', 'paces', 'list_queues', 'list_batches', 'list_workers', 'find_jobs',
             'count_jobs');
select allow('sluice_submitter', 'counts', 'status', 'paces', 'list_queues', 'list_batches', 'list_workers', 'find_jobs',
             'count_jobs');
select apply_permissions();
select set_config('role', 'none', true);
