-- How jobs are submitted. A submission is one transaction. A small one passes its jobs as one JSON list. A large one calls stage_jobs(),
-- copies its jobs with COPY into the temporary table that this makes, and then calls submit(). Both work for a role without rights to any
-- table and behind a pooler in transaction mode, and neither leaves anything behind after the transaction.
--
-- submit() checks the caller's queue, the tenant's limits and the request; finds the queue, the share and the lanes; adds the batch; enters
-- the jobs with enter_listed() or enter_staged(); and notifies workers.

-- Adds a batch of jobs to the ledger. None of it is visible before the commit.
--
-- `jobs` is a JSON list of objects with the columns of `staged_job` except the ordinal; null takes the staged rows. If the caller
-- has used `batch_key` before, submit() returns the batch of that key and adds nothing (`added` is false); `same_request` then
-- reports whether the digests agree. If two calls use one key at the same time, the second waits for the first.
--
-- `sources_skipped` is kept with the batch: how many sources the submitter left out because their outputs were there.
--
-- With `preview` it checks everything and enters no job. The caller must roll back. A preview of an empty list checks all but the jobs
-- and their lanes, and looks for no batch with the key: a submitter asks so before it looks for files. It does not ask whether the limit
-- of a tenant leaves room for a job, because the submitter may find that none is left to do.
create or replace function submit(
    jobs jsonb default null,
    queue_name text default 'default',
    batch_name text default null,
    batch_key text default null,
    request_digest bytea default null,
    job_priority integer default 0,
    batch_weight integer default 100,
    max_attempts integer default null,
    run_at timestamptz default null,
    batch_labels jsonb default '{}',
    wake boolean default true,
    preview boolean default false,
    sources_skipped bigint default 0
) returns table (batch bigint, first_job bigint, last_job bigint, job_count bigint, added boolean, same_request boolean)
language plpgsql security definer set search_path from current set jit = off
    -- The session keeps plans that were made while there were few queues, those of foreign keys as well.
    set enable_seqscan = off
as $$
#variable_conflict use_column
declare
    t timestamptz := ledger_time();
    the_queue integer;
    the_share integer;
    the_batch bigint;
    staged regclass;
    asked bigint;
    -- Whether the caller asks before it has any jobs.
    is_early constant boolean := submit.preview and submit.jobs is not distinct from '[]';
    lanes integer[];
    -- The current turns of `lanes`.
    heads bigint[];
    kinds jsonb;
    lane_of_kind jsonb;
    the_attempts smallint;
    most integer;
    most_kinds integer;
    most_lanes integer;
    fault text;
    entered record;
    only_one submitted;
