-- Why: one tenant must not fill the queues of all, read what belongs to another, or overwrite it. The ledger checks this where a batch
-- is submitted, so that no process has to be trusted with it. Callers that act for no tenant do not pay for it.
--
-- Compatible from: 23
select set_config('role', pg_get_userbyid(nspowner), true) from pg_namespace where nspname = current_schema();

-- Null: no limit.
alter table tenant
    -- Jobs that wait or are delayed.
    add column waiting_jobs bigint check (waiting_jobs >= 0),
    -- The highest priority of a batch.
    add column top_priority integer check (top_priority between -32768 and 32767),
    -- The highest number of attempts that a job may ask for. The ledger's own default is always allowed.
    add column max_attempts integer check (max_attempts between 1 and 1000),
    -- What the locations of sources and outputs must begin with, such as `archive:` or `out:radio/`. A list without entries allows none.
    add column reads text[],
    add column writes text[];

-- MARK: Setting limits

-- Sets all limits of a tenant: an object with the names of the columns above. What it leaves out has no limit. False: there is no such
-- tenant.
create function limit_tenant(tenant_name text, limits jsonb) returns boolean
language plpgsql security definer set search_path from current
as $$
declare
    known constant text[] := array['waiting_jobs', 'top_priority', 'max_attempts', 'reads', 'writes'];
    wrong text := (select k from jsonb_object_keys(limits) k where not k = any (known) limit 1);
begin
    perform refuse_acting('change tenants');
    if wrong is not null then
        raise exception 'a tenant has no limit "%"', left(wrong, 100)
            using errcode = 'invalid_parameter_value', hint = 'known: ' || array_to_string(known, ', ');
    end if;
    update tenant n set
        waiting_jobs = (limits ->> 'waiting_jobs')::bigint, top_priority = (limits ->> 'top_priority')::integer,
        max_attempts = (limits ->> 'max_attempts')::integer,
        reads = case when jsonb_typeof(limits -> 'reads') = 'array' then array(select jsonb_array_elements_text(limits -> 'reads')) end,
        writes = case when jsonb_typeof(limits -> 'writes') = 'array' then array(select jsonb_array_elements_text(limits -> 'writes')) end
    where n.name = tenant_name;
    if not found then
        return false;
    end if;
    perform note_audit('limit_tenant', jsonb_build_object('tenant', tenant_name, 'limits', limits), 1);
    return true;
end $$;

-- The columns of a function cannot change, so it is made again.
drop function list_tenants();

-- All tenants by name, each with its limits and the number of its valid tokens.
create function list_tenants()
returns table (
    tenant text, created_at timestamptz, created_by text, tokens bigint, waiting_jobs bigint, top_priority integer,
    max_attempts integer, reads text[], writes text[]
)
language plpgsql stable security definer set search_path from current
as $$
begin
    perform refuse_tenants('list tenants');
    return query
        select n.name, n.created_at, n.created_by,
               (select count(*) from token k where k.tenant = n.name and k.revoked_at is null
                and (k.expires_at is null or k.expires_at > ledger_time())),
               n.waiting_jobs, n.top_priority, n.max_attempts, n.reads, n.writes
        from tenant n order by n.name;
end $$;

-- MARK: Checking them

-- The tenant for which the caller acts.
create function own_tenant() returns tenant
language plpgsql stable security definer set search_path from current set enable_seqscan = off
as $$
declare
    n tenant;
begin
    select * into n from tenant o where o.name = substr(caller()::text, 8);
    if not found then
        raise exception 'there is no tenant "%"', substr(caller()::text, 8) using errcode = 'insufficient_privilege';
    end if;
    return n;
end $$;

-- Excludes other submissions and retries of the caller's tenant until the end of the transaction, if it has a limit of waiting jobs, so
-- that two of them cannot pass together. In the lock order it comes before shares, lanes and jobs.
create function hold_tenant() returns void
language plpgsql security definer set search_path from current set enable_seqscan = off
as $$
begin
    perform from tenant n where n.name = substr(caller()::text, 8) and n.waiting_jobs is not null for no key update;
end $$;

-- Throws if the caller's tenant has so many jobs that wait that `more` would be too many. Reads no more jobs than the limit allows.
create function check_waiting(more bigint) returns void
language plpgsql security definer set search_path from current set jit = off
as $$
declare
    most bigint := (own_tenant()).waiting_jobs;
    waiting bigint;
begin
    if most is null then
        return;
    end if;
    perform hold_tenant();
    select count(*) into waiting from (
        select from share s join lane l on l.share = s.id join waiting w on w.lane = l.id where s.submitter = caller()
        union all
        select from share s join lane l on l.share = s.id join delayed d on d.lane = l.id where s.submitter = caller()
        limit most + 1
    ) j;
    if waiting + more > most then
        raise exception 'the tenant % may have % waiting jobs: % wait, and this adds %', substr(caller()::text, 8), most,
            case when waiting > most then 'more than ' || most else waiting::text end, more
            using errcode = 'SL003', hint = 'wait until some have started, or cancel some';
    end if;
end $$;

-- Throws if the caller's tenant may not use a priority.
create function check_priority(wanted integer) returns void
language plpgsql stable security definer set search_path from current
as $$
declare
    n tenant := own_tenant();
begin
    if wanted > n.top_priority then
        raise exception 'the tenant % may use priorities up to %, not %', n.name, n.top_priority, wanted
            using errcode = 'insufficient_privilege', hint = 'ask an operator for another limit';
    end if;
