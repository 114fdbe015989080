-- Events of which webhooks are told: a batch has ended, many jobs fail, a worker is lost, the ledger works again.
--
-- An event and its deliveries are rows. find_events(), a chore, finds events in what the ledger has anyway, and adds their rows in the
-- transaction in which it forgets that there was something to find: so each event is told once, even if a process dies meanwhile. Claims
-- and ends of jobs do nothing for it.
--
-- A batch has ended when its sums, as fold_counts() leaves them, have no open jobs and `count_delta` has no row of it. fold_counts() puts
-- each batch that it leaves without open jobs into `batch_news`, if there is a webhook for it. find_events() looks at these. It reads sums
-- and rows in one snapshot, so nothing of the batch is under way, and what fold_counts() folds for it later is new work.
--
-- A submission may name webhooks, which are then told about its batch: `webhook_notice` has these pairs. A webhook with `on_notify` is told
-- about such batches only.
--
-- Locks: a row of `webhook`, then its notices and deliveries, then `meter_total`. These functions lock nothing else, and nothing locks
-- these tables while it holds something from the list in locks.sql that they wait for. Only a submission locks a row of
-- `webhook` while it holds something from that list; what has locked that row against it waits for nothing but notices and deliveries.

-- A page of all of this. A ledger without webhooks pays for one look.
create or replace function find_events(page integer) returns integer
language plpgsql security definer set search_path from current set jit = off
as $$
declare
    found_losses integer := 0;
begin
    if exists (select from webhook) then
        found_losses := find_losses(page);
    elsif not exists (select from batch_news) and not exists (select from failure_news) then
        return 0;
    end if;
    return greatest(found_losses, find_failures(page), find_ended_batches(page));
end $$;

-- The ends of batches. Returns how many rows of `batch_news` are done with. A row that names a webhook concerns that webhook alone.
create or replace function find_ended_batches(page integer) returns integer
language plpgsql security definer set search_path from current set jit = off
as $$
declare
    t timestamptz := ledger_time();
    most integer := (select s.deliveries_waiting from setting s);
    done bigint[];
    ended_now bigint[];
begin
    -- One statement, so one snapshot. Rows that are added to `batch_news` meanwhile belong to later work and stay.
    -- Batches with work that is not folded yet come later. They must not keep their places at the head meanwhile.
    with unfolded as materialized (
        select distinct d.batch from count_delta d
    ), seen as materialized (
        select n.batch, array_agg(n.id) as ids, max(n.id) as last,
               case when bool_and(n.webhook is not null) then array_agg(n.webhook) end as only_for
        from (
            select * from batch_news n where n.batch not in (select u.batch from unfolded u) order by n.id limit page
        ) n group by n.batch
    ), looked as materialized (
        select s.batch, s.ids, s.last, s.only_for, c.name, c.queue, c.submitter, c.created_at, c.completed, c.skipped, c.failed,
               c.accepted, c.cancelled, c.remarked, coalesce(c.delayed + c.waiting + c.running + c.publishing, 1) as open
        from seen s
        left join lateral (select * from batch where batch.id = s.batch limit 1) c on true
    ), ended as materialized (
        -- The others go on. fold_counts() will name them again.
        select l.*, 'batch.ended:' || l.last as key from looked l where l.open = 0
    ), wanted as (
        select e.key, e.last, w.id as hook from ended e
        join webhook w on w.batch = e.batch and (e.only_for is null or w.id = any (e.only_for))
        where 'batch.ended' = any (w.events) and w.removed_at is null
        union
        select e.key, e.last, w.id from ended e join webhook_notice n on n.batch = e.batch join webhook w on w.id = n.webhook
        where e.only_for is null and 'batch.ended' = any (w.events) and w.removed_at is null
        union
        select e.key, e.last, w.id from ended e
        join webhook w on w.batch is null and not w.on_notify and (w.submitter is null or w.submitter = e.submitter)
          and (w.queue is null or w.queue = e.queue)
        where e.only_for is null and 'batch.ended' = any (w.events) and w.removed_at is null
    ), placed as materialized (
        select n.*, row_number() over (partition by n.hook order by n.last) as place from wanted n
    ), room as materialized (
        select h.hook, most - (
            select count(*) from (select from webhook_delivery d where d.webhook = h.hook and d.outcome is null limit most) d
        ) as places
        from (select distinct p.hook from placed p) h
    ), fitting as materialized (
        select p.* from placed p join room r on r.hook = p.hook where p.place <= r.places
    ), events as (
        insert into webhook_event (type, key, at, body)
        select 'batch.ended', e.key, t, event_body('batch.ended', t, json_build_object(
            'batch', e.batch, 'name', e.name, 'queue', (select q.name from queue q where q.id = e.queue), 'submitter', e.submitter,
            'createdAt', json_time(e.created_at), 'jobs', json_build_object(
                'completed', e.completed, 'skipped', e.skipped, 'failed', e.failed, 'accepted', e.accepted,
                'cancelled', e.cancelled),
            'jobsWithRemarks', e.remarked))
        from ended e where e.key in (select f.key from fitting f) order by e.last
        returning id, key
    ), deliveries as (
        insert into webhook_delivery (webhook, event, created_at, due_at)
        select f.hook, n.id, t, t from fitting f join events n on n.key = f.key order by n.id, f.hook
    ), skipping as (
        update webhook w set skipped = w.skipped + k.skipped
        from (
            select p.hook, count(*) filter (where p.place > r.places) as skipped
            from placed p join room r on r.hook = p.hook group by p.hook
        ) k where w.id = k.hook and k.skipped > 0
    )
    select coalesce(array_agg(i.id), '{}'), coalesce(array_agg(distinct l.batch) filter (where l.open = 0), '{}')
    into done, ended_now
    from looked l cross join lateral unnest(l.ids) i (id);
    update webhook w set told_at = t where w.batch = any (ended_now);
    update webhook_notice n set told_at = t where n.batch = any (ended_now);
    delete from batch_news n where n.id = any (done);
    return cardinality(done);
