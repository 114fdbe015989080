-- Why: the ledger did not keep to times that it was told, and showed wrong ones. A cancelled job that was put back ran before its `run_at`.
-- The oldest waiting job was looked for at the heads of lanes only, where a job that has just returned may stand. The use of a token was dated
-- when it was written. A hold was shown of tenants that have no waiting jobs, and nothing showed that no coordinator sends webhooks. Labels
-- that read as numbers of batches could not be used.
--
-- Compatible from: 23
select set_config('role', pg_get_userbyid(nspowner), true) from pg_namespace where nspname = current_schema();

-- MARK: The oldest waiting job

-- Jobs that were submitted together have the same time, so most entries share a few pages.
create index waiting_since on waiting (lane, since);

-- Since when the oldest job of each lane waits. One look at the index for each open lane, however many jobs wait.
create function oldest_of_lanes() returns table (queue integer, share integer, since timestamptz)
language plpgsql stable security definer set search_path from current
    set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set jit = off
as $$
#variable_conflict use_column
begin
    return query
        select l.queue, l.share, h.since from open_lane() l
        cross join lateral (select w.since from waiting w where w.lane = l.id order by w.since limit 1) h;
end $$;

-- MARK: Deliveries that no coordinator sends

-- When a coordinator last looked for deliveries, to ten seconds.
create table webhook_sender (
    only_row boolean primary key default true check (only_row),
    looked_at timestamptz not null
) with (fillfactor = 50);
insert into webhook_sender (looked_at) values (ledger_time());

-- How many deliveries have been due for a minute, 10,000 at most, and since when, if no coordinator has looked for any in that minute.
create function unsent_deliveries() returns table (deliveries bigint, since timestamptz)
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

-- MARK: Tokens

-- Records that tokens were used so many seconds ago, to the minute.
create function note_token_uses(token_ids integer[], seconds_ago double precision[]) returns void
language plpgsql security definer set search_path from current
as $$
declare
    t timestamptz := ledger_time();
begin
    perform set_config('synchronous_commit', 'off', true);
    with used as materialized (
        select u.id, date_trunc('minute', t - make_interval(secs => max(u.seconds))) as minute
        from unnest(token_ids, seconds_ago) as u (id, seconds) group by u.id
    ), later as materialized (
        select k.id, u.minute from token k join used u on u.id = k.id
        where k.used_at is null or k.used_at < u.minute
        order by k.id for no key update of k skip locked
    )
    update token k set used_at = l.minute from later l where k.id = l.id;
end $$;

-- MARK: Labels

-- Why a batch cannot have that label; null if it can. Wherever batches are named, a number means the batch with that number.
create function label_fault(label text) returns text
language sql immutable parallel safe
as $$
    select case when label ~ '^[+-]?[0-9]+$' or label = 'last' then
        format('a batch cannot have the label "%s", because that word names another batch', left(label, 50)) end
$$;

-- MARK: What was there before

do $do$
begin
    perform change_function(v.name, v.before, v.behind) from (values
        ('status', $x$(select min(h.since) from open_lane() l cross join lateral (
                select w.since from waiting w where w.lane = l.id and w.turn >= l.floor order by w.turn, w.job limit 1
            ) h where not is_tenant() or exists (select from share s where s.id = l.share and s.submitter = caller())),$x$,
         $x$(select min(o.since) from oldest_of_lanes() o
            where not is_tenant() or exists (select from share s where s.id = o.share and s.submitter = caller())),$x$),
        ('ledger_metrics', $x$    -- At the heads of the lanes, as in status().
    select 'oldest', q.name, '', '', coalesce(max(span_seconds(h.since, ledger_time())), 0)
    from queue q
    left join (
        select l.queue, w.since from open_lane() l
        cross join lateral (
            select w.since from waiting w where w.lane = l.id and w.turn >= l.floor order by w.turn, w.job limit 1
        ) w
    ) h on h.queue = q.id
    group by q.name
$x$, $x$    select 'oldest', q.name, '', '', coalesce(max(span_seconds(o.since, ledger_time())), 0)
    from queue q left join oldest_of_lanes() o on o.queue = q.id
    group by q.name
    union all
    select 'unsent', null, '', '', coalesce((select u.deliveries from unsent_deliveries() u), 0)
$x$),
        ('take_deliveries', $x$begin
    for w in$x$, $x$begin
    update webhook_sender s set looked_at = t where s.only_row = (
        select o.only_row from webhook_sender o
        -- The second, if the clock went back.
        where o.looked_at < t - interval '10 s' or o.looked_at > t + interval '10 s' for no key update skip locked
    );
    for w in$x$),
        ('list_holds', $x$ or s.submitter = caller())
$x$, $x$ or s.submitter = caller())
      and exists (
          select from open_lane() l where l.share = s.id
             and exists (select from waiting w where w.lane = l.id and w.turn >= l.floor))
