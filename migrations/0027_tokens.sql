-- Why: a program or a person that has no login of the database needs something to show to the process that serves it: a token. A token
-- has a role, and perhaps a tenant and a queue. The ledger keeps no token, only the SHA-256 of its secret, and writes down who changes
-- what.
--
-- A secret has 256 random bits. So a plain hash suffices, and a lookup in the index of hashes compares it: whoever does not know the
-- secret cannot choose the hash, and learns nothing from the time that a lookup takes.
--
-- Compatible from: 23
select set_config('role', pg_get_userbyid(nspowner), true) from pg_namespace where nspname = current_schema();

-- MARK: Tables

-- Tenants are never deleted: their names stay with their batches.
create table tenant (
    name text collate "C" primary key check (name ~ '^[A-Za-z0-9][A-Za-z0-9._@+-]{0,49}$'),
    created_at timestamptz not null,
    created_by text not null
);

create table token (
    id integer generated always as identity primary key,
    -- Not a number, so that a word names either a token or an id.
    name text collate "C" not null check (name ~ '^[A-Za-z0-9][A-Za-z0-9._@+-]{0,49}$' and name !~ '^[0-9]+$'),
    role text not null check (role in ('viewer', 'submitter', 'operator')),
    -- Null: the whole installation.
    tenant text collate "C" references tenant,
    -- The only queue to which it submits and whose jobs it changes. Null: all.
    queue text,
    hash bytea not null unique check (octet_length(hash) = 32),
    created_at timestamptz not null,
    created_by text not null,
    expires_at timestamptz,
    revoked_at timestamptz,
    revoked_by text,
    -- To the minute.
    used_at timestamptz,
    constraint tenants_have_no_operators check (tenant is null or role <> 'operator')
);
-- The name of a token that was revoked may be used again. The next token then has the batches of the last.
create unique index token_name on token (name) where revoked_at is null;

-- Who changed what. Rows are added, and never changed but for the counts of an operation in progress.
create table audit (
    id bigint generated always as identity primary key,
    at timestamptz not null,
    -- A login, or `token:NAME`.
    who text collate "C" not null,
    tenant text,
    -- The name of the function.
    what text collate "C" not null,
    -- Its arguments, such as the filter.
    details jsonb not null,
    -- How many jobs, queues, workers or tokens have changed.
    affected bigint not null,
    -- When the last chunk of the operation was added.
    ended_at timestamptz not null
);
create index audit_at on audit (at, id);
create index audit_operation on audit (who, what, id);

alter table setting add column keep_audit interval default '1 year' check (keep_audit >= '1 h');

-- MARK: Who may what

-- Throws if the caller acts for another. `what` is for the message.
create function refuse_acting(what text) returns void
language plpgsql stable parallel safe
as $$
begin
    if acting_for() is not null then
        raise exception 'a token may not %', what
            using errcode = 'insufficient_privilege', hint = 'use a login of the ledger';
    end if;
end $$;

-- The queue to which the caller's token is restricted; null: it is not.
create function only_queue() returns text
language sql stable parallel safe
return case when coalesce(current_setting('sluice.acting_queue', true), '') <> '' and acting_for() is not null
            then current_setting('sluice.acting_queue', true) end;

-- Throws if the caller's token is for another queue. Null asks about all queues.
create function check_queue(queue_name text) returns void
language plpgsql stable parallel safe
as $$
begin
    if only_queue() is distinct from queue_name and only_queue() is not null then
        raise exception 'this token changes only the queue "%"', left(only_queue(), 100)
            using errcode = 'insufficient_privilege', hint = 'use a token for this queue, or for all';
    end if;
end $$;

-- Who calls, for people: a login, or the name of a token.
create function caller_name() returns text
language sql stable parallel safe
return case when coalesce(current_setting('sluice.acting_for', true), '') = '' or acting_for() is null then session_user::text
            when coalesce(current_setting('sluice.acting_as', true), '') = '' then acting_for()::text
            else 'token:' || left(current_setting('sluice.acting_as', true), 50) end;

-- MARK: The audit

-- Writes down what the caller has changed. A call that `continues` an operation adds to its row, if that is less than an hour old. An
-- operation that has changed nothing leaves no row.
create function note_audit(what text, details jsonb, affected bigint, continues boolean default false) returns void
language plpgsql security definer set search_path from current
    set enable_seqscan = off set enable_bitmapscan = off set jit = off
as $$
declare
    t timestamptz := ledger_time();
    earlier bigint;
