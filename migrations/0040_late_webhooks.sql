-- Why: a webhook that was made for a batch that had already ended made all other webhooks hear of that end again. And the time at which a
-- test is sent was listed as minus infinity. And a place of a tenant without a slash at its end also meant the folders beside it that begin
-- with the same letters.
--
-- Compatible from: 23
select set_config('role', pg_get_userbyid(nspowner), true) from pg_namespace where nspname = current_schema();

-- The webhook that is to hear of it; null: all.
alter table batch_news add column webhook integer;

do $$
begin
    perform change_function(v.name, v.before, v.behind) from (values
        ('create_webhook', $x$insert into batch_news (batch) values (batch_id);$x$,
         $x$insert into batch_news (batch, webhook) values (batch_id, new_id);$x$),
        ('find_ended_batches', $x$max(n.id) as last
$x$, $x$max(n.id) as last,
               case when bool_and(n.webhook is not null) then array_agg(n.webhook) end as only_for
$x$),
        ('find_ended_batches', $x$s.last, c.name$x$, $x$s.last, s.only_for, c.name$x$),
        ('find_ended_batches', $x$join webhook w on w.batch = e.batch
        where $x$, $x$join webhook w on w.batch = e.batch and (e.only_for is null or w.id = any (e.only_for))
        where $x$),
        ('find_ended_batches', $x$join webhook w on w.id = n.webhook
        where $x$, $x$join webhook w on w.id = n.webhook
        where e.only_for is null and $x$),
        ('find_ended_batches', $x$and (w.queue is null or w.queue = e.queue)
        where $x$, $x$and (w.queue is null or w.queue = e.queue)
        where e.only_for is null and $x$),
        ('limit_tenant', $x$
    elsif exists (
        select from jsonb_each(case when$x$, $x$
    elsif exists (
        select from unnest(array['reads', 'writes']) k,
            jsonb_array_elements_text(case when jsonb_typeof(limits -> k) = 'array' then limits -> k else '[]' end) w
        where w !~ '^[^:/]+:([^/].*/)?$'
    ) then
        raise exception 'a place of a tenant is a root or a folder'
            using errcode = 'invalid_parameter_value', hint = 'end it with a colon or a slash, as in "archive:" or "out:radio/"';
    elsif exists (
        select from jsonb_each(case when$x$),
        ('list_deliveries', 'then d.due_at end', 'then greatest(d.due_at, d.created_at) end')
    ) as v (name, before, behind);
end $$;

select set_config('role', 'none', true);