end $$;

-- Where too many jobs fail: of those that ended in the last ten minutes, in a queue or of a submitter, or of a batch. Looks at a page of
-- the batches with notices, and returns how many of their rows are done with.
create or replace function find_failures(page integer) returns integer
language plpgsql security definer set search_path from current set jit = off
as $$
declare
    t timestamptz := ledger_time();
    minutes timestamptz[] := array(
        select g from generate_series(date_trunc('minute', t) - interval '9 minutes', date_trunc('minute', t), '1 minute') g);
    of_all record;
    is_now boolean;
    failing bigint[];
    seen integer;
    w record;
begin
    select coalesce(sum(p.completed + p.failed), 0)::bigint as ended, coalesce(sum(p.failed), 0)::bigint as failed into of_all
    from pace p
    where p.minute = any (minutes) and exists (
        select from webhook h where h.batch is null and h.submitter is null and h.queue is null and 'failures.high' = any (h.events));
    for w in
        select h as hook,
               coalesce(b.completed + b.skipped + b.failed, q.ended, s.ended, of_all.ended) as ended,
               coalesce(b.failed, q.failed, s.failed, of_all.failed) as failed
        from webhook h
        left join lateral (select * from batch where batch.id = h.batch limit 1) b on true
        left join lateral (
            select coalesce(sum(p.completed + p.failed), 0)::bigint as ended, coalesce(sum(p.failed), 0)::bigint as failed
            from pace p where p.minute = any (minutes) and p.queue = h.queue
        ) q on h.queue is not null
        left join lateral (
            select coalesce(sum(p.ended), 0)::bigint as ended, coalesce(sum(p.failed), 0)::bigint as failed
            from submitter_pace p where p.submitter = h.submitter and p.minute = any (minutes)
        ) s on h.submitter is not null
        where 'failures.high' = any (h.events) and not h.on_notify and h.removed_at is null
          and (h.batch is null or b.id is not null)
        order by h.id
    loop
        is_now := tell_failures(w.hook, (w.hook).batch, (w.hook).is_high, w.ended, w.failed);
        if is_now <> (w.hook).is_high then
            update webhook h set is_high = is_now where h.id = (w.hook).id;
        end if;
    end loop;

    with gone as (
        delete from failure_news n where n.id in (select o.id from failure_news o order by o.id limit page) returning n.batch
    )
    select count(*), coalesce(array_agg(distinct g.batch), '{}') into seen, failing from gone g;
    for w in
        select h as hook, n.batch, n.is_high, b.completed + b.skipped + b.failed as ended, b.failed
        from webhook_notice n join webhook h on h.id = n.webhook
        cross join lateral (select * from batch where batch.id = n.batch limit 1) b
        where n.batch = any (failing) and 'failures.high' = any (h.events) and h.removed_at is null
        order by h.id, n.batch
    loop
        -- Before the notice: see the lock order above.
        perform from webhook h where h.id = (w.hook).id for key share;
        is_now := tell_failures(w.hook, w.batch, w.is_high, w.ended, w.failed);
        if is_now <> w.is_high then
            update webhook_notice n set is_high = is_now where n.batch = w.batch and n.webhook = (w.hook).id;
        end if;
    end loop;
    return seen;
end $$;