begin
    -- Must come first: see the lock order in locks.sql.
    lock table lock_job in row share mode;
    perform check_queue(submit.queue_name);
    if is_tenant() then
        perform hold_tenant();
    end if;
    if is_tenant() and submit.jobs is not null and not exists (
        select from batch b where b.key = submit.batch_key and b.submitter = caller()
    ) then
        perform check_submission(submit.jobs, submit.job_priority, submit.max_attempts);
    end if;
    if jsonb_typeof(submit.jobs) = 'array' and submit.jobs -> 1 is null and submit.run_at is null and not submit.preview
        and coalesce(submit.sources_skipped, 0) = 0 then
        only_one := (submit_singles(
            array[row(
                submit.jobs -> 0, submit.batch_name, submit.batch_key, submit.request_digest, submit.batch_weight,
                submit.max_attempts, submit.batch_labels
            )::single], submit.queue_name, submit.job_priority, submit.wake
        ))[1];
        if only_one.batch is not null then
            batch := only_one.batch;
            first_job := only_one.first_job;
            last_job := only_one.last_job;
            job_count := only_one.job_count;
            added := only_one.added;
            same_request := only_one.same_request;
            return next;
            return;
        end if;
    end if;
    if submit.batch_key is not null and not is_early then
        return query
            select b.id, b.first_job, b.last_job, b.jobs, false,
                   b.request_digest is not distinct from submit.request_digest
            from batch b where b.key = submit.batch_key and b.submitter = caller();
        if found then return; end if;
    end if;

    if submit.jobs is null then
        staged := to_regclass('pg_temp.staged_job');
        -- Accepts only the table that stage_jobs() made: a view of the caller's would run the caller's code as the owner.
        if staged is null or not exists (
            select from pg_class c where c.oid = staged and c.relkind = 'r' and c.relowner = current_user::regrole
        ) then
            raise exception 'no jobs are staged in this transaction'
                using errcode = 'object_not_in_prerequisite_state', hint = 'call stage_jobs() and COPY into staged_job';
        end if;
    elsif jsonb_typeof(submit.jobs) <> 'array' then
        raise exception 'jobs is no list' using errcode = 'invalid_parameter_value';
    end if;

    the_queue := queue_for(submit.queue_name);
    the_share := share_for(the_queue, caller());
    the_attempts := coalesce(submit.max_attempts, (select s.max_attempts from setting s));

    -- A preview takes none of the numbers that people see.
    insert into batch as b (id, name, key, request_digest, queue, priority, weight, labels, created_at, sources_skipped)
    overriding system value
    values (case when submit.preview then -pg_backend_pid() else nextval('batch_id_seq') end,
            submit.batch_name, case when not is_early then submit.batch_key end, submit.request_digest, the_queue,
            submit.job_priority, submit.batch_weight, submit.batch_labels, t, coalesce(submit.sources_skipped, 0))
    on conflict (key, submitter) do nothing
    returning b.id into the_batch;
    if the_batch is null then
        return query
            select b.id, b.first_job, b.last_job, b.jobs, false,
                   b.request_digest is not distinct from submit.request_digest
            from batch b where b.key = submit.batch_key and b.submitter = caller();
        return;
    end if;

    select s.recipe_bytes, s.lanes_per_submission, s.lanes_per_submitter into most, most_kinds, most_lanes from setting s;
    if octet_length(submit.batch_name) > 1000 then
        raise exception 'the name of the batch takes % bytes, and may take 1000', octet_length(submit.batch_name)
            using errcode = 'invalid_parameter_value';
    elsif octet_length(submit.batch_key) > 1000 then
        raise exception 'the key of the batch takes % bytes, and may take 1000', octet_length(submit.batch_key)
            using errcode = 'invalid_parameter_value';
    elsif octet_length(submit.request_digest) > 1000 then
        raise exception 'the digest of the request takes % bytes, and may take 1000', octet_length(submit.request_digest)
            using errcode = 'invalid_parameter_value';
    elsif octet_length(submit.batch_labels::text) > most then
        raise exception 'the labels of the batch take % bytes, and may take %', octet_length(submit.batch_labels::text), most
            using errcode = 'invalid_parameter_value';
    end if;
    if label_fault(submit.batch_name) is not null then
        raise exception '%', label_fault(submit.batch_name)
            using errcode = 'invalid_parameter_value', hint = 'use a label that is no number and not "last"';
    end if;
    if is_early then
        return query select the_batch, 0::bigint, 0::bigint, 0::bigint, true, true;
        return;
    end if;
    if submit.jobs is null then
        select f.fault into fault from pg_temp.staged_job s
        cross join lateral (select job_fault(s.recipe, to_jsonb(s.needs), s.labels, most) as fault offset 0) f
        -- The condition skips most jobs: nearly all are simple, and there may be a million.
        where (pg_column_size(s.recipe) > most / 300 or s.recipe ? 'limits' or s.recipe -> 'version' is distinct from '1'
               or pg_column_size(s.labels) > most / 300 or pg_column_size(s.needs) > 1000)
          and f.fault is not null
        order by s.ordinal limit 1;
    else
        select f.fault into fault from jsonb_array_elements(submit.jobs) with ordinality as j (job, place)
        cross join lateral (
            select job_fault(j.job -> 'recipe', j.job -> 'needs', j.job -> 'labels', most) as fault
        ) f where f.fault is not null order by j.place limit 1;
    end if;
    if fault is not null then
        raise exception '%', fault using errcode = 'invalid_parameter_value';
    end if;

    if is_tenant() and submit.jobs is null then
        perform check_submission(null, submit.job_priority, submit.max_attempts);
    end if;

    -- Looks up each set of needs once, not once per job.
    if submit.jobs is null then
        select coalesce(sum(k.jobs), 0), jsonb_agg(distinct jsonb_build_array(coalesce(to_jsonb(k.needs), '[]'), k.version))
        into asked, kinds
        from (select s.needs, s.recipe -> 'version' as version, count(*) as jobs from pg_temp.staged_job s
              group by s.needs, s.recipe -> 'version') k;
    else
        asked := jsonb_array_length(submit.jobs);
        kinds := (select jsonb_agg(distinct jsonb_build_array(coalesce(nullif(j -> 'needs', 'null'), '[]'),
                                                              j -> 'recipe' -> 'version'))
                  from jsonb_array_elements(submit.jobs) j);
    end if;
    if asked = 0 then
        raise exception 'a submission has at least one job' using errcode = 'invalid_parameter_value';
    end if;
    if jsonb_array_length(kinds) > most_kinds then
        raise exception 'the jobs have % different sets of requirements, and those of one submission may have %',
            jsonb_array_length(kinds), most_kinds
            using errcode = 'invalid_parameter_value', hint = 'submit jobs with different requirements in several batches';
    end if;
    -- The same needs in another order, or with duplicates, make another kind but the same lane.
    select array_agg(distinct lane_id), jsonb_object_agg(kind, lane_id) into lanes, lane_of_kind
    from (
        select kind::text as kind,
               lane_for(the_share, submit.job_priority, k.needs) as lane_id
        from (
            -- In lock order, because some lanes may be new: see locks.sql.
            select kind, sorted_needs(array(select jsonb_array_elements_text(kind -> 0)) || ('recipe:' || (kind ->> 1)))
                       collate "C" as needs
            from jsonb_array_elements(kinds) as k (kind) order by needs offset 0
        ) k
    ) found_lanes;
    perform check_lanes(lanes, most_lanes);
    if submit.preview then
        return query select the_batch, 0::bigint, 0::bigint, asked, true, true;
        return;
    end if;
    perform hold_lanes(lanes);

    heads := (select array_agg(current_turn(l.id) order by l.place) from unnest(lanes) with ordinality as l (id, place));

    -- Housekeeping keeps partitions ahead. Without it, or when many submit at once, this loop makes them.
    loop
        if not exists (select from span where next_id > (select last_value from job_id) + asked) then
            perform make_spans((select last_value from job_id) + asked);
        end if;
        begin
            if submit.jobs is null then
                select * into entered from enter_staged(
                    null, the_batch, the_queue, submit.batch_weight, the_attempts, submit.run_at, lanes, heads, lane_of_kind, t
                );
            else
                select * into entered from enter_listed(
                    submit.jobs, the_batch, the_queue, submit.batch_weight, the_attempts, submit.run_at, lanes, heads,
                    lane_of_kind, t
                );
            end if;
            exit;
        exception when check_violation then
            -- Other submissions took so many ids meanwhile that ours have no partition. Any other failed check is thrown again.
            if exists (select from span where next_id > (select last_value from job_id)) then
                raise;
            end if;
        end;
    end loop;

    update batch b set first_job = entered.first_id, last_job = entered.last_id, jobs = asked where b.id = the_batch;
    if submit.wake then
        -- One notification per submission, sent at the commit. For many small submissions see tell_workers(). Delayed jobs end the rest of
        -- housekeeping and of workers, too: see house_rest().
        perform pg_notify(current_schema(), 'jobs');
    end if;
    return query select the_batch, entered.first_id, entered.last_id, asked, true, true;
