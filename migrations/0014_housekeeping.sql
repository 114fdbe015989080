-- Why: periodic work on the ledger, which any worker or coordinator may do, as often as it likes: begin_tick() says what
-- is due, and do_chore() does a page of one chore, in a transaction of its own. The caller calls it again as long as it answers that
-- there is more. So no chore is too large for the time that a caller has, one that fails does not stop the others, and lost workers
-- are found between two pages of whatever else there is to do.
--
-- One caller ticks at a time, and one does a page of a chore; others pass on and do not wait. There is no leader to elect, no
-- session to hold, and nothing to clean up if a caller dies: its page is rolled back, and the next caller goes on from there.
--
-- Conversions go on when no process keeps house; only lost workers stay unnoticed and counts grow slower to read. In a fleet without
-- a coordinator the workers keep house.
select set_config('role', pg_get_userbyid(nspowner), true) from pg_namespace where nspname = current_schema();

-- MARK: The house

-- One row: what housekeeping knows of its own past. A tick holds its lock, and only for the moment that the tick takes.
create table house (
    only_row boolean primary key default true check (only_row),
    tick_at timestamptz not null default '-infinity',
    -- No worker is reaped before.
    quiet_until timestamptz not null default '-infinity',
    postmaster_at timestamptz not null default '-infinity'
) with (fillfactor = 10);
insert into house default values;

-- A chore is done in rounds, and a round in pages, each a transaction that holds the lock of the chore's row.
create table chore (
    name text primary key,
    -- The most urgent first.
    place smallint not null unique,
    -- A round begins no sooner than this after the one before; nor do pages that take long fill more than a twentieth of the time.
    every interval not null,
    -- How many rows the next page may take, and the most that a page may ever take: see do_chore().
    page integer not null check (page > 0),
    largest_page integer not null check (largest_page >= page),
    due_at timestamptz not null default '-infinity',
    -- The round that is under way: since when (null: none is), and the id that it has come to.
    began_at timestamptz,
    reached bigint not null default 0,
    -- Of that round, or of the last one if none is under way.
    pages integer not null default 0,
    affected bigint not null default 0,
    took_ms double precision,
    -- When a round last came to its end.
    done_at timestamptz,
    error text,
    error_at timestamptz
) with (fillfactor = 50);

-- MARK: The tick

insert into chore (name, place, every, page, largest_page) values
    ('reap', 1, '1 s', 2000, 5000), ('wake_delayed', 2, '1 s', 5000, 5000), ('fold_counts', 3, '1 s', 20000, 50000),
    ('raise_floors', 4, '1 s', 200, 500), ('audit_running', 5, '15 s', 5000, 20000),
    ('make_spans_ahead', 6, '60 s', 1, 1), ('drop_old', 7, '5 min', 5000, 20000),
    -- Last, since claims from limited queues wait for it.
    ('fold_service', 8, '1 s', 1, 1);

-- Ticks, and answers the chores that are due, the most urgent first; those that are under way are due. No row: another process ticks, or
-- has just ticked, or nothing is due. Each process that keeps house calls it every second, alone in its transaction.
create function begin_tick() returns table (chore text)
language plpgsql security definer set search_path from current set jit = off
as $$
#variable_conflict use_column
declare
    t timestamptz;
    h house;
begin
    -- A crash of the server may forget a tick: the server's start time tells of the outage.
    perform set_config('synchronous_commit', 'off', true);
    select * into h from house for update skip locked;
    if not found then
        return;
    end if;
    t := ledger_time();
    -- The clock of another server may be behind the one that ticked last.
    if t < h.tick_at + interval '900 ms' and t > h.tick_at - interval '1 min' then
        return;
    end if;
    update house set
        tick_at = t,
        postmaster_at = pg_postmaster_start_time(),
        -- An outage, a failover, or no process kept house: in each case it is unknown which workers are alive before they have had
        -- time to come back. They look for the ledger every second, and a connection that hangs costs them five. A beat comes
        -- every third of a lease, so that after a shorter gap there is a third left.
        quiet_until = case
            -- No tick is on record: which workers beat before, and which beats a crash has forgotten, is not known either.
            when h.tick_at = '-infinity' then t + s.lease
            -- Ticks come about every second, so that a shorter gap says nothing, however short a lease is.
            when h.postmaster_at <> pg_postmaster_start_time() or t < h.tick_at
                or t - h.tick_at > greatest(s.lease / 3, interval '3 s')
                then t + greatest(s.lease, interval '10 s')
            else h.quiet_until
        end
    from setting s;
    return query select c.name from chore c where c.due_at <= t or c.due_at > t + interval '2 h' order by c.place;
end $$;

-- Does a page of a chore. One row, or none: it is not due, or another process is at it. `more`: its round goes on, and it may be called
-- again at once.
--
-- `error` is set where it failed; it is kept, what the page did is undone, and the round goes on when the chore is due next. Pages
-- grow and shrink so that each takes a moment. Alone in its transaction.
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
    -- What a crash of the server forgets is done again.
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
            when 'fold_service' then affected := fold_service(ranked => true);
        end case;
        more := case when c.name in ('reap', 'wake_delayed') then affected >= c.page else last_reached is not null end;
    exception when others then
        -- Kept and answered: the caller says it to people.
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
        -- What takes long, because a long transaction elsewhere keeps dead rows alive, is done less often.
        due_at = case when do_chore.more then due_at
                      else t + greatest(every, make_interval(secs => c.took_ms / c.pages / 50)) end
    where name = c.name;
    return next;
end $$;

-- Notes that a page of a chore did not end in the time that its caller had. The next ones are smaller.
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

-- Hot tables turn over completely many times a day: sweep them early and without pause.
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
