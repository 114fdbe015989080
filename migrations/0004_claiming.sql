-- Why: how a worker comes by work and keeps the right to it. A worker process has one row with a fresh id per start; its
-- lease is the lease of all its jobs. A claim takes many jobs in one short call, from the heads of the lines that this worker
-- can serve, and never looks at anything else: not at finished jobs, not at jobs that it cannot do, not at dead rows.
--
-- A lease that is over takes nothing away by itself: only what ends the worker does (`ended_at`), and until then its next call
-- revives the lease. So an outage costs no worker its jobs.
--
-- The planner's switches are set on the functions because a plan made while a table was empty is kept by the session, and
-- must still be right when a million jobs wait. For the same reason hot tables are always entered by `job = any (...)` or by a
-- lateral with a limit: the planner knows how few rows are alive, and not how many dead ones a long transaction keeps there,
-- which a walk through all of the index would meet.
--
-- `enable_nestloop = off` stands where arrays are joined to hot tables: had those been empty when they were analyzed, each would
-- be compared with each. What such a function looks up elsewhere is a sub-select, and what it calls sets the switch for itself.
select set_config('role', pg_get_userbyid(nspowner), true) from pg_namespace where nspname = current_schema();

-- Enters a worker that has just started. `abilities` are words of `needs`: `recipe:1`, `codec:flac`, `root:archive`.
--
-- Answers its id, how long it may work after a beat, this call counting as the first, and the secret by which it proves later that it
-- is the worker that it says it is.
create function register_worker(
    worker_name text, worker_host text, worker_build text, worker_slots integer, worker_abilities text[]
) returns table (worker bigint, lease_seconds double precision, secret uuid)
language plpgsql security definer set search_path from current
as $$
declare
    t timestamptz := ledger_time();
    ttl interval := (select lease from setting);
begin
    loop
        return query
            insert into worker as w (name, host, build, slots, abilities, started_at, beat_at, lease_until)
            values (worker_name, worker_host, worker_build, worker_slots, worker_abilities, t, t, t + ttl)
            -- Of two that start in one millisecond one in a thousand draws the other's number.
            on conflict (id) do nothing
            returning w.id, extract(epoch from ttl)::double precision, w.secret;
        exit when found;
    end loop;
end $$;

-- Refuses whoever speaks for a worker and does not have the secret of its registration. A worker that the ledger does not know is for
-- the caller to judge.
create function check_secret(known uuid, given uuid) returns void
language plpgsql immutable
as $$
begin
    if known is distinct from given and known is not null then
        raise exception 'this is not the worker that registered: its secret is another'
            using errcode = 'invalid_authorization_specification';
    end if;
end $$;

-- Says anew what a worker can do, where a mount went away or came back; counts from its next claim on. Refuses with SQLSTATE
-- SL001 if the worker has been ended.
create function set_abilities(worker_id bigint, worker_secret uuid, worker_abilities text[]) returns void
language plpgsql security definer set search_path from current
as $$
begin
    perform check_secret(w.secret, worker_secret) from worker w where w.id = worker_id;
    update worker w set abilities = worker_abilities where w.id = worker_id and w.ended_at is null;
    if not found then
        raise exception 'the lease of worker % is over', worker_id using errcode = 'SL001';
    end if;
end $$;

-- The lines that a worker with these abilities may take from and in which a job waits; `head` is the first one's turn. `lags`:
-- the floor was lifted a while ago and lies below the head, so dead rows may lie between the two.
create function open_lanes(abilities text[], queue_names text[], t timestamptz)
returns table (
    lane integer, queue integer, priority smallint, head bigint, shift bigint, running_limit integer, lags boolean
)
language plpgsql volatile security definer set search_path from current
    set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set jit = off
    set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
begin
    return query
        select l.id, q.id, l.priority, h.turn, q.shift, q.running_limit,
               l.floor < h.turn and l.moved_at < t - interval '200 ms'
        from open_lane() l join queue q on q.id = l.queue
        cross join lateral (
            select w.turn from waiting w where w.lane = l.id and w.turn >= l.floor order by w.turn, w.job limit 1
        ) h
        where not q.paused and l.needs <@ abilities and (queue_names is null or q.name = any (queue_names));
end $$;

