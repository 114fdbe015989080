-- Batches of one job each, as programs submit them that do not wait until they have many. Most calls bring several of them, for one lane,
-- and they share their statements.

-- Adds batches of one job each in one transaction: all of them or none. Workers are not notified; see tell_workers().
--
-- `requests` is a JSON list of objects with the arguments of submit(): `job`, and optionally `key`, `digest` (in hexadecimal
-- digits), `name`, `weight`, `max_attempts`, `run_at` and `labels`. All jobs have the same needs. The answers are in the same order.
-- It takes less than half of the time of separate calls in one transaction. If some of the keys are taken and others are not, it may
-- throw `unique_violation`; the caller then submits each job alone.
create or replace function submit_each(requests jsonb, queue_name text default 'default', job_priority integer default 0)
returns table (batch bigint, first_job bigint, last_job bigint, job_count bigint, added boolean, same_request boolean)
language plpgsql security definer set search_path from current set jit = off set enable_seqscan = off
as $$
#variable_conflict use_column
declare
    entered submitted[];
begin
    -- Must come first: see the lock order in locks.sql.
    lock table lock_job in row share mode;
    perform check_queue(submit_each.queue_name);
    if is_tenant() then
        perform check_submission(coalesce(jsonb_agg(r -> 'job'), '[]'), submit_each.job_priority,
                                 max((r ->> 'max_attempts')::integer))
        from jsonb_array_elements(requests) r
        where not exists (select from batch b where b.key = r ->> 'key' and b.submitter = caller());
    end if;
    if not requests @? '$[*].run_at' then
        entered := submit_singles(
            array(
                select row(r.job, r.name, r.key, decode(r.digest, 'hex'), coalesce(r.weight, 100), r.max_attempts,
                           coalesce(r.labels, '{}'))::single
                from rows from (jsonb_to_recordset(requests) as (
                    job jsonb, name text, key text, digest text, weight integer, max_attempts integer, labels jsonb
                )) with ordinality as r (job, name, key, digest, weight, max_attempts, labels, place)
                order by r.place
            ), submit_each.queue_name, submit_each.job_priority, false
        );
    end if;
    if entered is not null then
        return query select * from unnest(entered);
    elsif (
        select count(distinct (coalesce(nullif(r -> 'job' -> 'needs', 'null'), '[]'), r -> 'job' -> 'recipe' -> 'version'))
        from jsonb_array_elements(requests) r
    ) > 1 then
        -- They would take the locks of several lanes, one after another and in any order.
        raise exception 'the jobs of one call must have the same requirements'
            using errcode = 'invalid_parameter_value', hint = 'submit jobs with different requirements in several calls';
    else
        return query
            select s.* from jsonb_array_elements(requests) with ordinality as r (r, place)
            cross join lateral submit(
                jobs => jsonb_build_array(r -> 'job'), queue_name => submit_each.queue_name, batch_name => r ->> 'name',
                batch_key => r ->> 'key', request_digest => decode(r ->> 'digest', 'hex'),
                job_priority => submit_each.job_priority, batch_weight => coalesce((r ->> 'weight')::integer, 100),
                max_attempts => (r ->> 'max_attempts')::integer, run_at => (r ->> 'run_at')::timestamptz,
                batch_labels => coalesce(r -> 'labels', '{}'), wake => false
            ) s
            order by r.place;
    end if;
end $$;

-- Does the same as submit() for batches of one job each that go to one lane, in a third of the time or less: with four statements for
-- all of them in place of twenty for each. Returns null and adds nothing if this takes more than that: the lane is new, the keys are
-- taken, a job is for later, or something is wrong.
create or replace function submit_singles(singles single[], queue_name text, job_priority integer, wake boolean) returns submitted[]
language plpgsql security definer set search_path from current
    set enable_seqscan = off set enable_bitmapscan = off set jit = off set plan_cache_mode = force_generic_plan
