/// All calls that clients can make to a ledger, as plain SQL about random jobs, for many concurrent sessions.
enum Bustle {
    /// One transaction, with its share among the others.
    struct Call {
        let sql: String
        var weight = 1
    }

    /// Arrays of the jobs, epochs and leases of random rows, as `r`.
    private static func some(_ table: String, _ count: Int = 20) -> String {
        """
        (select array_agg(job) j, array_agg(epoch) e, array_agg(lease_id) l, count(*)::integer n
         from (select * from sluice.\(table) order by random() limit \(count)) r) r
        """
    }

    /// A filter for the ids of random rows of these tables.
    private static func ids(_ tables: [String], _ count: Int = 40) -> String {
        let all = tables.map { "select job from sluice.\($0)" }.joined(separator: " union all ")
        return
            "jsonb_build_object('ids', (select jsonb_agg(job) from (select job from (\(all)) u order by random() limit \(count)) r))"
    }

    /// Random job ids, including jobs that have ended. A statement that reads `finished` itself would lock it
    /// before the call.
    private static func anyIDs(_ count: Int) -> String {
        "(select array_agg((random() * last_value)::bigint) from sluice.job_id, generate_series(1, \(count)))"
    }

    private static let worker =
        "(select id, secret from sluice.worker where ended_at is null order by random() limit 1) w"
    private static let queue = "'q' || (random() * 3)::integer"

    static let setting = """
        set search_path = sluice;
        update setting set lease = '1 h', retry_base = '20 ms', retry_cap = '100 ms', publish_grace = '20 ms', span_size = 1000,
            keep = '1 h', stall = '1 h', losses_without_delay = 1;
        update chore set every = '0';
        insert into queue (name) select 'q' || i from generate_series(0, 3) i;
        insert into tenant (name, created_at, created_by) select 't' || i, now(), 'x' from generate_series(0, 2) i;
        """

    static let chores = [
        "reap", "wake_delayed", "fold_counts", "raise_floors", "audit_running", "make_spans_ahead", "drop_old",
        "close_albums", "fold_service", "trim_audit", "find_events", "trim_webhooks", "fold_use",
    ].map {
        Call(
            sql: "select error from sluice.do_chore('\($0)')",
            weight: ["wake_delayed", "drop_old"].contains($0) ? 3 : 1
        )
    }

    /// What people and coordinators do with webhooks, which housekeeping writes to.
    static let webhooks = [
        Call(
            sql: """
                select null::text from sluice.create_webhook('https://h.example/',
                    decode(md5(random()::text) || md5(random()::text), 'hex'), null,
                    case when random() < 0.5 then '' end, case when random() < 0.3 then (select max(id) from sluice.batch) end)
                where (select count(*) < 20 from sluice.webhook)
                """,
            weight: 2
        ),
        Call(
            sql: """
                select null::text from sluice.take_deliveries((random() * 2)::integer % 2, 1, '50 ms') d,
                    lateral sluice.record_delivery(d.delivery, d.lease, (array[200, 500, 410])[1 + (random() * 2)::integer])
                """,
            weight: 6
        ),
        // Those that another coordinator has taken.
        Call(
            sql: """
                select null::text from (
                    select id, lease from sluice.webhook_delivery where outcome is null order by random() limit 1
                ) d, lateral sluice.record_delivery(d.id, d.lease, 200)
                """,
            weight: 4
        ),
        Call(
            sql: """
                select sluice.retry_deliveries(id)::text
                from (select id from sluice.webhook order by random() limit 1) w
                """
        ),
        Call(
            sql: """
                select sluice.remove_webhook(id)::text from (select id from sluice.webhook order by random() limit 1) w
                where random() < 0.3
                """
        ),
        // A submission that names webhooks, in one transaction, as JobLedger makes it.
        Call(
            sql: """
                select null::text from sluice.submit((
                    select jsonb_agg(jsonb_build_object('recipe', jsonb_build_object('version', 1,
                        'sources', jsonb_build_array(jsonb_build_object('location', 'in:x.wav')),
                        'outputs', jsonb_build_array(jsonb_build_object('location', 'out:' || (random() * 1000)::integer)))))
                    from generate_series(1, 1 + (random() * 10)::integer)
                ), queue_name => \(queue)) b, lateral sluice.add_notices(b.batch, array(
                    select w.id::text from sluice.webhook w
                    where w.batch is null and w.submitter is null and w.removed_at is null order by random() limit 3
                ))
                """,
            weight: 4
        ),
        Call(
            sql: """
                select null::text from sluice.create_webhook('https://h.example/',
                    decode(md5(random()::text) || md5(random()::text), 'hex'), only_notify => true)
                where (select count(*) < 20 from sluice.webhook)
                """
        ),
        // In small pages, which leave the rest to housekeeping.
        Call(
            sql: """
                select sluice.remove_webhook(id, 2)::text from (select id from sluice.webhook order by random() limit 1) w
                where random() < 0.3
                """
        ),
        Call(sql: "select null::text from sluice.list_webhooks()"),
        Call(sql: "select null::text from sluice.list_deliveries()"),
    ]

