-- The locks on which functions wait for each other, and their order.
--
-- A lock is a table that has neither columns nor rows (tables/0024_release_0_2.sql), which is shared in the mode `row share` and taken
-- alone in the mode `exclusive`, or a row. Only the owner may lock them, and so only these functions. Advisory locks would not do: every
-- login of the database may take them, whatever its role, and so stop all others.
--
-- Lock order. A transaction that waits for locks takes them in this order, and those of one kind by their keys, so that transactions
-- cannot deadlock:
--    1. `lock_finished`: retry_jobs() shares it, drop_old() takes it alone;
--    2. `lock_job`: every function that touches `job`, `attempt` or `finished`, and that waits for rows or reads several of these tables,
--       shares it. It takes it before it locks a row or one of the tables. drop_old() takes it alone, and then locks the tables. So
--       drop_old() locks no table while it waits for a transaction that waits for rows;
--    3. rows of `worker`;
--    4. what a submission creates: a queue, a share, a batch with a key;
--    5. jobs: rows of `waiting`, `delayed`, `running`, `publishing`, `finished`, one table after the other, each by job;
--    6. new lanes, by share, priority and needs; a new album. close_albums() locks existing albums without waiting;
--    7. `lock_lane_*`, shared, by number, and then rows of `lane`, `for key share`, by id, in one call of hold_lanes(): they keep their
--       floors. What raises or closes a lane takes its row `for update` without waiting. Only raise_floors() waits, while it holds
--       nothing else: by wait_for_lane(), which takes one of `lock_lane_*` alone and then the row;
--    8. rows of `flow`, by batch and lane, in one call of enter_lanes();
--    9. `lock_span`, under which partitions are created;
--   10. existing rows of `queue` and `share`, by id;
--   11. rows of `lane`, by id, for an update that changes no key and so waits for no transaction of 7;
--   12. existing rows of `batch`, by id; then counts, which fold_counts() alone writes.
-- Foreign keys check rows of `queue`, `share` and `lane` in any order. No update waits for that, because none changes a key.
-- hold_delayed() may share `lock_delayed` at any point before 10. Only lift_delayed() takes it alone, without waiting, and from then on
-- its transaction waits for nothing but rows of `queue` and `share`. A lock that the transaction does not wait for (skip locked, nowait,
-- try_lock()) may be taken at any point. `house` and `chore` are locked only in this way. A transaction that holds no lock for which
-- others wait may wait for one; raise_floors() does. LockOrderTests checks all functions against this order.

-- Shares `lock_job` until the transaction ends. For functions that are declared `stable`, which cannot lock a table themselves.
create or replace function share_job_lock() returns void
language plpgsql volatile security definer set search_path from current
as $$
begin
    lock table lock_job in row share mode;
end $$;

-- Takes a lock alone until the transaction ends, without waiting; false: another transaction has it.
create or replace function try_lock(name text) returns boolean
language plpgsql volatile security definer set search_path from current
as $$
begin
    execute format('lock table %I in exclusive mode nowait', name);
    return true;
exception when lock_not_available then
    return false;
end $$;

-- Shares the locks of lanes until the transaction ends. Rows that are locked in a shared mode have no queue: a transaction
-- that shares them passes one that waits to take them alone, and an unbroken run of them makes it wait for ever. Tables have a queue.
create or replace function share_lane_locks(lanes integer[]) returns void
language plpgsql volatile security definer set search_path from current
as $$
declare part integer;
begin
    for part in select distinct l % 8 from unnest(lanes) l where l is not null order by 1 loop
        execute format('lock table lock_lane_%s in row share mode', part);
    end loop;
end $$;
