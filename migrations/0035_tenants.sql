-- Why: three things that operators could not say of a tenant.
--
-- What it may use: waiting jobs, priorities and places were bounded for tenants, and the machines' time was not: a tenant with a
-- thousand long jobs has the fleet for days. A tenant may now have a number of minutes of processor time, and of bytes of outputs, in 24 hours. When they
-- are used up, claims take none of its jobs until enough of the use is a day old. Nothing fails, and submissions are accepted.
--
-- Each end of an attempt adds a row for each tenant, in the statement that records the attempts, so each attempt counts once, however
-- often its call is repeated and whichever process dies. Housekeeping folds these rows into slices of ten minutes, 146 for each tenant,
-- and marks the shares of tenants that have used up what they may use. A claim looks at these marks where it reads the share anyway.
-- An installation without tenants writes no rows and no marks.
--
-- Where its outputs go: `destination` is a template, such as `out:{tenant}/{stem}.{ext}`. The process that takes a submission makes the
-- destinations that the tenant leaves out. The ledger checks all of them: they begin with the folder that the template names before
-- its first field.
--
-- What one of its jobs may take: `job_limits` are limits of a recipe. The ledger stores a recipe as it was submitted, and hands it to
-- workers with the lower of both limits. So another limit holds for jobs that wait already, and no process has to be trusted with it.
--
-- Compatible from: 23
select set_config('role', pg_get_userbyid(nspowner), true) from pg_namespace where nspname = current_schema();

-- MARK: Tables

alter table tenant
    -- What its conversions may use in 24 hours. Null: no limit.
    add column cpu_minutes bigint check (cpu_minutes > 0),
    add column output_bytes bigint check (output_bytes > 0),
    -- The template of its destinations: see `TenantDestination` in Swift. Null: it names them itself.
    add column destination text check (destination ~ '^[A-Za-z0-9_-]+:' and octet_length(destination) <= 1000),
    -- The highest limits of its recipes, by their names in recipes. Null: those of the workers.
    add column job_limits jsonb check (jsonb_typeof(job_limits) = 'object'),
    -- How many outputs a recipe may have. Null: as many as a recipe can have.
    add column max_outputs integer check (max_outputs > 0);

alter table share
    -- Claims take no job before this time, because the tenant has used up what it may use.
    add column held_until timestamptz,
    -- The name of the limit.
    add column held_for text check (held_for in ('cpu_minutes', 'output_bytes')),
    add check ((held_until is null) = (held_for is null));
create index share_held on share (held_until) where held_until is not null;

-- What attempts of tenants have used since the last folding.
create table use_delta (
    id bigint generated always as identity primary key,
    tenant text collate "C" not null,
    -- Processor time of attempts, as workers read it from the kernel. A lost or released attempt counts nothing: nothing measured it.
    cpu_ms numeric not null,
    -- Bytes of the outputs of completed jobs.
    bytes numeric not null,
    at timestamptz not null
);

create table tenant_use (
    tenant text collate "C" not null,
    -- The beginning of ten minutes.
    slice timestamptz not null,
    cpu_ms numeric not null,
    bytes numeric not null,
    primary key (tenant, slice)
) with (fillfactor = 50);
create index tenant_use_slice on tenant_use (slice);

do $$
declare hot text;
begin
    foreach hot in array array['use_delta', 'tenant_use'] loop
        execute format('alter table %I set (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 500, '
                       'autovacuum_vacuum_cost_delay = 0, autovacuum_analyze_scale_factor = 0.1)', hot);
    end loop;
end $$;

-- MARK: The window

-- The slice to which a time belongs.
create function use_slice(t timestamptz) returns timestamptz
language sql immutable parallel safe
as $$ select date_bin('10 minutes', t, to_timestamp(0)) $$;

-- How long a slice counts from its beginning on: until all of it is a day old.
create function use_window() returns interval
language sql immutable parallel safe
as $$ select interval '24 hours 10 minutes' $$;

-- What a tenant has used of its day, as far as it is folded, and the rest that `use_delta` holds.
create function use_of(tenant_name text, out cpu_ms numeric, out bytes numeric)
language sql stable security definer set search_path from current
as $$
    select coalesce(sum(u.cpu_ms), 0), coalesce(sum(u.bytes), 0) from (
        select s.cpu_ms, s.bytes from tenant_use s where s.tenant = tenant_name and s.slice > ledger_time() - use_window()
        union all
        select d.cpu_ms, d.bytes from use_delta d where d.tenant = tenant_name
    ) u
$$;