end $$;

-- The first location of a recipe that does not begin with one of the allowed texts; null if there is none. It leaves out what is null.
create function forbidden_place(recipe jsonb, reads text[], writes text[]) returns text
language sql immutable parallel safe
as $$
    select coalesce(p.location, 'no location') from (
        select s ->> 'location' as location, reads as allowed from jsonb_array_elements(recipe -> 'sources') s
        where reads is not null
        union all
        select o ->> 'location', writes from jsonb_array_elements(recipe -> 'outputs') o where writes is not null
    ) p
    -- A path with `..` could leave the folder that an allowed text names.
    where p.location is null or p.location ~ '(^|[:/])\.\.(/|$)'
       or not exists (select from unnest(p.allowed) a where starts_with(p.location, a))
    limit 1
$$;

-- Throws if the caller's tenant may not submit these jobs: a JSON list as for submit(), or the staged ones if it is null. `attempts` is
-- the highest number that the batch asks for.
create function check_submission(listed jsonb, job_priority integer, attempts integer) returns void
language plpgsql security definer set search_path from current set jit = off
as $$
declare
    n tenant := own_tenant();
    place text;
    asked bigint;
    most_asked integer;
begin
    perform check_priority(job_priority);
    if listed is null then
        select count(*), max(s.max_attempts) into asked, most_asked from pg_temp.staged_job s;
        if n.reads is not null or n.writes is not null then
            select f.place into place from pg_temp.staged_job s
            cross join lateral (select forbidden_place(s.recipe, n.reads, n.writes) as place offset 0) f
            where f.place is not null limit 1;
        end if;
    elsif jsonb_typeof(listed) = 'array' then
        select count(*), max((j ->> 'max_attempts')::integer) into asked, most_asked from jsonb_array_elements(listed) j;
        if n.reads is not null or n.writes is not null then
            select f.place into place from jsonb_array_elements(listed) j
            cross join lateral (select forbidden_place(j -> 'recipe', n.reads, n.writes) as place offset 0) f
            where f.place is not null limit 1;
        end if;
    end if;
    if place is not null then
        raise exception 'the tenant % may not use the location "%"', n.name, left(place, 500)
            using errcode = 'insufficient_privilege', hint = 'ask an operator where it may read and write';
    elsif greatest(most_asked, attempts) > n.max_attempts then
        raise exception 'the tenant % may ask for % attempts, not %', n.name, n.max_attempts, greatest(most_asked, attempts)
            using errcode = 'insufficient_privilege', hint = 'ask an operator for another limit';
    end if;
    if asked > 0 then
        perform check_waiting(asked);
    end if;
end $$;

-- As in 0027_tokens.sql. A repeated submission is not checked again: it adds nothing.
do $$
declare
    change record;
    old text;
begin
    for change in select * from (values
        ('submit', $x$
    perform check_queue(submit.queue_name);$x$, $x$
    perform check_queue(submit.queue_name);
    if is_tenant() then
        perform hold_tenant();
    end if;
    if is_tenant() and submit.jobs is not null and not exists (
        select from batch b where b.key = submit.batch_key and b.submitter = caller()
    ) then
        perform check_submission(submit.jobs, submit.job_priority, submit.max_attempts);
    end if;$x$),
        ('submit', $x$
    -- Looks up each set of needs once, not once per job.$x$, $x$
    if is_tenant() and submit.jobs is null then
        perform check_submission(null, submit.job_priority, submit.max_attempts);
    end if;

    -- Looks up each set of needs once, not once per job.$x$),
        ('submit_each', $x$
    perform check_queue(submit_each.queue_name);$x$, $x$
    perform check_queue(submit_each.queue_name);
    if is_tenant() then
        perform check_submission(coalesce(jsonb_agg(r -> 'job'), '[]'), submit_each.job_priority,
                                 max((r ->> 'max_attempts')::integer))
        from jsonb_array_elements(requests) r
        where not exists (select from batch b where b.key = r ->> 'key' and b.submitter = caller());
    end if;$x$),
        ('retry_jobs', $x$
    select array_agg(f.job) filter (where f.job is not null), count(*) filter (where f.state <> 'publishing'),$x$, $x$
    if is_tenant() then
        perform hold_tenant();
    end if;
    select array_agg(f.job) filter (where f.job is not null), count(*) filter (where f.state <> 'publishing'),$x$),
        ('retry_jobs', $x$
    changed := coalesce(cardinality(again), 0) + hurried;$x$, $x$
    changed := coalesce(cardinality(again), 0) + hurried;
    if changed > 0 and is_tenant() then
        perform check_waiting(0);
    end if;$x$),
        ('prioritize_jobs', $x$
    select array_agg(f.job) filter (where f.job is not null), count(f.job),$x$, $x$
    if is_tenant() then
        perform check_priority(new_priority);
    end if;
    select array_agg(f.job) filter (where f.job is not null), count(f.job),$x$)
    ) as v (name, before, behind)
    loop
        select pg_get_functiondef(f.oid) into strict old from pg_proc f
        where f.pronamespace = current_schema()::regnamespace and f.proname = change.name;
        if (length(old) - length(replace(old, change.before, ''))) / length(change.before) <> 1 then
            raise exception '% does not have this text once: %', change.name, change.before;
        end if;
        execute replace(old, change.before, change.behind);
    end loop;
end $$;

select allow('sluice_operator', 'limit_tenant');
select apply_permissions();
select set_config('role', 'none', true);
