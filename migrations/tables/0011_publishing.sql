-- Why: how a worker publishes its outputs. Each call is one statement for many jobs, and each job in it is fenced by epoch and lease
-- id: a caller that has lost a job changes nothing about it, and the answer says so.
--
-- A caller may repeat a call unchanged, which is how a worker learns the result of a COMMIT that was not answered: the answer is
-- `repeated` for what the same fence has already done.
select set_config('role', pg_get_userbyid(nspowner), true) from pg_namespace where nspname = current_schema();

-- Moves jobs from `running` to `publishing`: the output is complete, durable and linked under its attempt name. From then on any
-- process that holds the fence may finish the job. `digests` are SHA-256 in hexadecimal; `reports` are JSON texts or null. Names,
-- digests and sizes are of the first outputs; `furthers` are JSON texts as in `publishing.further`, or null.
--
-- Checks the fence alone: as long as its row is in `running`, the worker owns the job, however long it has not beaten. `cancelled`:
-- the job had been asked to stop and has now ended; the worker discards the output.
create function publish(
    jobs bigint[], epochs integer[], lease_ids uuid[], attempt_names text[], digests text[], sizes bigint[],
    frames_in bigint[], frames_out bigint[], audio_ms bigint[], cpu_ms bigint[], peak_bytes bigint[],
    slots smallint[] default null, reports text[] default null, furthers text[] default null
) returns table (job bigint, answer answer)
language plpgsql security definer set search_path from current
    -- Without bitmaps the rows come in the order of their jobs, which is the lock order.
    set enable_seqscan = off set enable_bitmapscan = off set enable_nestloop = off set jit = off
    set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    t timestamptz := ledger_time();
    moved bigint[];
    stopped taken[];
begin
    -- Must come first: see the lock order in 0002_tables.sql.
    perform pg_advisory_xact_lock_shared('job'::regclass::oid::integer, 0);
    with given as materialized (
        select * from unnest(publish.jobs, publish.epochs, publish.lease_ids, publish.attempt_names, publish.digests,
                             publish.sizes, publish.frames_in, publish.frames_out, publish.audio_ms, publish.cpu_ms,
                             publish.peak_bytes, publish.slots, publish.reports, publish.furthers)
            as g (job, epoch, lease_id, attempt_name, digest, size, frames_in, frames_out, audio_ms, cpu_ms, peak_bytes,
                  slot, report, further)
        -- All functions use the order of ids: transactions that want the same rows then wait and do not deadlock.
        order by job
    ), gone as (
        delete from running r using given g
        where r.job = any (publish.jobs) and r.job = g.job and r.epoch = g.epoch and r.lease_id = g.lease_id
        returning r.*
    ), moved as (
        insert into publishing as p (job, batch, lane, cost, turn, epoch, spent, lost, room_deaths, since, lease_id, worker, slot,
                                     started_at, attempt_name, digest, size, further, handed_at, frames_in, frames_out,
                                     audio_ms, cpu_ms, peak_bytes, report)
        select r.job, r.batch, r.lane, r.cost, r.turn, r.epoch, r.spent, r.lost, r.room_deaths, t, r.lease_id, r.worker,
               coalesce(g.slot, r.slot), r.since, g.attempt_name, decode(g.digest, 'hex'), g.size, g.further::jsonb, t,
               g.frames_in, g.frames_out, bounded(g.audio_ms, 3155760000000), g.cpu_ms, g.peak_bytes, g.report::jsonb
        from gone r join given g on g.job = r.job
        where not r.cancel_asked
        returning p.job
    ), counted as (
        insert into count_delta (queue, batch, state, jobs, at)
        select l.queue, n.batch, s.state, s.change, t
        from (
            select r.lane, r.batch, count(*)::integer as jobs, (count(*) filter (where not r.cancel_asked))::integer as moved
            from gone r group by r.lane, r.batch
        ) n
        join lane l on l.id = n.lane
        cross join lateral (values ('running'::job_state, -n.jobs), ('publishing', n.moved)) as s (state, change)
        where s.change <> 0
    )
    select array(select m.job from moved m), array(select taken(row(r.*)::running) from gone r where r.cancel_asked)
    into moved, stopped;

    if cardinality(stopped) > 0 then
        perform end_attempts(array(
            select ending(k, 'cancelled', 'cancelled', null, 'publish', slot => g.slot, frames_in => g.frames_in,
                          frames_out => g.frames_out, audio_ms => bounded(g.audio_ms, 3155760000000), cpu_ms => g.cpu_ms,
                          peak_bytes => g.peak_bytes, report => g.report::jsonb)
            from unnest(stopped) k
            join unnest(publish.jobs, publish.slots, publish.frames_in, publish.frames_out, publish.audio_ms, publish.cpu_ms,
                        publish.peak_bytes, publish.reports)
                as g (job, slot, frames_in, frames_out, audio_ms, cpu_ms, peak_bytes, report) on g.job = k.job
        ));
    end if;

    return query
        select g.job, (case
            when m.job is not null then 'done'
            when exists (select from unnest(stopped) s where s.job = g.job) then 'cancelled'
            when (select true from publishing p
                  where p.job = g.job and p.epoch = g.epoch and p.lease_id = g.lease_id) then 'repeated'
            else answer_for(g.job, g.epoch, g.lease_id, 'completed')::text
        end)::answer
        from unnest(publish.jobs, publish.epochs, publish.lease_ids) as g (job, epoch, lease_id)
        left join unnest(moved) as m (job) on m.job = g.job;
