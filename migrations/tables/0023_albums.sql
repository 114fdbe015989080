-- Why: an album is a batch whose outputs depend on the loudness of all its tracks together. Each job measures its own track and hands
-- itself back; when the last one has measured, the album is closed, and all of them convert with what it says. The sums are here, and
-- what follows from them is computed by those who convert.
select set_config('role', pg_get_userbyid(nspowner), true) from pg_namespace where nspname = current_schema();

-- What jobs have measured of their tracks: blocks of sound by their loudness, as in `AlbumMeasure`.
create table album_track (
    job bigint primary key,
    batch bigint not null,
    steps smallint[] not null,
    blocks bigint[] not null,
    energies double precision[] not null,
    true_peak double precision,
    -- The figures of the track alone.
    report jsonb not null check (jsonb_typeof(report) = 'object'),
    check (cardinality(steps) <= 1200 and cardinality(blocks) = cardinality(steps) and cardinality(energies) = cardinality(steps))
);
create index album_track_batch on album_track (batch, job);

create table album (
    batch bigint primary key,
    -- Null as long as jobs may measure. From then on the sums never change, so that all outputs get the same gain.
    closed_at timestamptz,
    -- Whether jobs may still wait for the album although it is closed.
    is_awaited boolean not null default true,
    steps smallint[],
    blocks bigint[],
    energies double precision[],
    true_peak double precision
);
create index album_awaited on album (batch) where is_awaited;

-- How far the album of a running job is. No row: the fence does not stand. `is_measured`: the job has measured its track, whose figures
-- are in `report`.
create function album_of(fenced_job bigint, fenced_epoch integer, fenced_lease uuid)
returns table (
    is_closed boolean, is_measured boolean, steps smallint[], blocks bigint[], energies double precision[],
    true_peak double precision, report jsonb
)
language sql stable security definer set search_path from current set jit = off
as $$
    select a.closed_at is not null, t.job is not null, a.steps, a.blocks, a.energies, a.true_peak, t.report
    from running r
    left join lateral (select * from album where album.batch = r.batch limit 1) a on true
    left join lateral (select * from album_track where album_track.job = r.job limit 1) t on true
    where r.job = fenced_job and r.epoch = fenced_epoch and r.lease_id = fenced_lease
$$;

-- Records what a running job has measured. Returns false if the fence does not stand. The worker then hands the job back, because of
-- `album_waits`; close_albums() wakes it.
create function record_track(
    fenced_job bigint, fenced_epoch integer, fenced_lease uuid, steps smallint[], blocks bigint[], energies double precision[],
    true_peak double precision, report jsonb
) returns boolean
language plpgsql security definer set search_path from current set jit = off
as $$
#variable_conflict use_column
declare
    its_batch bigint;
begin
    select r.batch into its_batch from running r
    where r.job = fenced_job and r.epoch = fenced_epoch and r.lease_id = fenced_lease for share;
    if not found then
        return false;
    end if;
    insert into album_track (job, batch, steps, blocks, energies, true_peak, report)
    values (fenced_job, its_batch, record_track.steps, record_track.blocks, record_track.energies, record_track.true_peak,
            record_track.report)
    on conflict (job) do update set
        steps = excluded.steps, blocks = excluded.blocks, energies = excluded.energies, true_peak = excluded.true_peak,
        report = excluded.report;
    insert into album (batch) values (its_batch) on conflict do nothing;
    return true;
end $$;

-- Whether a job of the batch may still measure: it has neither ended nor measured.
create function measures_on(b batch) returns boolean
language plpgsql stable security definer set search_path from current
    set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
begin
    return exists (
        select from waiting w where w.job >= b.first_job and w.job <= b.last_job and w.batch = b.id
            and not exists (select from album_track t where t.job = w.job)
    ) or exists (
        select from running r where r.job >= b.first_job and r.job <= b.last_job and r.batch = b.id
            and not exists (select from album_track t where t.job = r.job)
    ) or exists (
        select from delayed d where d.job >= b.first_job and d.job <= b.last_job and d.batch = b.id
            and d.code is distinct from 'album_waits' and not exists (select from album_track t where t.job = d.job)
    );
end $$;

-- Closes albums in which every job has measured or ended, and wakes up to `page` jobs that wait for closed ones. Returns the number of
-- jobs.
--
-- Jobs that have ended take no part. A job of a closed album that is retried converts with the gain of the others.
create function close_albums(page integer default 1000) returns integer
language plpgsql security definer set search_path from current set jit = off set enable_seqscan = off
as $$
#variable_conflict use_column
declare
    t timestamptz := ledger_time();
    a album;
    b batch;
    woken integer := 0;
    these integer;
begin
    for a in select * from album l where l.is_awaited order by l.batch limit 1000 for update skip locked loop
        select * into b from batch where batch.id = a.batch;
        if not found then
            delete from album l where l.batch = a.batch;
            continue;
        end if;
        if a.closed_at is null then
            continue when measures_on(b);
            update album l set
                closed_at = t, steps = n.steps, blocks = n.blocks, energies = n.energies,
                true_peak = (
                    select max(m.true_peak) from album_track m
                    where m.batch = a.batch and exists (select from live_job() v where v.job = m.job)
                )
            from (
                select coalesce(array_agg(s.step order by s.step), '{}') as steps,
                       coalesce(array_agg(s.blocks order by s.step), '{}') as blocks,
                       coalesce(array_agg(s.energy order by s.step), '{}') as energies
                from (
                    select u.step, sum(u.blocks)::bigint as blocks, sum(u.energy) as energy
                    from album_track m cross join unnest(m.steps, m.blocks, m.energies) as u (step, blocks, energy)
                    where m.batch = a.batch and exists (select from live_job() v where v.job = m.job)
                    group by u.step
                ) s
            ) n
            where l.batch = a.batch
            returning l.closed_at into a.closed_at;
        end if;
        continue when woken >= page;
        with chosen as materialized (
            select d.job from delayed d
            where d.job >= b.first_job and d.job <= b.last_job and d.batch = b.id and d.code = 'album_waits' and d.ready_at > t
            order by d.job limit page - woken for update skip locked
        )
        update delayed d set ready_at = greatest(t, (select hold_delayed()))
        where d.job = any (array(select c.job from chosen c));
        get diagnostics these = row_count;
        woken := woken + these;
        -- A job that began before the album was closed may be about to hand itself back.
        if these = 0 and not exists (
            select from running r
            where r.job >= b.first_job and r.job <= b.last_job and r.batch = b.id and r.since <= a.closed_at
        ) then
            update album l set is_awaited = false where l.batch = a.batch;
        end if;
    end loop;
    if woken > 0 then
        perform wake_delayed(page);
        perform pg_notify(current_schema(), 'jobs');
    end if;
    return woken;
end $$;

select allow('sluice_worker', 'album_of', 'record_track');
select apply_permissions();
select set_config('role', 'none', true);
