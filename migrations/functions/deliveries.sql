-- Deliveries of events to webhooks. Coordinators take deliveries under a lease and send them. One that dies before it has recorded an
-- answer leaves the delivery to the next, with the same message id: a delivery may be sent twice, and is never lost.

-- Takes deliveries that are due, up to `healthy` of webhooks that took the last request, and up to `failing` of others, so that those
-- that fail or hang take nothing from the rest. A webhook gets four requests at a time, and one while it fails. The coordinator that
-- takes a delivery records its result within `lease_for`; otherwise another takes it.
create or replace function take_deliveries(healthy integer, failing integer, lease_for interval default '60 s')
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
    -- Submitters that have all their places, each behind whether its webhooks fail.
    full_submitters text[] := '{}';
begin
    update webhook_sender s set looked_at = t where s.only_row = (
        select o.only_row from webhook_sender o
        -- The second, if the clock went back.
        where o.looked_at < t - interval '10 s' or o.looked_at > t + interval '10 s' for no key update skip locked
    );
    for w in
        select h.id, h.submitter, h.failures > 0 as fails from webhook h
        where h.removed_at is null
          and exists (select from webhook_delivery d where d.webhook = h.id and d.outcome is null and d.due_at <= t)
        order by random() for no key update skip locked
    loop
        exit when healthy <= 0 and failing <= 0;
        places := least(case when w.fails then failing else healthy end, (case when w.fails then 1 else 4 end) - (
            select count(*) from webhook_delivery d where d.webhook = w.id and d.lease is not null and d.lease_until > t
        ));
        -- A receiver that takes just less than the time that it may keeps its place as long. All that one submitter may name have four of
        -- them, or two of those for webhooks that fail.
        if places > 0 and w.submitter is not null then
            continue when w.fails || w.submitter = any (full_submitters);
            places := least(places, (case when w.fails then 2 else 4 end) - (
                select count(*) from webhook o join webhook_delivery d on d.webhook = o.id
                where o.submitter = w.submitter and (o.failures > 0) = w.fails and d.lease is not null and d.lease_until > t
            ));
            if places <= 0 then
                full_submitters := full_submitters || (w.fails || w.submitter);
            end if;
        end if;
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
        -- Due again when the lease ends without a result.
        update webhook_delivery d
        set attempts = d.attempts + 1, lease = fence, lease_until = t + lease_for, due_at = t + lease_for, tried_at = t
        where d.id = any (taken);
        return query
            select d.id, d.message, d.webhook, h.url, h.secret, d.attempts, d.lease, e.body, w.fails, h.by_tenant
            from webhook_delivery d join webhook h on h.id = d.webhook join webhook_event e on e.id = d.event
            where d.id = any (taken) order by d.id;
    end loop;
end $$;

-- Whether there is a webhook to send anything to. create_webhook() notifies.
create or replace function has_webhooks() returns boolean
language sql stable security definer set search_path from current
as $$ select exists (select from webhook w where w.removed_at is null) $$;

-- Records the result of an attempt: the status of the answer, or an error. Statuses from 200 to 299 end the delivery, whichever coordinator
-- has the lease by now. 410 means that the receiver is gone for good. After ten attempts, which take about a day, the delivery is dead.
-- Returns `delivered`, `waiting` or `dead`; null: another has taken or ended it.
create or replace function record_delivery(delivery_id bigint, lease_id uuid, answer_status integer, problem text default null) returns text
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

-- How long to wait after the n-th attempt: 5 s, 20 s, 80 s, 5 min, 21 min, 85 min, 6 h, 8 h, 8 h, each up to a quarter more or less.
create or replace function delivery_delay(attempts integer) returns interval
language sql volatile parallel safe
return least(interval '8 hours', interval '5 s' * power(4, least(attempts, 10) - 1)) * (0.75 + random() / 2);

-- How many deliveries have been due for a minute, 10,000 at most, and since when, if no coordinator has looked for any in that minute.
create or replace function unsent_deliveries() returns table (deliveries bigint, since timestamptz)
language plpgsql stable security definer set search_path from current
    set enable_seqscan = off set enable_bitmapscan = off set jit = off
as $$
declare
    before timestamptz := ledger_time() - interval '1 minute';
begin
    if is_tenant() or (select s.looked_at from webhook_sender s) > before then
        return;
    end if;
    return query
        -- A test is due at `-infinity`, so that it comes first.
        select count(*), min(greatest(u.due_at, u.created_at))
        from (
            select d.due_at, d.created_at from webhook w cross join lateral (
                select o.due_at, o.created_at from webhook_delivery o
                where o.webhook = w.id and o.outcome is null and o.due_at < before order by o.due_at, o.id limit 10000
            ) d
            where w.removed_at is null limit 10000
        ) u
        where u.created_at < before having count(*) > 0;
end $$;

-- Deliveries of webhooks that the caller may see, newest first: of one webhook, in one state (`waiting`, `delivered` or `dead`), older
-- than `before`.
create or replace function list_deliveries(
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
               case when d.outcome is null then greatest(d.due_at, d.created_at) end, d.tried_at, d.ended_at, d.status, d.error
        from webhook_delivery d join webhook w on w.id = d.webhook join webhook_event e on e.id = d.event
        where (webhook_id is null or d.webhook = webhook_id) and w.removed_at is null
          and (steers_webhooks() or w.submitter = caller())
          and (in_state is null or coalesce(d.outcome, 'waiting') = in_state) and (before is null or d.id < before)
        order by d.id desc limit page;
end $$;

-- Adds an event of the type `webhook.test`. Returns its delivery. `test_id` names the test, so that a repeated call adds nothing.
create or replace function test_webhook(webhook_id integer, test_id uuid) returns bigint
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
create or replace function retry_deliveries(
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
