-- Why: lists jobs for users, as rows of a list or with their whole history, and failures by kind.
select set_config('role', pg_get_userbyid(nspowner), true) from pg_namespace where nspname = current_schema();

-- A page of jobs with the columns of a list. Filter, cursor, order and the row for continuing as in find_jobs().
--
-- `at` is when the job entered its current state. `worker` is the one that has the job, or had it last. `remarks` is what the report
-- of the conversion says about damage (`frames`, `places`), and its remarks; only if the filter asks for jobs with remarks.
create function list_jobs(filter jsonb default '{}', behind jsonb default null, page integer default 50)
returns table (
    job bigint, state job_state, batch bigint, queue text, priority smallint, source text, at timestamptz,
    attempts integer, max_attempts smallint, lost smallint, room_deaths smallint,
    code text, class failure_class, stage text, ready_at timestamptz,
    worker text, slot smallint, frames bigint, frames_total bigint, cancel_asked boolean,
    digest text, size bigint, further jsonb, placement placement, has_remarks boolean, remarks jsonb, next jsonb
)
language plpgsql stable security definer set search_path from current
    set enable_seqscan = off set enable_hashjoin = on set jit = off set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
begin
    return query
        with found as materialized (
            select f.job, f.state, f.source, f.ended, row_number() over () as place from find_page(filter, behind, page, true) f
        ), shown as materialized (
            select case when f.state is not null then f.job end as job, f.state, cursor_behind(f.job, f.source) as next, f.place,
                   j.batch, j.source, j.max_attempts,
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
                   coalesce((f.ended).has_remarks, false) as has_remarks, (f.ended).epoch as last_epoch
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
            from (select distinct s.worker from shown s) d
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
        select s.job, s.state, s.batch, l.name, coalesce(s.last_priority, l.priority), s.source, s.at, s.attempts, s.max_attempts,
               s.lost, s.room_deaths, s.code, s.class, s.stage, s.ready_at, k.name, s.slot, s.frames, s.frames_total, s.cancel_asked,
               s.digest, s.size, s.further, s.placement, s.has_remarks, x.remarks,
               s.next
        from shown s left join lanes l on l.lane = s.lane left join workers k on k.worker = s.worker
        left join reports x on x.job = s.job and x.epoch = s.last_epoch
        where s.state is null or s.batch is not null
        order by s.place;
end $$;

-- The details of some jobs, and why they do not run yet. Ids of missing jobs are left out.
--
-- `why`, for a job that does not run: `paused` (its queue is), `unable` (no running worker has all of `needs`), `limit` (its queue has
-- reached its limit), `run_at` (it is not yet due), `back_off` (its next attempt is not yet due), `album` (the other jobs of its batch
-- have not all been measured), or `line` (other jobs come first).
create function show_jobs(job_ids bigint[])
returns table (
    job bigint, state job_state, batch bigint, batch_name text, queue text, priority smallint, source text, recipe jsonb,
    labels jsonb, batch_labels jsonb, submitter text, submitted_at timestamptz, run_at timestamptz, cost integer,
    needs text[], at timestamptz, attempts integer, max_attempts smallint, lost smallint, room_deaths smallint,
    ready_at timestamptz, why text, code text, class failure_class, stage text, worker text, slot smallint,
    frames bigint, frames_total bigint, cancel_asked boolean, digest text, size bigint, further jsonb, placement placement,
    has_remarks boolean
)
language plpgsql volatile security definer set search_path from current
    set enable_seqscan = off set jit = off set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
begin
    return query
        select g.job, g.state, g.batch, b.name, g.queue, g.priority, g.source, j.recipe, j.labels, b.labels, b.submitter,
               b.created_at, j.run_at, j.cost, l.needs, g.at, g.attempts, g.max_attempts, g.lost, g.room_deaths, g.ready_at,
               case g.state
                   when 'delayed' then case when h.epoch = 0 then 'run_at' when g.code = 'album_waits' then 'album' else 'back_off' end
                   when 'waiting' then case
                       when q.paused then 'paused'
                       when not exists (select from worker k where k.ended_at is null and k.lease_until > ledger_time()
                                        and l.needs <@ k.abilities) then 'unable'
                       when q.running_limit is null then 'line'
                       when q.running_limit <= (select count(*) from running r join lane o on o.id = r.lane
                                                where o.queue = q.id) then 'limit'
                       else 'line' end
               end,
               g.code, g.class, g.stage, g.worker, g.slot, g.frames, g.frames_total, g.cancel_asked, g.digest, g.size,
               g.further, g.placement, g.has_remarks
        from list_jobs(jsonb_build_object('ids', to_jsonb(job_ids)), null, cardinality(job_ids)) g
        join job_rows(job_ids) j on j.id = g.job
        cross join lateral (select * from batch where batch.id = g.batch limit 1) b
        left join lateral (
            select w.lane, w.epoch from waiting w where w.job = g.job
            union all select d.lane, d.epoch from delayed d where d.job = g.job
            limit 1
        ) h on true
        cross join lateral (select * from lane where lane.id = coalesce(h.lane, j.lane) limit 1) l
        cross join lateral (select * from queue where queue.id = l.queue limit 1) q;
end $$;

-- The subset of some jobs that the caller may see.
create function visible(job_ids bigint[]) returns bigint[]
language plpgsql stable security definer set search_path from current
    set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
as $$
begin
    if sees_all() then
        return job_ids;
    end if;
    return array(
        select j.id from job_rows(job_ids) j join batch b on b.id = j.batch where b.submitter = session_user
    );
end $$;

-- All attempts at some jobs, by job and oldest first. An attempt in progress comes last in its job, and has no outcome.
create function list_attempts(job_ids bigint[])
returns table (
    job bigint, epoch integer, outcome attempt_outcome, started_at timestamptz, ended_at timestamptz,
    worker bigint, worker_name text, host text, build text, slot smallint,
    code text, class failure_class, stage text, stream integer, "position" text, frame bigint,
    libav_name text, libav_text text, message text, hint text, last_words text,
    frames_in bigint, frames_out bigint, audio_ms bigint, cpu_ms bigint, peak_bytes bigint, report jsonb
)
language sql stable security definer set search_path from current set jit = off
    set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
as $$
    select a.job, a.epoch, a.outcome, a.started_at, a.ended_at, a.worker, w.name, w.host, w.build, a.slot, a.code, a.class,
           a.stage, a.stream, a.position, a.frame, a.libav_name, a.libav_text, a.message, a.hint, a.last_words,
           a.frames_in, a.frames_out, a.audio_ms, a.cpu_ms, a.peak_bytes, a.report
    from (
        select * from attempt_rows(visible(job_ids))
        union all
        select r.job, r.epoch, r.lease_id, r.worker, r.slot, r.since, null, null, null, null, null, null, null, null, null,
               null, null, null, null, null, r.frames, null, null, null, null
        from running r where r.job = any (visible(job_ids))
        union all
        select p.job, p.epoch, p.lease_id, p.worker, p.slot, p.started_at, null, null, null, null, null, null, null, null,
               null, null, null, null, null, p.frames_in, p.frames_out, p.audio_ms, p.cpu_ms, p.peak_bytes, p.report
        from publishing p where p.job = any (visible(job_ids))
    ) a left join worker w on w.id = a.worker
    order by a.job, a.epoch
$$;

-- The earlier forms of the recipes of some jobs, oldest first, each with the last attempt that used it.
create function list_amendments(job_ids bigint[])
returns table (job bigint, until_epoch integer, damage text, conceal_seconds integer, at timestamptz, by text)
language sql stable security definer set search_path from current set jit = off
as $$
    select j.id, (a ->> 'until')::integer, a ->> 'damage', (a ->> 'conceal_seconds')::integer, (a ->> 'at')::timestamptz, a ->> 'by'
    from job_rows(visible(job_ids)) j cross join jsonb_array_elements(j.amendments) with ordinality as e (a, place)
    where j.amendments is not null order by j.id, e.place
$$;

-- The outputs that completed jobs have recorded: the destination of each, and its size and digest when it was published. The page is
-- one of jobs, each with all its outputs. Filter (except for its states), cursor, order and the row for continuing as in find_jobs().
create function list_outputs(filter jsonb default '{}', behind jsonb default null, page integer default 1000)
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
            select 0 as place, e.size, encode(e.digest, 'hex') as digest where e.size is not null
            union all
            select m.place, (m.output ->> 'bytes')::bigint, m.output ->> 'digest'
            from jsonb_array_elements(e.further) with ordinality as m (output, place) where m.output ? 'digest'
        ) o on true
        where f.job is null or j.id is not null and e.job is not null and o.place is not null
        order by f.place, o.place;
