-- How a worker publishes its outputs. publish() moves jobs from `running` to `publishing`: their outputs are complete under hidden names.
-- The worker gives them their final names, and finish() moves the jobs to `finished`. take_unfinished() hands publications that take too
-- long to any process that asks.
--
-- Each call is one statement for many jobs, and each job in it is fenced by epoch and lease id: a caller that has lost a job changes
-- nothing about it, and the answer says so. A caller may repeat a call unchanged, which is how a worker learns the result of a COMMIT that
-- was not answered: the answer is `repeated` for what the same fence has already done.

-- Moves jobs from `running` to `publishing`: the output is complete, durable and linked under its attempt name. From then on any
-- process that holds the fence may finish the job. `digests` are SHA-256 in hexadecimal; `reports` are JSON texts or null. Names,
-- digests and sizes are of the first outputs; `furthers` are JSON texts as in `publishing.further`, or null.
--
-- Checks the fence alone: as long as its row is in `running`, the worker owns the job, however long it has not beaten. `cancelled`:
-- the job had been asked to stop and has now ended; the worker discards the output.
create or replace function publish(
    jobs bigint[], epochs integer[], lease_ids uuid[], attempt_names text[], digests text[], sizes bigint[],
    frames_in bigint[], frames_out bigint[], audio_ms bigint[], cpu_ms bigint[], peak_bytes bigint[],
    slots smallint[] default null, reports text[] default null, furthers text[] default null
)
returns table (job bigint, answer answer)
language plpgsql security definer set search_path from current
    set enable_seqscan = off set enable_bitmapscan = off set enable_nestloop = off set jit = off
    set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    t timestamptz := ledger_time();
    moved bigint[];
    stopped taken[];
begin
    -- Must come first: see the lock order in locks.sql.
    lock table lock_job in row share mode;
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
        returning r.job, r.batch, r.lane, r.cost, r.turn, r.epoch, r.spent, r.lost, r.room_deaths, r.lease_id, r.worker,
                  coalesce(g.slot, r.slot) as slot, r.since as started_at, r.cancel_asked,
                  case when r.cancel_asked then taken(r) end as stopped, g.attempt_name, g.digest, g.size, g.further,
                  g.frames_in, g.frames_out, g.audio_ms, g.cpu_ms, g.peak_bytes, g.report
    ), moved as (
        insert into publishing as p (job, batch, lane, cost, turn, epoch, spent, lost, room_deaths, since, lease_id, worker, slot,
                                     started_at, attempt_name, digest, size, further, handed_at, frames_in, frames_out,
                                     audio_ms, cpu_ms, peak_bytes, report)
        select r.job, r.batch, r.lane, r.cost, r.turn, r.epoch, r.spent, r.lost, r.room_deaths, t, r.lease_id, r.worker, r.slot,
               r.started_at, r.attempt_name, decode(r.digest, 'hex'), r.size, r.further::jsonb, t, r.frames_in, r.frames_out,
               bounded(r.audio_ms, 3155760000000), r.cpu_ms, r.peak_bytes, r.report::jsonb
        from gone r where not r.cancel_asked
        returning p.job
    ), counted as (
        insert into count_delta (queue, batch, state, jobs, at)
        select l.queue, n.batch, s.state, s.change, t
        from (
            select r.lane, r.batch, count(*)::integer as jobs, (count(*) filter (where not r.cancel_asked))::integer as moved
            from gone r group by r.lane, r.batch
        ) n
        cross join lateral (select * from lane where lane.id = n.lane limit 1) l
        cross join lateral (values ('running'::job_state, -n.jobs), ('publishing', n.moved)) as s (state, change)
        where s.change <> 0
    )
    select array(select m.job from moved m), array(select r.stopped from gone r where r.cancel_asked)
    into moved, stopped;

    if cardinality(moved) = cardinality(publish.jobs) then
        return query select j, 'done'::answer from unnest(publish.jobs) j;
        return;
    end if;
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
create or replace function tells_remarks(report jsonb) returns boolean
language sql immutable parallel safe
as $$
    select report @? '$.conversion ? (exists(@.remarks[*].kind) || @.damage.stretchCount > 0 || @.damage.frames > 0)'
        or report @? '$.further[*].remarks[*].kind'
$$;

-- Moves jobs from `publishing` to `finished`: the output has its final name or, according to `placements`, is not wanted. Any
-- process that holds the fence may call it; the first call counts. `outputs` has, for a job with several outputs, a JSON list with
-- the placement of each.
create or replace function finish(
    jobs bigint[], epochs integer[], lease_ids uuid[], placements text[] default null, outputs text[] default null
)
returns table (job bigint, answer answer)
language plpgsql security definer set search_path from current
    set enable_seqscan = off set enable_bitmapscan = off set enable_nestloop = off set jit = off
    set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    t timestamptz := ledger_time();
    moved bigint[];
    has_tenants boolean := exists (select from tenant);
    used lane_use[];
