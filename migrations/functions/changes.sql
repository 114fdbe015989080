-- Bulk changes: changes of many jobs that the ledger keeps. Any coordinator carries one out, page by page, also after the client has
-- disconnected, and changes to jobs that still wait can be undone.
--
-- Coordinators make the pages, acting for the caller that began the change. So only callers for whom a coordinator acts may begin one.

-- Begins a bulk change of the jobs that a filter finds. A repetition with the same `request` begins nothing and returns the first one.
create or replace function start_change(request uuid, change text, filter jsonb, arguments jsonb, expected bigint) returns setof bulk_change
language plpgsql security definer set search_path from current set enable_seqscan = off set jit = off
as $$
#variable_conflict use_column
begin
    if acting_for() is null then
        raise exception 'bulk changes are made by coordinators on behalf of tokens' using errcode = 'invalid_parameter_value',
            hint = 'ask a coordinator over HTTP, or change the jobs yourself';
    end if;
    if (select count(*) from bulk_change b where b.submitter = caller() and b.phase in ('running', 'undoing')) >= 100 then
        raise exception '100 bulk changes are under way' using errcode = 'invalid_parameter_value', hint = 'wait until some have ended';
    end if;
    -- Refuses a filter or a batch that the caller may not use, before anything is kept.
    perform steerable(start_change.filter);
    delete from bulk_change b where b.id in (
        select o.id from bulk_change o where o.ended_at < clock_timestamp() - interval '30 days' order by o.ended_at limit 20);
    insert into bulk_change (request, token, role_name, only_queue, change, filter, arguments, expected)
    values (start_change.request, current_setting('sluice.acting_as'), current_setting('role'), only_queue(), start_change.change,
            start_change.filter, start_change.arguments, start_change.expected)
    on conflict do nothing;
    if found then
        perform note_audit('start_change', jsonb_build_object('change', start_change.change, 'filter', start_change.filter), 1);
    end if;
    return query select b.* from bulk_change b where b.request = start_change.request and b.submitter = caller();
end $$;

-- Whether the caller may see a bulk change.
create or replace function sees_change(submitter text) returns boolean
language plpgsql stable security definer set search_path from current
as $$ begin return submitter = caller() or sees_all(); end $$;

-- Whether a bulk change has lost the token that it was asked with: such a token was revoked or has expired. Callers without a token, to
-- whom a coordinator gives a role, lose nothing.
create or replace function has_lost_token(c bulk_change) returns boolean
language plpgsql stable security definer set search_path from current set enable_seqscan = off set jit = off
as $$
begin
    return exists (select from token k where k.name = c.token) and not exists (
        select from token k
        where k.name = c.token and k.revoked_at is null and (k.expires_at is null or k.expires_at > ledger_time()));
end $$;

-- Bulk changes, newest first.
create or replace function list_changes(before bigint default null, page integer default 50) returns setof bulk_change
language plpgsql stable security definer set search_path from current set enable_seqscan = off set jit = off
as $$
begin
    if sees_all() then
        return query select b.* from bulk_change b where before is null or b.id < before order by b.id desc limit page;
    else
        return query
            select b.* from bulk_change b where b.submitter = caller() and (before is null or b.id < before)
            order by b.id desc limit page;
    end if;
end $$;

-- One bulk change; no row if there is none that the caller may see.
create or replace function show_change(change_id bigint) returns setof bulk_change
language plpgsql stable security definer set search_path from current set enable_seqscan = off set jit = off
as $$ begin return query select b.* from bulk_change b where b.id = change_id and sees_change(b.submitter); end $$;

-- Stops a bulk change, or has its changes undone, for its owner and for operators. Other phases stay as they are.
create or replace function wish_change(change_id bigint, wish text) returns setof bulk_change
language plpgsql security definer set search_path from current set enable_seqscan = off set jit = off
as $$
#variable_conflict use_column
declare
    c bulk_change;