-- Takes up to `wanted` jobs for a worker: by priority (higher first), then turn, then id.
--
-- `queue_names` narrows it to some queues. Refuses with SQLSTATE SL001 if the worker has been ended; a lease that is over is
-- revived. Epoch and lease id are the fence: every later write repeats them. `claim_number` grows from claim to claim of a
-- worker. One whose answer was lost is given up with bar_claims(), after which held() tells for good what it took.
create function claim(
    worker_id bigint, worker_secret uuid, wanted integer, queue_names text[] default null, claim_number bigint default null
)
returns table (
    job bigint, epoch integer, lease_id uuid, batch bigint, queue text, priority smallint, recipe jsonb, cost integer,
    labels jsonb, attempt integer, max_attempts smallint, lost smallint, room_deaths smallint, workers_lost smallint
)
language plpgsql security definer set search_path from current
    set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set enable_hashjoin = off
    set enable_mergejoin = off set jit = off set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    t timestamptz := ledger_time();
    me worker;
    -- Of the lines that are open: ids and, beside them, what is known of each. Nothing is looked for before the heads: what
    -- came back before them since is for the next claim.
    lanes integer[];
    heads bigint[];
    shifts bigint[];
    queues integer[];
    priorities smallint[];
    room integer[];
    limited integer[];
    lagging integer[];
    lane_id integer;
    here integer[];
    takes integer[];
    level smallint;
    missing integer := least(wanted, 1000);
    fence uuid := overlay(gen_random_uuid()::text placing (select mark from setting) from 1);
    taken integer;
