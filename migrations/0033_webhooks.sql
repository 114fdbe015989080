-- Why: people want to be told when a batch has ended, when many jobs fail, when a worker is lost, and when the ledger works again, without
-- asking every minute. A webhook is an address that gets a signed HTTP request for each of these events.
--
-- An event and its deliveries are rows. Housekeeping finds events in what the ledger has anyway, and adds their rows in the transaction
-- in which it forgets that there was something to find: so each event is told once, even if a process dies meanwhile. Claims and ends of jobs do
-- nothing for it. Coordinators take deliveries under a lease and send them. One that dies before it has recorded an answer leaves the
-- delivery to the next, with the same message id: a delivery may be sent twice, and is never lost.
--
-- A batch has ended when its sums, as fold_counts() leaves them, have no open jobs and `count_delta` has no row of it. fold_counts() puts
-- each batch that it leaves without open jobs into `batch_news`, if there is a webhook for it. find_events() looks at these. It reads
-- sums and rows in one snapshot, so nothing of the batch is under way, and what fold_counts() folds for it later is new work.
--
-- A submission may name webhooks, which are then told about its batch: `webhook_notice` has these pairs. A webhook with `on_notify` is
-- told about such batches only.
--
-- Locks: a row of `webhook`, then its notices and deliveries, then `meter_total`. These functions lock nothing else, and nothing locks
-- these tables while it holds something from the list in 0002_tables.sql that they wait for. Only a submission locks a row of `webhook`
-- while it holds something from that list; what has locked that row against it waits for nothing but notices and deliveries.
--
-- Compatible from: 23
select set_config('role', pg_get_userbyid(nspowner), true) from pg_namespace where nspname = current_schema();

-- MARK: Tables

create table webhook (
    id integer generated always as identity primary key,
    -- Printable ASCII without a user, a fragment or a backslash, which programs read in different ways.
    url text not null
        check (length(url) <= 2000 and url ~ '^https?://[^/?#@\\]+([/?][^#\\]*)?$' and url ~ '^[!-~]+$'),
    -- The key of the signatures. The ledger has to sign, so it keeps the secret itself. Only take_deliveries() returns it.
    secret bytea not null unique check (octet_length(secret) between 24 and 64),
    events text[] not null check (
        cardinality(events) > 0 and events <@ array['batch.ended', 'failures.high', 'worker.lost', 'ledger.recovered']),
    -- Whose batches. Null: all.
    submitter text collate "C",
    -- The only batch. Null: all of them.
    batch bigint,
    -- The only queue. Null: all of them.
    queue integer references queue,
    -- By which submissions name it. No number, because they may also give its id.
    name text collate "C" check (name ~ '^[A-Za-z][A-Za-z0-9._-]{0,63}$'),
    -- Whether it is told only about batches whose submissions have named it.
    on_notify boolean not null default false,
    -- When it was removed. It gets no more events, no list shows it, and housekeeping deletes it with its deliveries.
    removed_at timestamptz,
    -- `failures.high`: when this share of the jobs that end has failed.
    failure_percent smallint not null default 10 check (failure_percent between 1 and 100),
    created_at timestamptz not null,
    created_by text not null,
    -- Whether a tenant has created it. Then it must not reach what only machines of this installation can.
    by_tenant boolean not null default false,
    -- How many times in a row it has not taken a request.
    failures integer not null default 0,
    -- Whether the failures were told and have not fallen since.
    is_high boolean not null default false,
    -- How many events it did not get because too many others waited.
    skipped bigint not null default 0,
    -- When the end of its only batch was told.
    told_at timestamptz,
    constraint events_fit_the_scope check (
        submitter is null and batch is null and queue is null and not on_notify
        or events <@ array['batch.ended', 'failures.high']),
    constraint one_scope check ((queue is null or submitter is null and batch is null) and not (on_notify and num_nonnulls(batch, queue) > 0)),
    constraint names_are_of_many_batches check (name is null or batch is null)
) with (fillfactor = 70);
create index webhook_batch on webhook (batch) where batch is not null;
create unique index webhook_name on webhook (coalesce(submitter, ''), name) where name is not null and removed_at is null;
create index webhook_removed on webhook (id) where removed_at is not null;

-- Batches whose submissions have named a webhook.
create table webhook_notice (
    batch bigint not null,
    webhook integer not null references webhook on delete cascade,
    -- Whether the failures of the batch were told and have not fallen since.
    is_high boolean not null default false,
    -- When the batch ended.
    told_at timestamptz,
    primary key (batch, webhook)
) with (fillfactor = 70);
create index webhook_notice_of on webhook_notice (webhook, batch);
create index webhook_notice_told on webhook_notice (told_at) where told_at is not null;

