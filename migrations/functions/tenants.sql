-- Tenants and their limits. The ledger checks the limits where a batch is submitted, so that no process has to be trusted with them.
-- Callers that act for no tenant do not pay for it.
--
-- Where a tenant's outputs go: `destination` is a template, such as `out:{tenant}/{stem}.{ext}`. The process that takes a submission
-- makes the destinations that the tenant leaves out. The ledger checks all of them: they begin with the folder that the template names
-- before its first field.
--
-- What one of its jobs may take: `job_limits` are limits of a recipe. The ledger stores a recipe as it was submitted, and hands it to
-- workers with the lower of both limits. So another limit holds for jobs that wait already.

-- Creates a tenant. False: there is one with this name.
create or replace function create_tenant(tenant_name text) returns boolean
language plpgsql security definer set search_path from current
as $$
begin
    perform refuse_acting('create tenants');
    if tenant_name is null or tenant_name !~ '^[A-Za-z0-9][A-Za-z0-9._@+-]{0,49}$' then
        raise exception '"%" cannot be the name of a tenant', left(tenant_name, 100)
            using errcode = 'invalid_parameter_value',
                  hint = 'allowed: 1 to 50 letters, digits and . _ @ + - beginning with a letter or a digit';
    end if;
    insert into tenant (name, created_at, created_by) values (tenant_name, ledger_time(), caller_name()) on conflict do nothing;
    if not found then
        return false;
    end if;
    perform note_audit('create_tenant', jsonb_build_object('tenant', tenant_name), 1);
    return true;
end $$;

-- Sets all limits of a tenant: an object with the names of the columns of `tenant`. What it leaves out has no limit. False: there is no
-- such tenant.
create or replace function limit_tenant(tenant_name text, limits jsonb) returns boolean
language plpgsql security definer set search_path from current
as $$
declare
    known constant text[] := array['waiting_jobs', 'top_priority', 'max_attempts', 'reads', 'writes', 'upload_bytes', 'cpu_minutes',
                                   'output_bytes', 'destination', 'job_limits', 'max_outputs'];
    bounded_limits constant text[] := array['wallSeconds', 'cpuSeconds', 'outputBytes', 'decodedSeconds'];
    wrong text := (select k from jsonb_object_keys(limits) k where not k = any (known) limit 1);
