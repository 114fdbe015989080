-- Why: programs that watch a job read it often. Each read made the search of a whole list: three queries, of which two were planned anew
-- each time. Now show_jobs() finds its jobs directly and says whether there are amendments to ask for, and the plans are kept.
--
-- Compatible from: 23
select set_config('role', pg_get_userbyid(nspowner), true) from pg_namespace where nspname = current_schema();

-- The columns of a function cannot change, so it is made again.
drop function show_jobs(bigint[]);

-- The details of some jobs, and why they do not run yet. Ids of missing jobs are left out.
--
-- `why`, for a job that does not run: `paused` (its queue is), `unable` (no running worker has all of `needs`), `limit` (its queue has
-- reached its limit), `run_at` (it is not yet due), `back_off` (its next attempt is not yet due), `album` (the other jobs of its batch
-- have not all been measured), or `line` (other jobs come first). If `is_amended`, list_amendments()
-- has earlier forms of the recipe.
create function show_jobs(job_ids bigint[])
returns table (
    job bigint, state job_state, batch bigint, batch_name text, queue text, priority smallint, source text, recipe jsonb,
    labels jsonb, batch_labels jsonb, submitter text, submitted_at timestamptz, run_at timestamptz, cost integer,
    needs text[], at timestamptz, attempts integer, max_attempts smallint, lost smallint, room_deaths smallint,
    ready_at timestamptz, why text, code text, class failure_class, stage text, worker text, slot smallint,
    frames bigint, frames_total bigint, cancel_asked boolean, digest text, size bigint, further jsonb, placement placement,
    has_remarks boolean, is_amended boolean
)
language plpgsql volatile security definer set search_path from current
    set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
    set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    seen bigint[];
begin
    -- According to the lock order, because this function reads two tables of spans: see 0002_tables.sql.
    perform pg_advisory_xact_lock_shared('job'::regclass::oid::integer, 0);
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
                   coalesce(e.has_remarks, false) as has_remarks
            from asked j
            left join lateral (select * from waiting where waiting.job = j.id limit 1) w on true
            left join lateral (select * from delayed where delayed.job = j.id limit 1) d on true
            left join lateral (select * from running where running.job = j.id limit 1) r on true
            left join lateral (select * from publishing where publishing.job = j.id limit 1) p on true
            left join ended e on e.job = j.id
        )
        select f.job, f.state, j.batch, b.name, q.name, coalesce(f.last_priority, l.priority), j.source, j.recipe, j.labels, b.labels,
               b.submitter, b.created_at, j.run_at, j.cost, l.needs, f.at, f.attempts, j.max_attempts, f.lost, f.room_deaths, f.ready_at,
               case f.state
                   when 'delayed' then case
                       when f.delayed_epoch = 0 then 'run_at' when f.code = 'album_waits' then 'album' else 'back_off' end
                   when 'waiting' then case
                       when q.paused then 'paused'
                       when not exists (select from worker k where k.ended_at is null and k.lease_until > ledger_time()
                                        and l.needs <@ k.abilities) then 'unable'
                       when q.running_limit is null then 'line'
                       when q.running_limit <= (select count(*) from running r join lane o on o.id = r.lane
                                                where o.queue = q.id) then 'limit'
                       else 'line' end
               end,
               f.code, f.class, f.stage, k.name, f.slot, f.frames, f.frames_total, f.cancel_asked, f.digest, f.size,
               f.further, f.placement, f.has_remarks, j.amendments is not null
        from found f
        join asked j on j.id = f.job
        cross join lateral (select * from batch where batch.id = j.batch limit 1) b
        cross join lateral (select * from lane where lane.id = f.lane limit 1) l
        cross join lateral (select * from queue where queue.id = l.queue limit 1) q
        left join lateral (select * from worker where worker.id = f.worker limit 1) k on true
        where f.state is not null;
end $$;

-- As before, with plans that are kept.
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
begin
    return query
        select a.job, a.epoch, a.outcome, a.started_at, a.ended_at, a.worker, w.name, w.host, w.build, a.slot, a.code, a.class,
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
        ) a left join worker w on w.id = a.worker
        order by a.job, a.epoch;
end $$;

-- Nearly every read asks these two. As functions in SQL they were planned anew each time.
create or replace function is_operator() returns boolean
language plpgsql stable security definer set search_path from current
as $$
begin
    if coalesce(current_setting('sluice.acting_for', true), '') <> '' and acting_for() is not null then
        return caller_has('sluice_operator') and not is_tenant();
    end if;
    return caller_has('sluice_operator') or (
        select pg_has_role(session_user, n.nspowner, 'member') from pg_namespace n where n.nspname = current_schema());
end $$;

create or replace function sees_all() returns boolean
language plpgsql stable security definer set search_path from current
as $$
begin
    if is_tenant() then
        return false;
    end if;
    return is_operator() or caller_has('sluice_viewer') or (select s.submitters_see = 'all' from setting s);
end $$;

-- The table of settings has one row and no index, so a caller that turns such scans off makes it look dear enough to be compiled.
alter function visible(bigint[]) set jit = off;

select apply_permissions();
select set_config('role', 'none', true);