    /// Calls that work only while a ledger is empty.
    static let numbering = [Call(sql: "select sluice.number_ledger((random() * 5)::integer)::text", weight: 4)]

    static let workers = [
        Call(
            sql: """
                select null::text from sluice.register_worker('w', 'h', 'b', 4, '{recipe:1,a,b,c}')
                where (select count(*) < 8 from sluice.worker where ended_at is null)
                """
        ),
        Call(
            sql: "select null::text from \(worker), lateral sluice.claim(w.id, w.secret, 1 + (random() * 60)::integer)",
            weight: 6
        ),
        Call(
            sql: """
                select null::text from \(worker), lateral (
                    select array_agg(job) j, array_agg(epoch) e, array_agg(lease_id) l, count(*)::integer n
                    from sluice.running where worker = w.id
                ) r, lateral sluice.beat(w.id, w.secret, r.j, r.e, r.l, array_fill((random() * 1000)::bigint, array[r.n]),
                    array_fill(1000::bigint, array[r.n]), array_fill(1::smallint, array[r.n]))
                where r.n > 0
                """,
            weight: 3
        ),
        Call(
            sql: """
                select null::text from \(some("running")), lateral sluice.publish(r.j, r.e, r.l,
                    array_fill('.a'::text, array[r.n]), array_fill('aa'::text, array[r.n]), array_fill(1::bigint, array[r.n]),
                    null, null, null, null, null)
                where r.n > 0
                """,
            weight: 4
        ),
        Call(
            sql: "select null::text from \(some("publishing")), lateral sluice.finish(r.j, r.e, r.l) where r.n > 0",
            weight: 4
        ),
        Call(
            sql: """
                select null::text from sluice.fail((
                    select jsonb_agg(jsonb_build_object('job', job, 'epoch', epoch, 'lease_id', lease_id,
                        'code', 'c' || (random() * 3)::integer, 'stage', 'open', 'message', 'm',
                        'class', (array['permanent', 'transient', 'infrastructure'])[1 + (random() * 2)::integer],
                        'need', (array['a', 'b', 'c', null, null, null])[1 + (random() * 5)::integer]))
                    from (select * from (
                        select job, epoch, lease_id from sluice.running union all
                        select job, epoch, lease_id from sluice.publishing
                    ) u order by random() limit 20) r
                ))
                """,
            weight: 4
        ),
        Call(
            sql: """
                select null::text from \(some("running")), lateral sluice.release(r.j, r.e, r.l,
                    (array['handed_back', 'file_system_full', 'album_waits'])[1 + (random() * 2)::integer],
                    array_fill((array['a', 'b', 'c', null])[1 + (random() * 3)::integer], array[r.n]),
                    (array[null, interval '50 ms', interval '1 h'])[1 + (random() * 2)::integer])
                where r.n > 0
                """,
            weight: 4
        ),
        Call(
            sql: """
                select null::text from (select * from sluice.running order by random() limit 1) r,
                    lateral sluice.record_track(r.job, r.epoch, r.lease_id, '{400}', '{7}', '{0.001}', -3, '{}')
                """,
            weight: 3
        ),
        Call(
            sql: """
                select null::text from (select * from sluice.running order by random() limit 1) r,
                    lateral sluice.album_of(r.job, r.epoch, r.lease_id)
                """
        ),
        Call(
            sql: """
                select null::text from (select * from sluice.running order by random() limit 1) r,
                    lateral sluice.record_scan(r.job, r.epoch, r.lease_id, 1, (random() * 2)::bigint,
                        repeat((array['ab', 'cd'])[1 + (random() * 1)::integer], 32), 's16le', null)
                """,
            weight: 3
        ),
        Call(sql: "select sluice.recall('file_system_full', 50)::text"),
        Call(sql: "select sluice.stop_worker(w.id, w.secret)::text from \(worker) where random() < 0.3"),
        // A worker that goes silent.
        Call(
            sql:
                "update sluice.worker set lease_until = '-infinity' where id = (select id from \(worker)) and random() < 0.3"
        ),
        Call(sql: "select sluice.set_abilities(w.id, w.secret, '{recipe:1,a,b,c,d}')::text from \(worker)"),
        Call(
            sql: """
                select null::text from sluice.take_unfinished(10)
                """
        ),
    ]

