-- Why: undoing a page of a bulk change read all that its caller has in the audit. And a webhook could be made for a tenant that does not
-- exist, while a submission that named a missing webhook was refused as if its words were wrong.
--
-- Compatible from: 23
select set_config('role', pg_get_userbyid(nspowner), true) from pg_namespace where nspname = current_schema();

do $$
begin
    perform change_function(v.name, v.before, v.behind) from (values
        ('step_change', $x$    start timestamptz := ledger_time();
$x$, $x$    start timestamptz := ledger_time();
    -- Rows of the audit that this call adds have greater ids.
    audited_before bigint := coalesce((select max(a.id) from audit a), 0);
$x$),
        -- The rows by their ids alone: a plan that expects many of them would read all of the caller's by another index.
        ('step_change', $x$where a.xmin = pg_current_xact_id()::xid and a.who = caller_name();$x$,
         $x$where a.id > audited_before and a.xmin = pg_current_xact_id()::xid;$x$),
        ('add_notices', $x$that this submission may name', left(word, 100)
                using errcode = 'invalid_parameter_value'$x$, $x$that this submission may name', left(word, 100)
                using errcode = 'no_data_found'$x$),
        ('create_webhook', $x$    if queue_name is not null then
        select q.id$x$, $x$    if whose like 'tenant:%' and not exists (select from tenant n where n.name = substr(whose, 8)) then
        raise exception 'there is no tenant "%"', left(substr(whose, 8), 100)
            using errcode = 'no_data_found', hint = '"sluice tenants" lists them';
    end if;
    if queue_name is not null then
        select q.id$x$)
    ) as v (name, before, behind);
end $$;

select set_config('role', 'none', true);
