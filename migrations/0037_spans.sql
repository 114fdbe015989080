-- Why: a coordinator could make partitions without end. It asks for spans up to the next ids, and where the ledger got another number
-- between the question and the answer (`migrate --ledger-number`), the ids were of one number and the spans began at the other: up to
-- 2^43 ids away. Now spans are made for the same ids of the number that the ledger has, and it cannot change meanwhile.
--
-- Compatible from: 23
select set_config('role', pg_get_userbyid(nspowner), true) from pg_namespace where nspname = current_schema();

select change_function('make_spans', $x$
    loop
        select coalesce(max(next_id)$x$, $x$
    -- number_ledger() changes this row. It waits for this transaction, or gives way to it.
    select (s.ledger_number::bigint << 43) | (last_id & ((1::bigint << 43) - 1)) into strict last_id from setting s for share;
    loop
        select coalesce(max(next_id)$x$);

select set_config('role', 'none', true);
