-- What tenants use of the machines: processor time and bytes of outputs in 24 hours. When a tenant has used up what it may use, claims
-- take none of its jobs until enough of the use is a day old. Nothing fails, and submissions are accepted.
--
-- Each end of an attempt adds a row to `use_delta` for each tenant, in the statement that records the attempts, so each attempt counts
-- once, however often its call is repeated and whichever process dies. fold_use() folds these rows into slices of ten minutes, 146 for
-- each tenant, and marks the shares of tenants that have used up what they may use. A claim looks at these marks where it reads the share
-- anyway. An installation without tenants writes no rows and no marks.

-- The slice to which a time belongs.
create or replace function use_slice(t timestamptz) returns timestamptz
language sql immutable parallel safe
as $$ select date_bin('10 minutes', t, to_timestamp(0)) $$;

-- How long a slice counts from its beginning on: until all of it is a day old.
create or replace function use_window() returns interval
language sql immutable parallel safe
as $$ select interval '24 hours 10 minutes' $$;

-- What a tenant has used of its day, as far as it is folded, and the rest that `use_delta` holds.
create or replace function use_of(tenant_name text, out cpu_ms numeric, out bytes numeric)
language sql stable security definer set search_path from current
as $$
    select coalesce(sum(u.cpu_ms), 0), coalesce(sum(u.bytes), 0) from (
        select s.cpu_ms, s.bytes from tenant_use s where s.tenant = tenant_name and s.slice > ledger_time() - use_window()
        union all
        select d.cpu_ms, d.bytes from use_delta d where d.tenant = tenant_name
    ) u
$$;

-- The limit that a tenant has used up, and until when: the time at which enough slices no longer count. Of two limits, the one that
-- lasts longer. No row: it may go on.
create or replace function use_hold(n tenant) returns table (held_for text, held_until timestamptz)
language sql stable security definer set search_path from current
as $$
    select h.held_for, h.slice + use_window()
    from (
        select max(u.slice) filter (where u.cpu_ms >= n.cpu_minutes::numeric * 60000) as cpu_slice,
               max(u.slice) filter (where u.bytes >= n.output_bytes) as bytes_slice
        from (
            -- Summed from the latest slice back.
            select s.slice, sum(s.cpu_ms) over latest as cpu_ms, sum(s.bytes) over latest as bytes
            from tenant_use s where s.tenant = n.name and s.slice > ledger_time() - use_window()
            window latest as (order by s.slice desc)
        ) u
    ) w
    cross join lateral (values ('cpu_minutes', w.cpu_slice), ('output_bytes', w.bytes_slice)) as h (held_for, slice)
    where h.slice is not null
    order by h.slice desc, h.held_for limit 1
$$;

-- Marks the shares of these tenants, or removes the marks, according to their limits and what is folded of their use. Locks their queues
-- first, as fold_service() does, which updates the shares of a queue in no order: see 10 in the lock order.
create or replace function weigh_use(names text[]) returns void
language plpgsql security definer set search_path from current
    set enable_seqscan = off set enable_bitmapscan = off set jit = off
as $$
declare
    whose text[] := array(select 'tenant:' || n from unnest(names) n);
    is_freed boolean;
begin
    -- Locked before the limits are read, in separate statements: of two callers, the second sees what the first has changed.
    perform from queue q where q.id = any (array(select s.queue from share s where s.submitter = any (whose)))
    order by q.id for no key update;
    perform from share s where s.submitter = any (whose) order by s.id for no key update;
    with verdict as materialized (
        select 'tenant:' || n.name as submitter, h.held_for, h.held_until
        from tenant n left join lateral use_hold(n) h on true where n.name = any (names)
    ), changed as (
        update share s set held_for = v.held_for, held_until = v.held_until
        from verdict v
        where s.submitter = v.submitter
          and (s.held_for is distinct from v.held_for or s.held_until is distinct from v.held_until)
        returning s.held_until
    )
    select coalesce(bool_or(c.held_until is null), false) into is_freed from changed c;
    if is_freed then
        perform pg_notify(current_schema(), 'jobs');
    end if;
end $$;

-- Folds a page of the use of tenants into slices, and marks the shares of those that have used up what they may use. Returns the number
-- of rows folded.
create or replace function fold_use(page integer) returns integer
language plpgsql security definer set search_path from current
    set enable_seqscan = off set enable_bitmapscan = off set jit = off
as $$
declare
    t timestamptz := ledger_time();
    folded integer;
    users text[];
begin
    if not exists (select from tenant) then
        return 0;
    end if;
    with gone as (
        delete from use_delta d
        where d.id <= (select max(o.id) from (select i.id from use_delta i order by i.id limit page) o)
        returning d.*
    ), sums as (
        insert into tenant_use as u (tenant, slice, cpu_ms, bytes)
        select g.tenant, use_slice(g.at), sum(g.cpu_ms), sum(g.bytes) from gone g group by 1, 2
        on conflict (tenant, slice) do update set cpu_ms = u.cpu_ms + excluded.cpu_ms, bytes = u.bytes + excluded.bytes
    )
    select count(*), array_agg(distinct g.tenant) into folded, users from gone g;
    delete from tenant_use u where u.slice <= t - use_window();

    if users is not null then
        perform weigh_use(users);
    end if;

    -- From here on this waits for nothing. A share that another transaction has locked follows with the next round.
    -- Those that may go on.
    update share s set held_until = null, held_for = null
    where s.id = any (array(
        select o.id from share o where o.held_until <= t order by o.id for no key update skip locked
    ));
    if found then
        perform pg_notify(current_schema(), 'jobs');
    end if;
    -- Shares that came in while the tenant's others were marked.
    update share s set (held_until, held_for) = (
        select h.held_until, h.held_for from share h
        where h.submitter = s.submitter and h.held_until > t order by h.held_until desc limit 1
    )
    where s.id = any (array(
        select o.id from share o
        where o.held_until is null
          and o.submitter = any (array(select h.submitter from share h where h.held_until > t))
        order by o.id for no key update skip locked
    ));
    return folded;
end $$;