end $$;

-- The failed jobs of a batch by code, class and stage.
create function failures_of(b batch, since timestamptz)
returns table (code text, class failure_class, stage text, jobs bigint, last_at timestamptz, example bigint)
language plpgsql stable security definer set search_path from current
    -- With the batch's ids as constants the planner leaves out spans that contain none of them.
    set plan_cache_mode = force_custom_plan set jit = off
as $$
begin
    return query
        select f.code::text, f.class, f.stage, count(*), max(f.ended_at), max(f.job)
        from finished f
        where f.queue = b.queue and f.state = 'failed' and f.batch = b.id and f.job >= b.first_job and f.job <= b.last_job
          and (since is null or f.ended_at >= since)
        group by 1, 2, 3;
end $$;

-- Failures by code, class and stage, the most frequent first. `jobs` is the number of jobs that ended so; `attempts` includes those
-- that were retried since.
--
-- Without `batch_id` this reads the hourly counts. For a batch it counts the jobs themselves.
create function list_failures(since timestamptz default null, queue_name text default null, batch_id bigint default null)
returns table (
    code text, class failure_class, stage text, jobs bigint, attempts bigint, last_at timestamptz, example bigint,
    example_source text
)
language plpgsql stable security definer set search_path from current
    set jit = off set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
begin
    -- According to the lock order, because this function reads two tables of spans: see 0002_tables.sql.
    perform pg_advisory_xact_lock_shared('job'::regclass::oid::integer, 0);
    return query
        with kind as materialized (
            select f.code, f.class, f.stage, f.jobs, null::bigint as attempts, f.last_at, f.example
            from batch b cross join lateral failures_of(b, since) f
            where b.id = batch_id
            union all
            select n.code::text, n.class, n.stage, sum(n.jobs)::bigint, sum(n.attempts)::bigint, max(n.last_at),
                   (array_agg(n.example order by n.jobs > 0 desc, n.last_at desc))[1]
            from (
                select c.queue, c.code, c.class, c.stage, c.jobs, c.attempts, c.last_at, c.example from failure_count c
                where since is null or c.hour >= date_trunc('hour', since)
                union all
                select d.queue, d.code, d.class, d.stage, d.jobs, d.attempts, d.at, d.example from failure_delta d
                where since is null or d.at >= date_trunc('hour', since)
            ) n
            where batch_id is null and (queue_name is null or n.queue = (select q.id from queue q where q.name = queue_name))
            group by 1, 2, 3 having sum(n.attempts) > 0
        )
        select k.*, j.source
        from kind k left join job_rows(array(select k.example from kind k where (select sees_all()))) j on j.id = k.example
        order by k.jobs desc, k.attempts desc, k.code;
