-- Who calls, and what the caller may do. Functions ask caller() who calls and caller_has() for roles, never `session_user`: a login that
-- serves others acts for them. Such a login is a member of `sluice_face`, or the ledger's owner, and says in one transaction for whom:
--
--     begin;
--     set local role sluice_viewer;
--     set local sluice.acting_for = 'tenant:radio';    -- or 'token:ci'
--     ...
--
-- The server checks the role: only members may take it, and each function is granted to roles. The function reads the role from the
-- setting `role`, which `security definer` does not change, and which no one can set to a role that they do not have. The name is
-- believed from these logins only; other logins stay who they are, whatever they set. Both end with the transaction, so this works
-- behind a pooler in transaction mode. The prefix keeps the names apart from those of logins. acting_for() and caller() themselves are
-- in tables/0024_release_0_2.sql, because defaults of columns call them.
--
-- A tenant never sees or changes the batches of others, whatever its role and `submitters_see` are, and reads nothing about the
-- installation: no workers, no chores, and counts of its own jobs only.

-- The tenant behind the name of a submitter; null if it is none.
create or replace function tenant_of(submitter text) returns text
language sql immutable parallel safe
return case when starts_with(submitter, 'tenant:') then substr(submitter, 8) end;

-- Whether the caller acts for a tenant.
create or replace function is_tenant() returns boolean
language sql stable parallel safe
return case when coalesce(current_setting('sluice.acting_for', true), '') = '' then false
            else coalesce(starts_with(acting_for()::text, 'tenant:'), false) end;

-- Whether the caller learns which worker did what. Tenants do so only where an operator permits it.
create or replace function sees_workers() returns boolean
language plpgsql stable security definer set search_path from current
as $$
begin
    return not is_tenant() or (select s.tenants_see_workers from setting s);
end $$;

-- Whether the caller has a role: its login is a member, or it acts for another and has taken just this role.
create or replace function caller_has(role_name text) returns boolean
language sql stable parallel safe
return case when coalesce(current_setting('sluice.acting_for', true), '') <> '' and acting_for() is not null
                then current_setting('role') = role_name
            else coalesce(pg_has_role(session_user, to_regrole(role_name)::oid, 'member'), false) end;

-- Whether the caller may change what others submitted: true for operators and for the owner of the ledger.
--
-- Nearly every read calls it, and sees_all(). Functions in SQL would be planned anew at each call.
create or replace function is_operator() returns boolean
language plpgsql stable security definer set search_path from current
as $$
begin
    if coalesce(current_setting('sluice.acting_for', true), '') <> '' and acting_for() is not null then
        return caller_has('sluice_operator') and not is_tenant();
    end if;
    return caller_has('sluice_operator') or (
        select pg_has_role(session_user, n.nspowner, 'member') from pg_namespace n where n.nspname = current_schema());
end $$;

-- Whether the caller sees the jobs of other submitters.
create or replace function sees_all() returns boolean
language plpgsql stable security definer set search_path from current
as $$
begin
    if is_tenant() then
        return false;
    end if;
    return is_operator() or caller_has('sluice_viewer') or (select s.submitters_see = 'all' from setting s);
end $$;

-- Who calls, for people: a login, or the name of a token.
create or replace function caller_name() returns text
language sql stable parallel safe
return case when coalesce(current_setting('sluice.acting_for', true), '') = '' or acting_for() is null then session_user::text
            when coalesce(current_setting('sluice.acting_as', true), '') = '' then acting_for()::text
            else 'token:' || left(current_setting('sluice.acting_as', true), 50) end;

-- The queue to which the caller's token is restricted; null: it is not.
create or replace function only_queue() returns text
language sql stable parallel safe
return case when coalesce(current_setting('sluice.acting_queue', true), '') <> '' and acting_for() is not null
            then current_setting('sluice.acting_queue', true) end;

-- Throws if the caller acts for a tenant. `what` is for the message.
create or replace function refuse_tenants(what text) returns void
language plpgsql stable parallel safe
as $$
begin
    if is_tenant() then
        raise exception 'a tenant may not %', what
            using errcode = 'insufficient_privilege', hint = 'use a token without a tenant';
    end if;
end $$;

-- Throws if the caller acts for another. `what` is for the message.
create or replace function refuse_acting(what text) returns void
language plpgsql stable parallel safe
as $$
begin
    if acting_for() is not null then
        raise exception 'a token may not %', what
            using errcode = 'insufficient_privilege', hint = 'use a login of the ledger';
    end if;
end $$;

-- Throws if the caller's token is for another queue. Null asks about all queues.
create or replace function check_queue(queue_name text) returns void
language plpgsql stable parallel safe
as $$
begin
    if only_queue() is distinct from queue_name and only_queue() is not null then
        raise exception 'this token changes only the queue "%"', left(only_queue(), 100)
            using errcode = 'insufficient_privilege', hint = 'use a token for this queue, or for all';
    end if;
end $$;
