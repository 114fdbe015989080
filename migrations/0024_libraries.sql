-- Why: a recipe makes the same bytes of the same source only with the same release of libav. A worker states the libraries with which it
-- converts, and each attempt shows those of its worker: the ledger keeps a worker's row for as long as an attempt names it.
--
-- Compatible from: 23
select set_config('role', pg_get_userbyid(nspowner), true) from pg_namespace where nspname = current_schema();

-- Null for a worker of an earlier release.
alter table worker add column libraries text;

drop function register_worker(text, text, text, integer, text[]);

-- Registers a worker that has just started. `abilities` are in the vocabulary of `needs`: `recipe:1`, `codec:flac`, `root:archive`,
-- `libav:59`. `libraries` names the libraries that convert, with their versions.
--
-- Returns its id, how long it may work after a heartbeat (this call counts as the first), and the secret by which it proves in later
-- calls that it is this worker.
create function register_worker(
    worker_name text, worker_host text, worker_build text, worker_slots integer, worker_abilities text[],
    worker_libraries text default null
) returns table (worker bigint, lease_seconds double precision, secret uuid)
language plpgsql security definer set search_path from current
as $$
declare
    t timestamptz := ledger_time();
    ttl interval := (select lease from setting);
begin
    loop
        return query
            insert into worker as w (name, host, build, slots, abilities, libraries, started_at, beat_at, lease_until)
            values (worker_name, worker_host, worker_build, worker_slots, worker_abilities, worker_libraries, t, t, t + ttl)
            -- If two workers start in the same millisecond, one in a thousand draws the other's number.
            on conflict (id) do nothing
            returning w.id, extract(epoch from ttl)::double precision, w.secret;
        exit when found;
    end loop;
end $$;

-- The columns of a function cannot change, so it is made again.
drop function list_attempts(bigint[]);

-- All attempts at some jobs, by job and oldest first. An attempt in progress comes last in its job, and has no outcome.
create function list_attempts(job_ids bigint[])
returns table (
    job bigint, epoch integer, outcome attempt_outcome, started_at timestamptz, ended_at timestamptz,
    worker bigint, worker_name text, host text, build text, slot smallint,
    code text, class failure_class, stage text, stream integer, "position" text, frame bigint,
    libav_name text, libav_text text, message text, hint text, last_words text,
    frames_in bigint, frames_out bigint, audio_ms bigint, cpu_ms bigint, peak_bytes bigint, report jsonb,
    libraries text
)
language sql stable security definer set search_path from current set jit = off
    set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
as $$
    select a.job, a.epoch, a.outcome, a.started_at, a.ended_at, a.worker, w.name, w.host, w.build, a.slot, a.code, a.class,
           a.stage, a.stream, a.position, a.frame, a.libav_name, a.libav_text, a.message, a.hint, a.last_words,
           a.frames_in, a.frames_out, a.audio_ms, a.cpu_ms, a.peak_bytes, a.report, w.libraries
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

drop function list_workers(timestamptz);

-- Workers that have not ended, and also those that ended since `ended_since`, if given. `holds` is the number of running jobs of
-- each.
create function list_workers(ended_since timestamptz default null)
returns table (
    worker bigint, name text, host text, build text, slots integer, abilities text[], wish worker_wish, status jsonb,
    started_at timestamptz, beat_at timestamptz, lease_until timestamptz, ended_at timestamptz, end_reason text, holds bigint,
    libraries text
)
language sql volatile security definer set search_path from current set jit = off
as $$
    select w.id, w.name, w.host, w.build, w.slots, w.abilities, w.wish, w.status, w.started_at, w.beat_at, w.lease_until,
           w.ended_at, w.end_reason, coalesce(h.jobs, 0), w.libraries
    from worker w
    left join (select r.worker, count(*) as jobs from running r group by r.worker) h on h.worker = w.id
    where w.ended_at is null or w.ended_at >= ended_since
    order by w.name, w.id
$$;

select apply_permissions();
select set_config('role', 'none', true);
