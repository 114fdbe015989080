-- What the catalog says of a ledger, one row for each fact: functions with their settings and grants, views, tables, columns,
-- constraints, indexes, triggers and types, and the rows that steps have written. The search path contains the ledger's schema alone.
--
-- Partitions and the body of jobs_of() are left out: they depend on the jobs.
with home as (
    select current_schema()::regnamespace::oid as id
), relation as (
    select c.* from pg_class c join home h on c.relnamespace = h.id where not c.relispartition
)
select format('function %s %s %s %s', p.oid::regprocedure, p.proowner::regrole,
              (select string_agg(a::text, ' ' order by a::text) from unnest(p.proacl) a),
              case when p.proname <> 'jobs_of' then pg_get_functiondef(p.oid) end) as fact
from pg_proc p join home h on p.pronamespace = h.id
union all
select format('relation %s %s %s %s %s %s', c.relname, c.relkind, c.reloptions, c.relowner::regrole,
              (select string_agg(a::text, ' ' order by a::text) from unnest(c.relacl) a),
              case when c.relkind = 'v' then pg_get_viewdef(c.oid) end)
from relation c
union all
select format('column %s %s %s %s %s %s %s %s', c.relname, a.attnum, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull,
              a.attidentity::text || a.attgenerated::text, pg_get_expr(d.adbin, d.adrelid), a.attcollation::regcollation)
from relation c join pg_attribute a on a.attrelid = c.oid
left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
where a.attnum > 0 and not a.attisdropped
union all
select format('constraint %s %s %s', c.relname, o.conname, pg_get_constraintdef(o.oid))
from pg_constraint o join relation c on c.oid = o.conrelid
union all
select format('index %s', pg_get_indexdef(i.indexrelid)) from pg_index i join relation c on c.oid = i.indexrelid
union all
select format('trigger %s', pg_get_triggerdef(t.oid)) from pg_trigger t join relation c on c.oid = t.tgrelid where not t.tgisinternal
union all
select format('type %s %s', t.typname, (select string_agg(e.enumlabel, ' ' order by e.enumsortorder) from pg_enum e where e.enumtypid = t.oid))
from pg_type t join home h on t.typnamespace = h.id where t.typtype = 'e'
union all
select format('permission %s %s', p.role_name, p.object_name) from permission p
union all
select format('chore %s %s %s %s %s', c.name, c.place, c.every, c.page, c.largest_page) from chore c
union all
select format('setting %s', to_jsonb(s) - 'mark') from setting s
order by fact