    static let people = [
        Call(
            sql: """
                select null::text from sluice.submit((
                    select jsonb_agg(jsonb_build_object('recipe', jsonb_build_object('version', 1,
                        'sources', jsonb_build_array(jsonb_build_object('location', 'in:x.wav')),
                        'outputs', jsonb_build_array(jsonb_build_object('location', 'out:' || (random() * 1000)::integer))),
                        'needs', (array['["a","b"]', '["c","b"]', '["c"]', '["a"]', '[]'])[1 + (random() * 4)::integer]::jsonb,
                        'run_at', case when random() < 0.3 then sluice.ledger_time() + interval '300 ms' end))
                    from generate_series(1, 1 + (random() * 40)::integer)
                ), queue_name => \(queue), job_priority => (random() * 2)::integer,
                   batch_key => case when random() < 0.3 then 'k' || (random() * 50)::integer end)
                """,
            weight: 4
        ),
        Call(sql: "select null::text from sluice.cancel_jobs(jsonb_build_object('queue', \(queue)), null, 20)"),
        Call(sql: "select null::text from sluice.cancel_jobs(\(ids(["running", "delayed", "waiting"], 20)), null, 20)"),
        Call(
            sql: "select null::text from sluice.retry_jobs(jsonb_build_object('queue', \(queue)), null, 50)",
            weight: 3
        ),
        Call(
            sql: """
                select null::text from sluice.retry_jobs(jsonb_build_object('ids', to_jsonb(\(anyIDs(100)))), null, 100,
                    (array['strict', 'conceal', 'skip', null])[1 + (random() * 3)::integer])
                """,
            weight: 4
        ),
        Call(sql: "select null::text from sluice.accept_jobs(jsonb_build_object('queue', \(queue)), null, 50)"),
        Call(sql: "select null::text from sluice.accept_jobs(jsonb_build_object('queue', \(queue)), null, 50, true)"),
        Call(
            sql: """
                select null::text from sluice.prioritize_jobs(jsonb_build_object('queue', \(queue)), (random() * 4)::integer,
                    null, 50)
                """,
            weight: 3
        ),
        Call(
            sql:
                "select null::text from sluice.prioritize_jobs(\(ids(["delayed", "waiting"])), (random() * 4)::integer, null, 40)",
            weight: 4
        ),
        Call(sql: "select sluice.pause_queue(\(queue), random() < 0.2)::text"),
        Call(sql: "select sluice.limit_queue(\(queue), (array[50, null])[1 + (random())::integer])::text"),
        Call(sql: "select sluice.weigh_queue(\(queue), 1 + (random() * 100)::integer)::text"),
        Call(sql: "select sluice.weigh_submitter(\(queue), session_user, 1 + (random() * 100)::integer)::text"),
        Call(sql: "select sluice.wish_worker(w.id, 'run')::text from \(worker)"),
    ]