end $$;

-- Whether the report of a conversion tells of damage or has remarks. The path is lax: a report of another form has none.
create function tells_remarks(report jsonb) returns boolean
language sql immutable parallel safe
as $$
    select report @? '$.conversion ? (exists(@.remarks[*].kind) || @.damage.stretchCount > 0 || @.damage.frames > 0)'
        or report @? '$.further[*].remarks[*].kind'
$$;

-- `further` of a job without those of its outputs that are left alone according to `places`, a list with the placement of each of
-- its outputs, beginning with the first. Null if none is left.
create function made_outputs(further jsonb, places jsonb) returns jsonb
language sql immutable parallel safe
as $$
    select case when jsonb_agg(e.made order by e.place) @? '$[*].digest' then jsonb_agg(e.made order by e.place) end
    from (
        select f.place, case when places ->> f.place::integer = 'skipped' then 'null' else f.output end as made
        from jsonb_array_elements(further) with ordinality as f (output, place)
    ) e
$$;

-- Moves jobs from `publishing` to `finished`: the output has its final name or, according to `placements`, is not wanted. Any
-- process that holds the fence may call it; the first call counts. `outputs` has, for a job with several outputs, a JSON list with
-- the placement of each.
create function finish(
    jobs bigint[], epochs integer[], lease_ids uuid[], placements text[] default null, outputs text[] default null
)
returns table (job bigint, answer answer)
language plpgsql security definer set search_path from current
    -- Without bitmaps the rows come in the order of their jobs, which is the lock order.
    set enable_seqscan = off set enable_bitmapscan = off set enable_nestloop = off set jit = off
    set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    t timestamptz := ledger_time();
    moved bigint[];