-- The limit that a tenant has used up, and until when: the time at which enough slices no longer count. Of two limits, the one that
-- lasts longer. No row: it may go on.
create function use_hold(n tenant) returns table (held_for text, held_until timestamptz)
language sql stable security definer set search_path from current
as $$
    select h.held_for, h.slice + use_window()
    from (
        select max(u.slice) filter (where u.cpu_ms >= n.cpu_minutes::numeric * 60000) as cpu_slice,
               max(u.slice) filter (where u.bytes >= n.output_bytes) as bytes_slice
        from (
            -- Summed from the latest slice back.
            select s.slice, sum(s.cpu_ms) over latest as cpu_ms, sum(s.bytes) over latest as bytes
            from tenant_use s where s.tenant = n.name and s.slice > ledger_time() - use_window()
            window latest as (order by s.slice desc)
        ) u
    ) w
    cross join lateral (values ('cpu_minutes', w.cpu_slice), ('output_bytes', w.bytes_slice)) as h (held_for, slice)
    where h.slice is not null
    order by h.slice desc, h.held_for limit 1
$$;

-- Marks the shares of these tenants, or removes the marks, according to their limits and what is folded of their use. Locks their queues
-- first, as fold_service() does, which updates the shares of a queue in no order: see 10 in the lock order.
create function weigh_use(names text[]) returns void
language plpgsql security definer set search_path from current
    set enable_seqscan = off set enable_bitmapscan = off set jit = off
as $$
declare
    whose text[] := array(select 'tenant:' || n from unnest(names) n);
    is_freed boolean;
begin
    -- Locked before the limits are read, in separate statements: of two callers, the second sees what the first has changed.
    perform from queue q where q.id = any (array(select s.queue from share s where s.submitter = any (whose)))
    order by q.id for no key update;
    perform from share s where s.submitter = any (whose) order by s.id for no key update;
    with verdict as materialized (
        select 'tenant:' || n.name as submitter, h.held_for, h.held_until
        from tenant n left join lateral use_hold(n) h on true where n.name = any (names)
    ), changed as (
        update share s set held_for = v.held_for, held_until = v.held_until
        from verdict v
        where s.submitter = v.submitter
          and (s.held_for is distinct from v.held_for or s.held_until is distinct from v.held_until)
        returning s.held_until
    )
    select coalesce(bool_or(c.held_until is null), false) into is_freed from changed c;
    if is_freed then
        perform pg_notify(current_schema(), 'jobs');
    end if;
end $$;

-- Folds a page of the use of tenants into slices, and marks the shares of those that have used up what they may use. Returns the number
-- of rows folded.
create function fold_use(page integer) returns integer
language plpgsql security definer set search_path from current
    set enable_seqscan = off set enable_bitmapscan = off set jit = off
as $$
declare
    t timestamptz := ledger_time();
    folded integer;
    users text[];
begin
    if not exists (select from tenant) then
        return 0;
    end if;
    with gone as (
        delete from use_delta d
        where d.id <= (select max(o.id) from (select i.id from use_delta i order by i.id limit page) o)
        returning d.*
    ), sums as (
        insert into tenant_use as u (tenant, slice, cpu_ms, bytes)
        select g.tenant, use_slice(g.at), sum(g.cpu_ms), sum(g.bytes) from gone g group by 1, 2
        on conflict (tenant, slice) do update set cpu_ms = u.cpu_ms + excluded.cpu_ms, bytes = u.bytes + excluded.bytes
    )
    select count(*), array_agg(distinct g.tenant) into folded, users from gone g;
    delete from tenant_use u where u.slice <= t - use_window();

    if users is not null then
        perform weigh_use(users);
    end if;

    -- From here on this waits for nothing. A share that another transaction has locked follows with the next round.
    -- Those that may go on.
    update share s set held_until = null, held_for = null
    where s.id = any (array(
        select o.id from share o where o.held_until <= t order by o.id for no key update skip locked
    ));
    if found then
        perform pg_notify(current_schema(), 'jobs');
    end if;
    -- Shares that came in while the tenant's others were marked.
    update share s set (held_until, held_for) = (
        select h.held_until, h.held_for from share h
        where h.submitter = s.submitter and h.held_until > t order by h.held_until desc limit 1
    )
    where s.id = any (array(
        select o.id from share o
        where o.held_until is null
          and o.submitter = any (array(select h.submitter from share h where h.held_until > t))
        order by o.id for no key update skip locked
    ));
    return folded;
end $$;

insert into chore (name, place, every, page, largest_page) values ('fold_use', 13, '1 s', 20000, 50000);