end $$;

-- Lanes with waiting jobs that no running worker can do, with the missing needs: for `doctor`.
create function list_unable()
returns table (queue text, priority smallint, needs text[], missing text[], example bigint)
language sql volatile security definer set search_path from current set jit = off
as $$
    select q.name, l.priority, l.needs,
           array(select n from unnest(l.needs) n where not exists (
               select from worker w where w.ended_at is null and w.lease_until > ledger_time() and n = any (w.abilities))),
           h.job
    from open_lane() l join queue q on q.id = l.queue
    cross join lateral (
        select w.job from waiting w where w.lane = l.id and w.turn >= l.floor order by w.turn, w.job limit 1
    ) h
    where not exists (select from worker w where w.ended_at is null and w.lease_until > ledger_time()
                      and l.needs <@ w.abilities)
    order by q.name, l.priority desc, l.id
$$;

-- The state of the chores: what is due, what was done last, and errors. `began_at` is when the round in progress began; `pages`,
-- `affected` and `took_ms` belong to that round, or to the last one. `remaining` is the work that is left, up to 100,000, where it
-- is known.
create function list_chores()
returns table (
    chore text, due_at timestamptz, began_at timestamptz, done_at timestamptz, pages integer, affected bigint,
    remaining bigint, took_ms double precision, error text, error_at timestamptz
)
language sql volatile security definer set search_path from current set jit = off
as $$
    select c.name, c.due_at, c.began_at, c.done_at, c.pages, c.affected,
           case c.name
               when 'reap' then (select count(*) from running r where r.worker in (select w.id from worker w where w.holds_jobs))
               when 'wake_delayed' then (select count(*) from (
                   select from delayed d where d.ready_at <= ledger_time() limit 100000) d)
               when 'fold_counts' then (select count(*) from (select from count_delta limit 100000) d)
           end,
           c.took_ms, c.error, c.error_at
    from chore c order by c.place
$$;

-- The number of spans, each with its partitions: for `doctor`.
create function count_spans() returns bigint
language sql stable security definer set search_path from current
as $$ select count(*) from span $$;

select allow('sluice_viewer', 'list_jobs', 'show_jobs', 'list_attempts', 'list_amendments', 'list_failures', 'list_unable',
             'list_chores', 'count_spans', 'list_outputs');
select allow('sluice_operator', 'list_jobs', 'show_jobs', 'list_attempts', 'list_amendments', 'list_failures', 'list_unable',
             'list_chores', 'count_spans', 'list_outputs');
select allow('sluice_submitter', 'list_jobs', 'show_jobs', 'list_attempts', 'list_amendments', 'list_failures', 'list_unable',
             'list_chores', 'count_spans', 'list_outputs');
select set_config('role', 'none', true);
