-- Jobs for users, as rows of a list or with their whole history. The functions find the jobs by their ids, and their plans are kept.
--
-- The state of an accepted job is `failed` here, because programs of release 0.1 know no other; `accepted_at` and `accepted_by` are set.

-- A state in the words of release 0.1. The planner inlines it.
create or replace function told_state(state job_state) returns job_state
language sql stable
as $$ select case when state = 'accepted' then 'failed' else state end $$;

-- A page of jobs with the columns of a list. Filter, cursor, order and the row for continuing as in find_jobs().
--
-- `at` is when the job entered its current state. `worker` is the one that has the job, or had it last. `remarks` is what the report
-- of the conversion says about damage (`frames`, `places`), and its remarks; only if the filter asks for jobs with remarks.
create or replace function list_jobs(filter jsonb default '{}', behind jsonb default null, page integer default 50)
returns table (
    job bigint, state job_state, batch bigint, queue text, priority smallint, source text, at timestamptz,
    attempts integer, max_attempts smallint, lost smallint, room_deaths smallint,
    code text, class failure_class, stage text, ready_at timestamptz,
    worker text, slot smallint, frames bigint, frames_total bigint, cancel_asked boolean,
    digest text, size bigint, further jsonb, placement placement, has_remarks boolean, retried_by text,
    remarks jsonb, next jsonb, accepted_at timestamptz, accepted_by text
)
language plpgsql stable security definer set search_path from current
    set enable_seqscan = off set enable_hashjoin = on set jit = off set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    shows_workers boolean := sees_workers();
begin
    return query
        with found as materialized (
            select f.job, f.state, f.source, f.ended, row_number() over () as place from find_page(filter, behind, page, true) f
        ), shown as materialized (
            select case when f.state is not null then f.job end as job, f.state, cursor_behind(f.job, f.source) as next, f.place,
                   j.batch, j.source, j.max_attempts, j.retried_by,
                   coalesce(w.lane, d.lane, r.lane, p.lane, j.lane) as lane,
                   coalesce(w.since, d.since, r.since, p.since, (f.ended).ended_at) as at,
                   coalesce(w.spent, d.spent, r.spent + 1, p.spent + 1, (f.ended).spent)::integer as attempts,
                   coalesce(w.lost, d.lost, r.lost, p.lost, (f.ended).lost) as lost,
                   coalesce(w.room_deaths, d.room_deaths, r.room_deaths, p.room_deaths, (f.ended).room_deaths) as room_deaths,
                   (f.ended).priority as last_priority,
                   coalesce(d.code, (f.ended).code)::text as code, coalesce(d.class, (f.ended).class) as class,
                   coalesce(d.stage, (f.ended).stage) as stage,
                   d.ready_at, coalesce(r.worker, p.worker, (f.ended).worker) as worker, coalesce(r.slot, p.slot) as slot,
                   r.frames, r.frames_total, r.cancel_asked, encode(coalesce(p.digest, (f.ended).digest), 'hex') as digest,
                   coalesce(p.size, (f.ended).size) as size, coalesce(p.further, (f.ended).further) as further,
                   case when f.state in ('completed', 'skipped') then coalesce((f.ended).placement, 'published') end as placement,
                   coalesce((f.ended).has_remarks, false) as has_remarks, (f.ended).epoch as last_epoch,
                   (f.ended).accepted_at as accepted_at, (f.ended).accepted_by as accepted_by
            from found f
            left join job_rows(array(select f.job from found f where f.state is not null)) j
                on j.id = f.job and f.state is not null
            left join lateral (select * from waiting where f.state = 'waiting' and waiting.job = f.job limit 1) w on true
            left join lateral (select * from delayed where f.state = 'delayed' and delayed.job = f.job limit 1) d on true
            left join lateral (select * from running where f.state = 'running' and running.job = f.job limit 1) r on true
            left join lateral (select * from publishing where f.state = 'publishing' and publishing.job = f.job limit 1) p on true
        ), lanes as materialized (
            -- Jobs of a page share lanes and workers: each is looked up once.
            select d.lane, l.priority, q.name
            from (select distinct s.lane from shown s) d
            cross join lateral (select * from lane where lane.id = d.lane limit 1) l
            cross join lateral (select * from queue where queue.id = l.queue limit 1) q
        ), workers as materialized (
            select d.worker, k.name
            from (select distinct s.worker from shown s where shows_workers) d
            cross join lateral (select * from worker where worker.id = d.worker limit 1) k
        ), reports as materialized (
            select a.job, a.epoch, jsonb_build_object(
                       'frames', a.report #> '{conversion,damage,frames}',
                       'places', a.report #> '{conversion,damage,stretchCount}',
                       'remarks', jsonb_path_query_array(a.report, '$.conversion.remarks[*]')
                           || jsonb_path_query_array(a.report, '$.further[*].remarks[*]')) as remarks
            from attempt_rows(array(
                select s.job from shown s where s.has_remarks and (filter ->> 'remarks')::boolean
            )) a
        )
        select s.job, told_state(s.state), s.batch, l.name, coalesce(s.last_priority, l.priority), s.source, s.at, s.attempts,
               s.max_attempts, s.lost, s.room_deaths, s.code, s.class, s.stage, s.ready_at, k.name,
               case when shows_workers then s.slot end, s.frames, s.frames_total, s.cancel_asked,
               s.digest, s.size, s.further, s.placement, s.has_remarks, s.retried_by, x.remarks,
               s.next, s.accepted_at, s.accepted_by
        from shown s left join lanes l on l.lane = s.lane left join workers k on k.worker = s.worker
        left join reports x on x.job = s.job and x.epoch = s.last_epoch
        where s.state is null or s.batch is not null
        order by s.place;
