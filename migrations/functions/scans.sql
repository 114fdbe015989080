-- Scans: jobs whose recipe has `scan` and no outputs. Their digest is that of the sound, and they are published without a file.
--
-- Before the worker publishes such a job it records what it has found with record_scan(), under the job's fence. That compares the
-- digest with the one of the last scan: if the file has the same size and time, and different sound, its bytes have rotted. The older
-- digest stays then, and the worker fails the job.

-- The key of a source among the results of a tenant; of the whole installation, if that is empty. Names of tenants have no colon.
create or replace function scan_place(tenant text, source text) returns bytea
language sql immutable parallel safe
as $$ select sha256(convert_to(tenant || ':' || source, 'UTF8')) $$;

-- Records the result of a running job's scan. No row: the fence does not stand, and nothing was written. Else one row, with the digest
-- that the source now has in the ledger. `has_rotten`: that digest is an earlier one and does not fit the result.
--
-- `bytes` and `modified` are of the file as it was opened. `sound` is SHA-256 in hexadecimal; null if the sound could not be decoded,
-- which is recorded only if an earlier scan of the same file could. If the earlier digest depends on the libraries (`decoder`), only a
-- digest of the same libraries is compared with it. Sound that was undamaged and is damaged now counts as bit rot. The same attempt writes
-- once: a repetition gets the first answer.
create or replace function record_scan(
    fenced_job bigint, fenced_epoch integer, fenced_lease uuid, bytes bigint, modified bigint, sound text, form text, decoder text
)
returns table (has_rotten boolean, digest text, digest_at timestamptz)
language plpgsql security definer set search_path from current set jit = off set enable_seqscan = off
as $$
#variable_conflict use_column
declare
    t timestamptz := ledger_time();
    its_batch bigint;
    its_tenant text;
    its_source text;
    its_place bytea;
    given bytea := decode(record_scan.sound, 'hex');
    known scan_result;
begin
    -- Must come first: see the lock order in locks.sql.
    lock table lock_job in row share mode;
    select r.batch into its_batch from running r
    where r.job = fenced_job and r.epoch = fenced_epoch and r.lease_id = fenced_lease for share;
    if not found then
        return;
    end if;
    its_tenant := coalesce(tenant_of((select b.submitter from batch b where b.id = its_batch)), '');
    its_source := (select j.source from job_rows(array[fenced_job]) j);
    its_place := scan_place(its_tenant, its_source);
    if given is not null then
        insert into scan_result (place, tenant, source, bytes, modified, digest, form, decoder, digest_at, checked_at, has_rotten, job,
                                 epoch, lease_id)
        values (its_place, its_tenant, its_source, record_scan.bytes, record_scan.modified, given, record_scan.form,
                record_scan.decoder, t, t, false, fenced_job, fenced_epoch, fenced_lease)
        on conflict (place) do nothing;
    end if;
    select * into known from scan_result s where s.place = its_place for update;
    if not found then
        return query select false, null::text, null::timestamptz;
        return;
    end if;
    -- After a failover that lost commits, another attempt may have the same job and epoch, but never the same lease.
    if (known.job, known.epoch, known.lease_id) is distinct from (fenced_job, fenced_epoch, fenced_lease) then
        known.has_rotten := known.bytes = record_scan.bytes and known.modified = record_scan.modified
            and (known.decoder is null or known.decoder is not distinct from record_scan.decoder)
            and (given is null or (known.digest, known.form) is distinct from (given, record_scan.form));
        if known.has_rotten then
            update scan_result s set
                has_rotten = true, checked_at = t, job = fenced_job, epoch = fenced_epoch, lease_id = fenced_lease
            where s.place = its_place;
        elsif given is not null then
            update scan_result s set
                bytes = record_scan.bytes, modified = record_scan.modified, digest = given, form = record_scan.form,
                decoder = record_scan.decoder, digest_at = t, checked_at = t, has_rotten = false, job = fenced_job,
                epoch = fenced_epoch, lease_id = fenced_lease
            where s.place = its_place
            returning s.* into known;
        end if;
    end if;
    return query select known.has_rotten, encode(known.digest, 'hex'), known.digest_at;
