-- The audit: who changed what, and when. Each function that changes something for a user adds a row in its own transaction.

-- Writes down what the caller has changed. A call that `continues` an operation adds to its row, if that is less than an hour old. An
-- operation that has changed nothing leaves no row.
create or replace function note_audit(what text, details jsonb, affected bigint, continues boolean default false) returns void
language plpgsql security definer set search_path from current
    set enable_seqscan = off set enable_bitmapscan = off set jit = off
as $$
declare
    t timestamptz := ledger_time();
    earlier bigint;
begin
    if affected = 0 then
        return;
    end if;
    if continues then
        select a.id into earlier from (
            select a.id, a.at, a.details from audit a where a.who = caller_name() and a.what = note_audit.what
            order by a.id desc limit 20
        ) a where a.details = note_audit.details and a.at > t - interval '1 h' order by a.id desc limit 1;
        update audit a set affected = a.affected + note_audit.affected, ended_at = t where a.id = earlier;
        if found then
            return;
        end if;
    end if;
    insert into audit (at, who, tenant, what, details, affected, ended_at)
    values (t, caller_name(), case when is_tenant() then substr(caller()::text, 8) end, what, details, affected, t);
end $$;

-- What was changed, newest first: since `since`, by `by`, before the row `before`.
create or replace function list_audit(
    since timestamptz default null, before bigint default null, page integer default 50, by text default null
)
returns table (
    id bigint, at timestamptz, ended_at timestamptz, who text, tenant text, what text, details jsonb, affected bigint
)
language plpgsql stable security definer set search_path from current
    set enable_seqscan = off set enable_bitmapscan = off set jit = off set plan_cache_mode = force_custom_plan
as $$
#variable_conflict use_column
declare
    before_at timestamptz := (select a.at from audit a where a.id = before);
begin
    perform refuse_tenants('read the audit');
    return query
        select a.id, a.at, a.ended_at, a.who, a.tenant, a.what, a.details, a.affected from audit a
        where (since is null or a.at >= since) and (before is null or (a.at, a.id) < (before_at, before))
          and (by is null or a.who = by)
        order by a.at desc, a.id desc limit page;
end $$;

-- Deletes a page of rows that are older than `setting.keep_audit`. Null keeps all.
create or replace function trim_audit(page integer) returns integer
language plpgsql security definer set search_path from current set enable_seqscan = off
as $$
declare
    trimmed integer;
begin
    delete from audit a where a.id in (
        select o.id from audit o where o.at < ledger_time() - (select s.keep_audit from setting s) order by o.at, o.id limit page
    );
    get diagnostics trimmed = row_count;
    return trimmed;
end $$;
