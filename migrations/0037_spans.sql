-- Why: a coordinator could make partitions without end. It asks for spans up to the next ids, and where the ledger got another number
-- between the question and the answer (`migrate --ledger-number`), the ids were of one number and the spans began at the other: up to
-- 2^43 ids away. Now spans are made for the same ids of the number that the ledger has, and it cannot change meanwhile.
--
-- Compatible from: 23
select set_config('role', pg_get_userbyid(nspowner), true) from pg_namespace where nspname = current_schema();

do $$
declare
    old text;
    before constant text := $x$
    loop
        select coalesce(max(next_id)$x$;
begin
    select pg_get_functiondef(f.oid) into strict old from pg_proc f
    where f.pronamespace = current_schema()::regnamespace and f.proname = 'make_spans';
    if (length(old) - length(replace(old, before, ''))) / length(before) <> 1 then
        raise exception 'make_spans does not have this text once: %', before;
    end if;
    execute replace(old, before, $x$
    -- number_ledger() changes this row, and waits for this transaction, or gives way to it.
    select (s.ledger_number::bigint << 43) | (last_id & ((1::bigint << 43) - 1)) into strict last_id from setting s for share;$x$ || before);
end $$;

select set_config('role', 'none', true);