end $$;

-- The details of some jobs, and why they do not run yet. Ids of missing jobs are left out.
--
-- `why`, for a job that does not run: `paused` (its queue is), `cpu_minutes` or `output_bytes` (its tenant has used up this limit),
-- `unable` (no running worker has all of `needs`), `limit` (its queue has reached its limit), `run_at` (it is not yet due), `back_off`
-- (its next attempt is not yet due), `album` (the other jobs of its batch have not all been measured), or `line` (other jobs come first).
-- If `is_amended`, list_amendments() has earlier forms of the recipe.
create or replace function show_jobs(job_ids bigint[])
returns table (
    job bigint, state job_state, batch bigint, batch_name text, queue text, priority smallint, source text, recipe jsonb,
    labels jsonb, batch_labels jsonb, submitter text, submitted_at timestamptz, run_at timestamptz, cost integer,
    needs text[], at timestamptz, attempts integer, max_attempts smallint, lost smallint, room_deaths smallint,
    ready_at timestamptz, why text, code text, class failure_class, stage text, worker text, slot smallint,
    frames bigint, frames_total bigint, cancel_asked boolean, digest text, size bigint, further jsonb, placement placement,
    has_remarks boolean, retried_by text, is_amended boolean, accepted_at timestamptz, accepted_by text
)
language plpgsql volatile security definer set search_path from current
    set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
    set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    seen bigint[];
    shows_workers boolean := sees_workers();