-- Tells a webhook that too many jobs fail, if that is so: once, and again only if the share has been below half of the limit in between.
-- Twenty jobs are too few to tell. `was_high`: whether it was told and the share has not fallen since. Returns that for the next time.
create or replace function tell_failures(
    hook webhook, about bigint, was_high boolean, ended bigint, failed bigint
) returns boolean
language plpgsql security definer set search_path from current
as $$
declare
    t timestamptz := ledger_time();
    fewest constant integer := 20;
begin
    if not was_high and ended >= fewest and failed * 100 >= ended * hook.failure_percent then
        perform add_event('failures.high', format('failures.high:%s:%s:%s', hook.id, about, extract(epoch from t)), t, json_build_object(
            'batch', about, 'queue', (select q.name from queue q where q.id = hook.queue),
            'submitter', case when about is null then hook.submitter end,
            'ended', ended, 'failed', failed, 'percent', failed * 100 / ended, 'limitPercent', hook.failure_percent
        ), array[hook.id]);
        return true;
    end if;
    return was_high and failed > 0 and failed * 200 >= ended * hook.failure_percent;
end $$;

-- Workers that reap() has declared lost, and the end of an outage of the ledger.
create or replace function find_losses(page integer) returns integer
language plpgsql security definer set search_path from current set jit = off set enable_seqscan = off
as $$
declare
    t timestamptz := ledger_time();
    h house;
    w record;
    lost integer := 0;
begin
    for w in
        select l.* from worker l
        where l.end_reason = 'lost' and l.ended_at > t - interval '1 day'
          and l.ended_at >= (
              select min(k.created_at) from webhook k
              where k.removed_at is null and 'worker.lost' = any (k.events))
          and not exists (select from webhook_event e where e.key = 'worker.lost:' || l.id)
        order by l.ended_at limit page
    loop
        lost := lost + 1;
        perform add_event('worker.lost', 'worker.lost:' || w.id, w.ended_at, json_build_object(
            'worker', w.id, 'name', w.name, 'host', w.host, 'slots', w.slots, 'lastSeenAt', json_time(w.beat_at)
        ), array(
            select k.id from webhook k
            where k.removed_at is null and 'worker.lost' = any (k.events) and k.created_at <= w.ended_at
            order by k.id
        ));
    end loop;
    select * into h from house;
    if h.resumed_at > t - interval '1 day'
        and not exists (select from webhook_event e where e.key = 'ledger.recovered:' || extract(epoch from h.resumed_at)) then
        perform add_event('ledger.recovered', 'ledger.recovered:' || extract(epoch from h.resumed_at), h.resumed_at, json_build_object(
            'stoodSince', json_time(h.stood_since), 'resumedAt', json_time(h.resumed_at)
        ), array(
            select k.id from webhook k
            where k.removed_at is null and 'ledger.recovered' = any (k.events) and k.created_at <= h.resumed_at
            order by k.id
        ));
    end if;
    return lost;
end $$;

-- Adds an event and its deliveries to these webhooks. An event whose key is known is left as it is. Webhooks for which too many deliveries
-- wait get none.
create or replace function add_event(kind text, event_key text, happened_at timestamptz, data json, hooks integer[]) returns void
language plpgsql security definer set search_path from current set enable_seqscan = off
as $$
declare
    t timestamptz := ledger_time();
    most integer := (select s.deliveries_waiting from setting s);
    new_event bigint;
    ready integer[] := array(
        select h.hook from unnest(hooks) h (hook)
        where (select count(*) from (
            select from webhook_delivery d where d.webhook = h.hook and d.outcome is null limit most
        ) w) < most
    );
begin
    if cardinality(hooks) = 0 then
        return;
    end if;
    if cardinality(ready) < cardinality(hooks) then
        update webhook w set skipped = w.skipped + 1
        where w.id = any (hooks) and w.id <> all (ready) and not exists (select from webhook_event e where e.key = event_key);
    end if;
    insert into webhook_event (type, key, at, body)
    values (kind, event_key, happened_at, event_body(kind, happened_at, data))
    on conflict (key) do nothing returning id into new_event;
    insert into webhook_delivery (webhook, event, created_at, due_at)
    select r.hook, new_event, t, t from unnest(ready) r (hook) where new_event is not null order by r.hook;
end $$;

-- A time as the bodies of requests have it.
create or replace function json_time(t timestamptz) returns text
language sql stable parallel safe
return to_char(t at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"');

-- The body of the requests for an event.
create or replace function event_body(kind text, happened_at timestamptz, data json) returns text
language sql stable parallel safe
return json_build_object('type', kind, 'timestamp', json_time(happened_at), 'data', data)::text;