begin
    if affected = 0 then
        return;
    end if;
    if continues then
        select a.id into earlier from (
            select a.id, a.at, a.details from audit a where a.who = caller_name() and a.what = note_audit.what
            order by a.id desc limit 20
        ) a where a.details = note_audit.details and a.at > t - interval '1 h' order by a.id desc limit 1;
        update audit a set affected = a.affected + note_audit.affected, ended_at = t where a.id = earlier;
        if found then
            return;
        end if;
    end if;
    insert into audit (at, who, tenant, what, details, affected, ended_at)
    values (t, caller_name(), case when is_tenant() then substr(caller()::text, 8) end, what, details, affected, t);
end $$;

-- What was changed, newest first: since `since`, by `by`, before the row `before`.
create function list_audit(
    since timestamptz default null, before bigint default null, page integer default 50, by text default null
)
returns table (
    id bigint, at timestamptz, ended_at timestamptz, who text, tenant text, what text, details jsonb, affected bigint
)
language plpgsql stable security definer set search_path from current
    set enable_seqscan = off set enable_bitmapscan = off set jit = off set plan_cache_mode = force_custom_plan
as $$
#variable_conflict use_column
declare
    before_at timestamptz := (select a.at from audit a where a.id = before);
begin
    perform refuse_tenants('read the audit');
    return query
        select a.id, a.at, a.ended_at, a.who, a.tenant, a.what, a.details, a.affected from audit a
        where (since is null or a.at >= since) and (before is null or (a.at, a.id) < (before_at, before))
          and (by is null or a.who = by)
        order by a.at desc, a.id desc limit page;
end $$;

-- Deletes a page of rows that are older than `setting.keep_audit`. Null keeps all.
create function trim_audit(page integer) returns integer
language plpgsql security definer set search_path from current set enable_seqscan = off
as $$
declare
    trimmed integer;
begin
    delete from audit a where a.id in (
        select o.id from audit o where o.at < ledger_time() - (select s.keep_audit from setting s) order by o.at, o.id limit page
    );
    get diagnostics trimmed = row_count;
    return trimmed;
end $$;
insert into chore (name, place, every, page, largest_page) values ('trim_audit', 10, '5 min', 5000, 20000);

-- MARK: Tokens

-- Creates a token. `hash` is the SHA-256 of its secret, which the ledger never sees. Returns its id, also if the same call has created
-- it before.
create function create_token(
    token_name text, token_role text, token_hash bytea, tenant_name text default null, queue_name text default null,
    valid_for interval default null
) returns integer
language plpgsql security definer set search_path from current
as $$
declare
    t timestamptz := ledger_time();
    new_id integer := (select k.id from token k where k.hash = token_hash and k.name = token_name);
    ends timestamptz := case when valid_for is not null then t + least(valid_for, interval '100 years') end;
begin
    perform refuse_acting('create tokens');
    if new_id is not null then
        return new_id;
    end if;
    if tenant_name is not null and not exists (select from tenant n where n.name = tenant_name) then
        raise exception 'there is no tenant "%"', left(tenant_name, 100) using errcode = 'no_data_found';
    elsif tenant_name is not null and token_role = 'operator' then
        raise exception 'the operators of a ledger belong to no tenant'
            using errcode = 'invalid_parameter_value', hint = 'create the token as viewer or submitter';
    elsif token_role is null or token_role not in ('viewer', 'submitter', 'operator') then
        raise exception 'there is no role "%"', left(token_role, 100) using errcode = 'invalid_parameter_value';
    elsif token_name is null or token_name !~ '^[A-Za-z0-9][A-Za-z0-9._@+-]{0,49}$' or token_name ~ '^[0-9]+$' then
        raise exception '"%" cannot be the name of a token', left(token_name, 100)
            using errcode = 'invalid_parameter_value',
                  hint = '1 to 50 letters, digits and . _ @ + -, beginning with a letter or a digit, and not only digits';
    elsif exists (select from token k where k.name = token_name and k.revoked_at is null) then
        raise exception 'there is a token "%"', token_name
            using errcode = 'unique_violation', hint = 'revoke it first, or use another name';
    end if;
    insert into token (name, role, tenant, queue, hash, created_at, created_by, expires_at)
    values (token_name, token_role, tenant_name, nullif(queue_name, ''), token_hash, t, caller_name(), ends)
    returning id into new_id;
    perform note_audit('create_token', jsonb_strip_nulls(jsonb_build_object(
        'token', new_id, 'name', token_name, 'role', token_role, 'tenant', tenant_name, 'queue', nullif(queue_name, ''),
        'expires_at', ends)), 1);
    return new_id;
end $$;

-- What people and the face may know of a token. `state`: `valid`, `expired` or `revoked`.
create type token_facts as (
    token integer, name text, role text, tenant text, queue text, state text, created_at timestamptz, created_by text,
    expires_at timestamptz, revoked_at timestamptz, revoked_by text, used_at timestamptz
);
create function facts_of(k token) returns token_facts
language sql stable security definer set search_path from current
as $$
    select k.id, k.name, k.role, k.tenant, k.queue,
           case when k.revoked_at is not null then 'revoked' when k.expires_at <= ledger_time() then 'expired' else 'valid' end,
           k.created_at, k.created_by, k.expires_at, k.revoked_at, k.revoked_by, k.used_at