begin
    if wish not in ('stop', 'undo') then
        raise exception 'a bulk change takes the wishes stop and undo, not "%"', wish using errcode = 'invalid_parameter_value';
    end if;
    select * into c from bulk_change b where b.id = change_id and sees_change(b.submitter) for update;
    if c.id is null then
        return;
    end if;
    if c.submitter <> caller() and not is_operator() then
        raise exception 'bulk change % belongs to %', change_id, c.submitter using errcode = 'insufficient_privilege';
    end if;
    if only_queue() is distinct from c.only_queue and only_queue() is not null then
        raise exception 'this token changes only the queue "%"', left(only_queue(), 100)
            using errcode = 'insufficient_privilege', hint = 'use a token for all queues';
    end if;
    if wish = 'undo' and c.phase not in ('undoing', 'undone') or wish = 'stop' and c.phase in ('running', 'undoing') then
        perform note_audit(wish || '_change', jsonb_build_object('change', c.id), 1);
    end if;
    return query
        update bulk_change b set
            phase = case when wish = 'undo' and c.phase <> 'undone' then 'undoing'
                         when wish = 'stop' and c.phase in ('running', 'undoing') then 'stopped' else c.phase end,
            ended_at = case when wish = 'undo' and c.phase <> 'undone' then null
                            when wish = 'stop' and c.phase in ('running', 'undoing') then clock_timestamp() else c.ended_at end,
            stepped_at = null, error = case when wish = 'undo' then null else c.error end,
            undone_by = case when wish = 'undo' then caller_name() else c.undone_by end
        where b.id = change_id returning *;
end $$;

-- For coordinators: as many of the bulk changes that no coordinator carries out as there are `places`. The coordinator that takes one
-- makes a page of it within ten seconds, or another takes it. Of one submitter two are carried out at a time, so that its long ones do
-- not hold up those of others.
create or replace function take_changes(places integer) returns setof bulk_change
language plpgsql security definer set search_path from current set enable_seqscan = off set jit = off
as $$
#variable_conflict use_column
declare
    latest timestamptz := clock_timestamp() - interval '10 s';
begin
    return query
        update bulk_change b set stepped_at = clock_timestamp()
        where b.id in (
            select n.id from bulk_change n
            where n.phase in ('running', 'undoing') and (n.stepped_at is null or n.stepped_at < latest)
              and (
                  select count(*) from bulk_change o
                  where o.submitter = n.submitter and o.phase in ('running', 'undoing') and (o.stepped_at >= latest or o.id < n.id)
              ) < 2
            order by n.id limit places for update skip locked
        ) returning *;
end $$;

-- Makes the next page of a bulk change, or undoes its last one, and notes it in the same transaction. Only for its owner.
--
-- The row of the bulk change is locked before all others; no other function waits for it while it holds anything.
create or replace function step_change(change_id bigint, page integer default 1000) returns setof bulk_change
language plpgsql security definer set search_path from current set enable_seqscan = off set jit = off
as $$
#variable_conflict use_column
declare
    c bulk_change;
    last bulk_page;
    done record;
    jobs_before bigint[];
    priorities_before smallint[];
    start timestamptz := ledger_time();
    undoes boolean;
    -- Rows of the audit that this call adds have greater ids.
    audited_before bigint := coalesce((select max(a.id) from audit a), 0);