begin
    -- Must come first: see the lock order in 0002_tables.sql.
    perform pg_advisory_xact_lock_shared('job'::regclass::oid::integer, 0);
    with given as materialized (
        select g.job, g.epoch, g.lease_id, nullif(g.placement::placement, 'published') as placement, g.outputs::jsonb as outputs
        from unnest(finish.jobs, finish.epochs, finish.lease_ids, finish.placements, finish.outputs)
            as g (job, epoch, lease_id, placement, outputs)
        order by g.job
    ), gone as (
        delete from publishing p using given g
        where p.job = any (finish.jobs) and p.job = g.job and p.epoch = g.epoch and p.lease_id = g.lease_id
        returning p.*, g.placement, coalesce(g.outputs ->> 0, g.placement::text) is not distinct from 'skipped' as lacks_first,
                  case when g.placement is distinct from 'skipped' and p.further is not null
                      then made_outputs(p.further, g.outputs) end as made_further,
                  g.placement is distinct from 'skipped' and coalesce(tells_remarks(p.report), false) as has_remarks
    ), recorded as (
        insert into attempt (job, epoch, lease_id, worker, slot, started_at, ended_at, outcome, frames_in, frames_out,
                             audio_ms, cpu_ms, peak_bytes, report)
        select p.job, p.epoch, p.lease_id, p.worker, p.slot, p.started_at, t, 'completed', p.frames_in, p.frames_out,
               p.audio_ms, p.cpu_ms, p.peak_bytes, p.report
        from gone p
    ), moved as (
        insert into finished as f (job, batch, queue, state, epoch, spent, lost, room_deaths, priority, has_remarks, ended_at,
                                   worker, digest, size, further, placement)
        select p.job, p.batch, l.queue,
               (case when p.placement is distinct from 'skipped' then 'completed' else 'skipped' end)::job_state, p.epoch,
               p.spent + 1, p.lost, p.room_deaths, l.priority, p.has_remarks, t, p.worker,
               case when not p.lacks_first then p.digest end, case when not p.lacks_first then p.size end, p.made_further,
               p.placement
        from gone p join lane l on l.id = p.lane
        returning f.job
    ), counted as (
        insert into count_delta (queue, batch, state, jobs, audio_ms, began, remarked, at)
        select l.queue, n.batch, s.state, s.sign * n.jobs, case s.sign when 1 then n.audio_ms end, n.began,
               case s.sign when 1 then nullif(n.remarked, 0) end, t
        from (
            select p.lane, p.batch, p.placement is not distinct from 'skipped' as was_skipped, count(*)::integer as jobs,
                   bounded(sum(p.audio_ms), 9000000000000000000) as audio_ms, min(p.started_at) as began,
                   (count(*) filter (where p.has_remarks))::integer as remarked
            from gone p group by 1, 2, 3
        ) n join lane l on l.id = n.lane
        cross join lateral (
            values ('publishing'::job_state, -1), (case when n.was_skipped then 'skipped' else 'completed' end::job_state, 1)
        ) as s (state, sign)
    )
    select array(select m.job from moved m) into moved;

    return query
        select g.job, case when m.job is not null then 'done' else answer_for(g.job, g.epoch, g.lease_id, 'completed') end
        from unnest(finish.jobs, finish.epochs, finish.lease_ids) as g (job, epoch, lease_id)
        left join unnest(moved) as m (job) on m.job = g.job;
end $$;

-- MARK: Unfinished publications

-- Hands out jobs that have been in `publishing` for too long. The caller finishes them: it renames what is not yet renamed, then
-- calls finish() with the fence given here, or fail() with it if that is impossible. Each job goes to one caller per grace period.
--
-- `roots`: the roots that the caller can write to. It gets only jobs whose outputs are in them, because a job that it cannot
-- finish would be withheld from the others for a grace period. Null: any job. A job that was skipped has no file and needs no root.
create function take_unfinished(page integer default 100, roots text[] default null)
returns table (
    job bigint, epoch integer, lease_id uuid, recipe jsonb, attempt_name text, digest text, size bigint, further jsonb,
    since timestamptz
)
language plpgsql security definer set search_path from current set jit = off
as $$
#variable_conflict use_column
declare
    t timestamptz := ledger_time();
begin
    return query
        with late as materialized (
            select p.job from publishing p where p.handed_at < t - (select s.publish_grace from setting s)
        ), elsewhere as materialized (
            select j.id from job_rows(array(
                select l.job from late l where roots is not null
            )) j where exists (
                select from jsonb_path_query(j.recipe, '$.outputs[*].location') o
                where split_part(o #>> '{}', ':', 1) <> all (roots)
            )
        ), stuck as materialized (
            select p.job from publishing p
            where p.job = any (array(select l.job from late l))
              and (p.attempt_name = '' and p.further is null or not exists (select from elsewhere e where e.id = p.job))
            order by p.handed_at, p.job limit page for update of p skip locked
        ), handed as (
            update publishing p set handed_at = t where p.job = any (array(select s.job from stuck s)) returning p.*
        )
        select h.job, h.epoch, h.lease_id, j.recipe, h.attempt_name, encode(h.digest, 'hex'), h.size, h.further, h.since
        from handed h join job_rows(array(select s.job from stuck s)) j on j.id = h.job order by h.job;
end $$;

-- Which of these fences still match a row, for the sweep of attempt files, whose names contain them. A file without a match can be
-- removed.
create function standing_fences(jobs bigint[], epochs integer[], lease_ids uuid[]) returns table (job bigint)
language sql stable security definer set search_path from current set jit = off
as $$
    select g.job from unnest(standing_fences.jobs, epochs, lease_ids) as g (job, epoch, lease_id)
    where (select true from running r where r.job = g.job and r.epoch = g.epoch and r.lease_id = g.lease_id)
       or (select true from publishing p where p.job = g.job and p.epoch = g.epoch and p.lease_id = g.lease_id)
$$;

select allow('sluice_worker', 'publish', 'finish', 'take_unfinished', 'standing_fences');
select set_config('role', 'none', true);