-- MARK: Limits

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

-- A tenant with its limits, what its conversions have used of their day, and the number of its valid tokens.
create type tenant_facts as (
    tenant text, created_at timestamptz, created_by text, tokens bigint, waiting_jobs bigint, top_priority integer,
    max_attempts integer, reads text[], writes text[], upload_bytes bigint, cpu_minutes bigint, output_bytes bigint,
    destination text, job_limits jsonb, max_outputs integer, used_cpu_ms bigint,
    used_output_bytes bigint, held_for text, held_until timestamptz
);
create function facts_of(n tenant) returns tenant_facts
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

-- The columns of a function cannot change, so it is made again.
drop function list_tenants();

-- All tenants by name.
create function list_tenants() returns setof tenant_facts
language plpgsql stable security definer set search_path from current
as $$
begin
    perform refuse_tenants('list tenants');
    return query select f.* from tenant n cross join lateral facts_of(n) f order by n.name;
end $$;

-- The tenant for which the caller acts; no row if it acts for none.
create function show_tenant() returns setof tenant_facts
language sql stable security definer set search_path from current set enable_seqscan = off
as $$
    select f.* from tenant n cross join lateral facts_of(n) f where is_tenant() and n.name = substr(caller()::text, 8)
$$;

-- The tenants of which claims take no job now, because they have used up the limit `held_for`. A tenant sees only itself.
create function list_holds() returns table (tenant text, held_for text, held_until timestamptz)
language sql volatile security definer set search_path from current set jit = off
as $$
    select substr(s.submitter, 8), (array_agg(s.held_for order by s.held_until desc))[1], max(s.held_until)
    from share s
    where s.held_until > ledger_time() and ((select sees_all()) or s.submitter = caller())
    group by s.submitter order by s.submitter
$$;

-- MARK: Destinations

-- The folder in which all destinations of a tenant with a template are: what the template says before its first field, with the
-- tenant's name in it. It ends with a slash or a colon.
create function output_folder(n tenant) returns text
language sql immutable parallel safe set search_path from current
as $$ select substring(replace(n.destination, '{tenant}', n.name) from '^[^{}]*[:/]') $$;

-- What the locations of a tenant's outputs must begin with: a place that `writes` allows, in the folder of its template. Null: nothing.
create function output_places(n tenant) returns text[]
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

-- MARK: Limits of jobs

-- A recipe as a worker gets it: with the lower one of each limit that the tenant has. Null: no tenant.
create function limited_recipe(recipe jsonb, tenant_name text) returns jsonb
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

-- Throws if a job of the caller's tenant has too many outputs: those of a JSON list as for submit(), or the staged ones if it is null.
create function check_outputs(listed jsonb, n tenant) returns void
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

-- MARK: What was there before

-- Long functions change in one place. The text is replaced in the function as the ledger has it, so that a migration does not repeat the
-- rest of it. Throws if the function does not have the text as often as `times` says.
create function change_function(function_name text, before text, behind text, times integer default 1) returns void
language plpgsql set search_path from current
as $$
declare
    old text;
begin
    select pg_get_functiondef(f.oid) into strict old from pg_proc f
    where f.pronamespace = current_schema()::regnamespace and f.proname = function_name;
    if (length(old) - length(replace(old, before, ''))) / length(before) <> times then
        raise exception '% does not have this text % times: %', function_name, times, before;
    end if;
    execute replace(old, before, behind);
end $$;

