-- The ledger's clock, the version of its schema, and numbers from outside.

-- The ledger's time, by which all decisions are made. It is not now(), which is the time when the transaction began.
--
-- Written in plpgsql, which keeps its plan for the session: a function in SQL that has SET clauses is planned anew at each call.
create or replace function ledger_time() returns timestamptz
language plpgsql volatile security definer set search_path from current
as $$ begin return (select clock_timestamp() + clock_shift from setting); end $$;

-- A number from outside, made to fit a column: truncated to an integer, from 0 to `highest`. Null stays null.
create or replace function bounded(figure numeric, highest bigint) returns bigint
language sql immutable parallel safe
as $$ select case when figure is not null then trunc(least(greatest(figure, 0), highest))::bigint end $$;

-- Lets roles that may not read tables check the version of this ledger.
create or replace view applied_migration as
select version, name, checksum, compatible_from, applied_at, applied_by, functions from migration;
