-- What operators change about queues, shares and workers.

-- Pauses a queue or resumes it; running jobs continue. Throws if there is no queue with this name.
create or replace function pause_queue(queue_name text, pause boolean default true) returns void
language plpgsql security definer set search_path from current
as $$
declare
    q queue;
begin
    perform check_queue(queue_name), refuse_tenants('change queues');
    select * into q from queue where name = queue_name for no key update;
    if not found then
        raise exception 'there is no queue "%"', queue_name using errcode = 'no_data_found';
    end if;
    update queue set paused = pause where id = q.id;
    if q.paused and not pause then
        perform pg_notify(current_schema(), 'jobs');
    end if;
    perform note_audit('pause_queue', jsonb_build_object('queue', queue_name, 'pause', pause), 1);
end $$;

-- Limits how many jobs of the queue run at once; null removes the limit.
create or replace function limit_queue(queue_name text, new_limit integer) returns void
language plpgsql security definer set search_path from current
as $$
declare
    q queue;
begin
    perform check_queue(queue_name), refuse_tenants('change queues');
    select * into q from queue where name = queue_name for no key update;
    if not found then
        raise exception 'there is no queue "%"', queue_name using errcode = 'no_data_found';
    end if;
    update queue set running_limit = new_limit where id = q.id;
    if q.running_limit is not null and (new_limit is null or new_limit > q.running_limit) then
        perform pg_notify(current_schema(), 'jobs');
    end if;
    perform note_audit('limit_queue', jsonb_build_object('queue', queue_name, 'limit', new_limit), 1);
end $$;

-- Sets the queue's weight relative to other queues, from the next claim on.
create or replace function weigh_queue(queue_name text, new_weight integer) returns void
language plpgsql security definer set search_path from current
as $$
begin
    perform check_queue(queue_name), refuse_tenants('change queues');
    update queue set weight = new_weight where name = queue_name;
    if not found then
        raise exception 'there is no queue "%"', queue_name using errcode = 'no_data_found';
    end if;
    perform note_audit('weigh_queue', jsonb_build_object('queue', queue_name, 'weight', new_weight), 1);
end $$;

-- Sets a submitter's weight in a queue relative to other submitters, from the next claim on.
create or replace function weigh_submitter(queue_name text, whose text, new_weight integer) returns void
language plpgsql security definer set search_path from current
as $$
begin
    perform check_queue(queue_name), refuse_tenants('change queues');
    update share s set weight = new_weight from queue q where q.id = s.queue and q.name = queue_name and s.submitter = whose;
    if not found then
        raise exception '"%" has submitted nothing to a queue "%"', whose, queue_name using errcode = 'no_data_found';
    end if;
    perform note_audit('weigh_submitter', jsonb_build_object('queue', queue_name, 'submitter', whose, 'weight', new_weight), 1);
end $$;

-- Asks a worker to claim no more (`quiet`), to stop once it is empty (`drain`), or to continue (`run`). The worker receives this
-- with its next heartbeat. False if it has ended.
create or replace function wish_worker(worker_id bigint, new_wish worker_wish) returns boolean
language plpgsql security definer set search_path from current
as $$
declare
    worker_name text;
begin
    perform check_queue(null), refuse_tenants('steer workers');
    update worker w set wish = new_wish where w.id = worker_id and w.ended_at is null returning w.name into worker_name;
    if not found then
        return false;
    end if;
    perform note_audit('wish_worker', jsonb_build_object('worker', worker_id, 'name', worker_name, 'wish', new_wish), 1);
    return true;
end $$;