begin
    -- According to the lock order, because this function reads two tables of spans: see locks.sql.
    lock table lock_job in row share mode;
    seen := visible(job_ids);
    return query
        with asked as materialized (
            select * from job_rows(seen)
        ), ended as materialized (
            select * from finished_rows(seen)
        ), found as materialized (
            select j.id as job,
                   case when w.job is not null then 'waiting' when d.job is not null then 'delayed'
                        when r.job is not null then 'running' when p.job is not null then 'publishing'
                        else e.state::text end::job_state as state,
                   coalesce(w.lane, d.lane, r.lane, p.lane, j.lane) as lane,
                   coalesce(w.since, d.since, r.since, p.since, e.ended_at) as at,
                   coalesce(w.spent, d.spent, r.spent + 1, p.spent + 1, e.spent)::integer as attempts,
                   coalesce(w.lost, d.lost, r.lost, p.lost, e.lost) as lost,
                   coalesce(w.room_deaths, d.room_deaths, r.room_deaths, p.room_deaths, e.room_deaths) as room_deaths,
                   e.priority as last_priority, d.epoch as delayed_epoch, d.ready_at,
                   coalesce(d.code, e.code)::text as code, coalesce(d.class, e.class) as class, coalesce(d.stage, e.stage) as stage,
                   coalesce(r.worker, p.worker, e.worker) as worker, coalesce(r.slot, p.slot) as slot, r.frames, r.frames_total,
                   r.cancel_asked, encode(coalesce(p.digest, e.digest), 'hex') as digest, coalesce(p.size, e.size) as size,
                   coalesce(p.further, e.further) as further,
                   case when e.state in ('completed', 'skipped') then coalesce(e.placement, 'published') end as placement,
                   coalesce(e.has_remarks, false) as has_remarks, e.accepted_at, e.accepted_by
            from asked j
            left join lateral (select * from waiting where waiting.job = j.id limit 1) w on true
            left join lateral (select * from delayed where delayed.job = j.id limit 1) d on true
            left join lateral (select * from running where running.job = j.id limit 1) r on true
            left join lateral (select * from publishing where publishing.job = j.id limit 1) p on true
            left join ended e on e.job = j.id
        )
        select f.job, told_state(f.state), j.batch, b.name, q.name, coalesce(f.last_priority, l.priority), j.source, j.recipe,
               j.labels, b.labels, b.submitter, b.created_at, j.run_at, j.cost, l.needs, f.at, f.attempts, j.max_attempts, f.lost, f.room_deaths,
               coalesce(f.ready_at, case when f.state = 'waiting' and not q.paused and s.held_until > ledger_time()
                                         then s.held_until end),
               case f.state
                   when 'delayed' then case
                       when f.delayed_epoch = 0 then 'run_at' when f.code = 'album_waits' then 'album' else 'back_off' end
                   when 'waiting' then case
                       when q.paused then 'paused'
                       when s.held_until > ledger_time() then s.held_for
                       when not exists (select from worker k where k.ended_at is null and k.lease_until > ledger_time()
                                        and l.needs <@ k.abilities) then 'unable'
                       when q.running_limit is null then 'line'
                       when q.running_limit <= (select count(*) from running r join lane o on o.id = r.lane
                                                where o.queue = q.id) then 'limit'
                       else 'line' end
               end,
               f.code, f.class, f.stage, case when shows_workers then k.name end, case when shows_workers then f.slot end,
               f.frames, f.frames_total, f.cancel_asked, f.digest, f.size, f.further, f.placement, f.has_remarks, j.retried_by,
               j.amendments is not null, f.accepted_at, f.accepted_by
        from found f
        join asked j on j.id = f.job
        cross join lateral (select * from batch where batch.id = j.batch limit 1) b
        cross join lateral (select * from lane where lane.id = f.lane limit 1) l
        cross join lateral (select * from queue where queue.id = l.queue limit 1) q
        cross join lateral (select * from share where share.id = l.share limit 1) s
        left join lateral (select * from worker where worker.id = f.worker limit 1) k on true
        where f.state is not null;
end $$;

-- The subset of some jobs that the caller may see.
create or replace function visible(job_ids bigint[]) returns bigint[]
language plpgsql stable security definer set search_path from current
    set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off set jit = off
as $$
begin
    if sees_all() then
        return job_ids;
    end if;
    return array(
        select j.id from job_rows(job_ids) j join batch b on b.id = j.batch where b.submitter = caller()
    );
end $$;