end $$;

-- Why a batch cannot have that label; null if it can. Wherever batches are named, a number means the batch with that number.
create or replace function label_fault(label text) returns text
language sql immutable parallel safe
as $$
    select case when label ~ '^[+-]?[0-9]+$' or label = 'last' then
        format('a batch cannot have the label "%s", because that word names another batch', left(label, 50)) end
$$;

-- Describes what is wrong with a submitted job, in a sentence; null if nothing is. Workers check the rest of a recipe strictly. This
-- function limits only what the ledger and its workers must store or compute with.
--
-- It touches no table, and has no pinned search path, which would cost more than the function itself. plpgsql keeps its plan.
create or replace function job_fault(recipe jsonb, needs jsonb, labels jsonb, most integer) returns text
language plpgsql immutable parallel safe
as $$ begin
    return case
        -- A value that is stored small may be large when it is read: compression removes at most 255 of 256 parts.
        when pg_column_size(recipe) > most / 300 and octet_length(recipe::text) > most
            then format('a recipe takes %s bytes, and may take %s', octet_length(recipe::text), most)
        when pg_column_size(labels) > most / 300 and octet_length(labels::text) > most
            then format('the labels of a job take %s bytes, and may take %s', octet_length(labels::text), most)
        when jsonb_typeof(needs) not in ('array', 'null') then 'the needs of a job are no list'
        when jsonb_typeof(needs) = 'array' and (
            jsonb_array_length(needs) > 32
            or exists (select from jsonb_array_elements(needs) n where jsonb_typeof(n) <> 'string' or length(n::text) > 200)
        ) then 'a job may have 32 requirements of up to 200 letters each'
        when recipe ? 'version' and (jsonb_typeof(recipe -> 'version') <> 'number' or length(recipe ->> 'version') > 9)
            then 'the version of a recipe is no whole number of up to nine digits'
        when recipe ? 'limits' and jsonb_typeof(recipe -> 'limits') <> 'null' and (
            jsonb_typeof(recipe -> 'limits') <> 'object'
            or exists (
                select from jsonb_each(case when jsonb_typeof(recipe -> 'limits') = 'object' then recipe -> 'limits' end) f
                where jsonb_typeof(f.value) not in ('number', 'null')
                   or jsonb_typeof(f.value) = 'number' and not (f.value::text::numeric between 0 and 9223372036854775807)
            )
        ) then 'a limit of a recipe is no number from 0 to 2^63 - 1'
    end;