end $$;

-- What is known of the scans of some sources: the latest job that scans each, as far as the caller may see it, and the file as it was
-- when it was last scanned. A caller who sees all gets the scans of the installation itself, not those of tenants. Sources of which
-- nothing is known are left out. `place` numbers the given sources from 1.
--
-- `has_rotten` and `is_damaged` tell what the last scan found, also when its job has left the ledger.
create or replace function find_scans(sources text[])
returns table (
    place integer, job bigint, batch bigint, state job_state, code text, source_bytes bigint, source_modified bigint,
    ended_at timestamptz, bytes bigint, modified bigint, checked_at timestamptz, has_rotten boolean, is_damaged boolean
)
language plpgsql stable security definer set search_path from current set jit = off set enable_seqscan = off
as $$
#variable_conflict use_column
declare
    whose text := coalesce(tenant_of(caller()), '');
    places integer[];
    locations text[];
    part span;
    more job_at[];
    latest job_at[] := '{}';
begin
    -- According to the lock order, because this function reads two tables of spans: see locks.sql.
    perform share_job_lock();
    select array_agg(d.place), array_agg(d.location) into places, locations
    from unnest(sources) with ordinality as d (location, place);
    for part in select * from span s order by s.first_id desc loop
        exit when places is null;
        begin
            more := array(select j from scans_at(places, locations, part.first_id, part.next_id, whose) j);
            -- Rolling the block back releases its locks. It has written nothing.
            raise exception using errcode = 'SL002';
        exception when sqlstate 'SL002' then
            null;
        end;
        continue when cardinality(more) = 0;
        latest := latest || more;
        select array_agg(d.place), array_agg(d.location) into places, locations
        from unnest(places, locations) as d (place, location)
        where not exists (select from unnest(more) m where m.place = d.place);
    end loop;

    return query
        select d.place::integer, j.job, j.batch,
               case when j.job is not null then coalesce(f.state, l.state, 'waiting') end, f.code::text, j.source_bytes,
               j.source_modified, f.ended_at, s.bytes, s.modified, s.checked_at, coalesce(s.has_rotten, false),
               coalesce(s.is_damaged, false)
        from unnest(sources) with ordinality as d (location, place)
        left join unnest(latest) j on j.place = d.place
        left join finished_rows(array(select n.job from unnest(latest) n)) f on f.job = j.job
        left join lateral (select l.state from live_job() l where f.job is null and l.job = j.job limit 1) l on true
        left join lateral (
            select r.bytes, r.modified, r.checked_at, r.has_rotten, r.decoder is not null as is_damaged
            from scan_result r where r.place = scan_place(whose, d.location) limit 1
        ) s on true
        where j.job is not null or s.checked_at is not null
        order by d.place;
end $$;

-- The latest jobs of a span that scan some sources for a tenant, or for the installation itself, as far as the caller may see them.
create or replace function scans_at(places integer[], locations text[], first bigint, next bigint, whose text) returns setof job_at
language plpgsql stable security definer set search_path from current
    set plan_cache_mode = force_custom_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
    set enable_bitmapscan = off set enable_memoize = off set jit = off
as $$
declare
    all_seen boolean := sees_all();
begin
    return query
        select d.place, d.location, j.id, j.batch, j.work, null::text, j.source_bytes, j.source_modified
        from unnest((select places), (select locations)) as d (place, location)
        cross join lateral (
            select o.id, o.batch, o.work, o.source_bytes, o.source_modified
            from job o
            where left(o.source, 640) = left(d.location, 640) and o.source = d.location and o.id >= first and o.id < next
              and o.recipe ? 'scan'
              and exists (
                  select from batch b
                  where b.id = o.batch and (all_seen or b.submitter = caller())
                    and coalesce(tenant_of(b.submitter), '') = whose
              )
            order by o.id desc limit 1
        ) j;
end $$;
