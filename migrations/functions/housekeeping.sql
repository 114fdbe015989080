-- Periodic work on the ledger. Any worker or coordinator may do it, as often as it likes. begin_tick() returns the chores that are due,
-- and do_chore() does a page of one chore, in a separate transaction. The caller repeats do_chore() as long as it reports more work. So no
-- chore is too large for the time that a caller has, a chore that fails does not stop the others, and lost workers are found between two
-- pages of other work. While nothing is to be done, house_rest() lets all callers rest for some seconds.
--
-- One caller at a time runs a tick, and one at a time runs a page of a chore; others skip it and do not wait. There is no leader to elect,
-- no session to hold, and nothing to clean up if a caller dies: its page is rolled back, and the next caller continues from there.
--
-- Conversions continue when no process does the housekeeping; only lost workers stay unnoticed, and counts become slower to read. In a
-- fleet without a coordinator the workers do it.

-- Runs a tick and returns the chores that are due, including those with a round in progress, the most urgent first. No row: another
-- process is running a tick or has just run one, or nothing is due. Each process that does housekeeping calls it every second, alone
-- in its transaction.
create or replace function begin_tick() returns table (chore text)
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
    -- All processes rest, unless there are jobs again.
    if t < h.rest_until and t >= h.tick_at and is_idle() then
        return;
    end if;
    update house set
        tick_at = t,
        rest_until = '-infinity',
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
    update house set stood_since = h.tick_at, resumed_at = t
    where quiet_until is distinct from h.quiet_until and h.tick_at > '-infinity';
    return query select c.name from chore c where c.due_at <= t or c.due_at > t + interval '2 h' order by c.place;
end $$;

-- Does a page of a chore. Returns one row, or none if the chore is not due or another process is doing it. `more`: the round goes
-- on, and the caller may repeat the call at once.
--
-- `error` is set if the page failed: the error is stored, the page is rolled back, and the round continues when the chore is next
-- due. The size of pages adapts so that each takes a moment. Must be alone in its transaction.
create or replace function do_chore(chore_name text)
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
            when 'trim_audit' then affected := trim_audit(c.page);
            when 'find_events' then affected := find_events(c.page);
            when 'fold_use' then affected := fold_use(c.page);
            when 'trim_webhooks' then affected := trim_webhooks(c.page);
            when 'fold_service' then affected := fold_service(ranked => true);
        end case;
        more := case
            when c.name in ('reap', 'wake_delayed', 'close_albums', 'trim_audit', 'find_events', 'trim_webhooks', 'fold_use')
                then affected >= c.page
            else last_reached is not null
        end;
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

-- Whether no job is delayed, waits, runs or is being published, and no end of a batch waits for its webhooks. Nothing comes to a worker
-- then before a notification. False until the counts are folded.
create or replace function is_idle() returns boolean
language plpgsql stable security definer set search_path from current set enable_seqscan = off set jit = off
as $$
begin
    -- The sums first: in a busy ledger they answer, and a look at the deltas would read all dead rows that cannot be vacuumed yet.
    if exists (select from queue_count c where c.state in ('delayed', 'waiting', 'running', 'publishing') and c.jobs <> 0) then
        return false;
    end if;
    return not exists (select from count_delta) and not exists (select from batch_news);
end $$;

-- How long housekeeping rests now, in milliseconds; 0: the next tick comes as usual. `is_quiet`: the chores of the caller's tick found
-- nothing to do, so a rest may begin. A caller without a tick of its own keeps to the rest that another has begun. A notification ends the
-- rest: whatever makes a job run sends one.
--
-- A rest is counted from the tick. It is so short that the next tick shows no outage, and ends when a worker can be lost.
create or replace function house_rest(is_quiet boolean) returns integer
language plpgsql security definer set search_path from current set jit = off
as $$
declare
    t timestamptz := ledger_time();
    h house;
begin
    perform set_config('synchronous_commit', 'off', true);
    select * into h from house for update skip locked;
    -- Another process is running a tick.
    if not found or not is_idle() then
        return 0;
    end if;
    if is_quiet then
        update house set rest_until = least(
            h.tick_at + least((select s.lease from setting s) / 6, interval '5 s'),
            (select min(w.lease_until) from worker w where w.ended_at is null and w.lease_until > t)
        ) returning rest_until into h.rest_until;
    end if;
    -- After a failover the clock may be behind that of the server of the last tick.
    if t < h.tick_at or t >= h.rest_until then
        return 0;
    end if;
    return ceil(extract(epoch from h.rest_until - t) * 1000);
end $$;

-- Records that a page of a chore did not end in the caller's time. The next pages are smaller.
create or replace function shrink_chore(chore_name text) returns void
language plpgsql security definer set search_path from current
as $$
begin
    update chore set
        error = format('a step of %s rows was not done in time', page), error_at = ledger_time(),
        page = least(page, greatest(page / 2, 50)), due_at = ledger_time() + every
    where name = (select c.name from chore c where c.name = chore_name for update skip locked);
end $$;

-- The state of the chores: what is due, what was done last, and errors. `began_at` is when the round in progress began; `pages`,
-- `affected` and `took_ms` belong to that round, or to the last one. `remaining` is the work that is left, up to 100,000, where it
-- is known.
create or replace function list_chores()
returns table (
    chore text, due_at timestamptz, began_at timestamptz, done_at timestamptz, pages integer, affected bigint,
    remaining bigint, took_ms double precision, error text, error_at timestamptz
)
language plpgsql volatile security definer set search_path from current set jit = off
as $$
#variable_conflict use_column
begin
    perform refuse_tenants('list the maintenance tasks');
    return query
        select c.name, c.due_at, c.began_at, c.done_at, c.pages, c.affected,
               case c.name
                   when 'reap' then (select count(*) from running r where r.worker in (select w.id from worker w where w.holds_jobs))
                   when 'wake_delayed' then (select count(*) from (
                       select from delayed d where d.ready_at <= ledger_time() limit 100000) d)
                   when 'fold_counts' then (select count(*) from (select from count_delta limit 100000) d)
               end,
               c.took_ms, c.error, c.error_at
        from chore c order by c.place;
end $$;