begin
    perform refuse_acting('change tenants');
    if wrong is not null then
        raise exception 'a tenant has no limit "%"', left(wrong, 100)
            using errcode = 'invalid_parameter_value', hint = 'known: ' || array_to_string(known, ', ');
    elsif exists (
        select from unnest(array['reads', 'writes']) k,
            jsonb_array_elements_text(case when jsonb_typeof(limits -> k) = 'array' then limits -> k else '[]' end) w
        where w !~ '^[^:/]+:([^/].*/)?$'
    ) then
        raise exception 'a place of a tenant is a root or a folder'
            using errcode = 'invalid_parameter_value', hint = 'end it with a colon or a slash, as in "archive:" or "out:radio/"';
    elsif exists (
        select from jsonb_each(case when jsonb_typeof(limits -> 'job_limits') = 'object' then limits -> 'job_limits' end) l
        where not l.key = any (bounded_limits) or case jsonb_typeof(l.value)
            when 'number' then not (l.value #>> '{}')::numeric between 1 and 9007199254740991 else true end
    ) then
        raise exception 'the limits of a tenant''s jobs are numbers from 1 to 2^53 - 1'
            using errcode = 'invalid_parameter_value', hint = 'known: ' || array_to_string(bounded_limits, ', ');
    end if;
    update tenant n set
        waiting_jobs = (limits ->> 'waiting_jobs')::bigint, top_priority = (limits ->> 'top_priority')::integer,
        max_attempts = (limits ->> 'max_attempts')::integer, upload_bytes = (limits ->> 'upload_bytes')::bigint,
        cpu_minutes = (limits ->> 'cpu_minutes')::bigint, output_bytes = (limits ->> 'output_bytes')::bigint,
        destination = limits ->> 'destination', max_outputs = (limits ->> 'max_outputs')::integer,
        job_limits = nullif(nullif(limits -> 'job_limits', 'null'), '{}'),
        reads = case when jsonb_typeof(limits -> 'reads') = 'array' then array(select jsonb_array_elements_text(limits -> 'reads')) end,
        writes = case when jsonb_typeof(limits -> 'writes') = 'array' then array(select jsonb_array_elements_text(limits -> 'writes')) end
    where n.name = tenant_name;
    if not found then
        return false;
    end if;
    -- In the lock order tenants come before shares.
    perform weigh_use(array[tenant_name]);
    perform note_audit('limit_tenant', jsonb_build_object('tenant', tenant_name, 'limits', limits), 1);
    return true;
end $$;

-- A tenant as lists show it.
create or replace function facts_of(n tenant) returns tenant_facts
language sql stable security definer set search_path from current
as $$
    select n.name, n.created_at, n.created_by,
           (select count(*) from token k where k.tenant = n.name and k.revoked_at is null
            and (k.expires_at is null or k.expires_at > ledger_time())),
           n.waiting_jobs, n.top_priority, n.max_attempts, n.reads, n.writes, n.upload_bytes, n.cpu_minutes, n.output_bytes,
           n.destination, n.job_limits, n.max_outputs,
           bounded(u.cpu_ms, 9000000000000000), bounded(u.bytes, 9000000000000000000), h.held_for, h.held_until
    from use_of(n.name) u
    left join lateral (
        select s.held_for, s.held_until from share s
        where s.submitter = 'tenant:' || n.name and s.held_until > ledger_time() order by s.held_until desc limit 1
    ) h on true
$$;

-- All tenants by name.
create or replace function list_tenants() returns setof tenant_facts
language plpgsql stable security definer set search_path from current
as $$
begin
    perform refuse_tenants('list tenants');
    return query select f.* from tenant n cross join lateral facts_of(n) f order by n.name;
end $$;

-- The tenant for which the caller acts; no row if it acts for none.
create or replace function show_tenant() returns setof tenant_facts
language sql stable security definer set search_path from current set enable_seqscan = off
as $$
    select f.* from tenant n cross join lateral facts_of(n) f where is_tenant() and n.name = substr(caller()::text, 8)
$$;

-- The tenants with waiting jobs of which claims take none now, because they have used up the limit `held_for`. A tenant sees only itself.
create or replace function list_holds() returns table (tenant text, held_for text, held_until timestamptz)
language plpgsql volatile security definer set search_path from current set jit = off
as $$
#variable_conflict use_column
begin
    return query
        select substr(s.submitter, 8), (array_agg(s.held_for order by s.held_until desc))[1], max(s.held_until)
        from share s
        where s.held_until > ledger_time() and ((select sees_all()) or s.submitter = caller())
          and exists (
              select from open_lane() l where l.share = s.id
                 and exists (select from waiting w where w.lane = l.id and w.turn >= l.floor))
        group by s.submitter order by s.submitter;
end $$;

-- The tenant for which the caller acts.
create or replace function own_tenant() returns tenant
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
create or replace function hold_tenant() returns void
language plpgsql security definer set search_path from current set enable_seqscan = off
as $$
begin
    perform from tenant n where n.name = substr(caller()::text, 8) and n.waiting_jobs is not null for no key update;
end $$;

-- Throws if the caller's tenant may not submit these jobs: a JSON list as for submit(), or the staged ones if it is null. `attempts` is
-- the highest number that the batch asks for.
create or replace function check_submission(listed jsonb, job_priority integer, attempts integer) returns void
language plpgsql security definer set search_path from current set jit = off
as $$
declare
    n tenant := own_tenant();
    place text;
    asked bigint;
    most_asked integer;
begin
    n.writes := output_places(n);
    perform check_outputs(listed, n);
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

-- Throws if the caller's tenant may not use a priority.
create or replace function check_priority(wanted integer) returns void
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

-- Throws if the caller's tenant has so many jobs that wait that `more` would be too many. Reads no more jobs than the limit allows.
create or replace function check_waiting(more bigint) returns void
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

-- The first location of a recipe that does not begin with one of the allowed texts; null if there is none. It leaves out what is null.
create or replace function forbidden_place(recipe jsonb, reads text[], writes text[]) returns text
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

-- The folder in which all destinations of a tenant with a template are: what the template says before its first field, with the
-- tenant's name in it. It ends with a slash or a colon.
create or replace function output_folder(n tenant) returns text
language sql immutable parallel safe set search_path from current
as $$ select substring(replace(n.destination, '{tenant}', n.name) from '^[^{}]*[:/]') $$;

-- What the locations of a tenant's outputs must begin with: a place that `writes` allows, in the folder of its template. Null: nothing.
create or replace function output_places(n tenant) returns text[]
language sql immutable parallel safe set search_path from current
as $$
    select case
        when output_folder(n) is null then n.writes
        when n.writes is null then array[output_folder(n)]
        else array(
            select case when starts_with(w, output_folder(n)) then w else output_folder(n) end from unnest(n.writes) w
            where starts_with(w, output_folder(n)) or starts_with(output_folder(n), w)
        )
    end
$$;

-- Throws if a job of the caller's tenant has too many outputs: those of a JSON list as for submit(), or the staged ones if it is null.
create or replace function check_outputs(listed jsonb, n tenant) returns void
language plpgsql security definer set search_path from current set jit = off
as $$
declare
    most integer;
begin
    if n.max_outputs is null then
        return;
    elsif listed is null then
        select max(jsonb_array_length(case when jsonb_typeof(s.recipe -> 'outputs') = 'array' then s.recipe -> 'outputs' end))
        into most from pg_temp.staged_job s;
    elsif jsonb_typeof(listed) = 'array' then
        select max(jsonb_array_length(case when jsonb_typeof(j #> '{recipe,outputs}') = 'array' then j #> '{recipe,outputs}' end))
        into most from jsonb_array_elements(listed) j;
    end if;
    if most > n.max_outputs then
        raise exception 'the tenant % may make % outputs in a job, not %', n.name, n.max_outputs, most
            using errcode = 'insufficient_privilege', hint = 'submit further jobs, or ask an operator for another limit';
    end if;
end $$;

-- A recipe as a worker gets it: with the lower one of each limit that the tenant has. Null: no tenant.
create or replace function limited_recipe(recipe jsonb, tenant_name text) returns jsonb
language plpgsql stable security definer set search_path from current set enable_seqscan = off
as $$
declare
    most jsonb;
begin
    if tenant_name is null then
        return recipe;
    end if;
    select n.job_limits into most from tenant n where n.name = tenant_name;
    if most is null then
        return recipe;
    end if;
    return recipe || jsonb_build_object(
        'limits',
        case when jsonb_typeof(recipe -> 'limits') = 'object' then recipe -> 'limits' else '{}' end
        || (select jsonb_object_agg(m.key, least((m.value #>> '{}')::numeric, case jsonb_typeof(recipe #> array['limits', m.key])
                when 'number' then (recipe #>> array['limits', m.key])::numeric end))
            from jsonb_each(most) m)
    );
end $$;