-- Batches that may have ended. Rows are only added and deleted: an update would make housekeeping wait.
create table batch_news (
    id bigint generated always as identity primary key,
    batch bigint not null
);

-- Batches with notices of which a job has ended, and some have failed. As above, rows are only added and deleted.
create table failure_news (
    id bigint generated always as identity primary key,
    batch bigint not null
);

-- What ended in each minute, of those submitters that have a webhook for `failures.high`. Kept for an hour.
create table submitter_pace (
    submitter text collate "C" not null,
    minute timestamptz not null,
    ended bigint not null,
    failed bigint not null,
    primary key (submitter, minute)
) with (fillfactor = 70);

create table webhook_event (
    id bigint generated always as identity primary key,
    type text collate "C" not null,
    -- What happened, so that it is told once.
    key text collate "C" not null unique,
    at timestamptz not null,
    -- The request's body. Repetitions send the same bytes.
    body text not null
);
create index webhook_event_at on webhook_event (at);

create table webhook_delivery (
    id bigint generated always as identity primary key,
    -- Stays the same when the event is sent again, so that receivers can tell. Random, because a restored backup would number anew.
    message text collate "C" not null default 'msg_' || replace(gen_random_uuid()::text, '-', ''),
    webhook integer not null references webhook on delete cascade,
    event bigint not null references webhook_event,
    created_at timestamptz not null,
    -- When it is sent next.
    due_at timestamptz not null,
    attempts integer not null default 0,
    -- The right of a coordinator to send it.
    lease uuid,
    lease_until timestamptz,
    -- Null: it will be sent, or sent again. `dead`: it was tried for about a day.
    outcome text collate "C" check (outcome in ('delivered', 'dead')),
    -- Of the last attempt: the status of the answer, and what went wrong.
    status integer,
    error text,
    tried_at timestamptz,
    ended_at timestamptz,
    unique (event, webhook),
    check ((lease is null) = (lease_until is null)),
    check ((outcome is null) = (ended_at is null))
) with (fillfactor = 70);
create index webhook_delivery_due on webhook_delivery (webhook, due_at, id) where outcome is null;
create index webhook_delivery_leased on webhook_delivery (webhook, lease_until) where lease is not null;
create index webhook_delivery_ended on webhook_delivery (ended_at) where outcome is not null;
create index webhook_delivery_of on webhook_delivery (webhook, id);
-- For lists, which must not read what was delivered in a month.
create index webhook_delivery_dead on webhook_delivery (webhook, id) where outcome = 'dead';
create index webhook_delivery_delivered on webhook_delivery (webhook, id) where outcome = 'delivered';

-- Finds workers that were lost lately. Heartbeats write neither column.
create index worker_lost on worker (ended_at) where end_reason = 'lost';

alter table house
    -- The last time that housekeeping began again after an outage, and since when it had stood still.
    add column resumed_at timestamptz,
    add column stood_since timestamptz;

alter table setting
    add column webhooks_allowed integer not null default 1000 check (webhooks_allowed >= 0),
    -- Of one submitter.
    add column webhooks_per_submitter integer not null default 100 check (webhooks_per_submitter >= 0),
    -- How many deliveries of one webhook may wait. Further events do not reach it.
    add column deliveries_waiting integer not null default 10000 check (deliveries_waiting > 0),
    -- How long deliveries are kept after their end.
    add column keep_deliveries interval not null default '30 days' check (keep_deliveries >= '2 days');

do $$
declare hot text;
begin
    foreach hot in array array['batch_news', 'failure_news', 'submitter_pace', 'webhook', 'webhook_notice', 'webhook_delivery'] loop
        execute format('alter table %I set (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 500, '
                       'autovacuum_vacuum_cost_delay = 0, autovacuum_analyze_scale_factor = 0.1)', hot);
    end loop;
end $$;

-- MARK: Events

