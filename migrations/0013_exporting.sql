-- Why: whoever exports a batch wants the stories of all its jobs. Asked for one by one, a hundred thousand of them cost two
-- hundred thousand statements; asked for by the page they cost a few hundred.
select set_config('role', pg_get_userbyid(nspowner), true) from pg_namespace where nspname = current_schema();

-- What was asked and why it is not yet done, as show_job() tells it, of many jobs. Those that are not there are left out.
create function show_jobs(job_ids bigint[])
returns table (
    job bigint, state job_state, batch bigint, batch_name text, queue text, priority smallint, source text, recipe jsonb,
    labels jsonb, batch_labels jsonb, submitter text, submitted_at timestamptz, run_at timestamptz, cost integer,
    needs text[], at timestamptz, attempts integer, max_attempts smallint, lost smallint, room_deaths smallint,
    ready_at timestamptz, why text, code text, class failure_class, stage text, worker text, slot smallint,
    frames bigint, frames_total bigint, cancel_asked boolean, digest text, size bigint, placement placement
)
language sql volatile security definer set search_path from current set jit = off
    set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
as $$
    select g.job, g.state, g.batch, b.name, g.queue, g.priority, g.source, j.recipe, j.labels, b.labels, b.submitter,
           b.created_at, j.run_at, j.cost, l.needs, g.at, g.attempts, g.max_attempts, g.lost, g.room_deaths, g.ready_at,
           case g.state
               when 'delayed' then case when h.epoch = 0 then 'run_at' else 'back_off' end
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
           g.placement
    from list_jobs(jsonb_build_object('ids', to_jsonb(job_ids)), null, cardinality(job_ids)) g
    join job j on j.id = g.job
    join batch b on b.id = g.batch
    left join lateral (
        select w.lane, w.epoch from waiting w where w.job = g.job
        union all select d.lane, d.epoch from delayed d where d.job = g.job
        limit 1
    ) h on true
    join lane l on l.id = coalesce(h.lane, j.lane)
    join queue q on q.id = l.queue
$$;

-- Every attempt at many jobs, as list_attempts() tells it: by job, oldest first.
create function list_attempts_of(job_ids bigint[])
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
        select * from attempt where job = any (job_ids)
        union all
        select r.job, r.epoch, r.lease_id, r.worker, r.slot, r.since, null, null, null, null, null, null, null, null, null,
               null, null, null, null, null, r.frames, null, null, null, null
        from running r where r.job = any (job_ids)
        union all
        select p.job, p.epoch, p.lease_id, p.worker, p.slot, p.started_at, null, null, null, null, null, null, null, null,
               null, null, null, null, null, p.frames_in, p.frames_out, p.audio_ms, p.cpu_ms, p.peak_bytes, p.report
        from publishing p where p.job = any (job_ids)
    ) a left join worker w on w.id = a.worker
    order by a.job, a.epoch
$$;

-- What the recipes of many jobs were before they were changed, as list_amendments() tells it.
create function list_amendments_of(job_ids bigint[])
returns table (job bigint, until_epoch integer, damage text, at timestamptz, by text)
language sql stable security definer set search_path from current set jit = off set enable_seqscan = off
as $$
    select j.id, (a ->> 'until')::integer, a ->> 'damage', (a ->> 'at')::timestamptz, a ->> 'by'
    from job j cross join jsonb_array_elements(j.amendments) with ordinality as e (a, place)
    where j.id = any (job_ids) and j.amendments is not null order by j.id, e.place
$$;

select allow('sluice_submitter', 'show_jobs', 'list_attempts_of', 'list_amendments_of');
select allow('sluice_viewer', 'show_jobs', 'list_attempts_of', 'list_amendments_of');
select apply_permissions();
select set_config('role', 'none', true);
