extension ReplayLab {
    /// The settings of the model, and what determines time and chance. See `ReplayLab`.
    static let preparation = """
        update setting set
            lease = '\(Times.lease) ms', retry_base = '\(Times.retryBase) ms', retry_cap = '\(Times.retryCap) ms',
            losses_without_delay = \(Times.lossesWithoutDelay), max_attempts = \(Times.maxAttempts),
            stall = '\(Times.stall) ms', publish_grace = '\(Times.publishGrace) ms', workers_lost_allowed = 32767,
            mark = '00000000';
        update chore set every = '0';
        select make_spans(1000);

        create or replace function ledger_time() returns timestamptz language plpgsql as $$
        begin
            return timestamptz '1970-01-01Z' + current_setting('replay.time')::bigint * interval '1 ms';
        end $$;
        create function replayed_server_start() returns timestamptz language plpgsql as $$
        begin
            return timestamptz '1970-01-01Z' + current_setting('replay.server')::bigint * interval '1 ms';
        end $$;

        -- The number in the model of a lease id.
        create function replayed_number(id uuid) returns bigint language sql immutable as $$
            select ('x' || right(id::text, 8))::bit(32)::bigint
        $$;
        create function replayed_lease() returns uuid language plpgsql as $$
        begin
            return current_setting('replay.lease')::uuid;
        end $$;

        create function worker_count() returns bigint language plpgsql set search_path from current as $$
        begin
            return (select count(*) from worker);
        end $$;
        alter table worker alter id set default worker_count();

        create function turn_by_number() returns trigger language plpgsql as $$
        begin
            new.turn := new.job;
            return new;
        end $$;
        create trigger turn_by_number before insert on waiting for each row execute function turn_by_number();
        """

    /// Functions that make a call and tell its answer in the words of `LedgerTrace.Answer`.
    static let calls = """
        -- What a caller is told of an error.
        create function replayed_error(state text, message text) returns text language sql immutable as $$
            select case state
                when 'SL001' then 'refused'
                when '28000' then 'refused as a stranger'
                when '23505' then 'failed'
                else format('error: %s (%s)', message, state)
            end
        $$;
        -- Makes a call that should fail, so that its changes are undone.
        create function replayed_failure(call text[]) returns text language plpgsql as $$
        begin
            return replayed_call(call);
        exception when others then
            return replayed_error(sqlstate, sqlerrm);
        end $$;
        -- Makes each call at its time. `fails` says which of them should fail, and `looks` after which of them to tell what
        -- the tables hold. Any other error is the last answer: one savepoint for all is much faster than one for each.
        create function replayed(calls text[], times bigint[], fails boolean[], looks boolean[])
        returns table (answer text, state text)
        language plpgsql
        as $$
        begin
            for step in 1..cardinality(calls) loop
                perform set_config('replay.time', times[step]::text, false);
                if fails[step] then
                    answer := replayed_failure(string_to_array(calls[step], ' '));
                else
                    answer := replayed_call(string_to_array(calls[step], ' '));
                end if;
                state := case when looks[step] then replayed_state() end;
                return next;
            end loop;
        exception when others then
            answer := replayed_error(sqlstate, sqlerrm);
            state := null;
            return next;
        end $$;
        -- Makes a call: the function's name and its arguments.
        create function replayed_call(call text[]) returns text language plpgsql as $$
        begin
            case call[1]
                when 'tick' then return replayed_tick(call[2]::integer);
                when 'claim' then
                    return replayed_claim(call[2]::bigint, call[3]::uuid, call[4]::integer, call[5]::bigint, call[6]);
                when 'take_unfinished' then return replayed_hand_out();
                when 'beat' then
                    return replayed_beat(call[2]::bigint, call[3]::uuid, call[4]::bigint[], call[5]::integer[], call[6]::uuid[]);
                when 'held' then return replayed_held(call[2]::bigint, call[3]::uuid);
                when 'register' then return replayed_register(call[2]::uuid);
                when 'bar_claims' then perform bar_claims(call[2]::bigint, call[3]::uuid, call[4]::bigint);
                when 'submit' then return replayed_submit(call[2]);
                when 'standing_fences' then
                    return (select count(*) = 1 from standing_fences(call[2]::bigint[], call[3]::integer[], call[4]::uuid[]));
                when 'publish' then
                    return (select p.answer from publish(
                        call[2]::bigint[], call[3]::integer[], call[4]::uuid[], call[5]::text[], call[6]::text[],
                        call[7]::bigint[], '{1}', '{1}', '{1}', '{1}', '{1}') p);
                when 'finish' then
                    return (select f.answer from finish(call[2]::bigint[], call[3]::integer[], call[4]::uuid[]) f);
                when 'release' then
                    return (select r.answer from release(call[2]::bigint[], call[3]::integer[], call[4]::uuid[]) r);
                when 'fail' then return (select f.answer from fail(call[2]::jsonb) f);
                when 'cancel_jobs' then perform cancel_jobs(call[2]::jsonb);
                when 'retry_jobs' then perform retry_jobs(call[2]::jsonb);
                when 'stop_worker' then perform stop_worker(call[2]::bigint, call[3]::uuid);
                -- A failover has lost commits.
                when 'nothing' then null;
            end case;
            return 'done';
        end $$;

        create function replayed_submit(request text) returns text language plpgsql as $$
        begin
            -- A replica that lacks a submission gives out its job ids again.
            perform setval('job_id', (select count(*) from job) + 1, false);
            return (
                select format('job %s, %s', s.first_job - 1, case when s.added then 'new' else 'known' end)
                from submit(jsonb_build_array(jsonb_build_object('recipe', jsonb_build_object(
                    'version', 1, 'sources', jsonb_build_array(jsonb_build_object('location', 'in:' || request)),
                    'outputs', jsonb_build_array(jsonb_build_object('location', 'out:' || request))
                ))), batch_key => 'request ' || request) s
            );
        end $$;

        create function replayed_register(key uuid) returns text language plpgsql as $$
        declare
            number bigint := (select r.worker from register_worker('w', 'h', '1.0', 2, array['recipe:1']) r);
        begin
            update worker w set secret = key where w.id = number;
            return 'worker ' || number;
        end $$;

        create type replayed_fence as (job bigint, epoch integer, lease_id uuid);
        create function replayed_fences(fences replayed_fence[]) returns text language plpgsql as $$
        begin
            return coalesce((
                select string_agg(format('%s.%s.%s', f.job - 1, f.epoch, replayed_number(f.lease_id)), ' ' order by f.place)
                from unnest(fences) with ordinality f (job, epoch, lease_id, place)
            ), 'nothing');
        end $$;

        create function replayed_claim(worker_id bigint, secret uuid, wanted integer, number bigint, lease text) returns text
        language plpgsql as $$
        begin
            perform set_config('replay.lease', lease, false);
            return replayed_fences(array(
                select row(c.job, c.epoch, c.lease_id)::replayed_fence from claim(worker_id, secret, wanted, null, number) c
            ));
        end $$;

        create function replayed_held(worker_id bigint, secret uuid) returns text language plpgsql as $$
        begin
            return replayed_fences(array(
                select row(h.job, h.epoch, h.lease_id)::replayed_fence from held(worker_id, secret) h
            ));
        end $$;

        create function replayed_jobs(jobs bigint[]) returns text language plpgsql as $$
        begin
            return array(select j - 1 from unnest(jobs) j order by j)::text;
        end $$;
        -- Every job has given frames since the last beat.
        create sequence replayed_frames;
        create function replayed_beat(worker_id bigint, secret uuid, jobs bigint[], epochs integer[], leases uuid[]) returns text
        language plpgsql as $$
        begin
            return (
                select case when b.alive then format('lost %s, to stop %s', replayed_jobs(b.lost), replayed_jobs(b.cancelled))
                            else 'refused' end
                from beat(worker_id, secret, jobs, epochs, leases,
                          array_fill(nextval('replayed_frames'), array[cardinality(jobs)])) b
            );
        end $$;

        -- A tick, and those of its chores that decide about jobs and workers.
        create function replayed_tick(server integer) returns text language plpgsql as $$
        declare
            chores text[];
            failed text;
        begin
            perform set_config('replay.server', server::text, false);
            chores := array(select t.chore from begin_tick() t);
            if cardinality(chores) = 0 then
                return 'no tick';
            end if;
            failed := (
                select string_agg(d.error, '; ') from unnest(chores) c cross join lateral do_chore(c) d
                where c in ('reap', 'wake_delayed', 'audit_running')
            );
            return coalesce('error: ' || failed, 'a tick');
        end $$;

        create function replayed_hand_out() returns text language plpgsql as $$
        begin
            return coalesce((
                select format('%s.%s.%s, file %s, digest %s, %s bytes', u.job - 1, u.epoch, replayed_number(u.lease_id),
                              u.attempt_name, u.digest, u.size)
                from take_unfinished(1) u
            ), 'nothing');
        end $$;
        """