-- All attempts at some jobs, by job and oldest first. An attempt in progress comes last in its job, and has no outcome.
create or replace function list_attempts(job_ids bigint[])
returns table (
    job bigint, epoch integer, outcome attempt_outcome, started_at timestamptz, ended_at timestamptz,
    worker bigint, worker_name text, host text, build text, slot smallint,
    code text, class failure_class, stage text, stream integer, "position" text, frame bigint,
    libav_name text, libav_text text, message text, hint text, last_words text,
    frames_in bigint, frames_out bigint, audio_ms bigint, cpu_ms bigint, peak_bytes bigint, report jsonb,
    libraries text
)
language plpgsql stable security definer set search_path from current
    set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off set jit = off
    set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    seen bigint[] := visible(job_ids);
    shows_workers boolean := sees_workers();
begin
    return query
        select a.job, a.epoch, a.outcome, a.started_at, a.ended_at, a.worker, w.name, w.host, w.build,
               case when shows_workers then a.slot end, a.code, a.class,
               a.stage, a.stream, a.position, a.frame, a.libav_name, a.libav_text, a.message, a.hint, a.last_words,
               a.frames_in, a.frames_out, a.audio_ms, a.cpu_ms, a.peak_bytes, a.report, w.libraries
        from (
            select * from attempt_rows(seen)
            union all
            select r.job, r.epoch, r.lease_id, r.worker, r.slot, r.since, null, null, null, null, null, null, null, null, null,
                   null, null, null, null, null, r.frames, null, null, null, null
            from running r where r.job = any (seen)
            union all
            select p.job, p.epoch, p.lease_id, p.worker, p.slot, p.started_at, null, null, null, null, null, null, null, null,
                   null, null, null, null, null, p.frames_in, p.frames_out, p.audio_ms, p.cpu_ms, p.peak_bytes, p.report
            from publishing p where p.job = any (seen)
        ) a left join worker w on w.id = a.worker and shows_workers
        order by a.job, a.epoch;
end $$;

-- The earlier forms of the recipes of some jobs, oldest first, each with the last attempt that used it.
create or replace function list_amendments(job_ids bigint[])
returns table (job bigint, until_epoch integer, damage text, conceal_seconds integer, at timestamptz, by text)
language sql stable security definer set search_path from current set jit = off
as $$
    select j.id, (a ->> 'until')::integer, a ->> 'damage', (a ->> 'conceal_seconds')::integer, (a ->> 'at')::timestamptz, a ->> 'by'
    from job_rows(visible(job_ids)) j cross join jsonb_array_elements(j.amendments) with ordinality as e (a, place)
    where j.amendments is not null order by j.id, e.place
$$;

-- The outputs that completed jobs have recorded: the destination of each, and its size and digest when it was published. The page is
-- one of jobs, each with all its outputs. Scans have none. Filter (except for its states), cursor, order and the row for continuing as in
-- find_jobs().
create or replace function list_outputs(filter jsonb default '{}', behind jsonb default null, page integer default 1000)
returns table (job bigint, source text, destination text, first text, size bigint, digest text, next jsonb)
language plpgsql stable security definer set search_path from current
    set enable_mergejoin = off set jit = off set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
begin
    return query
        with found as materialized (
            select * from find_jobs(filter || '{"states": ["completed"]}', behind, page)
                with ordinality as f (job, state, next, place)
        )
        select f.job, j.source, j.recipe #>> array['outputs', o.place::text, 'location'],
               j.recipe #>> '{outputs,0,location}', o.size, o.digest, f.next
        from found f
        left join job_rows(array(select f.job from found f where f.job is not null)) j on j.id = f.job
        left join finished_rows(array(select f.job from found f where f.job is not null)) e on e.job = f.job
        left join lateral (
            select 0 as place, e.size, encode(e.digest, 'hex') as digest where e.size is not null and not j.recipe ? 'scan'
            union all
            select m.place, (m.output ->> 'bytes')::bigint, m.output ->> 'digest'
            from jsonb_array_elements(e.further) with ordinality as m (output, place) where m.output ? 'digest'
        ) o on true
        where f.job is null or j.id is not null and e.job is not null and o.place is not null
        order by f.place, o.place;
end $$;
