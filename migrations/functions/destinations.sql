-- The jobs of a destination, by their first outputs. `submit` asks whether a submission repeats work that is done or in progress, and
-- `check` asks which jobs made a file. Each span has a separate index by destination, so the functions search one span after another, from
-- the newest on, until nothing is left to find. They release the locks of each span before the next.

-- The latest job for each of some destinations, as far as the caller may see it, with the values that a submitter compares with the
-- existing files. Destinations without a job are left out. `place` numbers the given destinations from 1.
--
-- `work` tells whether the job did the same work. `size`, `digest` (SHA-256 in hexadecimal, if `with_digests`) and `further` describe
-- the outputs; for a job that ended without any, the last ones that an earlier job made by the same work. The state of an accepted job is
-- `failed`, as release 0.1 knows it, and `is_accepted` is set.
create or replace function find_earlier(destinations text[], with_digests boolean default false)
returns table (
    place integer, job bigint, batch bigint, state job_state, work bigint, on_conflict text, source_bytes bigint,
    source_modified bigint, size bigint, digest text, code text, further jsonb, is_accepted boolean
)
language plpgsql stable security definer set search_path from current set jit = off
as $$
#variable_conflict use_column
declare
    places integer[];
    locations text[];
    part span;
    more job_at[];
    latest job_at[] := '{}';
    unmade job_at[];
    more_outputs output_at[];
    outputs output_at[] := '{}';
begin
    -- According to the lock order, because this function reads two tables of spans: see locks.sql.
    perform share_job_lock();
    select array_agg(d.place), array_agg(d.location) into places, locations
    from unnest(destinations) with ordinality as d (location, place);
    for part in select * from span s order by s.first_id desc loop
        exit when places is null;
        begin
            more := array(select j from jobs_at(places, locations, part.first_id, part.next_id, 1) j);
            -- Rolling the block back releases its locks. It has written nothing.
            raise exception using errcode = 'SL002';
        exception when sqlstate 'SL002' then
            null;
        end;
        continue when cardinality(more) = 0;
        latest := latest || more;
        select array_agg(d.place), array_agg(d.location) into places, locations
        from unnest(places, locations) as d (place, location)
        where not exists (select from unnest(more) m where m.place = d.place);
    end loop;

    unmade := array(
        select j from unnest(latest) j
        join finished_rows(array(select l.job from unnest(latest) l)) f on f.job = j.job
        where f.state in ('failed', 'accepted', 'cancelled', 'skipped') and j.work is not null
    );
    for part in select * from span s order by s.first_id desc loop
        exit when cardinality(unmade) = 0;
        begin
            more_outputs := array(select o from outputs_at(unmade, part.first_id, part.next_id) o);
            raise exception using errcode = 'SL002';
        exception when sqlstate 'SL002' then
            null;
        end;
        continue when cardinality(more_outputs) = 0;
        outputs := outputs || more_outputs;
        unmade := array(
            select j from unnest(unmade) j where not exists (select from unnest(more_outputs) m where m.place = j.place)
        );
    end loop;

    return query
        select j.place, j.job, j.batch, coalesce(told_state(f.state), l.state, 'waiting'), j.work, j.on_conflict, j.source_bytes,
               j.source_modified, coalesce(f.size, o.size),
               case when with_digests then encode(coalesce(f.digest, o.digest), 'hex') end, f.code::text,
               coalesce(f.further, o.further), coalesce(f.state = 'accepted', false)
        from unnest(latest) j
        left join finished_rows(array(select l.job from unnest(latest) l)) f on f.job = j.job
        left join unnest(outputs) o on o.place = j.place
        left join lateral (select l.state from live_job() l where f.job is null and l.job = j.job limit 1) l on true
        order by j.place;
end $$;