    /// A function that tells all that the model's tables hold, in the words of `LedgerTables.lines`.
    static let state = """
        create function replayed_time(t timestamptz) returns text language sql stable as $$
            select case when t > '-infinity' then trunc(extract(epoch from t) * 1000)::text else 'never' end
        $$;
        create function replayed_state() returns text
        language plpgsql set enable_indexscan = off set jit = off
        as $$
        begin
            return (select string_agg(l.line, E'\\n') from (
                select format('job %s waiting, epoch %s, spent %s, lost %s', w.job - 1, w.epoch, w.spent, w.lost)
                from waiting w
                union all
                select format('job %s delayed until %s, epoch %s, spent %s, lost %s', d.job - 1, replayed_time(d.ready_at),
                              d.epoch, d.spent, d.lost)
                from delayed d
                union all
                select format('job %s running, epoch %s, spent %s, lost %s, lease %s of worker %s, moved at %s%s', r.job - 1,
                              r.epoch, r.spent, r.lost, replayed_number(r.lease_id), r.worker, replayed_time(r.moved_at),
                              case when r.cancel_asked then ', to stop' end)
                from running r
                union all
                select format('job %s publishing since %s, epoch %s, spent %s, lost %s, lease %s of worker %s, '
                              'handed out at %s, file %s', p.job - 1, replayed_time(p.since), p.epoch, p.spent, p.lost,
                              replayed_number(p.lease_id), p.worker, replayed_time(p.handed_at), p.attempt_name)
                from publishing p
                union all
                select format('job %s %s, epoch %s, spent %s, lost %s%s%s', f.job - 1, f.state, f.epoch, f.spent, f.lost,
                              ', ' || f.code, ', ' || f.size || ' bytes')
                from finished f
                union all
                select format('attempt %s of job %s, lease %s: %s', a.epoch, a.job - 1, replayed_number(a.lease_id), a.outcome)
                from attempt a
                union all
                select format('worker %s, lease until %s, revived at %s, claims from %s%s', w.id, replayed_time(w.lease_until),
                              replayed_time(w.revived_at), w.claims_from, case when w.ended_at is not null then ', ended' end)
                from worker w
                union all
                select format('house, tick at %s, quiet until %s', replayed_time(h.tick_at), replayed_time(h.quiet_until))
                from house h
            ) l (line));
        end $$;
        """
}
