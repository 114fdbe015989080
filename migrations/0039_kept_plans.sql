-- Why: a look at a cluster's status spent two thirds of its time in the server on planning. PostgreSQL plans a function in SQL at each
-- call, and keeps the plans of one in PL/pgSQL for the session. The functions that each look calls become such functions; their queries
-- stay as they are.
--
-- Compatible from: 23
select set_config('role', pg_get_userbyid(nspowner), true) from pg_namespace where nspname = current_schema();

do $$
declare
    wanted text;
    f record;
    guard text;
    body text;
begin
    foreach wanted in array array['status', 'list_workers', 'list_unable', 'list_chores', 'list_holds'] loop
        select p.oid, p.proname, p.prosrc into strict f from pg_proc p join pg_language l on l.oid = p.prolang
        where p.pronamespace = current_schema()::regnamespace and l.lanname = 'sql' and p.proname = wanted;
        -- Some begin with a statement that refuses tenants.
        guard := substring(f.prosrc from '^\s*select refuse_tenants\([^;]*;');
        -- The columns of an answer are variables in PL/pgSQL; the queries mean columns of tables by the same names.
        body := format(
            E'\n#variable_conflict use_column\nbegin\n%s\n    return query\n%s;\nend ',
            replace(guard, 'select', 'perform'), rtrim(replace(f.prosrc, coalesce(guard, ''), ''), E' ;\n'));
        execute replace(replace(pg_get_functiondef(f.oid), f.prosrc, body), ' LANGUAGE sql', ' LANGUAGE plpgsql');
        if (select l.lanname from pg_proc p join pg_language l on l.oid = p.prolang where p.oid = f.oid) <> 'plpgsql' then
            raise exception '% stays as it was', f.proname;
        end if;
    end loop;
end $$;

select set_config('role', 'none', true);