$$;

-- All tokens, or those that are valid, by name.
create function list_tokens(with_ended boolean default false) returns setof token_facts
language plpgsql stable security definer set search_path from current
as $$
begin
    perform refuse_tenants('list tokens');
    return query
        select f.* from token k cross join lateral facts_of(k) f
        where with_ended or f.state = 'valid' order by f.name, f.token;
end $$;

-- The token with this hash; no row: there is none. For the face, which keeps the answer for some seconds.
create function find_token(token_hash bytea) returns setof token_facts
language sql stable security definer set search_path from current set enable_seqscan = off
as $$ select f.* from token k cross join lateral facts_of(k) f where k.hash = token_hash $$;

-- Records that tokens were used. It writes a token at most once a minute, and waits for no other call.
create function touch_tokens(token_ids integer[]) returns void
language plpgsql security definer set search_path from current
as $$
declare
    minute timestamptz := date_trunc('minute', ledger_time());
begin
    perform set_config('synchronous_commit', 'off', true);
    update token k set used_at = minute
    where k.id in (
        select o.id from token o where o.id = any (token_ids) and (o.used_at is null or o.used_at < minute)
        order by o.id for no key update skip locked
    );
end $$;

-- Revokes a token, by its id or name. Returns it; no row: there is none. It stays in the list of all tokens.
create function revoke_token(which text) returns setof token_facts
language plpgsql security definer set search_path from current
as $$
declare
    k token;
begin
    perform refuse_acting('revoke tokens');
    select * into k from token o
    where case when which ~ '^[0-9]{1,9}$' then o.id = which::integer else o.name = which end
    order by o.revoked_at is null desc, o.id desc limit 1 for no key update;
    if not found then
        return;
    end if;
    if k.revoked_at is null then
        update token o set revoked_at = ledger_time(), revoked_by = caller_name() where o.id = k.id returning * into k;
        perform note_audit('revoke_token', jsonb_build_object('token', k.id, 'name', k.name), 1);
    end if;
    return query select f.* from facts_of(k) f;
end $$;

-- MARK: Tenants

-- Creates a tenant. False: there is one with this name.
create function create_tenant(tenant_name text) returns boolean
language plpgsql security definer set search_path from current
as $$
begin
    perform refuse_acting('create tenants');
    insert into tenant (name, created_at, created_by) values (tenant_name, ledger_time(), caller_name()) on conflict do nothing;
    if not found then
        return false;
    end if;
    perform note_audit('create_tenant', jsonb_build_object('tenant', tenant_name), 1);
    return true;
end $$;

-- All tenants by name, each with the number of its valid tokens and of its batches.
create function list_tenants()
returns table (tenant text, created_at timestamptz, created_by text, tokens bigint)
language plpgsql stable security definer set search_path from current
as $$
begin
    perform refuse_tenants('list tenants');
    return query
        select n.name, n.created_at, n.created_by,
               (select count(*) from token k where k.tenant = n.name and k.revoked_at is null
                and (k.expires_at is null or k.expires_at > ledger_time()))
        from tenant n order by n.name;
end $$;

-- MARK: What was there before

-- As before, and restricts the filter to the queue of the caller's token.
create or replace function steerable(filter jsonb) returns jsonb
language plpgsql stable security definer set search_path from current
as $$
declare
    owner text;
begin
    if is_operator() and only_queue() is null then
        return filter;
    end if;
    -- A value that is not an object could not take the field that is added below.
    if jsonb_typeof(filter) <> 'object' then
        raise exception 'a filter is an object' using errcode = 'invalid_parameter_value';
    end if;
    filter := coalesce(filter, '{}');
    if only_queue() is not null then
        if filter ? 'queue' then
            perform check_queue(filter ->> 'queue');
        end if;
        filter := filter || jsonb_build_object('queue', only_queue());
    end if;
    if is_operator() then
        return filter;
    end if;
    if filter ? 'batch' then
        select b.submitter into owner from batch b where b.id = (filter ->> 'batch')::bigint;
        if owner <> caller() and is_tenant() then
            raise exception 'batch % belongs to another', filter ->> 'batch' using errcode = 'insufficient_privilege';
        elsif owner <> caller() then
            raise exception 'batch % belongs to %', filter ->> 'batch', owner
                using errcode = 'insufficient_privilege', hint = 'ask for the role sluice_operator';
        end if;
    end if;
    return filter || jsonb_build_object('submitter', caller());
end $$;

create or replace function pause_queue(queue_name text, pause boolean default true) returns void
language plpgsql security definer set search_path from current
as $$
declare
    q queue;
