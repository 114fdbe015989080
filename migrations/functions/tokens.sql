-- Tokens: what a program or a person without a login of the database shows to the process that serves it. A token has a role, and perhaps
-- a tenant and a queue. The ledger keeps no token, only the SHA-256 of its secret.
--
-- A secret has 256 random bits. So a plain hash suffices, and a lookup in the index of hashes compares it: a caller who does not know the
-- secret cannot choose the hash, and learns nothing from the time that a lookup takes.

-- Creates a token. `hash` is the SHA-256 of its secret, which the ledger never sees. Returns its id, also if the same call has created
-- it before.
create or replace function create_token(
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
    elsif queue_name <> '' and queue_name !~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$' then
        raise exception '"%" cannot be the name of a queue', left(queue_name, 100)
            using errcode = 'invalid_parameter_value',
                  hint = 'allowed: 1 to 63 letters, digits and . _ - beginning with a letter or a digit';
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

-- A token as lists show it.
create or replace function facts_of(k token) returns token_facts
language sql stable security definer set search_path from current
as $$
    select k.id, k.name, k.role, k.tenant, k.queue,
           case when k.revoked_at is not null then 'revoked' when k.expires_at <= ledger_time() then 'expired' else 'valid' end,
           k.created_at, k.created_by, k.expires_at, k.revoked_at, k.revoked_by, k.used_at
$$;

-- All tokens, or those that are valid, by name.
create or replace function list_tokens(with_ended boolean default false) returns setof token_facts
language plpgsql stable security definer set search_path from current
as $$
begin
    perform refuse_tenants('list tokens');
    return query
        select f.* from token k cross join lateral facts_of(k) f
        where with_ended or f.state = 'valid' order by f.name, f.token;
end $$;

-- The tokens with these hashes, each with the place of its hash, from 1 on; a hash without a row is that of no token. For processes that
-- authenticate tokens, which keep the answer for some seconds. Many share a call, so that a flood of unknown tokens costs little.
create or replace function find_tokens(token_hashes bytea[]) returns table (place integer, facts token_facts)
language sql stable security definer set search_path from current set enable_seqscan = off set enable_hashjoin = off
    set enable_mergejoin = off
as $$
    select h.place::integer, facts_of(k) from unnest(token_hashes) with ordinality as h (hash, place) join token k on k.hash = h.hash
$$;

-- Records that tokens were used so many seconds ago, to the minute.
create or replace function note_token_uses(token_ids integer[], seconds_ago double precision[]) returns void
language plpgsql security definer set search_path from current
as $$
declare
    t timestamptz := ledger_time();
begin
    perform set_config('synchronous_commit', 'off', true);
    with used as materialized (
        select u.id, date_trunc('minute', t - make_interval(secs => max(u.seconds))) as minute
        from unnest(token_ids, seconds_ago) as u (id, seconds) group by u.id
    ), later as materialized (
        select k.id, u.minute from token k join used u on u.id = k.id
        where k.used_at is null or k.used_at < u.minute
        order by k.id for no key update of k skip locked
    )
    update token k set used_at = l.minute from later l where k.id = l.id;
end $$;

-- Revokes a token, by its id or name. Returns it; no row: there is none. It stays in the list of all tokens.
create or replace function revoke_token(which text) returns setof token_facts
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