    private static let tenant = "'t' || (random() * 2)::integer"

    /// What tenants submit, and the limits that operators set for them.
    static let tenants = [
        Call(
            sql: """
                select null::text from (
                    select set_config('sluice.acting_for', 'tenant:' || \(tenant), true) as who offset 0
                ) c, lateral sluice.submit((
                    select jsonb_agg(jsonb_build_object('recipe', jsonb_build_object('version', 1,
                        'sources', jsonb_build_array(jsonb_build_object('location', 'in:x.wav')),
                        'outputs', jsonb_build_array(jsonb_build_object('location', 'out:' || (random() * 1000)::integer)))))
                    from generate_series(1, 1 + (random() * 40)::integer) where c.who <> ''
                ), queue_name => \(queue))
                """,
            weight: 6
        ),
        // Each output of these calls has a byte.
        Call(
            sql: """
                select sluice.limit_tenant(\(tenant), (array['{}', '{"output_bytes": 20}',
                    '{"output_bytes": 2000, "waiting_jobs": 1000000}'])[1 + (random() * 2)::integer]::jsonb)::text
                """,
            weight: 3
        ),
        Call(sql: "select null::text from sluice.list_tenants()"),
        Call(sql: "select null::text from sluice.list_holds()"),
    ]

    /// Jobs for so many queues that claims do not look at all lanes, and close those that they empty.
    static let crowdSetting = """
        set search_path = sluice;
        update setting set lanes_per_submitter = null;
        select count(*) from generate_series(0, 250) i cross join lateral submit(
            '[{"recipe": {"version": 1, "sources": [{"location": "in:x.wav"}]}}]', 'c' || i) s;
        """

    static let crowd = [
        Call(
            sql: """
                select null::text from sluice.submit('[{"recipe": {"version": 1, "sources": [{"location": "in:x.wav"}]}}]',
                    queue_name => 'c' || (random() * 250)::integer, wake => false)
                """,
            weight: 15
        ),
        Call(
            sql: """
                select null::text from sluice.submit_each((
                    select jsonb_agg('{"job": {"recipe": {"version": 1, "sources": [{"location": "in:x.wav"}]}}}'::jsonb)
                    from generate_series(1, 1 + (random() * 4)::integer)
                ), 'c' || (random() * 250)::integer)
                """,
            weight: 5
        ),
        Call(
            sql: "select null::text from \(worker), lateral sluice.claim(w.id, w.secret, 1 + (random() * 20)::integer)",
            weight: 10
        ),
    ]

    static let lookers = [
        Call(sql: "select null::text from sluice.list_jobs('{}')"),
        Call(sql: #"select null::text from sluice.list_jobs('{"states": ["failed"]}')"#),
        Call(sql: "select null::text from sluice.show_jobs(\(anyIDs(3)))"),
        Call(sql: "select null::text from sluice.list_attempts(\(anyIDs(3)))"),
        Call(sql: "select null::text from sluice.list_failures()"),
        Call(sql: "select null::text from sluice.unsent_deliveries()"),
        Call(sql: "select null::text from sluice.list_failures(batch_id => (select max(id) from sluice.batch))"),
        Call(sql: "select null::text from sluice.list_outputs()"),
        Call(sql: "select null::text from sluice.find_earlier(array['out:1', 'out:2', 'out:3'], true)"),
        Call(sql: "select null::text from sluice.find_scans(array['in:1', 'in:2'])"),
        Call(sql: "select null::text from sluice.list_makers(array['out:1', 'out:4'])"),
        Call(sql: "select null::text from sluice.list_chores()"),
    ]

    /// Lets time pass without the look of an outage.
    static let time = [
        Call(sql: "update sluice.setting set clock_shift = clock_shift + interval '4 min'"),
        Call(sql: "update sluice.house set quiet_until = '-infinity', tick_at = sluice.ledger_time()"),
    ]
}
