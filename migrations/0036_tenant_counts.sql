-- Why: the counts of a tenant were sums over all its batches, which were looked for among all batches: `submitter` and caller() have
-- different collations, so no index was used, and caller() was asked for each row. In a ledger of 300,000 batches, `status`, the list of
-- queues and each count took 1.8 s, and the list of batches 2.5 s, for a tenant with three batches as for one with 100,000.
--
-- Now the sums of tenants are kept like those of queues, and a tenant's batches have an index of their own, which other submitters do not
-- pay for.
--
-- Compatible from: 23
select set_config('role', pg_get_userbyid(nspowner), true) from pg_namespace where nspname = current_schema();

-- The jobs of a tenant, as of the last folding; `count_delta` holds the rest. In the lock order these rows come with the counts, after
-- batches. Two chores write them, each under the advisory lock `tenant_count`.
create table tenant_count (
    tenant text collate "C" not null,
    queue integer not null references queue,
    state job_state not null,
    jobs bigint not null,
    primary key (tenant, queue, state)
) with (fillfactor = 50);
alter table tenant_count set (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 500,
                              autovacuum_vacuum_cost_delay = 0, autovacuum_analyze_scale_factor = 0.1);

insert into tenant_count (tenant, queue, state, jobs)
select tenant_of(b.submitter), b.queue, s.state, sum(s.jobs)
from batch b cross join lateral (values
    ('delayed'::job_state, b.delayed), ('waiting', b.waiting), ('running', b.running), ('publishing', b.publishing),
    ('completed', b.completed), ('skipped', b.skipped), ('failed', b.failed), ('cancelled', b.cancelled)
) as s (state, jobs)
where tenant_of(b.submitter) is not null and s.jobs <> 0 group by 1, 2, 3;

create index batch_of_tenant on batch (submitter, id) where starts_with(submitter, 'tenant:');

-- As before, with the sums of a tenant.
create or replace function counts() returns table (queue text, state job_state, jobs bigint)
language plpgsql stable security definer set search_path from current set jit = off
as $$
#variable_conflict use_column
declare
    whose text := caller();
begin
    if is_tenant() then
        return query
            with mine as materialized (
                select c.queue, c.state, c.jobs from tenant_count c where c.tenant = tenant_of(whose)
                union all
                -- Each of them by its batch: they are few, and a plan that joins them may read all batches.
                select d.queue, d.state, d.jobs from count_delta d
                where (select b.submitter from batch b where b.id = d.batch) = whose
            )
            select q.name, s.state, coalesce((
                       select sum(m.jobs) from mine m where m.queue = q.id and m.state = s.state
                   ), 0)::bigint
            from share h join queue q on q.id = h.queue
            cross join unnest(enum_range(null::job_state)) as s (state)
            where h.submitter = whose order by q.name, s.state;
    else
        return query
            select q.name, s.state, coalesce(sum(n.jobs), 0)::bigint
            from queue q
            cross join unnest(enum_range(null::job_state)) as s (state)
            left join (
                select c.queue, c.state, c.jobs from queue_count c
                union all
                select d.queue, d.state, d.jobs from count_delta d
            ) n on n.queue = q.id and n.state = s.state
            group by q.name, s.state order by q.name, s.state;
    end if;
end $$;

-- Locks the counts of tenants until the transaction ends, if there are tenants.
create function hold_tenant_counts() returns void
language plpgsql security definer set search_path from current
as $$
begin
    if exists (select from tenant) then
        perform pg_advisory_xact_lock('tenant_count'::regclass::oid::integer, 0);
    end if;
end $$;

do $$
begin
    perform change_function(v.name, v.before, v.behind) from (values
        ('fold_counts', $x$
    perform from batch b where b.id = any (batches) order by b.id for no key update;$x$, $x$
    perform from batch b where b.id = any (batches) order by b.id for no key update;
    perform hold_tenant_counts();$x$),
        ('fold_counts', $x$
    ), paces as ($x$, $x$
    ), tenants as (
        insert into tenant_count as c (tenant, queue, state, jobs)
        select n.tenant, n.queue, n.state, sum(n.jobs)
        from (
            select tenant_of((select b.submitter from batch b where b.id = g.batch)) as tenant, g.queue, g.state, g.jobs
            from (select o.batch, o.queue, o.state, sum(o.jobs) as jobs from gone o group by 1, 2, 3) g
            where (select exists (select from tenant)) and g.jobs <> 0 offset 0
        ) n where n.tenant is not null group by 1, 2, 3
        on conflict (tenant, queue, state) do update set jobs = c.jobs + excluded.jobs
    ), paces as ($x$),
        ('tell_batches', $x$
    perform from batch b where b.id = any (batches) order by b.id for update;$x$, $x$
    perform from batch b where b.id = any (batches) order by b.id for update;
    perform hold_tenant_counts();
    update tenant_count c set jobs = c.jobs - n.jobs
    from (
        select tenant_of(b.submitter) as tenant, l.queue, l.state, sum(l.jobs) as jobs
        from leaving_count l join batch b on b.id = l.batch
        where l.batch = any (batches) and tenant_of(b.submitter) is not null group by 1, 2, 3
    ) n where c.tenant = n.tenant and c.queue = n.queue and c.state = n.state;$x$),
        ('list_batches', $x$
        union all$x$, $x$
        union all
        (select b.* from batch b where only_batch is null and b.id < coalesce(before, 9223372036854775807) and is_tenant()
           and starts_with(b.submitter, 'tenant:')
           -- Ranges, and an order by both columns, as in find_batches(): only the tenants' index gives it.
           and b.submitter >= (select caller()::text collate "default") and b.submitter <= (select caller()::text collate "default")
         order by b.submitter desc, b.id desc limit page)
        union all$x$),
        ('list_batches', $x$ where only_batch is null and b.id < coalesce(before, 9223372036854775807)
           and ($x$, $x$ where only_batch is null and b.id < coalesce(before, 9223372036854775807) and not is_tenant()
           and ($x$)
    ) as v (name, before, behind);
end $$;

select apply_permissions();
select set_config('role', 'none', true);