create function json_time(t timestamptz) returns text
language sql stable parallel safe
return to_char(t at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"');

create function event_body(kind text, happened_at timestamptz, data json) returns text
language sql stable parallel safe
return json_build_object('type', kind, 'timestamp', json_time(happened_at), 'data', data)::text;

-- Adds an event and its deliveries to these webhooks. An event whose key is known is left as it is. Webhooks for which too many deliveries
-- wait get none.
create function add_event(kind text, event_key text, happened_at timestamptz, data json, hooks integer[]) returns void
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

-- The ends of batches. Returns how many rows of `batch_news` are done with.
create function find_ended_batches(page integer) returns integer
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
        select n.batch, array_agg(n.id) as ids, max(n.id) as last
        from (
            select * from batch_news n where n.batch not in (select u.batch from unfolded u) order by n.id limit page
        ) n group by n.batch
    ), looked as materialized (
        select s.batch, s.ids, s.last, c.name, c.queue, c.submitter, c.created_at, c.completed, c.skipped, c.failed, c.cancelled,
               c.remarked, coalesce(c.delayed + c.waiting + c.running + c.publishing, 1) as open
        from seen s
        left join lateral (select * from batch where batch.id = s.batch limit 1) c on true
    ), ended as materialized (
        -- The others go on. fold_counts() will name them again.
        select l.*, 'batch.ended:' || l.last as key from looked l where l.open = 0
    ), wanted as (
        select e.key, e.last, w.id as hook from ended e join webhook w on w.batch = e.batch
        where 'batch.ended' = any (w.events) and w.removed_at is null
        union
        select e.key, e.last, w.id from ended e join webhook_notice n on n.batch = e.batch join webhook w on w.id = n.webhook
        where 'batch.ended' = any (w.events) and w.removed_at is null
        union
        select e.key, e.last, w.id from ended e
        join webhook w on w.batch is null and not w.on_notify and (w.submitter is null or w.submitter = e.submitter)
          and (w.queue is null or w.queue = e.queue)
        where 'batch.ended' = any (w.events) and w.removed_at is null
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
                'completed', e.completed, 'skipped', e.skipped, 'failed', e.failed, 'cancelled', e.cancelled),
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