begin
    select * into c from bulk_change b where b.id = change_id and b.submitter = caller() for update;
    if c.phase in ('running', 'undoing') and has_lost_token(c) then
        return query
            update bulk_change b set phase = 'stopped', error = 'its token was revoked, or has expired', ended_at = clock_timestamp()
            where b.id = c.id returning *;
        return;
    end if;
    if c.phase = 'running' then
        -- According to the lock order: retry_jobs() and accept_jobs() share both.
        lock table lock_finished in row share mode;
        lock table lock_job in row share mode;
        if c.change = 'cancel' then
            jobs_before := array(
                select f.job from find_jobs(narrowed(steerable(c.filter), '{delayed,waiting,running,publishing}'), c.behind, page) f
                where f.state in ('delayed', 'waiting'));
            select * into done from cancel_jobs(c.filter, c.behind, page);
            jobs_before := array(
                select f.job from finished_rows(jobs_before) f where f.state = 'cancelled' and f.ended_at >= start order by f.job);
        elsif c.change = 'retry' then
            jobs_before := array(
                select f.job
                from find_jobs(narrowed(steerable(c.filter), '{delayed,publishing,failed,accepted,cancelled}'), c.behind, page) f
                where f.state in ('failed', 'accepted', 'cancelled'));
            select r.seen, r.changed, 0::bigint as asked, r.publishing, r.next into done
            from retry_jobs(c.filter, c.behind, page, c.arguments ->> 'damage', (c.arguments ->> 'conceal_seconds')::integer) r;
        elsif c.change = 'accept' then
            undoes := coalesce((c.arguments ->> 'undo')::boolean, false);
            jobs_before := array(
                select f.job
                from find_jobs(narrowed(steerable(c.filter), array[case when undoes then 'accepted' else 'failed' end]::job_state[]),
                               c.behind, page) f
                where f.job is not null);
            select r.seen, r.changed, 0::bigint as asked, 0::bigint as publishing, r.next into done
            from accept_jobs(c.filter, c.behind, page, undoes) r;
            if not undoes then
                jobs_before := array(
                    select f.job from finished_rows(jobs_before) f where f.state = 'accepted' and f.accepted_at >= start order by f.job);
            end if;
        else
            select array_agg(f.job), array_agg(l.priority) into jobs_before, priorities_before
            from find_jobs(narrowed(steerable(c.filter), '{delayed,waiting}'), c.behind, page) f
            cross join lateral (
                select w.lane from waiting w where w.job = f.job
                union all select d.lane from delayed d where d.job = f.job
                limit 1
            ) h
            cross join lateral (select * from lane where lane.id = h.lane limit 1) l
            where l.priority <> (c.arguments ->> 'priority')::integer;
            select r.seen, r.changed, 0::bigint as asked, 0::bigint as publishing, r.next into done
            from prioritize_jobs(c.filter, (c.arguments ->> 'priority')::integer, c.behind, page) r;
        end if;
        if cardinality(jobs_before) > 0 then
            insert into bulk_page (change, number, at, jobs, priorities)
            values (c.id, 1 + coalesce((select max(p.number) from bulk_page p where p.change = c.id), 0), ledger_time(), jobs_before,
                    priorities_before);
        end if;
        return query
            update bulk_change b set
                seen = b.seen + done.seen, changed = b.changed + done.changed, asked = b.asked + done.asked,
                publishing = b.publishing + done.publishing, behind = done.next, stepped_at = clock_timestamp(),
                phase = case when done.next is null then 'done' else 'running' end,
                ended_at = case when done.next is null then clock_timestamp() end
            where b.id = c.id returning *;
    elsif c.phase = 'undoing' then
        select * into last from bulk_page p where p.change = c.id order by p.number desc limit 1;
        if last.change is not null then
            jobs_before := last.jobs;
            if c.change = 'cancel' then
                -- What others have cancelled since stays cancelled.
                jobs_before := array(
                    select f.job from finished_rows(last.jobs) f where f.state = 'cancelled' and f.ended_at <= last.at order by f.job);
                select r.changed into done
                from retry_jobs(jsonb_build_object('ids', jobs_before, 'states', '["cancelled"]'::jsonb), null, page) r;
            elsif c.change = 'retry' then
                select r.changed into done
                from cancel_jobs(jsonb_build_object('ids', jobs_before, 'states', '["delayed", "waiting"]'::jsonb), null, page) r;
            elsif c.change = 'accept' then
                undoes := coalesce((c.arguments ->> 'undo')::boolean, false);
                -- What others have accepted since stays accepted, and a job that has failed since stays failed.
                select r.changed into done
                from accept_jobs(jsonb_build_object('ids', jobs_before), null, page, not undoes, last.at) r;
            else
                -- One earlier priority in each transaction: a second call would lock jobs after rows of `flow`, against the lock order.
                jobs_before := array(
                    select n.job from unnest(last.jobs, last.priorities) as n (job, priority) where n.priority = last.priorities[1]);
                select r.changed into done
                from prioritize_jobs(jsonb_build_object('ids', jobs_before), last.priorities[1], null, page) r;
            end if;
            c.undone := c.undone + done.changed;
            -- One row for all pages, instead of one with a thousand ids for each.
            delete from audit a where a.id > audited_before and a.xmin = pg_current_xact_id()::xid;
            perform note_audit('undo_jobs', jsonb_build_object('change', c.id, 'by', c.undone_by), done.changed, true);
            select array_agg(n.job order by n.job), array_agg(n.priority order by n.job) into last.jobs, last.priorities
            from unnest(last.jobs, last.priorities) as n (job, priority)
            where c.change = 'prioritize' and n.job <> all (jobs_before);
            if last.jobs is null then
                delete from bulk_page p where p.change = c.id and p.number = last.number;
            else
                update bulk_page p set jobs = last.jobs, priorities = last.priorities where p.change = c.id and p.number = last.number;
            end if;
        end if;
        return query
            update bulk_change b set
                undone = c.undone, stepped_at = clock_timestamp(),
                phase = case when last.change is null then 'undone' else 'undoing' end,
                ended_at = case when last.change is null then clock_timestamp() end
            where b.id = c.id returning *;
    else
        return query select b.* from bulk_change b where b.id = c.id;
    end if;
end $$;

-- Ends a bulk change that cannot go on.
create or replace function fail_change(change_id bigint, why text) returns void
language plpgsql security definer set search_path from current set enable_seqscan = off set jit = off
as $$
begin
    update bulk_change b set phase = 'failed', error = left(why, 2000), ended_at = clock_timestamp()
    where b.id = change_id and b.submitter = caller() and b.phase in ('running', 'undoing');
end $$;
