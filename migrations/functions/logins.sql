-- Logins of the database for people and services. A login is a member of roles of the ledger and gets no other right. Who creates or
-- removes one needs the server's right to do so: these functions run with the caller's rights, and no role of the ledger may call them.

-- The settings of a new login. They end what was forgotten: a program can set another time for itself, but not another size of its
-- temporary files, which only a superuser may set.
create or replace function login_limits(role_names text[]) returns text[]
language sql stable set search_path from current
as $$
    select array['idle_in_transaction_session_timeout = ''5min''',
                 format('statement_timeout = %L', case when role_names <@ '{sluice_viewer}' then '5min' else '1h' end)]
        || case when (select r.rolsuper from pg_roles r where r.rolname = current_user) then array['temp_file_limit = ''4GB''']
                else '{}' end
$$;

-- Creates a login with these roles of the ledger. `verifier` is what the server stores of a password, so that no log of statements
-- shows one; without it, the server has to recognise the login in another way. False: there is a login or role with that name.
create or replace function create_login(login_name text, role_names text[], verifier text default null) returns boolean
language plpgsql set search_path from current
as $$
declare
    known constant text[] := array['sluice_worker', 'sluice_viewer', 'sluice_submitter', 'sluice_operator', 'sluice_face'];
    given text;
begin
    if login_name is null or login_name !~ '^[A-Za-z][A-Za-z0-9._-]{0,62}$' then
        raise exception '"%" cannot be the name of a login', left(login_name, 100)
            using errcode = 'invalid_parameter_value',
                  hint = 'allowed: 1 to 63 letters, digits and . _ - beginning with a letter';
    elsif cardinality(role_names) is distinct from cardinality(array(select unnest(role_names) intersect select unnest(known)))
        or cardinality(role_names) = 0
    then
        raise exception 'a login has one or more different roles of a ledger'
            using errcode = 'invalid_parameter_value', hint = 'known: ' || array_to_string(known, ', ');
    elsif exists (select from pg_roles r where r.rolname = login_name) then
        return false;
    end if;
    execute format('create role %I login', login_name) || coalesce(format(' password %L', verifier), '');
    foreach given in array role_names loop
        execute format('grant %I to %I', given, login_name);
    end loop;
    foreach given in array login_limits(role_names) loop
        execute format('alter role %I set %s', login_name, given);
    end loop;
    perform note_audit('create_login', jsonb_build_object('login', login_name, 'roles', role_names), 1);
    return true;
end $$;

-- The logins that are members of roles of the ledger, with these roles, by name.
create or replace function list_logins() returns table (name text, roles text[])
language sql stable set search_path from current
as $$
    select m.rolname::text, array_agg(distinct r.rolname::text order by r.rolname::text)
    from pg_auth_members a join pg_roles r on r.oid = a.roleid join pg_roles m on m.oid = a.member
    where m.rolcanlogin and r.rolname in ('sluice_worker', 'sluice_viewer', 'sluice_submitter', 'sluice_operator', 'sluice_face')
    group by m.rolname order by 1
$$;

-- Removes a login of list_logins(), unless it has other roles or may administrate the server. False: there is no such login.
create or replace function remove_login(login_name text) returns boolean
language plpgsql set search_path from current
as $$
begin
    if not exists (select from list_logins() l where l.name = login_name) then
        return false;
    elsif exists (
        select from pg_roles m left join pg_auth_members a on a.member = m.oid left join pg_roles r on r.oid = a.roleid
        where m.rolname = login_name and (m.rolsuper or m.rolcreaterole or m.rolcreatedb or r.rolname not like 'sluice\_%')
    ) then
        raise exception 'the login "%" is not only for the ledger', login_name
            using errcode = 'object_not_in_prerequisite_state', hint = 'take its roles of the ledger away with: revoke';
    end if;
    execute format('drop role %I', login_name);
    perform note_audit('remove_login', jsonb_build_object('login', login_name), 1);
    return true;
end $$;