end $$;

-- The time from which a job may run, limited to a century from now: a job that is never due would stay in the ledger for ever.
create or replace function sooner(run_at timestamptz, t timestamptz) returns timestamptz
language sql stable parallel safe
as $$ select case when run_at is not null then least(run_at, t + interval '100 years') end $$;

-- Makes the temporary table `staged_job` for this transaction. The caller may only insert into it.
--
-- Columns: ordinal integer (decides the order of the ids), recipe jsonb; optional: cost integer, needs text[], max_attempts
-- smallint, run_at timestamptz, labels jsonb; and work, source_bytes and source_modified bigint as in `job`.
create or replace function stage_jobs() returns void
language plpgsql security definer set search_path from current
as $$
begin
    create temporary table staged_job (
        ordinal integer not null,
        recipe jsonb not null,
        cost integer,
        needs text[],
        max_attempts smallint,
        run_at timestamptz,
        labels jsonb,
        work bigint,
        source_bytes bigint,
        source_modified bigint
    ) on commit drop;
    -- No other session can reach the table.
    grant insert on pg_temp.staged_job to public;
end $$;

-- Makes two functions from one text, enter_staged() and enter_listed(), which write the jobs of a batch into `job` and their lanes.
-- Only the source of the jobs differs: the temporary table, which a statement can name only while it exists, or a JSON list. One
-- function for both would have to write each job once more, or be planned at each call.
--
-- `heads` are the current turns of `lanes`. Returns the first and the last id, and how many jobs can be claimed at once.
do $make$
declare
    source record;
