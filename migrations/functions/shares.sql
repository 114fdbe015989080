-- Whose jobs come next. Queues share the cluster by their weights, and the submitters of a queue share it by theirs. Each has a finish
-- tag, which grows with the service that it gets: start-time fair queueing. Claims note the service that they give, and fold_service()
-- adds it to the tags. For the planner's switches see claiming.sql.

-- The oldest generation of `service` rows that counts. If more than four foldings happen between the start of a claim and its commit,
-- the rows of that claim are not counted.
create or replace function first_generation() returns bigint
language plpgsql volatile security definer set search_path from current
as $$ begin return (select last_value - 4 from service_generation); end $$;

-- Adds the service that claims have given to the finish tags of queues and submitters, and to the virtual times. Returns the number
-- of rows folded.
--
-- A tag grows by cost x 100 / weight, starting from its old value or from the virtual time, whichever is later, so that
-- unused service cannot be saved up. With `ranked`, this also ranks the lanes again, if there are more of them than a claim looks at.
create or replace function fold_service(ranked boolean default false) returns integer
language plpgsql security definer set search_path from current
    set enable_seqscan = off set enable_bitmapscan = off set jit = off
as $$
declare
    oldest bigint := first_generation();
    folded integer;
    served integer[];
begin
    if not try_lock('lock_service') then
        return 0;
    end if;
    served := array(select distinct s.queue from service s where s.generation >= oldest and s.queue is not null);
    if cardinality(served) = 0 then
        return 0;
    end if;
    -- In the order in which claims lock the queues that have limits. A claim that calls this function already holds lanes, so it
    -- must not wait.
    if ranked then
        perform from queue q where q.id = any (served) order by q.id for no key update;
    elsif cardinality(served) > (select count(*) from (
        select from queue q where q.id = any (served) order by q.id for no key update skip locked
    ) q) then
        return 0;
    end if;
    with gone as materialized (
        -- Leaves out queues that were served since, because they are not locked.
        delete from service s where s.generation >= oldest and (s.queue is null or s.queue = any (served)) returning s.*
    ), queues as (
        update queue q
        set finish = greatest(q.finish, g.root_clock) + g.cost * 100 / q.weight, clock = greatest(q.clock, g.clock)
        from (
            select g.queue, min(g.root_clock) as root_clock, max(g.share_tag) as clock, sum(g.cost)::bigint as cost
            from gone g where g.queue is not null group by g.queue
        ) g
        where q.id = g.queue
    ), shares as (
        update share s set finish = greatest(s.finish, g.queue_clock) + g.cost * 100 / s.weight
        from (
            select g.share, min(g.queue_clock) as queue_clock, sum(g.cost)::bigint as cost
            from gone g where g.share is not null group by g.share
        ) g
        where s.id = g.share
    ), root as (
        insert into service (generation, root_clock, queue_tag)
        select nextval('service_generation'), max(greatest(g.root_clock, g.queue_tag)), max(greatest(g.root_clock, g.queue_tag))
        from gone g
    )
    select count(*) into folded from gone;
    if ranked and (select count(*) from (select from lane l where l.is_open limit 201) l) > 200 then
        perform from lane l where l.queue = any (served) and l.is_open order by l.id for no key update;
        update lane l set queue_rank = q.finish, share_rank = s.finish
        from queue q, share s
        where l.queue = any (served) and l.is_open and q.id = l.queue and s.id = l.share
          and (l.queue_rank, l.share_rank) <> (q.finish, s.finish);
    end if;
    return folded;
end $$;
