-- Why: periodic work on the ledger. Any worker or coordinator may do it, as often as it likes. begin_tick() returns the chores that
-- are due, and do_chore() does a page of one chore, in a separate transaction. The caller repeats do_chore() as long as it reports
-- more work. So no chore is too large for the time that a caller has, a chore that fails does not stop the others, and lost workers
-- are found between two pages of other work.
--
-- One caller at a time runs a tick, and one at a time runs a page of a chore; others skip it and do not wait. There is no leader to
-- elect, no session to hold, and nothing to clean up if a caller dies: its page is rolled back, and the next caller continues from
-- there.
--
-- Conversions continue when no process does the housekeeping; only lost workers stay unnoticed, and counts become slower to read. In
-- a fleet without a coordinator the workers do it.
select set_config('role', pg_get_userbyid(nspowner), true) from pg_namespace where nspname = current_schema();

-- MARK: State

-- The state of housekeeping, in one row. A tick locks it only for the moment that the tick takes.
create table house (
    only_row boolean primary key default true check (only_row),
    tick_at timestamptz not null default '-infinity',
    -- No worker is reaped before this time.
    quiet_until timestamptz not null default '-infinity',
    postmaster_at timestamptz not null default '-infinity'
) with (fillfactor = 10);
insert into house default values;

-- A chore is done in rounds, and a round in pages. Each page is a transaction that holds the lock of the chore's row.
create table chore (
    name text primary key,
    -- The most urgent first.
    place smallint not null unique,
    -- The minimum time between two rounds. Pages that take long are spread further, so that they fill at most a twentieth of the
    -- time.
    every interval not null,
    -- How many rows the next page may take, and the most that any page may take: see do_chore().
    page integer not null check (page > 0),
    largest_page integer not null check (largest_page >= page),
    due_at timestamptz not null default '-infinity',
    -- The round in progress: since when (null: there is none), and the id that it has reached.
    began_at timestamptz,
    reached bigint not null default 0,
    -- Of that round, or of the last one if none is in progress.
    pages integer not null default 0,
    affected bigint not null default 0,
    took_ms double precision,
    -- When a round last ended.
    done_at timestamptz,
    error text,
    error_at timestamptz
) with (fillfactor = 50);

-- MARK: The tick

insert into chore (name, place, every, page, largest_page) values
    ('reap', 1, '1 s', 2000, 5000), ('wake_delayed', 2, '1 s', 5000, 5000), ('fold_counts', 3, '1 s', 20000, 50000),
    ('raise_floors', 4, '1 s', 200, 500), ('audit_running', 5, '15 s', 5000, 20000),
    ('make_spans_ahead', 6, '60 s', 1, 1), ('drop_old', 7, '5 min', 5000, 20000),
    ('close_albums', 8, '1 s', 1000, 5000),
    -- Last, because claims from limited queues wait for it.
    ('fold_service', 9, '1 s', 1, 1);

-- Runs a tick and returns the chores that are due, including those with a round in progress, the most urgent first. No row: another
-- process is running a tick or has just run one, or nothing is due. Each process that does housekeeping calls it every second, alone
-- in its transaction.
create function begin_tick() returns table (chore text)
language plpgsql security definer set search_path from current set jit = off
as $$
#variable_conflict use_column
declare
    t timestamptz;
    h house;
begin
    -- A crash of the server may lose a tick: the server's start time shows the outage.
    perform set_config('synchronous_commit', 'off', true);
    select * into h from house for update skip locked;
    if not found then
        return;
    end if;
    t := ledger_time();
    -- After a failover the clock may be behind that of the server of the last tick.
    if t < h.tick_at + interval '900 ms' and t > h.tick_at - interval '1 min' then
        return;
    end if;
    update house set
        tick_at = t,
        postmaster_at = pg_postmaster_start_time(),
        -- After an outage, a failover or a time without housekeeping, the ledger cannot know which workers are alive before they
        -- have had time to return. They try the ledger every second, and a connection that hangs costs them five. They beat every
        -- third of a lease, so that after a shorter gap a third is left.
        quiet_until = case
            -- There is no record of a tick: it is also unknown which workers beat before, and which heartbeats a crash has lost.
            when h.tick_at = '-infinity' then t + s.lease
            -- Ticks come about every second, so a shorter gap shows nothing, however short a lease is.
            when h.postmaster_at <> pg_postmaster_start_time() or t < h.tick_at
                or t - h.tick_at > greatest(s.lease / 3, interval '3 s')
                then t + greatest(s.lease, interval '10 s')
            else h.quiet_until
        end
    from setting s;
    return query select c.name from chore c where c.due_at <= t or c.due_at > t + interval '2 h' order by c.place;