begin
    for source in values
        ('enter_staged', $given$
            select s.recipe, s.cost, coalesce(to_jsonb(s.needs), '[]') as needs, s.max_attempts, s.run_at, s.labels, s.work,
                   s.source_bytes, s.source_modified
            from pg_temp.staged_job s order by s.ordinal
        $given$),
        ('enter_listed', $given$
            select s.recipe, s.cost, coalesce(nullif(s.needs, 'null'), '[]') as needs, s.max_attempts, s.run_at, s.labels, s.work,
                   s.source_bytes, s.source_modified
            from rows from (jsonb_to_recordset(listed) as (
                recipe jsonb, cost integer, needs jsonb, max_attempts smallint, run_at timestamptz, labels jsonb, work bigint,
                source_bytes bigint, source_modified bigint
            )) with ordinality as s (recipe, cost, needs, max_attempts, run_at, labels, work, source_bytes, source_modified,
                                     ordinal)
            order by s.ordinal
        $given$)
    loop
        execute format($function$
            create or replace function %I(
                listed jsonb, the_batch bigint, the_queue integer, batch_weight integer, usual_attempts smallint,
                usual_run_at timestamptz, lanes integer[], heads bigint[], lane_of_kind jsonb, t timestamptz,
                out first_id bigint, out last_id bigint, out ready bigint
            )
            language plpgsql security definer set search_path from current
                -- Enough to sort 100,000 staged jobs without a file.
                set work_mem = '64MB' set jit = off
            as $body$
            begin
                with given as (%s), entered as (
                    insert into job (id, batch, lane, recipe, source, cost, max_attempts, run_at, labels, work, source_bytes,
                                     source_modified)
                    select nextval('job_id'), the_batch,
                           case when cardinality(lanes) = 1 then lanes[1]
                                else (lane_of_kind ->> jsonb_build_array(g.needs, g.recipe -> 'version')::text)::integer end,
                           g.recipe, g.recipe #>> '{sources,0,location}', coalesce(g.cost, 1000),
                           coalesce(g.max_attempts, usual_attempts), sooner(coalesce(g.run_at, usual_run_at), t), g.labels,
                           g.work, g.source_bytes, g.source_modified
                    from given g
                    returning id, lane, cost, run_at
                ), turned as materialized (
                    select e.id, e.lane, e.cost, e.run_at > t as is_early, e.run_at,
                           h.head + sum(greatest(1, e.cost::bigint * 100 / batch_weight)) over (
                               order by e.id rows between unbounded preceding and current row
                           )::bigint - greatest(1, e.cost::bigint * 100 / batch_weight) as turn
                    from entered e join unnest(lanes, heads) as h (lane, head) on h.lane = e.lane
                ), now_waiting as (
                    insert into waiting (job, batch, lane, cost, turn, epoch, spent, lost, room_deaths, since)
                    select n.id, the_batch, n.lane, n.cost, n.turn, 0, 0, 0, 0, t from turned n where n.is_early is not true
                ), now_delayed as (
                    insert into delayed (job, batch, lane, cost, turn, epoch, spent, lost, room_deaths, since, ready_at)
                    select n.id, the_batch, n.lane, n.cost, n.turn, 0, 0, 0, 0, t, greatest(n.run_at, (select hold_delayed()))
                    from turned n where n.is_early
                ), counted as (
                    insert into count_delta (queue, batch, state, jobs, lane, tail, at)
                    select the_queue, the_batch, (case when n.is_early then 'delayed' else 'waiting' end)::job_state,
                           count(*), n.lane, max(n.turn), t
                    from turned n group by 3, n.lane
                )
                select min(n.id), max(n.id), count(*) filter (where n.is_early is not true)
                into first_id, last_id, ready from turned n;
            end $body$
        $function$, source.column1, source.column2);
    end loop;
end $make$;

-- Notifies workers that there is work, for a submitter that has called submit() with `wake` false and has committed. One call is
-- enough for many submissions.
--
-- The server commits transactions that notify one after another, each with its wait for the disk. This one does not wait for the
-- disk: it has written nothing.
create or replace function tell_workers() returns void
language plpgsql security definer set search_path from current
as $$
begin
    perform set_config('synchronous_commit', 'off', true);
    perform pg_notify(current_schema(), 'jobs');
end $$;

-- The batch of one of the caller's keys; no row if there is none. Tells a submitter whose COMMIT was not answered what became of it.
create or replace function find_batch(batch_key text)
returns table (batch bigint, first_job bigint, last_job bigint, job_count bigint, request_digest bytea)
language sql stable security definer set search_path from current
as $$
    select b.id, b.first_job, b.last_job, b.jobs, b.request_digest from batch b
    where b.key = find_batch.batch_key and b.submitter = caller()
$$;

-- The ids of a batch above `after`, in the order of submission.
create or replace function batch_jobs(batch_id bigint, after bigint default 0, page integer default 1000)
returns table (job bigint)
language plpgsql stable security definer set search_path from current
    set plan_cache_mode = force_custom_plan set jit = off
as $$
declare
    b batch;
    part span;
    missing bigint := page;
    found_jobs bigint;
begin
    select * into b from batch where id = batch_id and ((select sees_all()) or submitter = caller());
    for part in
        select * from span s where s.first_id <= b.last_job and s.next_id > greatest(b.first_job, after + 1) order by s.first_id
    loop
        return query
            select j.id from job j
            where j.batch = b.id and j.id > after and j.id >= b.first_job and j.id <= b.last_job
              and j.id >= part.first_id and j.id < part.next_id
            order by j.id limit missing;
        get diagnostics found_jobs = row_count;
        missing := missing - found_jobs;
        exit when missing <= 0;
    end loop;
end $$;