begin
    perform check_queue(queue_name), refuse_tenants('change queues');
    select * into q from queue where name = queue_name for no key update;
    if not found then
        raise exception 'there is no queue "%"', queue_name using errcode = 'no_data_found';
    end if;
    update queue set paused = pause where id = q.id;
    if q.paused and not pause then
        perform pg_notify(current_schema(), 'jobs');
    end if;
    perform note_audit('pause_queue', jsonb_build_object('queue', queue_name, 'pause', pause), 1);
end $$;

create or replace function limit_queue(queue_name text, new_limit integer) returns void
language plpgsql security definer set search_path from current
as $$
declare
    q queue;
begin
    perform check_queue(queue_name), refuse_tenants('change queues');
    select * into q from queue where name = queue_name for no key update;
    if not found then
        raise exception 'there is no queue "%"', queue_name using errcode = 'no_data_found';
    end if;
    update queue set running_limit = new_limit where id = q.id;
    if q.running_limit is not null and (new_limit is null or new_limit > q.running_limit) then
        perform pg_notify(current_schema(), 'jobs');
    end if;
    perform note_audit('limit_queue', jsonb_build_object('queue', queue_name, 'limit', new_limit), 1);
end $$;

create or replace function weigh_queue(queue_name text, new_weight integer) returns void
language plpgsql security definer set search_path from current
as $$
begin
    perform check_queue(queue_name), refuse_tenants('change queues');
    update queue set weight = new_weight where name = queue_name;
    if not found then
        raise exception 'there is no queue "%"', queue_name using errcode = 'no_data_found';
    end if;
    perform note_audit('weigh_queue', jsonb_build_object('queue', queue_name, 'weight', new_weight), 1);
end $$;

create or replace function weigh_submitter(queue_name text, whose text, new_weight integer) returns void
language plpgsql security definer set search_path from current
as $$
begin
    perform check_queue(queue_name), refuse_tenants('change queues');
    update share s set weight = new_weight from queue q where q.id = s.queue and q.name = queue_name and s.submitter = whose;
    if not found then
        raise exception '"%" has submitted nothing to a queue "%"', whose, queue_name using errcode = 'no_data_found';
    end if;
    perform note_audit('weigh_submitter', jsonb_build_object('queue', queue_name, 'submitter', whose, 'weight', new_weight), 1);
end $$;

create or replace function wish_worker(worker_id bigint, new_wish worker_wish) returns boolean
language plpgsql security definer set search_path from current
as $$
declare
    worker_name text;
begin
    perform check_queue(null), refuse_tenants('steer workers');
    update worker w set wish = new_wish where w.id = worker_id and w.ended_at is null returning w.name into worker_name;
    if not found then
        return false;
    end if;
    perform note_audit('wish_worker', jsonb_build_object('worker', worker_id, 'name', worker_name, 'wish', new_wish), 1);
    return true;
end $$;

-- Long functions that change in one line: each is taken as the ledger has it, as in 0026_callers.sql.
do $$
declare
    change record;
    old text;
begin
    for change in select * from (values
        ('submit', $x$
    if jsonb_typeof(submit.jobs) = 'array' and$x$, $x$
    perform check_queue(submit.queue_name);
    if jsonb_typeof(submit.jobs) = 'array' and$x$),
        ('submit_each', $x$
    if not requests @?$x$, $x$
    perform check_queue(submit_each.queue_name);
    if not requests @?$x$),
        ('cancel_jobs', $x$
    return next;$x$, $x$
    perform note_audit('cancel_jobs', jsonb_build_object('filter', filter), changed + asked, behind is not null);
    return next;$x$),
        ('retry_jobs', $x$
    return next;$x$, $x$
    perform note_audit('retry_jobs', jsonb_strip_nulls(jsonb_build_object(
        'filter', filter, 'damage', new_damage, 'conceal_seconds', conceal_seconds)), changed + publishing, behind is not null);
    return next;$x$),
        ('prioritize_jobs', $x$
    return next;$x$, $x$
    perform note_audit('prioritize_jobs', jsonb_build_object('filter', filter, 'priority', new_priority), changed,
                       behind is not null);
    return next;$x$),
        ('do_chore', $x$
            when 'fold_service' then$x$, $x$
            when 'trim_audit' then affected := trim_audit(c.page);
            when 'fold_service' then$x$),
        ('do_chore', $x$'close_albums') then affected >= c.page$x$, $x$'close_albums', 'trim_audit') then affected >= c.page$x$)
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

-- MARK: Rights

select allow('sluice_operator', 'create_token', 'list_tokens', 'revoke_token', 'create_tenant', 'list_tenants', 'list_audit');
select allow('sluice_face', 'find_token', 'touch_tokens');
select apply_permissions();
select set_config('role', 'none', true);
