-- Webhooks: addresses that get a signed HTTP request for each event. events.sql finds the events, and deliveries.sql hands them to
-- coordinators.

-- Whether the caller sees and steers all webhooks.
create or replace function steers_webhooks() returns boolean
language sql stable parallel safe
return is_operator() and only_queue() is null;

-- Throws if the caller may not see a webhook.
create or replace function own_webhook(webhook_id integer) returns webhook
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
create or replace function create_webhook(
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
    if whose like 'tenant:%' and not exists (select from tenant n where n.name = substr(whose, 8)) then
        raise exception 'there is no tenant "%"', left(substr(whose, 8), 100)
            using errcode = 'no_data_found', hint = '"sluice tenants" lists them';
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
    lock table lock_webhook in exclusive mode;
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
    -- Coordinators look for deliveries less often while there is no webhook.
    perform pg_notify(current_schema(), 'webhooks');
    if batch_id is not null then
        -- It may have ended already.
        insert into batch_news (batch, webhook) values (batch_id, new_id);
    end if;
    perform note_audit('create_webhook', jsonb_strip_nulls(jsonb_build_object(
        'webhook', new_id, 'host', substring(address from '^https?://[^/?]+'), 'events', to_jsonb(wanted), 'submitter', whose,
        'batch', batch_id, 'queue', queue_name, 'name', hook_name, 'onNotify', nullif(only_notify, false))), 1);
    return new_id;
end $$;

-- The webhooks that the caller may see or name, and the addresses of the former only; of the others, the host. `waiting` and `dead` count
-- up to 10,000.
create or replace function list_webhooks()
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

-- Removes a webhook with its deliveries. If there are more than `page`, housekeeping deletes the rest.
create or replace function remove_webhook(webhook_id integer, page integer default 10000) returns void
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

-- Whether a submission of the caller may name a webhook: one of its own, and one that operators have made for those that name it. A
-- tenant's jobs name no address of the installation.
create or replace function may_notify(w webhook) returns boolean
language sql stable parallel safe
return w.batch is null and w.removed_at is null
       and (w.submitter = caller() or w.submitter is null and (w.on_notify and not is_tenant() or steers_webhooks()));

-- Has webhooks told about a batch that the caller has submitted, in the transaction that adds it: they are given by name or id. Of those
-- with the same name, the caller's own is meant.
create or replace function add_notices(batch_id bigint, hooks text[]) returns void
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
                using errcode = 'no_data_found', hint = '"sluice webhooks" lists them';
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

-- Deletes up to `page` deliveries and as many notices of a webhook, and the webhook when none are left. Returns how many rows.
create or replace function clear_webhook(webhook_id integer, page integer) returns integer
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
create or replace function trim_webhooks(page integer) returns integer
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