end $$;

-- Does a page of a chore. Returns one row, or none if the chore is not due or another process is doing it. `more`: the round goes
-- on, and the caller may repeat the call at once.
--
-- `error` is set if the page failed: the error is stored, the page is rolled back, and the round continues when the chore is next
-- due. The size of pages adapts so that each takes a moment. Must be alone in its transaction.
create function do_chore(chore_name text)
returns table (affected integer, took_ms double precision, error text, more boolean)
language plpgsql security definer set search_path from current set jit = off
as $$
#variable_conflict use_column
declare
    t timestamptz := ledger_time();
    started timestamptz := clock_timestamp();
    c chore;
    last_reached bigint;
    slow boolean;
begin
    -- What a crash of the server loses is done again.
    perform set_config('synchronous_commit', 'off', true);
    select * into c from chore where name = chore_name for update skip locked;
    if not found or c.due_at > t and c.due_at <= t + interval '2 h' then
        return;
    end if;
    affected := 0;
    begin
        case c.name
            when 'reap' then affected := reap(c.page);
            when 'wake_delayed' then affected := wake_delayed(c.page);
            when 'fold_counts' then select f.* into affected, last_reached from fold_counts(c.page, c.reached) f;
            when 'raise_floors' then select f.* into affected, last_reached from raise_floors(c.page, c.reached) f;
            when 'audit_running' then select f.* into affected, last_reached from audit_running(c.page, c.reached) f;
            when 'make_spans_ahead' then affected := make_spans_ahead();
            when 'drop_old' then select f.* into affected, last_reached from drop_old(c.page) f;
            when 'close_albums' then affected := close_albums(c.page);
            when 'fold_service' then affected := fold_service(ranked => true);
        end case;
        more := case when c.name in ('reap', 'wake_delayed', 'close_albums') then affected >= c.page else last_reached is not null end;
    exception when others then
        -- Stored and returned: the caller logs it.
        error := format('%s (%s)', sqlerrm, sqlstate);
        affected := 0;
        more := false;
    end;
    took_ms := extract(epoch from clock_timestamp() - started) * 1000;
    if c.began_at is null then
        c.pages := 0;
        c.affected := 0;
        c.took_ms := 0;
    end if;
    c.pages := c.pages + 1;
    c.took_ms := c.took_ms + took_ms;
    update chore set
        pages = c.pages, affected = c.affected + do_chore.affected, took_ms = c.took_ms, error = do_chore.error,
        error_at = case when do_chore.error is null then error_at else t end,
        page = least(largest_page, case
            when do_chore.took_ms > 1000 then greatest(page / 2, 50)
            when do_chore.took_ms < 200 and do_chore.more then page * 2
            else page
        end),
        began_at = case when do_chore.more or do_chore.error is not null then coalesce(began_at, t) end,
        reached = case when do_chore.error is not null then reached else coalesce(last_reached, 0) end,
        done_at = case when do_chore.more or do_chore.error is not null then done_at else t end,
        -- A chore that takes long, because a long transaction elsewhere keeps dead rows alive, is done less often.
        due_at = case when do_chore.more then due_at
                      else t + greatest(every, make_interval(secs => c.took_ms / c.pages / 50)) end
    where name = c.name;
    return next;
end $$;

-- Records that a page of a chore did not end in the caller's time. The next pages are smaller.
create function shrink_chore(chore_name text) returns void
language plpgsql security definer set search_path from current
as $$
begin
    update chore set
        error = format('a page of %s was not done in time', page), error_at = ledger_time(),
        page = least(page, greatest(page / 2, 50)), due_at = ledger_time() + every
    where name = (select c.name from chore c where c.name = chore_name for update skip locked);
end $$;

-- MARK: Hot tables

-- All rows of hot tables are replaced many times a day: vacuum them early and without cost delay.
do $$
declare hot text;
begin
    foreach hot in array array['waiting', 'delayed', 'running', 'publishing', 'count_delta', 'failure_delta', 'lane',
                               'worker', 'house', 'chore', 'queue_count', 'opened', 'service', 'delayed_floor', 'queue',
                               'share'] loop
        execute format('alter table %I set (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 500, '
                       'autovacuum_vacuum_cost_delay = 0, autovacuum_analyze_scale_factor = 0.1)', hot);
    end loop;
end $$;

select allow('sluice_worker', 'begin_tick', 'do_chore', 'shrink_chore');
select set_config('role', 'none', true);