-- The jobs that made or may yet make the files at some destinations: jobs that are completed or have not ended, as far as the caller
-- may see them. `place` numbers the destinations from 1. `outputs` has, for a job with several outputs, their destinations.
create or replace function list_makers(destinations text[])
returns table (
    place integer, job bigint, state job_state, ended_at timestamptz, size bigint, digest text, further jsonb, outputs text[]
)
language plpgsql stable security definer set search_path from current set jit = off
as $$
#variable_conflict use_column
declare
    places integer[] := array(select generate_subscripts(destinations, 1));
    part span;
    made job_at[] := '{}';
begin
    -- According to the lock order, because this function reads two tables of spans: see locks.sql.
    perform share_job_lock();
    for part in select * from span s order by s.first_id desc loop
        begin
            made := made || array(select j from jobs_at(places, destinations, part.first_id, part.next_id, null) j);
            raise exception using errcode = 'SL002';
        exception when sqlstate 'SL002' then
            null;
        end;
    end loop;
    return query
        select j.place, j.job, coalesce(f.state, l.state, 'waiting'), f.ended_at, f.size, encode(f.digest, 'hex'), f.further,
               case when r.recipe #> '{outputs,1}' is not null then array(
                   select o ->> 'location' from jsonb_array_elements(r.recipe -> 'outputs') with ordinality as e (o, n) order by n
               ) end
        from unnest(made) j
        left join finished_rows(array(select m.job from unnest(made) m)) f on f.job = j.job
        left join job_rows(array(select m.job from unnest(made) m)) r on r.id = j.job
        left join lateral (
            select case l.state when 'delayed' then 'waiting' else l.state end as state
            from live_job() l where f.job is null and l.job = j.job limit 1
        ) l on true
        where f.job is null or f.state = 'completed'
        order by j.place, j.job;
end $$;

-- The jobs of a span for some destinations, as far as the caller may see them: the latest `most` for each, or all if `most` is null.
create or replace function jobs_at(places integer[], locations text[], first bigint, next bigint, most bigint) returns setof job_at
language plpgsql stable security definer set search_path from current
    set plan_cache_mode = force_custom_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
    set enable_bitmapscan = off set enable_memoize = off set jit = off
as $$
declare
    all_seen boolean := sees_all();
begin
    return query
        select d.place, d.location, j.id, j.batch, j.work, j.on_conflict, j.source_bytes, j.source_modified
        -- Sub-selects give as many rows as the caller has. As a constant, the list would be copied and estimated again and again.
        from unnest((select places), (select locations)) as d (place, location)
        cross join lateral (
            select o.id, o.batch, o.work, o.recipe #>> '{outputs,0,onConflict}' as on_conflict, o.source_bytes, o.source_modified
            from job o
            where hashtextextended(o.recipe #>> '{outputs,0,location}', 0) = hashtextextended(d.location, 0)
              and o.recipe #>> '{outputs,0,location}' = d.location and o.id >= first and o.id < next
              and (all_seen or exists (select from batch b where b.id = o.batch and b.submitter = caller()))
            order by o.id desc limit most
        ) j;
end $$;

-- The latest outputs in a span that earlier jobs made for the same destinations by the same work.
create or replace function outputs_at(later job_at[], first bigint, next bigint) returns setof output_at
language plpgsql stable security definer set search_path from current
    set plan_cache_mode = force_custom_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
    set enable_bitmapscan = off set enable_memoize = off set jit = off
as $$
declare
    all_seen boolean := sees_all();
begin
    return query
        select d.place, e.size, e.digest, e.further
        from unnest((select later)) d
        cross join lateral (
            select f.size, f.digest, f.further
            from job o join finished f on f.job = o.id and f.state = 'completed' and f.job >= first and f.job < next
            where hashtextextended(o.recipe #>> '{outputs,0,location}', 0) = hashtextextended(d.location, 0)
              and o.recipe #>> '{outputs,0,location}' = d.location and o.work = d.work and o.id < d.job
              and o.id >= first and o.id < next
              and (all_seen or exists (select from batch b where b.id = o.batch and b.submitter = caller()))
            order by o.id desc limit 1
        ) e;
end $$;