$x$),
        ('submit', $x$        raise exception 'the labels of the batch take % bytes, and may take %', octet_length(submit.batch_labels::text), most
            using errcode = 'invalid_parameter_value';
    end if;
$x$, $x$        raise exception 'the labels of the batch take % bytes, and may take %', octet_length(submit.batch_labels::text), most
            using errcode = 'invalid_parameter_value';
    end if;
    if label_fault(submit.batch_name) is not null then
        raise exception '%', label_fault(submit.batch_name)
            using errcode = 'invalid_parameter_value', hint = 'use a label that is no number and not "last"';
    end if;
$x$),
        ('submit_singles', $x$                   and coalesce(octet_length(n.labels::text), 0)$x$, $x$                   and label_fault(n.name) is null
                   and coalesce(octet_length(n.labels::text), 0)$x$),
        -- A job that may not start yet becomes a delayed one.
        ('retry_jobs', $x$    again waiting[];
$x$, $x$    again waiting[];
    returned bigint[];
$x$),
        ('retry_jobs', $x$cross join lateral (values (n.state, -1), ('waiting'::job_state, 1)) as s (state, sign)
    ), forgiven as ($x$, $x$cross join lateral (values (n.state, -1)) as s (state, sign)
    ), forgiven as ($x$),
        ('retry_jobs', $x$select g.job, g.batch, g.epoch, g.priority, j.lane, j.cost from gone g$x$,
         $x$select g.job, g.batch, g.queue, g.epoch, g.priority, j.lane, j.cost, case when j.run_at > t then j.run_at end as starts_at
        from gone g$x$),
        ('retry_jobs', $x$        ) k
    )
    select array_agg(row(a.job, a.batch, n.new_lane, a.cost, 0, a.epoch, 0, 0, 0, t)::waiting),
           amended || array_agg(a.job), epochs || array_agg(a.epoch)
    into again, amended, epochs
    from asked a join lanes n on n.lane = a.lane and n.priority = a.priority;
    if again is not null then
        delete from suspect s where s.job in (select a.job from unnest(again) a);
$x$, $x$        ) k
    ), placed as materialized (
        select a.*, n.new_lane from asked a join lanes n on n.lane = a.lane and n.priority = a.priority
    ), put_off as (
        insert into delayed (job, batch, lane, cost, turn, epoch, spent, lost, room_deaths, since, ready_at)
        select p.job, p.batch, p.new_lane, p.cost, 0, p.epoch, 0, 0, 0, t, greatest(p.starts_at, (select hold_delayed()))
        from placed p where p.starts_at is not null
    ), counted_again as (
        insert into count_delta (queue, batch, state, jobs, at)
        select n.queue, n.batch, n.state, count(*), t
        from (
            select p.queue, p.batch, (case when p.starts_at is null then 'waiting' else 'delayed' end)::job_state as state
            from placed p
        ) n group by n.queue, n.batch, n.state
    )
    select array_agg(row(p.job, p.batch, p.new_lane, p.cost, 0, p.epoch, 0, 0, 0, t)::waiting) filter (where p.starts_at is null),
           amended || array_agg(p.job), epochs || array_agg(p.epoch), array_agg(p.job)
    into again, amended, epochs, returned
    from placed p;
    if returned is not null then
        delete from suspect s where s.job = any (returned);
$x$),
        ('retry_jobs', $x$exists (select from unnest(again) a where a.job between l.first_id and l.counted_to);$x$,
         $x$exists (select from unnest(returned) r (job) where r.job between l.first_id and l.counted_to);$x$),
        ('retry_jobs', $x$    changed := coalesce(cardinality(again), 0) + hurried;$x$,
         $x$    changed := coalesce(cardinality(returned), 0) + hurried;$x$)
    ) as v (name, before, behind);
end $do$;

select allow('sluice_face', 'note_token_uses');
select allow('sluice_viewer', 'unsent_deliveries');
select allow('sluice_submitter', 'unsent_deliveries');
select allow('sluice_operator', 'unsent_deliveries');
select apply_permissions();
select set_config('role', 'none', true);