as $$
declare
    job_needs jsonb := coalesce(nullif((singles[1]).job -> 'needs', 'null'), '[]');
    version jsonb := (singles[1]).job -> 'recipe' -> 'version';
    words text[] := array['recipe:' || coalesce(version #>> '{}', '')];
    given record;
    batches bigint[];
    jobs bigint[];
    here record;
    head bigint;
    answers submitted[];
begin
    if jsonb_typeof(job_needs) <> 'array' then
        return null;
    elsif job_needs <> '[]' then
        words := sorted_needs(array(select jsonb_array_elements_text(job_needs)) || words);
    end if;
    select s.lanes_per_submitter as most_lanes, clock_timestamp() + s.clock_shift as t, s.max_attempts, q.id as queue, l.id as lane,
           (
               select bool_and(
                   jsonb_typeof(n.job -> 'recipe') is not distinct from 'object' and n.job ->> 'run_at' is null
                   and coalesce(nullif(n.job -> 'needs', 'null'), '[]') = job_needs
                   and n.job -> 'recipe' -> 'version' is not distinct from version
                   and coalesce(greatest(octet_length(n.name), octet_length(n.key), octet_length(n.request_digest)), 0) <= 1000
                   and label_fault(n.name) is null
                   and coalesce(octet_length(n.labels::text), 0) <= s.recipe_bytes
                   -- Most jobs are simple. An element of a list is not compressed, and a character takes six bytes of JSON at most.
                   and (pg_column_size(n.job) <= s.recipe_bytes / 8 and not n.job -> 'recipe' ? 'limits'
                            and version is not distinct from '1' and job_needs = '[]'
                        or job_fault(n.job -> 'recipe', job_needs, n.job -> 'labels', s.recipe_bytes) is null)
               ) from unnest(singles) n
           ) as are_right
    into given
    from setting s cross join queue q
    join share h on h.queue = q.id and h.submitter = caller()
    join lane l on l.share = h.id and l.priority = job_priority and l.needs = words
    where s.only_row and q.name = queue_name;
    if given.are_right is not true then
        return null;
    end if;

    -- The jobs get their ids here, so that the rows of their batches are complete.
    with added as (
        insert into batch as b (name, key, request_digest, queue, priority, weight, labels, created_at, first_job, last_job, jobs)
        select n.name, n.key, n.request_digest, given.queue, job_priority, n.weight, n.labels, given.t, n.id, n.id, 1
        from (select n.*, nextval('job_id') as id from unnest(singles) n offset 0) n
        on conflict (key, submitter) do nothing
        returning b.id, b.first_job
    )
    select array_agg(a.id), array_agg(a.first_job) into batches, jobs from (select * from added order by first_job) a;
    if batches is null then
        return null;
    elsif cardinality(batches) < cardinality(singles) then
        raise exception 'some of these keys are taken' using errcode = 'unique_violation', hint = 'submit each job alone';
    end if;

    perform share_lane_locks(array[given.lane]);
    perform from lane l where l.id = given.lane for key share;
    -- From here on no other transaction closes the lane or raises its floor.
    select l.floor, l.is_open or exists (select from opened o where o.lane = l.id) as is_open,
           (select w.turn from waiting w where w.lane = l.id and w.turn >= l.floor order by w.turn, w.job limit 1) as head,
           exists (select from span where next_id > jobs[cardinality(jobs)]) as has_span
    into here from lane l where l.id = given.lane;
    if not here.is_open then
        perform check_lanes(array[given.lane], given.most_lanes);
        perform hold_lanes(array[given.lane]);
    end if;
    head := coalesce(here.head, current_turn(given.lane));
    if not here.has_span then
        perform make_spans(jobs[cardinality(jobs)]);
    end if;
    with entered as (
        insert into job as j (id, batch, lane, recipe, source, cost, max_attempts, labels, work, source_bytes, source_modified)
        select n.job_id, n.batch, given.lane, n.job -> 'recipe', n.job #>> '{recipe,sources,0,location}',
               coalesce((n.job ->> 'cost')::integer, 1000),
               coalesce((n.job ->> 'max_attempts')::smallint, n.max_attempts, given.max_attempts), nullif(n.job -> 'labels', 'null'),
               (n.job ->> 'work')::bigint, (n.job ->> 'source_bytes')::bigint, (n.job ->> 'source_modified')::bigint
        from unnest(singles, batches, jobs) as n (job, name, key, request_digest, weight, max_attempts, labels, batch, job_id)
        returning j.id, j.batch, j.cost
    ), now_waiting as (
        insert into waiting (job, batch, lane, cost, turn, epoch, spent, lost, room_deaths, since)
        select e.id, e.batch, given.lane, e.cost, head, 0, 0, 0, 0, given.t from entered e
    ), counted as (
        insert into count_delta (queue, batch, state, jobs, lane, tail, at)
        select given.queue, e.batch, 'waiting', 1, given.lane, head, given.t from entered e
    )
    select array_agg(row(n.batch, n.job, n.job, 1, true, true)::submitted) into answers
    from (select e.batch, e.id as job from entered e order by e.id) n;
    if wake then
        perform pg_notify(current_schema(), 'jobs');
    end if;
    return answers;
end $$;