do $$
begin
    perform change_function(v.name, v.before, v.behind, v.times) from (values
        -- Claims leave out the lanes of marked shares like those of paused queues.
        ('near_lanes', 3, $x$ not q.paused and o.needs$x$,
         $x$ not q.paused and (s.held_until is null or s.held_until <= t) and o.needs$x$),
        -- Without tenants the condition on `tenant` ends this before it has read anything.
        ('finish', 1, $x$ n join lane l on l.id = n.lane group by 1, 3, 4
    )$x$, $x$ n join lane l on l.id = n.lane group by 1, 3, 4
    ), used as (
        insert into use_delta (tenant, cpu_ms, bytes, at)
        select n.tenant, sum(n.cpu_ms), sum(n.bytes), t
        from (
            select tenant_of((
                       select s.submitter from share s where s.id = (select l.share from lane l where l.id = r.lane)
                   )) as tenant, r.cpu_ms, r.bytes
            from (
                select p.lane, sum(coalesce(bounded(p.cpu_ms, 3155760000000), 0)) as cpu_ms,
                       sum(case when not p.lacks_first then p.size else 0 end
                           + case when p.made_further is not null then further_bytes(p.made_further) else 0 end) as bytes
                from gone p group by p.lane
            ) r
            where (select exists (select from tenant)) offset 0
        ) n where n.tenant is not null and (n.cpu_ms > 0 or n.bytes > 0) group by n.tenant
    )$x$),
        ('end_attempts', 1, $x$
        ) n group by 1, 2, 3, 4
    )$x$, $x$
        ) n group by 1, 2, 3, 4
    ), used as (
        insert into use_delta (tenant, cpu_ms, bytes, at)
        select n.tenant, sum(n.cpu_ms), 0, t
        from (
            select tenant_of((
                       select s.submitter from share s where s.id = (select l.share from lane l where l.id = r.lane)
                   )) as tenant, r.cpu_ms
            from (
                select v.lane, sum(bounded(v.cpu_ms, 3155760000000)) as cpu_ms from judged v where v.cpu_ms > 0 group by v.lane
            ) r
            where (select exists (select from tenant)) offset 0
        ) n where n.tenant is not null group by n.tenant
    )$x$),
        -- A share that is new has the marks of the tenant's others.
        ('share_for', 1, $x$insert into share (queue, submitter) values (queue_id, whose) on conflict do nothing;$x$,
         $x$insert into share (queue, submitter, held_until, held_for)
        select queue_id, whose, h.held_until, h.held_for
        from (values (1)) as one (number) left join (
            select o.held_until, o.held_for from share o
            where o.submitter = whose and o.held_until is not null order by o.held_until desc limit 1
        ) h on true
        on conflict do nothing;$x$),
        -- Workers that were started for jobs that no claim may take would idle.
        ('demand', 1, $x$
        where demand.queue is null or$x$, $x$
        left join (
            -- Counted for each lane, so that without marks no plan reads `waiting`.
            select l.queue, sum(w.jobs) as jobs
            from share s join lane l on l.share = s.id
            cross join lateral (select count(*) as jobs from waiting w where w.lane = l.id and w.turn >= l.floor) w
            where s.held_until > ledger_time() group by l.queue
        ) h on h.queue = q.id
        where demand.queue is null or$x$),
        ('demand', 1, $x$coalesce(sum(c.jobs) filter (where c.state = 'waiting'), 0) as waiting,$x$,
         $x$coalesce(sum(c.jobs) filter (where c.state = 'waiting'), 0) - coalesce(max(h.jobs), 0) as waiting,$x$),
        ('show_jobs', 1, $x$
                       when q.paused then 'paused'$x$, $x$
                       when q.paused then 'paused'
                       when s.held_until > ledger_time() then s.held_for$x$),
        ('show_jobs', 1, $x$ f.lost, f.room_deaths, f.ready_at,$x$, $x$ f.lost, f.room_deaths,
               coalesce(f.ready_at, case when f.state = 'waiting' and not q.paused and s.held_until > ledger_time()
                                         then s.held_until end),$x$),
        ('show_jobs', 1, $x$
        cross join lateral (select * from queue where queue.id = l.queue limit 1) q$x$, $x$
        cross join lateral (select * from queue where queue.id = l.queue limit 1) q
        cross join lateral (select * from share where share.id = l.share limit 1) s$x$),
        ('check_submission', 1, $x$
    perform check_priority(job_priority);$x$, $x$
    n.writes := output_places(n);
    perform check_outputs(listed, n);
    perform check_priority(job_priority);$x$),
        ('claim', 1, $x$ l.priority, j.recipe, j.cost,$x$,
         $x$ l.priority, case when l.tenant is null then j.recipe else limited_recipe(j.recipe, l.tenant) end, j.cost,$x$),
        ('held', 1, $x$ l.priority, j.recipe, j.cost,$x$, $x$ l.priority,
           limited_recipe(j.recipe, tenant_of((select s.submitter from share s where s.id = l.share))), j.cost,$x$),
        ('do_chore', 1, $x$
            when 'trim_webhooks' then$x$, $x$
            when 'fold_use' then affected := fold_use(c.page);
            when 'trim_webhooks' then$x$),
        ('do_chore', 1, $x$'find_events', 'trim_webhooks')$x$, $x$'find_events', 'trim_webhooks', 'fold_use')$x$)
    ) as v (name, times, before, behind);
end $$;

-- MARK: Rights

select allow('sluice_viewer', 'list_holds', 'show_tenant');
select allow('sluice_submitter', 'list_holds', 'show_tenant');
select allow('sluice_operator', 'list_holds', 'show_tenant');
select apply_permissions();
select set_config('role', 'none', true);
