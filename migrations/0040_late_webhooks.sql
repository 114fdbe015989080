-- Why: a webhook that was made for a batch that had already ended made all other webhooks hear of that end again. And the time at which a
-- test is sent was listed as minus infinity.
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
        ('list_deliveries', 'then d.due_at end', 'then greatest(d.due_at, d.created_at) end')
    ) as v (name, before, behind);
end $$;

select set_config('role', 'none', true);
