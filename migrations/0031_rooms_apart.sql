-- Why: a worker's room converts one job after another. A file that takes a room over could so see, or spoil, the next job's sound.
-- Tenants do not trust each other, so a worker must know for which tenant each job is, and give each its own rooms.
--
-- claim() and held() return `tenant` now: the name of the tenant that submitted the job, or null. Both are changed in the text as the
-- ledger has it, because their 250 lines would hide the two that differ.
--
-- Compatible from: 23
select set_config('role', pg_get_userbyid(nspowner), true) from pg_namespace where nspname = current_schema();

-- The tenant behind the name of a submitter; null if it is none.
create function tenant_of(submitter text) returns text
language sql immutable parallel safe
return case when starts_with(submitter, 'tenant:') then substr(submitter, 8) end;

do $$
declare
    old record;
    made text;
    change text[];
begin
    for old in
        select f.oid, f.oid::regprocedure as signature, pg_get_functiondef(f.oid) as made, c.changes
        from (values
            ('claim', array[
                ['workers_lost smallint)', 'workers_lost smallint, tenant text)'],
                ['select h.*, n.jobs as take,',
                 'select h.*, tenant_of((select s.submitter from share s where s.id = h.share)) as tenant, n.jobs as take,'],
                ['where s.job = h.job), 0::smallint)', 'where s.job = h.job), 0::smallint), l.tenant']]),
            ('held', array[
                ['workers_lost smallint)', 'workers_lost smallint, tenant text)'],
                ['where s.job = r.job), 0::smallint)', 'where s.job = r.job), 0::smallint),
           tenant_of((select s.submitter from share s where s.id = l.share))']])
        ) as c (name, changes)
        join pg_proc f on f.proname = c.name and f.pronamespace = current_schema()::regnamespace
    loop
        made := old.made;
        foreach change slice 1 in array old.changes loop
            if array_length(string_to_array(made, change[1]), 1) <> 2 then
                raise exception '% does not have "%" once', old.signature, change[1];
            end if;
            made := replace(made, change[1], change[2]);
        end loop;
        -- The columns of a function cannot change, so it is made again.
        execute format('drop function %s', old.signature);
        execute made;
    end loop;
end $$;

select apply_permissions();
select set_config('role', 'none', true);
