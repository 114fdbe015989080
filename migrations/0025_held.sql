-- Why: each worker asks for its jobs once in the time of a lease, and held() read those of all workers. In a fleet of a thousand workers
-- it was the most expensive call.
--
-- Compatible from: 23
select set_config('role', pg_get_userbyid(nspowner), true) from pg_namespace where nspname = current_schema();

create index running_worker on running (worker);

-- All jobs that a worker holds, in the form in which claim() returned them, for a worker whose claim was not answered. A fence
-- permits writes, so only the worker itself gets them. Each worker also calls it once in the time of a lease. In a fleet of a thousand
-- workers that is 33 calls a second, so it reads only the worker's own jobs.
create or replace function held(worker_id bigint, worker_secret uuid)
returns table (
    job bigint, epoch integer, lease_id uuid, batch bigint, queue text, priority smallint, recipe jsonb, cost integer,
    labels jsonb, attempt integer, max_attempts smallint, lost smallint, room_deaths smallint, workers_lost smallint
)
language plpgsql stable security definer set search_path from current
    set enable_seqscan = off set enable_bitmapscan = off set jit = off set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    mine bigint[];
begin
    perform check_secret(w.secret, held.worker_secret) from worker w where w.id = held.worker_id;
    if not found then
        return;
    end if;
    mine := array(select r.job from running r where r.worker = held.worker_id order by r.job);
    return query select r.job, r.epoch, r.lease_id, r.batch, q.name, l.priority, j.recipe, j.cost, j.labels,
           r.spent + 1, j.max_attempts, r.lost, r.room_deaths,
           coalesce((select s.workers_lost from suspect s where s.job = r.job), 0::smallint)
    from running r
    join jobs_of(mine) j on j.id = r.job
    join lane l on l.id = r.lane join queue q on q.id = l.queue
    where r.job = any (mine) order by r.job;
end $$;

select set_config('role', 'none', true);
