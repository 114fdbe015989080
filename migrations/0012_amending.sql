-- Why: what was asked is written once, and stays so but for one thing: a job that failed because its source is damaged may be
-- tried again with damage met in another way. The recipe is changed while the job lies where nobody claims it, so no attempt
-- ever sees it change, and what it was before, and up to which attempt, is kept beside it.
select set_config('role', pg_get_userbyid(nspowner), true) from pg_namespace where nspname = current_schema();

-- Of a recipe that was changed: what it was until which attempt, oldest first. Goes with the job when that is dropped.
alter table job add column amendments jsonb;
alter table job add constraint job_amendments_check check (jsonb_typeof(amendments) = 'array') not valid;

-- Puts jobs that failed or were cancelled back into their lines, with all their attempts before them again; and lets those
-- that wait for another try go at once. What they tried before stays on record.
--
-- With `new_damage` (`strict`, `conceal`, `skip`) all of them meet damage in that way from now on.
drop function retry_jobs(jsonb, jsonb, integer);
create function retry_jobs(
    filter jsonb, behind jsonb default null, page integer default 1000, new_damage text default null
)
returns table (seen bigint, changed bigint, next jsonb)
language plpgsql security definer set search_path from current set jit = off set enable_seqscan = off
as $$
#variable_conflict use_column
declare
    t timestamptz := ledger_time();
    ids bigint[];
    again waiting[];
    amended bigint[];
    epochs integer[];
    hurried bigint;
begin
    if new_damage not in ('strict', 'conceal', 'skip') then
        raise exception 'damage is met by strict, conceal or skip, not by "%"', new_damage
            using errcode = 'invalid_parameter_value';
    end if;
    select array_agg(f.job), count(*), (array_agg(f.next order by f.place desc))[1] into ids, seen, next
    from find_jobs(narrowed(filter, '{delayed,failed,cancelled}'), behind, page) with ordinality as f (job, state, next, place);
    with chosen as materialized (
        select f.job from finished f
        where f.job = any (ids) and f.state in ('failed', 'cancelled') order by f.job for update of f
    ), gone as (
        delete from finished f where f.job = any (array(select c.job from chosen c)) returning f.*
    ), counted as (
        insert into count_delta (queue, batch, state, jobs, at)
        select n.queue, n.batch, s.state, s.sign * n.jobs, t
        from (select g.queue, g.batch, g.state, count(*)::integer as jobs from gone g group by g.queue, g.batch, g.state) n
        cross join lateral (values (n.state, -1), ('waiting'::job_state, 1)) as s (state, sign)
    ), forgiven as (
        insert into failure_delta (queue, code, class, stage, jobs, attempts, example, at)
        select g.queue, g.code, g.class, g.stage, -count(*), 0, max(g.job), date_trunc('hour', g.ended_at)
        from gone g where g.state = 'failed' group by g.queue, g.code, g.class, g.stage, date_trunc('hour', g.ended_at)
    )
    select array_agg(row(g.job, g.batch, j.lane, 0, g.epoch, 0, 0, 0, t)::waiting), array_agg(g.job), array_agg(g.epoch)
    into again, amended, epochs
    from gone g join job j on j.id = g.job;
    if again is not null then
        perform enter_lines(again, false, t);
    end if;

    with chosen as materialized (
        select d.job, d.epoch, d.ready_at from delayed d
        where d.job = any (ids) and (d.ready_at > t or new_damage is not null) and d.epoch > 0
        order by d.job for update of d
    ), due as (
        update delayed d set ready_at = t
        where d.job = any (array(select c.job from chosen c where c.ready_at > t)) returning d.job
    )
    select amended || array_agg(c.job), epochs || array_agg(c.epoch), (select count(*) from due)
    into amended, epochs, hurried from chosen c;

    if new_damage is not null then
        update job j
        set recipe = j.recipe || jsonb_build_object('damage', new_damage),
            amendments = coalesce(j.amendments, '[]') || jsonb_build_array(jsonb_build_object(
                'until', c.epoch, 'damage', coalesce(j.recipe ->> 'damage', 'strict'), 'at', t, 'by', session_user))
        from unnest(amended, epochs) as c (job, epoch)
        where j.id = c.job and j.id = any (amended) and coalesce(j.recipe ->> 'damage', 'strict') <> new_damage;
    end if;
    if hurried > 0 then
        perform wake_delayed(page);
    end if;
    changed := coalesce(cardinality(again), 0) + hurried;
    if changed > 0 then
        perform pg_notify(current_schema(), 'jobs');
    end if;
    return next;
end $$;

-- What a job's recipe was before it was changed, oldest first: with these words until that attempt.
create function list_amendments(job_id bigint)
returns table (until_epoch integer, damage text, at timestamptz, by text)
language sql stable security definer set search_path from current
as $$
    select (a ->> 'until')::integer, a ->> 'damage', (a ->> 'at')::timestamptz, a ->> 'by'
    from job j cross join jsonb_array_elements(j.amendments) with ordinality as e (a, place)
    where j.id = job_id order by e.place
$$;

select allow('sluice_submitter', 'retry_jobs', 'list_amendments');
select allow('sluice_viewer', 'list_amendments');
select apply_permissions();
select set_config('role', 'none', true);