begin
    -- Must come first: see the lock order in locks.sql.
    lock table lock_job in row share mode;
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
    ), lanes as materialized (
        -- A join with `lane` would read all lanes up to the last of these.
        select l.id, l.queue, l.priority, l.codec
        from (select distinct g.lane from gone g) g cross join lateral (select * from lane where lane.id = g.lane limit 1) l
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
        from gone p join lanes l on l.id = p.lane
        returning f.job
    ), counted as (
        insert into count_delta (queue, batch, state, jobs, audio_ms, began, remarked, bucket, seconds, codec, bytes, at)
        select l.queue, n.batch, s.state, s.jobs, s.audio_ms, n.began, s.remarked, s.bucket, s.seconds, s.codec, s.bytes, t
        from (
            select r.lane, r.batch, r.was_skipped, span_bucket(r.seconds) as bucket, count(*)::integer as jobs,
                   sum(r.seconds) as seconds, bounded(sum(r.audio_ms), 9000000000000000000) as audio_ms,
                   min(r.started_at) as began, nullif((count(*) filter (where r.has_remarks))::integer, 0) as remarked,
                   coalesce(sum(r.size), 0) + coalesce(sum(r.further_bytes), 0) as bytes
            from (
                select p.lane, p.batch, p.placement is not distinct from 'skipped' as was_skipped, p.started_at,
                       span_seconds(p.started_at, t) as seconds, p.audio_ms, p.has_remarks,
                       case when not p.lacks_first then p.size end as size,
                       case when p.made_further is not null then further_bytes(p.made_further) end as further_bytes
                from gone p offset 0
            ) r group by 1, 2, 3, 4
        ) n join lanes l on l.id = n.lane
        cross join lateral (values
            ('publishing'::job_state, -n.jobs, null, null, null, null, null, null),
            (case when n.was_skipped then 'skipped' else 'completed' end::job_state, n.jobs, n.audio_ms, n.remarked, n.bucket,
             n.seconds, l.codec, n.bytes)
        ) as s (state, jobs, audio_ms, remarked, bucket, seconds, codec, bytes)
    )
    select array(select m.job from moved m), array(
        select row(p.lane, coalesce(bounded(p.cpu_ms, 3155760000000), 0),
                   case when not p.lacks_first then p.size else 0 end
                   + case when p.made_further is not null then further_bytes(p.made_further) else 0 end)::lane_use
        from gone p where has_tenants
    ) into moved, used;

    if cardinality(used) > 0 then
        insert into use_delta (tenant, cpu_ms, bytes, at)
        select n.tenant, sum(n.cpu_ms), sum(n.bytes), t
        from (
            select tenant_of((
                       select s.submitter from share s where s.id = (select l.share from lane l where l.id = u.lane)
                   )) as tenant, u.cpu_ms, u.bytes
            from (select r.lane, sum(r.cpu_ms) as cpu_ms, sum(r.bytes) as bytes from unnest(used) r group by r.lane) u offset 0
        ) n where n.tenant is not null and (n.cpu_ms > 0 or n.bytes > 0) group by n.tenant;
    end if;
    if cardinality(moved) = cardinality(finish.jobs) then
        return query select j, 'done'::answer from unnest(finish.jobs) j;
        return;
    end if;
    return query
        select g.job, case when m.job is not null then 'done' else answer_for(g.job, g.epoch, g.lease_id, 'completed') end
        from unnest(finish.jobs, finish.epochs, finish.lease_ids) as g (job, epoch, lease_id)
        left join unnest(moved) as m (job) on m.job = g.job;
end $$;

-- `further` of a job without those of its outputs that are left alone according to `places`, a list with the placement of each of
-- its outputs, beginning with the first. Null if none is left.
create or replace function made_outputs(further jsonb, places jsonb) returns jsonb
language sql immutable parallel safe
as $$
    select case when jsonb_agg(e.made order by e.place) @? '$[*].digest' then jsonb_agg(e.made order by e.place) end
    from (
        select f.place, case when places ->> f.place::integer = 'skipped' then 'null' else f.output end as made
        from jsonb_array_elements(further) with ordinality as f (output, place)
    ) e
$$;

-- The bytes of the outputs of a job behind its first.
create or replace function further_bytes(further jsonb) returns numeric
language sql immutable parallel safe
as $$
    select coalesce(sum((e ->> 'bytes')::numeric), 0) from jsonb_array_elements(further) e where jsonb_typeof(e) = 'object'
$$;

-- The answer to a fence that no longer matches a row: `repeated` if its attempt ended in exactly the way that the caller reports.
create or replace function answer_for(fenced_job bigint, fenced_epoch integer, fenced_lease uuid, said attempt_outcome) returns answer
language sql stable security definer set search_path from current
as $$
    select coalesce((
        select case a.outcome when said then 'repeated' when 'cancelled' then 'cancelled' else 'lost' end
        from attempt_rows(array[fenced_job]) a where a.epoch = fenced_epoch and a.lease_id = fenced_lease
    ), 'lost')::answer
$$;

-- Hands out jobs that have been in `publishing` for too long. The caller finishes them: it renames what is not yet renamed, then
-- calls finish() with the fence given here, or fail() with it if that is impossible. Each job goes to one caller per grace period.
--
-- `roots`: the roots that the caller can write to. It gets only jobs whose outputs are in them, because a job that it cannot
-- finish would be withheld from the others for a grace period. Null: any job. A job that was skipped has no file and needs no root.
create or replace function take_unfinished(page integer default 100, roots text[] default null)
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
create or replace function standing_fences(jobs bigint[], epochs integer[], lease_ids uuid[]) returns table (job bigint)
language sql stable security definer set search_path from current set jit = off
as $$
    select g.job from unnest(standing_fences.jobs, epochs, lease_ids) as g (job, epoch, lease_id)
    where (select true from running r where r.job = g.job and r.epoch = g.epoch and r.lease_id = g.lease_id)
       or (select true from publishing p where p.job = g.job and p.epoch = g.epoch and p.lease_id = g.lease_id)
$$;