begin
    -- Held until the commit, so that nobody can declare this worker lost and overlook what it is about to take.
    select * into me from worker w where w.id = claim.worker_id for no key update;
    perform check_secret(me.secret, claim.worker_secret);
    if me.id is null or me.ended_at is not null then
        raise exception 'the lease of worker % is over', claim.worker_id using errcode = 'SL001';
    end if;
    if me.lease_until <= t then
        -- Or reap() would take what is claimed here before the worker can beat.
        update worker w set lease_until = t + (select s.lease from setting s), revived_at = t where w.id = me.id;
    end if;
    if missing <= 0 or me.wish <> 'run' or claim.claim_number < me.claims_from then
        return;
    end if;

    -- Jobs whose time has come, if housekeeping has not been by: one look into an index.
    if exists (select from delayed d where d.ready_at <= t) then
        perform wake_delayed(100);
    end if;

    select array_agg(o.lane), array_agg(o.head), array_agg(o.shift), array_agg(o.queue), array_agg(o.priority),
           array_agg(o.running_limit), array_agg(distinct o.queue) filter (where o.running_limit is not null),
           array_agg(o.lane) filter (where o.lags)
    into lanes, heads, shifts, queues, priorities, room, limited, lagging
    from open_lanes(me.abilities, claim.queue_names, t) o;

    if limited is not null then
        -- Claims from a limited queue go one after another, or two would fill the same gap.
        perform from queue q where q.id = any (limited) order by q.id for no key update;
        room := (
            -- A greatest() over null would be 0, and unlimited queues have no bound.
            select array_agg(case when o.bound is not null then greatest(0, o.bound - coalesce(n.jobs, 0)) end::integer
                             order by o.place)
            from unnest(queues, room) with ordinality as o (queue, bound, place)
            left join (
                select l.queue, count(*) as jobs from running r join lane l on l.id = r.lane
                where l.queue = any (limited) group by l.queue
            ) n on n.queue = o.queue
        );
    end if;

    while missing > 0 and cardinality(lanes) > 0 loop
        -- One priority after the other, from the highest.
        level := (select max(p) from unnest(priorities) p);
        here := array(select i from generate_subscripts(lanes, 1) i where priorities[i] = level);
        if cardinality(here) = 1 then
            takes := array[least(missing, room[here[1]])];
        else
            -- How many fall to each line if the heads of all are merged by turn.
            takes := (
                select array_agg(coalesce(m.jobs, 0)::integer order by h.place)
                from unnest(here) with ordinality as h (i, place)
                left join (
                    select best.i, count(*) as jobs from (
                        select c.i from (
                            select h.i, w.turn + shifts[h.i] as turn, w.job, room[h.i] as room,
                                   row_number() over (partition by queues[h.i] order by w.turn + shifts[h.i], w.job) as place
                            from unnest(here) h (i)
                            cross join lateral (
                                select w.turn, w.job from waiting w
                                where w.lane = lanes[h.i] and w.turn >= heads[h.i] order by w.turn, w.job limit missing
                            ) w
                        ) c
                        where c.room is null or c.place <= c.room
                        order by c.turn, c.job limit missing
                    ) best group by best.i
                ) m on m.i = h.i
            );
        end if;

        return query
            with chosen as materialized (
                select w.ctid as place from unnest(here, takes) as h (i, take)
                cross join lateral (
                    select w.ctid from waiting w
                    where w.lane = lanes[h.i] and w.turn >= heads[h.i]
                    order by w.turn, w.job limit h.take for update skip locked
                ) w
                where h.take > 0
            ), gone as (
                -- Locked, so nothing else can come to lie in their places.
                delete from waiting w where w.ctid = any (array(select c.place from chosen c)) returning w.*
            ), held as (
                insert into running as r
                    (job, batch, lane, turn, epoch, spent, lost, room_deaths, since, lease_id, worker, moved_at)
                select g.job, g.batch, g.lane, g.turn, g.epoch + 1, g.spent, g.lost, g.room_deaths, t, fence, me.id, t
                from gone g
                returning r.*
            ), counted as (
                insert into count_delta (queue, batch, state, jobs, at)
                select l.queue, n.batch, s.state, s.sign * n.jobs, t
                from (select h.lane, h.batch, count(*)::integer as jobs from held h group by h.lane, h.batch) n
                join lane l on l.id = n.lane
                cross join (values ('waiting'::job_state, -1), ('running', 1)) as s (state, sign)
            )
            select h.job, h.epoch, h.lease_id, h.batch, q.name, l.priority, j.recipe, j.cost, j.labels,
                   h.spent + 1, j.max_attempts, h.lost, h.room_deaths,
                   coalesce((select s.workers_lost from suspect s where s.job = h.job), 0::smallint)
            from held h join lane l on l.id = h.lane join queue q on q.id = l.queue join job j on j.id = h.job
            order by h.turn + q.shift, h.job;
        get diagnostics taken = row_count;
        missing := missing - taken;

        -- Where hundreds of jobs are taken between two looks of housekeeping, and a long transaction elsewhere keeps their
        -- rows, the next claims would walk over all of them.
        if taken >= 50 and lagging is not null then
            foreach lane_id in array lagging loop
                -- Not while somebody submits into it.
                if pg_try_advisory_xact_lock('lane'::regclass::oid::integer, lane_id) then
                    perform lift_floor(lane_id);
                end if;
            end loop;
            lagging := null;
        end if;

        here := array(select i from generate_subscripts(lanes, 1) i where priorities[i] < level);
        select array_agg(lanes[i]), array_agg(heads[i]), array_agg(shifts[i]), array_agg(queues[i]),
               array_agg(priorities[i]), array_agg(room[i])
        into lanes, heads, shifts, queues, priorities, room
        from unnest(here) i;
        -- A queue's room is shared by its lines of all priorities.
        if limited is not null and missing > 0 and lanes is not null then
            room := (
                select array_agg(case when q.running_limit is not null
                                      then greatest(0, q.running_limit - coalesce(n.jobs, 0)) end::integer order by o.place)
                from unnest(queues) with ordinality as o (queue, place)
                join queue q on q.id = o.queue
                left join (
                    select l.queue, count(*) as jobs from running r join lane l on l.id = r.lane
                    where l.queue = any (limited) group by l.queue
                ) n on n.queue = o.queue
            );
        end if;
    end loop;
end $$;

-- Gives up the worker's claims up to that number. One that is under way is waited for; one that arrives only now, having
-- hung in a network or in a dying connection, takes nothing, or its jobs would lie in the hands of a worker that does not
-- know of them.
create function bar_claims(worker_id bigint, worker_secret uuid, up_to bigint) returns void
language plpgsql security definer set search_path from current
as $$
begin
    perform check_secret(w.secret, worker_secret) from worker w where w.id = worker_id;
    update worker w set claims_from = greatest(w.claims_from, up_to + 1) where w.id = worker_id;
end $$;

-- All that a worker holds, as claim() answered it: for a worker whose claim was not answered. Fences are the right to write, so
-- they are told to nobody but the worker.
create function held(worker_id bigint, worker_secret uuid)
returns table (
    job bigint, epoch integer, lease_id uuid, batch bigint, queue text, priority smallint, recipe jsonb, cost integer,
    labels jsonb, attempt integer, max_attempts smallint, lost smallint, room_deaths smallint, workers_lost smallint
)
language plpgsql stable security definer set search_path from current set jit = off
as $$
#variable_conflict use_column
begin
    perform check_secret(w.secret, held.worker_secret) from worker w where w.id = held.worker_id;
    return query select r.job, r.epoch, r.lease_id, r.batch, q.name, l.priority, j.recipe, j.cost, j.labels,
           r.spent + 1, j.max_attempts, r.lost, r.room_deaths,
           coalesce((select s.workers_lost from suspect s where s.job = r.job), 0::smallint)
    from running r join lane l on l.id = r.lane join queue q on q.id = l.queue join job j on j.id = r.job
    where r.worker = held.worker_id order by r.job;