-- Tells a webhook that too many jobs fail, if that is so: once, and again only if the share has been below half of the limit in between.
-- Twenty jobs are too few to tell. `was_high`: whether it was told and the share has not fallen since. Returns that for the next time.
create function tell_failures(
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

-- Where too many jobs fail: of those that ended in the last ten minutes, in a queue or of a submitter, or of a batch. Looks at a page of
-- the batches with notices, and returns how many of their rows are done with.
create function find_failures(page integer) returns integer
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

-- Workers that reap() has declared lost, and the end of an outage of the ledger.
create function find_losses(page integer) returns integer
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

-- A page of all of this. A ledger without webhooks pays for one look.
create function find_events(page integer) returns integer
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

-- Deletes up to `page` deliveries and as many notices of a webhook, and the webhook when none are left. Returns how many rows.
create function clear_webhook(webhook_id integer, page integer) returns integer
language plpgsql security definer set search_path from current set enable_seqscan = off set jit = off
as $$
declare
    deliveries integer;
    notices integer;
begin
    -- Nothing is added to it meanwhile.
    perform from webhook w where w.id = webhook_id for update;
    delete from webhook_delivery d
    where d.id in (select o.id from webhook_delivery o where o.webhook = webhook_id order by o.id limit page);
    get diagnostics deliveries = row_count;
    delete from webhook_notice n
    where n.webhook = webhook_id
      and n.batch in (select o.batch from webhook_notice o where o.webhook = webhook_id order by o.batch limit page);
    get diagnostics notices = row_count;
    if greatest(deliveries, notices) < page then
        delete from webhook w where w.id = webhook_id;
    end if;
    return greatest(deliveries, notices);
end $$;

-- Deletes a page of a webhook that was removed, of deliveries that ended long ago, of events without deliveries, and of notices and
-- webhooks for batches whose end was told long ago.
create function trim_webhooks(page integer) returns integer
language plpgsql security definer set search_path from current set enable_seqscan = off set jit = off
as $$
declare
    before timestamptz := ledger_time() - (select s.keep_deliveries from setting s);
    -- One webhook in a transaction, so that this never waits for the lock of one while it holds that of another.
    leaving integer := (select w.id from webhook w where w.removed_at is not null order by w.id limit 1 for update skip locked);
    trimmed integer := coalesce(clear_webhook(leaving, page), 0);
    more integer;
begin
    delete from webhook_delivery d where d.id in (
        select o.id from webhook_delivery o where o.outcome is not null and o.ended_at < before
        order by o.ended_at limit page for update skip locked
    );
    get diagnostics more = row_count;
    trimmed := greatest(trimmed, more);
    delete from webhook_notice n where (n.batch, n.webhook) in (
        select o.batch, o.webhook from webhook_notice o where o.told_at < before
        order by o.told_at limit page for update skip locked
    );
    get diagnostics more = row_count;
    trimmed := greatest(trimmed, more);
    delete from submitter_pace p where p.minute < ledger_time() - interval '1 hour';
    delete from webhook_event e where e.id in (
        select o.id from webhook_event o
        where o.at < before and not exists (select from webhook_delivery d where d.event = o.id)
        order by o.at limit page
    );
    get diagnostics more = row_count;
    trimmed := greatest(trimmed, more);
    delete from webhook w where w.id in (
        select o.id from webhook o
        where o.batch is not null and (o.told_at < before or not exists (select from batch b where b.id = o.batch))
          and not exists (select from webhook_delivery d where d.webhook = o.id)
        order by o.id limit page for update skip locked
    );
    return trimmed;
end $$;

insert into chore (name, place, every, page, largest_page) values
    ('find_events', 11, '1 s', 1000, 5000), ('trim_webhooks', 12, '5 min', 5000, 20000);

-- MARK: Sending

-- Takes deliveries that are due, up to `healthy` of webhooks that took the last request, and up to `failing` of others, so that those
-- that fail or hang take nothing from the rest. A webhook gets four requests at a time, and one while it fails. The coordinator that takes a delivery
-- records its result within `lease_for`; otherwise another takes it.
create function take_deliveries(healthy integer, failing integer, lease_for interval default '60 s')
returns table (
    delivery bigint, message text, webhook integer, url text, secret bytea, attempt integer, lease uuid, body text,
    fails boolean, by_tenant boolean
)
language plpgsql security definer set search_path from current
    set enable_seqscan = off set enable_bitmapscan = off set jit = off
as $$
#variable_conflict use_column
declare
    t timestamptz := ledger_time();
    fence uuid := gen_random_uuid();
    w record;
    places integer;
    taken bigint[];
begin
    for w in
        select h.id, h.failures > 0 as fails from webhook h
        where h.removed_at is null
          and exists (select from webhook_delivery d where d.webhook = h.id and d.outcome is null and d.due_at <= t)
        order by random() for no key update skip locked
    loop
        exit when healthy <= 0 and failing <= 0;
        places := least(case when w.fails then failing else healthy end, (case when w.fails then 1 else 4 end) - (
            select count(*) from webhook_delivery d where d.webhook = w.id and d.lease is not null and d.lease_until > t
        ));
        continue when places <= 0;
        taken := array(
            select d.id from webhook_delivery d where d.webhook = w.id and d.outcome is null and d.due_at <= t
            order by d.due_at, d.id limit places for no key update skip locked
        );
        if w.fails then
            failing := failing - cardinality(taken);
        else
            healthy := healthy - cardinality(taken);
        end if;
        -- Due again if nobody records a result.
        update webhook_delivery d
        set attempts = d.attempts + 1, lease = fence, lease_until = t + lease_for, due_at = t + lease_for, tried_at = t
        where d.id = any (taken);
        return query
            select d.id, d.message, d.webhook, h.url, h.secret, d.attempts, d.lease, e.body, w.fails, h.by_tenant
            from webhook_delivery d join webhook h on h.id = d.webhook join webhook_event e on e.id = d.event
            where d.id = any (taken) order by d.id;
    end loop;
end $$;

-- How long to wait after the n-th attempt: 5 s, 20 s, 80 s, 5 min, 21 min, 85 min, 6 h, 8 h, 8 h, each up to a quarter more or less.
create function delivery_delay(attempts integer) returns interval
language sql volatile parallel safe
return least(interval '8 hours', interval '5 s' * power(4, least(attempts, 10) - 1)) * (0.75 + random() / 2);

-- Records the result of an attempt: the status of the answer, or an error. Statuses from 200 to 299 end the delivery, whichever coordinator
-- has the lease by now. 410 means that the receiver is gone for good. After ten attempts, which take about a day, the delivery is dead.
-- Returns `delivered`, `waiting` or `dead`; null: another has taken or ended it.
create function record_delivery(delivery_id bigint, lease_id uuid, answer_status integer, problem text default null) returns text
language plpgsql security definer set search_path from current set enable_seqscan = off
as $$
declare
    t timestamptz := ledger_time();
    hook integer := (select d.webhook from webhook_delivery d where d.id = delivery_id);
    d webhook_delivery;
    is_taken boolean := answer_status between 200 and 299;
    result text;
begin
    perform from webhook w where w.id = hook for no key update;
    select * into d from webhook_delivery o where o.id = delivery_id for no key update;
    if not found or d.outcome is not null or is_taken is not true and d.lease is distinct from lease_id then
        return null;
    end if;
    result := case when is_taken then 'delivered' when answer_status = 410 or d.attempts >= 10 then 'dead' end;
    update webhook_delivery o set
        outcome = result, ended_at = case when result is not null then t end, lease = null, lease_until = null,
        due_at = case when result is null then t + delivery_delay(d.attempts) else o.due_at end,
        status = answer_status, error = left(problem, 500)
    where o.id = d.id;
    update webhook w set failures = case when is_taken then 0 else w.failures + 1 end
    where w.id = hook and (is_taken is not true or w.failures <> 0);
    insert into meter_total as m (meter, queue, key, class, amount)
    values ('webhook_deliveries', 0, coalesce(result, 'failed'), '', 1)
    on conflict (meter, queue, key, class) do update set amount = m.amount + excluded.amount;
    return coalesce(result, 'waiting');
end $$;

-- MARK: For people

-- Whether the caller sees and steers all webhooks.
create function steers_webhooks() returns boolean
language sql stable parallel safe
return is_operator() and only_queue() is null;

-- Throws if the caller may not see a webhook.
create function own_webhook(webhook_id integer) returns webhook
language plpgsql stable security definer set search_path from current
as $$
declare
    w webhook;
begin
    select * into w from webhook o
    where o.id = webhook_id and o.removed_at is null and (steers_webhooks() or o.submitter = caller());
    if not found then
        raise exception 'there is no webhook %', webhook_id
            using errcode = 'no_data_found', hint = '"sluice webhooks" lists them';
    end if;
    return w;
end $$;

-- Creates a webhook: for all batches, for those of a submitter (an empty text: the caller), for those in a queue, or for one batch; with
-- `only_notify` for those whose submissions name it. `wanted`: the events; null: all that there are for it. Operators create all of them,
-- and others those for their own batches. Returns its id, also if the same call has created it before.
create function create_webhook(
    address text, key bytea, wanted text[] default null, whose text default null, batch_id bigint default null,
    percent integer default 10, queue_name text default null, hook_name text default null, only_notify boolean default false
) returns integer
language plpgsql security definer set search_path from current
as $$
declare
    t timestamptz := ledger_time();
    owner text;
    the_queue integer;
    possible text[] := array['batch.ended', 'failures.high', 'worker.lost', 'ledger.recovered'];
    wrong text;
    new_id integer := (select w.id from webhook w where w.secret = key and w.url = address);
begin
    if new_id is not null then
        return new_id;
    end if;
    if whose = '' then
        whose := caller();
    end if;
    if address is null or length(address) > 2000 or address !~ '^https?://[^/?#@\\]+([/?][^#\\]*)?$' or address !~ '^[!-~]+$' then
        raise exception 'this is no address of a webhook'
            using errcode = 'invalid_parameter_value',
                  hint = 'it begins with https:// or http://, has no user, password or fragment, and up to 2000 ASCII characters';
    elsif key is null or octet_length(key) not between 24 and 64 then
        raise exception 'the secret of a webhook has 24 to 64 bytes' using errcode = 'invalid_parameter_value';
    elsif num_nonnulls(whose, batch_id, queue_name) > 1 or only_notify and num_nonnulls(batch_id, queue_name) > 0 then
        raise exception 'a webhook is for one submitter, one queue or one batch' using errcode = 'invalid_parameter_value';
    elsif hook_name is not null and (hook_name !~ '^[A-Za-z][A-Za-z0-9._-]{0,63}$' or batch_id is not null) then
        raise exception 'a webhook cannot have this name'
            using errcode = 'invalid_parameter_value',
                  hint = 'a name begins with a letter, has up to 64 letters, digits, dots, hyphens and underscores, '
                      || 'and belongs to no webhook for one batch';
    end if;
    if batch_id is not null then
        select b.submitter into owner from batch b where b.id = batch_id;
        if not found or owner <> caller() and not sees_all() then
            raise exception 'there is no batch %', batch_id using errcode = 'no_data_found';
        elsif owner <> caller() and not steers_webhooks() then
            raise exception 'batch % belongs to %', batch_id, owner
                using errcode = 'insufficient_privilege', hint = 'ask for the role sluice_operator';
        end if;
    end if;
    if num_nonnulls(batch_id, whose, queue_name) > 0 or only_notify then
        possible := possible[1:2];
    end if;
    if not steers_webhooks() then
        if batch_id is null and whose is null then
            raise exception 'webhooks for the batches of others belong to operators'
                using errcode = 'insufficient_privilege', hint = 'with --own it is for your batches, with --batch for one of them';
        elsif whose <> caller() then
            raise exception 'only operators create webhooks for others' using errcode = 'insufficient_privilege';
        end if;
        -- For a batch as well, whose webhook it then is.
        whose := caller();
    end if;
    if queue_name is not null then
        select q.id into the_queue from queue q where q.name = queue_name;
        if not found then
            raise exception 'there is no queue %', queue_name using errcode = 'no_data_found';
        end if;
    end if;
    wanted := coalesce(wanted, possible);
    select e into wrong from unnest(wanted) e where e is null or e <> all (possible) limit 1;
    if found or cardinality(wanted) = 0 then
        raise exception 'this webhook cannot have the event "%"', left(wrong, 100)
            using errcode = 'invalid_parameter_value', hint = 'possible: ' || array_to_string(possible, ', ');
    elsif percent is null or percent not between 1 and 100 then
        raise exception 'a share of failures is from 1 to 100 percent' using errcode = 'invalid_parameter_value';
    end if;
    -- So that two callers do not pass the limits, or take a name, together.
    perform pg_advisory_xact_lock('webhook'::regclass::oid::integer, 0);
    if (select count(*) from webhook w where w.removed_at is null) >= (select s.webhooks_allowed from setting s)
        or not steers_webhooks() and (select count(*) from webhook w where w.submitter = caller() and w.removed_at is null)
            >= (select s.webhooks_per_submitter from setting s)
    then
        raise exception 'there are too many webhooks'
            using errcode = 'SL003', hint = 'remove some: "sluice webhooks" lists them';
    elsif exists (
        select from webhook w
        where w.name = hook_name and coalesce(w.submitter, '') = coalesce(whose, '') and w.removed_at is null
    ) then
        raise exception 'there is a webhook "%" already', hook_name using errcode = 'invalid_parameter_value';
    end if;
    insert into webhook (
        url, secret, events, submitter, batch, queue, name, on_notify, failure_percent, created_at, created_by, by_tenant
    )
    values (address, key, wanted, whose, batch_id, the_queue, hook_name, only_notify, percent, t, caller_name(), is_tenant())
    returning id into new_id;
    if batch_id is not null then
        -- It may have ended already.
        insert into batch_news (batch) values (batch_id);
    end if;
    perform note_audit('create_webhook', jsonb_strip_nulls(jsonb_build_object(
        'webhook', new_id, 'host', substring(address from '^https?://[^/?]+'), 'events', to_jsonb(wanted), 'submitter', whose,
        'batch', batch_id, 'queue', queue_name, 'name', hook_name, 'onNotify', nullif(only_notify, false))), 1);
    return new_id;
end $$;

-- Whether a submission of the caller may name a webhook: one of its own, and one that operators have made for those that name it. A
-- tenant's jobs name no address of the installation.
create function may_notify(w webhook) returns boolean
language sql stable parallel safe
return w.batch is null and w.removed_at is null
       and (w.submitter = caller() or w.submitter is null and (w.on_notify and not is_tenant() or steers_webhooks()));

-- The webhooks that the caller may see or name, and the addresses of the former only; of the others, the host. `waiting` and `dead` count
-- up to 10,000.
create function list_webhooks()
returns table (
    webhook integer, name text, url text, events text[], submitter text, batch bigint, queue text, on_notify boolean,
    failure_percent smallint, created_at timestamptz, created_by text, failures integer, skipped bigint, waiting bigint, dead bigint,
    delivered_at timestamptz
)
language sql stable security definer set search_path from current set jit = off
as $$
    select w.id, w.name, case when steers_webhooks() or w.submitter = caller() then w.url else substring(w.url from '^https?://[^/?]+') end,
           w.events, w.submitter, w.batch, (select q.name from queue q where q.id = w.queue), w.on_notify, w.failure_percent,
           w.created_at, w.created_by, w.failures, w.skipped,
           (select count(*) from (select from webhook_delivery d where d.webhook = w.id and d.outcome is null limit 10000) d),
           (select count(*) from (select from webhook_delivery d where d.webhook = w.id and d.outcome = 'dead' limit 10000) d),
           (select d.ended_at from webhook_delivery d where d.webhook = w.id and d.outcome = 'delivered' order by d.id desc limit 1)
    from webhook w
    where w.removed_at is null and (steers_webhooks() or w.submitter = caller() or may_notify(w)) order by w.id
$$;

-- Has webhooks told about a batch that the caller has submitted, in the transaction that adds it: they are given by name or id. Of those
-- with the same name, the caller's own is meant.
create function add_notices(batch_id bigint, hooks text[]) returns void
language plpgsql security definer set search_path from current set enable_seqscan = off set jit = off
as $$
declare
    word text;
    the_hook integer;
    found_hooks integer[] := '{}';
    -- More would let one submission cause any number of requests.
    most constant integer := 10;
begin
    if not exists (select from batch b where b.id = batch_id and b.submitter = caller()) then
        raise exception 'there is no batch %', batch_id using errcode = 'no_data_found';
    elsif cardinality(hooks) > most then
        raise exception 'a submission names up to % webhooks', most using errcode = 'invalid_parameter_value';
    end if;
    foreach word in array hooks loop
        select w.id into the_hook from webhook w
        where (w.name = word or w.id::text = word) and may_notify(w)
        order by w.submitter is null limit 1;
        if not found then
            raise exception 'there is no webhook "%" that this submission may name', left(word, 100)
                using errcode = 'invalid_parameter_value', hint = '"sluice webhooks" lists them';
        end if;
        found_hooks := found_hooks || the_hook;
    end loop;
    -- In order, as all who lock several.
    found_hooks := array(select distinct h from unnest(found_hooks) h);
    if cardinality(array(
        select w.id from webhook w where w.id = any (found_hooks) and w.removed_at is null order by w.id for key share
    )) < cardinality(found_hooks) then
        raise exception 'a webhook that this submission names was removed' using errcode = 'invalid_parameter_value';
    end if;
    insert into webhook_notice (batch, webhook)
    select batch_id, h from unnest(found_hooks) h order by h on conflict do nothing;
end $$;

-- Deliveries of webhooks that the caller may see, newest first: of one webhook, in one state (`waiting`, `delivered` or `dead`), older
-- than `before`.
create function list_deliveries(
    webhook_id integer default null, in_state text default null, before bigint default null, page integer default 50
)
returns table (
    delivery bigint, message text, webhook integer, event text, state text, attempts integer, created_at timestamptz,
    due_at timestamptz, tried_at timestamptz, ended_at timestamptz, status integer, error text
)
language plpgsql stable security definer set search_path from current set jit = off set plan_cache_mode = force_custom_plan
as $$
#variable_conflict use_column
begin
    if webhook_id is not null then
        perform own_webhook(webhook_id);
    end if;
    return query
        select d.id, d.message, d.webhook, e.type, coalesce(d.outcome, 'waiting'), d.attempts, d.created_at,
               case when d.outcome is null then d.due_at end, d.tried_at, d.ended_at, d.status, d.error
        from webhook_delivery d join webhook w on w.id = d.webhook join webhook_event e on e.id = d.event
        where (webhook_id is null or d.webhook = webhook_id) and w.removed_at is null
          and (steers_webhooks() or w.submitter = caller())
          and (in_state is null or coalesce(d.outcome, 'waiting') = in_state) and (before is null or d.id < before)
        order by d.id desc limit page;
end $$;

-- Removes a webhook with its deliveries. If there are more than `page`, housekeeping deletes the rest.
create function remove_webhook(webhook_id integer, page integer default 10000) returns void
language plpgsql security definer set search_path from current set enable_seqscan = off
as $$
declare
    w webhook := own_webhook(webhook_id);
begin
    perform clear_webhook(w.id, page);
    update webhook o set removed_at = ledger_time() where o.id = w.id;
    perform note_audit('remove_webhook', jsonb_build_object(
        'webhook', w.id, 'host', substring(w.url from '^https?://[^/?]+')), 1);
end $$;

-- Adds an event of the type `webhook.test`. Returns its delivery. `test_id` names the test, so that a repeated call adds nothing.
create function test_webhook(webhook_id integer, test_id uuid) returns bigint
language plpgsql security definer set search_path from current set enable_seqscan = off
as $$
declare
    w webhook := own_webhook(webhook_id);
    event_key text := 'webhook.test:' || test_id;
    made bigint := (select d.id from webhook_delivery d join webhook_event e on e.id = d.event
                    where e.key = event_key and d.webhook = w.id);
begin
    if made is not null then
        return made;
    end if;
    perform add_event('webhook.test', event_key, ledger_time(), json_build_object('webhook', w.id), array[w.id]);
    -- The user waits for a test, so it comes before other deliveries.
    update webhook_delivery d set due_at = '-infinity'
    where d.webhook = w.id and d.event = (select e.id from webhook_event e where e.key = event_key)
    returning d.id into made;
    if not found then
        raise exception 'too many deliveries of webhook % wait', w.id using errcode = 'SL003';
    end if;
    perform note_audit('test_webhook', jsonb_build_object('webhook', w.id), 1);
    return made;
end $$;

-- Sends dead deliveries of a webhook again: a page of those behind the delivery `after`, or one. Returns how many, and behind which the
-- next page begins; null: there are no more.
create function retry_deliveries(
    webhook_id integer, delivery_id bigint default null, after bigint default 0, page integer default 1000,
    out changed integer, out reached bigint
)
language plpgsql security definer set search_path from current set enable_seqscan = off
as $$
declare
    t timestamptz := ledger_time();
    w webhook := own_webhook(webhook_id);
    most integer := least(greatest(page, 1), 10000);
    chosen bigint[];
begin
    perform from webhook o where o.id = w.id for no key update;
    chosen := array(
        select o.id from webhook_delivery o
        where o.webhook = w.id and o.outcome = 'dead' and o.id > after and (delivery_id is null or o.id = delivery_id)
        order by o.id limit most
    );
    update webhook_delivery d
    set outcome = null, ended_at = null, attempts = 0, due_at = t
    where d.id = any (chosen);
    changed := cardinality(chosen);
    if changed = most and delivery_id is null then
        reached := chosen[most];
    end if;
    if changed > 0 then
        perform note_audit('retry_deliveries', jsonb_strip_nulls(jsonb_build_object('webhook', w.id, 'delivery', delivery_id)), changed);
    end if;
end $$;

-- MARK: What was there before

-- Long functions that change in one place: each is taken as the ledger has it, as in 0026_callers.sql.
do $$
declare
    change record;
    old text;
begin
    for change in select * from (values
        ('fold_counts', $x$
        ) n where b.id = n.batch
    )
    select count(*) into folded from gone;$x$, $x$
        ) n where b.id = n.batch
        returning b.id, b.submitter, b.queue, b.failed, b.delayed + b.waiting + b.running + b.publishing as open
    ), news as (
        insert into batch_news (batch)
        select u.id from batches u
        where u.open = 0
          and (u.id in (select w.batch from webhook w where w.batch is not null)
               or exists (select from webhook_notice n where n.batch = u.id)
               or exists (
                   select from webhook w
                   where w.batch is null and not w.on_notify and w.removed_at is null and 'batch.ended' = any (w.events)
                     and (w.submitter is null or w.submitter = u.submitter) and (w.queue is null or w.queue = u.queue)))
    ), failing as (
        insert into failure_news (batch)
        select u.id from batches u where u.failed > 0 and exists (select from webhook_notice n where n.batch = u.id)
    ), telling as materialized (
        select distinct w.submitter from webhook w
        where w.submitter is not null and w.batch is null and not w.on_notify and 'failures.high' = any (w.events)
    ), submitters as (
        insert into submitter_pace as p (submitter, minute, ended, failed)
        select n.submitter, n.minute, sum(n.ended), sum(n.failed)
        from (
            select (select b.submitter from batch b where b.id = g.batch) as submitter, g.minute, g.ended, g.failed
            from (
                select o.batch, date_trunc('minute', o.at) as minute, sum(o.jobs) as ended,
                       coalesce(sum(o.jobs) filter (where o.state = 'failed'), 0) as failed
                from gone o where o.state in ('completed', 'failed') and o.jobs > 0 group by 1, 2
            ) g
            where (select exists (select from telling)) offset 0
        ) n where n.submitter in (select l.submitter from telling l) group by 1, 2
        on conflict (submitter, minute) do update set ended = p.ended + excluded.ended, failed = p.failed + excluded.failed
    )
    select count(*) into folded from gone;$x$),
        ('begin_tick', $x$
    return query select c.name from chore c$x$, $x$
    update house set stood_since = h.tick_at, resumed_at = t
    where quiet_until is distinct from h.quiet_until and h.tick_at > '-infinity';
    return query select c.name from chore c$x$),
        ('do_chore', $x$
            when 'fold_service' then$x$, $x$
            when 'find_events' then affected := find_events(c.page);
            when 'trim_webhooks' then affected := trim_webhooks(c.page);
            when 'fold_service' then$x$),
        ('do_chore', $x$'close_albums', 'trim_audit')$x$, $x$'close_albums', 'trim_audit', 'find_events', 'trim_webhooks')$x$)
    ) as v (name, before, behind)
    loop
        select pg_get_functiondef(f.oid) into strict old from pg_proc f
        where f.pronamespace = current_schema()::regnamespace and f.proname = change.name;
        if (length(old) - length(replace(old, change.before, ''))) / length(change.before) <> 1 then
            raise exception '% does not have this text once: %', change.name, change.before;
        end if;
        execute replace(old, change.before, change.behind);
    end loop;
end $$;

-- MARK: Rights

select allow('sluice_submitter', 'add_notices', 'create_webhook', 'list_webhooks', 'list_deliveries', 'remove_webhook', 'test_webhook',
             'retry_deliveries');
select allow('sluice_operator', 'create_webhook', 'list_webhooks', 'list_deliveries', 'remove_webhook', 'test_webhook',
             'retry_deliveries');
-- Not for workers: their logins are on many machines, and the secrets of webhooks must not be.
select allow('sluice_face', 'take_deliveries', 'record_delivery');
select apply_permissions();
select set_config('role', 'none', true);
