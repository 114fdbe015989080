-- Why: what a worker can do may change while it runs. Where a mount goes away, the jobs of that root have to wait for another
-- worker or for its return, while the worker goes on with the others. Until now its abilities stood from its start to its end.
select set_config('role', pg_get_userbyid(nspowner), true) from pg_namespace where nspname = current_schema();

-- Says anew what a worker can do; counts from its next claim on. Refuses with SQLSTATE SL001 if its lease is over.
create function set_abilities(worker_id bigint, worker_abilities text[]) returns void
language plpgsql security definer set search_path from current
as $$
begin
    update worker w set abilities = worker_abilities
    where w.id = worker_id and w.ended_at is null and w.lease_until > ledger_time();
    if not found then
        raise exception 'the lease of worker % is over', worker_id using errcode = 'SL001';
    end if;
end $$;

select allow('sluice_worker', 'set_abilities');
select apply_permissions();
select set_config('role', 'none', true);