end $$;

-- The sign of life of a whole worker process: one statement, whatever the number of slots.
--
-- Renews the lease, also one that is over, unless the worker has been ended: what it holds in `running` is its own until then,
-- so an outage that outlasts a lease takes nothing from it. Stores how far the given jobs are; `frames_totals` and `slots` may
-- hold nulls. A job with a slot has begun: if its worker is lost, that counts against it. The answer is one row:
-- `alive`: false means that all is lost: stop everything, write nothing, register anew.
-- `cancelled`: of the given jobs, those to be stopped and reported with fail() or release().
-- `lost`: of the given jobs, those that are no longer this worker's to write (or that it has just finished itself).
create function beat(
    worker_id bigint, worker_secret uuid,
    jobs bigint[] default '{}', epochs integer[] default '{}', lease_ids uuid[] default '{}',
    frames bigint[] default '{}', frames_totals bigint[] default '{}', slots smallint[] default '{}',
    worker_status jsonb default null
) returns table (
    alive boolean, wish worker_wish, lease_seconds double precision,
    cancelled bigint[], lost bigint[], paused_queues text[]
)
language plpgsql security definer set search_path from current
    set enable_seqscan = off set enable_nestloop = off set jit = off set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    t timestamptz;
    ttl interval;
    me record;
begin
    -- A beat that a crash of the server forgets is missed by nobody.
    perform set_config('synchronous_commit', 'off', true);
    select ledger_time(), s.lease into t, ttl from setting s;

    perform check_secret(w.secret, beat.worker_secret) from worker w where w.id = beat.worker_id;
    update worker w
    set beat_at = t, lease_until = t + ttl, revived_at = case when w.lease_until <= t then t else w.revived_at end,
        status = coalesce(worker_status, w.status)
    where w.id = beat.worker_id and w.ended_at is null
    returning w.id, w.wish into me;
    if me.id is null then
        return query select false, null::worker_wish, 0::double precision, '{}'::bigint[], beat.jobs, '{}'::text[];
        return;
    end if;

    -- A row that is locked is on its way out of `running`; waiting for it could end in a deadlock.
    with given as (
        select * from unnest(beat.jobs, beat.epochs, beat.lease_ids, beat.frames, beat.frames_totals, beat.slots)
            as g (job, epoch, lease_id, frames, frames_total, slot)
    ), mine as materialized (
        select r.job from running r join given g on r.job = g.job and r.epoch = g.epoch and r.lease_id = g.lease_id
        where r.worker = me.id and r.job = any (beat.jobs)
        order by r.job for no key update of r skip locked
    )
    update running r
    set moved_at = case when g.frames > r.frames then t else r.moved_at end,
        frames = greatest(r.frames, coalesce(g.frames, 0)), frames_total = coalesce(g.frames_total, r.frames_total),
        slot = coalesce(g.slot, r.slot)
    from given g join mine m on m.job = g.job
    where r.job = m.job and r.job = any (beat.jobs)
      and (g.frames > r.frames or g.frames_total is distinct from r.frames_total or g.slot is distinct from r.slot);

    return query
        select true, me.wish, extract(epoch from ttl)::double precision,
               coalesce(array_agg(g.job) filter (where r.cancel_asked), '{}'),
               coalesce(array_agg(g.job) filter (where r.job is null and p.job is null), '{}'),
               array(select q.name from queue q where q.paused order by q.name)
        from unnest(beat.jobs, beat.epochs, beat.lease_ids) as g (job, epoch, lease_id)
        left join running r on r.job = g.job and r.epoch = g.epoch and r.lease_id = g.lease_id
            and r.job = any (beat.jobs)
        left join publishing p on p.job = g.job and p.epoch = g.epoch and p.lease_id = g.lease_id
            and p.job = any (beat.jobs);
end $$;

select allow('sluice_worker', 'register_worker', 'set_abilities', 'claim', 'bar_claims', 'held', 'beat');
select apply_permissions();
select set_config('role', 'none', true);
