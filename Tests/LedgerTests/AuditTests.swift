import Conversion
import Foundation
import TestSupport
import Testing

@testable import Ledger

/// Each change leaves a row that says who changed what, and how much.
struct AuditTests {
    private struct Row: Equatable {
        let who: String
        let what: String
        let affected: Int

        init(_ who: String, _ what: String, _ affected: Int) {
            (self.who, self.what, self.affected) = (who, what, affected)
        }
        init(_ record: AuditRecord) { self.init(record.who, record.what, record.affected) }
    }

    private func rows(_ lab: LedgerLab) async throws -> [Row] {
        try await lab.ledger.audit(limit: 1_000).reversed().map(Row.init)
    }

    @Test func eachChangeIsWrittenDown() async throws {
        let lab = try await LedgerLab()
        let server = lab.lab.server
        let login = try GrantTests.user("sluice_operator", on: server)
        let steward = try lab.ledger(as: login)
        let batch = try await lab.submit(5).batch
        let worker = try await lab.worker()
        let failed = try await lab.submit(1, Submission(priority: 9)).batch
        let fence = try #require(try await lab.claim(1, for: worker).first?.fence)
        try await lab.ledger.fail([AttemptFailure(fence, LedgerLab.failure(.permanent))])
        #expect(try await rows(lab).isEmpty)

        _ = try await steward.createTenant("radio")
        #expect(try await steward.setLimits(TenantLimits(waitingJobs: 10), of: "radio"))
        let output = Recipe.Output(location: OwnPreset.output, format: AudioFormat(container: .flac))
        let recipe = Recipe(from: Recipe.Source(location: OwnPreset.source), to: output)
        _ = try await steward.put(OwnPreset(PresetReference(name: "house"), recipe))
        #expect(try await steward.removePreset("house"))
        try await steward.saveFilter("damaged", "state=failed")
        #expect(try await steward.removeFilter("damaged"))
        _ = try await steward.createToken(named: "ci", role: .submitter, tenant: "radio")
        _ = try await steward.revokeToken("ci")
        try await steward.setPaused(true, queue: "default")
        try await steward.setRunningLimit(4, queue: "default")
        try await steward.setWeight(50, queue: "default")
        try await steward.setWeight(60, queue: "default", submitter: "postgres")
        #expect(try await steward.wish(.quiet, of: worker.worker))
        _ = try await steward.apply(.accept(), to: JobFilter(batch: failed))
        _ = try await steward.apply(.prioritize(3), to: JobFilter(batch: batch))
        _ = try await steward.apply(.cancel, to: JobFilter(batch: batch))
        _ = try await steward.apply(.retryWithDamage(.conceal, concealSeconds: 2), to: JobFilter(batch: batch))
        let webhook = try await steward.createWebhook(NewWebhook(at: "https://example.com/a?b", for: .all)).id
        let test = try await steward.testWebhook(webhook)
        let dead: Int = try await lab.value(
            "update \(lab.schema).webhook_delivery set outcome = 'dead', ended_at = now() returning 1"
        )
        #expect(dead == 1)
        #expect(try await steward.retryDeliveries(to: webhook, test) == 1)
        try await steward.removeWebhook(webhook)
        #expect(
            try await rows(lab) == [
                Row(login, "create_tenant", 1), Row(login, "limit_tenant", 1),
                Row(login, "put_preset", 1), Row(login, "remove_preset", 1), Row(login, "save_filter", 1),
                Row(login, "remove_filter", 1), Row(login, "create_token", 1), Row(login, "revoke_token", 1),
                Row(login, "pause_queue", 1), Row(login, "limit_queue", 1), Row(login, "weigh_queue", 1),
                Row(login, "weigh_submitter", 1), Row(login, "wish_worker", 1), Row(login, "accept_jobs", 1),
                Row(login, "prioritize_jobs", 5),
                Row(login, "cancel_jobs", 5), Row(login, "retry_jobs", 5),
                Row(login, "create_webhook", 1), Row(login, "test_webhook", 1), Row(login, "retry_deliveries", 1),
                Row(login, "remove_webhook", 1),
            ]
        )
        let all = try await lab.ledger.audit()
        // The path of an address may be a secret of the receiver.
        #expect(all[3].details.contains("https://example.com\"") && !all.contains { $0.details.contains("/a") })
        let records = all.filter { !$0.what.contains("webhook") && $0.what != "retry_deliveries" }
        #expect(records[0].details.contains("\"damage\": \"conceal\"") && records[0].details.contains("\(batch)"))
        let ids: [Int64] = records.map(\.id)
        let newestFirst: [Int64] = ids.sorted(by: >)
        #expect(ids == newestFirst)
        // Every function that changes something for people is among these, submits, belongs to an upload, which
        // `QuotaTests` has, or to a bulk change, whose pages are changes of these.
        let changing = Set(all.map(\.what)).union([
            "submit", "submit_each", "stage_jobs", "tell_workers", "add_notices", "begin_upload", "end_upload",
            "cancel_upload",
            "start_change", "wish_change", "step_change", "fail_change",
        ])
        let known = GrantTests.functions["sluice_operator"]!.union(GrantTests.functions["sluice_submitter"]!)
        let looking = GrantTests.looking.union([
            "list_tokens", "list_logins", "list_tenants", "list_audit", "find_batch", "find_earlier", "find_scans",
            "ledger_metrics",
            "oldest_snapshot_age", "list_webhooks", "list_deliveries",
        ])
        let forgotten: Set<String> = known.subtracting(looking).subtracting(changing)
        #expect(forgotten == [])
    }

    /// Watches the rows of all tables instead of what functions say: each change commits a row of the audit with it.
    /// Repetitions and changes to the same value are where a function could leave that out.
    @Test func noChangeIsCommittedWithoutARow() async throws {
        let lab = try await LedgerLab()
        let steward = try lab.ledger(as: GrantTests.user("sluice_operator", on: lab.lab.server))
        let acting = try lab.ledger.acting(for: Principal(name: "ops", role: .operator))
        let batch = try await lab.submit(4).batch
        let worker = try await lab.worker()
        let failing = try #require(try await lab.claim(1, for: worker).first?.fence)
        try await lab.ledger.fail([AttemptFailure(failing, LedgerLab.failure(.permanent))])
        // Another one runs.
        _ = try await lab.claim(1, for: worker)
        let schema = lab.schema.text
        func sql(_ text: String) throws -> String { try lab.lab.server.run(text, database: lab.lab.database) }
        _ = try sql(
            """
            create table touched (tx xid8 not null default pg_current_xact_id(), place name);
            create function note_touch() returns trigger language plpgsql security definer as $$
            begin insert into public.touched (place) values (tg_table_name); return null; end $$;
            do $$ declare t name; begin
                for t in select relname from pg_class where relnamespace = '\(schema)'::regnamespace
                    and relkind in ('r', 'p') and not relispartition and relname <> 'audit' loop
                    execute format('create trigger touch after insert or update or delete on \(schema).%I for each row '
                        'execute function public.note_touch()', t);
                end loop;
            end $$;
            """
        )
        _ = try await steward.createTenant("radio")
        for limit in [10, 10, nil] as [Int64?] {
            _ = try await steward.setLimits(TenantLimits(waitingJobs: limit), of: "radio")
        }
        _ = try await steward.createToken(named: "ci", role: .submitter, tenant: "radio")
        for _ in 1...2 { _ = try await steward.revokeToken("ci") }
        for isPaused in [true, true, false] { try await steward.setPaused(isPaused, queue: "default") }
        for limit in [4, 4, nil] as [Int32?] { try await steward.setRunningLimit(limit, queue: "default") }
        for weight in [50, 50] as [Int32] {
            try await steward.setWeight(weight, queue: "default")
            try await steward.setWeight(weight, queue: "default", submitter: "postgres")
        }
        for wish in [.quiet, .quiet, .drain, .run] as [WorkerWish] {
            _ = try await steward.wish(wish, of: worker.worker)
        }
        for rate in [44_100, 44_100, 48_000] {
            let format = AudioFormat(container: .flac, sampleRateHz: rate)
            let output = Recipe.Output(location: OwnPreset.output, format: format)
            let recipe = Recipe(from: Recipe.Source(location: OwnPreset.source), to: output)
            _ = try await steward.put(OwnPreset(PresetReference(name: "house"), recipe))
        }
        for _ in 1...2 { _ = try await steward.removePreset("house") }
        for query in ["state=failed", "state=failed", "code=a"] { try await steward.saveFilter("mine", query) }
        for _ in 1...2 { _ = try await steward.removeFilter("mine") }
        for ledger in [steward, acting] {
            let all = JobFilter(batch: batch)
            _ = try await ledger.apply(.accept(), to: all)
            _ = try await ledger.apply(.accept(undo: true), to: all)
            for priority in [3, 3, 0] as [Int32] { _ = try await ledger.apply(.prioritize(priority), to: all) }
            // A running job is asked to stop.
            for _ in 1...2 { _ = try await ledger.apply(.cancel, to: all) }
            _ = try await ledger.apply(.retryWithDamage(.skip), to: all)
            for _ in 1...2 { _ = try await ledger.apply(.retry, to: all) }
        }
        let webhook = try await steward.createWebhook(NewWebhook(at: "https://example.com", for: .all)).id
        _ = try await steward.testWebhook(webhook)
        try await steward.removeWebhook(webhook)
        let unnoticed = try sql(
            """
            select distinct t.place from touched t where not exists (
                select from \(schema).audit a where a.xmin::text::bigint = t.tx::text::bigint % 4294967296)
            """
        )
        #expect(unnoticed == "")
        #expect(try Int(sql("select count(distinct tx) from touched")) ?? 0 > 30)
    }

    @Test func whatChangesNothingOrFailsLeavesNoRow() async throws {
        let lab = try await LedgerLab()
        try await lab.submit(1)
        _ = try await lab.ledger.apply(.retry, to: JobFilter())
        _ = try await lab.ledger.count(of: .cancel, matching: JobFilter())
        #expect(try await !lab.ledger.wish(.quiet, of: 1))
        _ = try await failure(of: { try await lab.ledger.setPaused(true, queue: "nowhere") })
        _ = try await failure(of: { try await lab.ledger.setWeight(0, queue: "default") })
        #expect(try await rows(lab).isEmpty)
    }

    @Test func theChunksOfAnOperationAreOneRow() async throws {
        let lab = try await LedgerLab()
        try await lab.submit(250)
        #expect(try await lab.ledger.apply(.cancel, to: JobFilter(queue: "default"), chunk: 100).changed == 250)
        #expect(try await rows(lab) == [Row("postgres", "cancel_jobs", 250)])
        // The next operation with the same filter is another row.
        #expect(try await lab.ledger.apply(.retry, to: JobFilter(), chunk: 100).changed == 250)
        #expect(try await lab.ledger.apply(.cancel, to: JobFilter(queue: "default"), chunk: 100).changed == 250)
        #expect(try await rows(lab).map(\.affected) == [250, 250, 250])
    }

    @Test func theNameIsThatOfTheToken() async throws {
        let lab = try await LedgerLab()
        _ = try await lab.ledger.createTenant("radio")
        let tenant = try lab.ledger.acting(for: Principal(name: "ci", role: .submitter, tenant: "radio"))
        let steward = try lab.ledger.acting(for: Principal(name: "ops", role: .operator))
        _ = try await tenant.submit(Submission(), LedgerLab.requests(3))
        #expect(try await tenant.apply(.cancel, to: JobFilter()).changed == 3)
        try await steward.setPaused(true, queue: "default")
        let records = try await steward.audit(limit: 2)
        #expect(records.map(\.who) == ["token:ops", "token:ci"] && records.map(\.tenant) == [nil, "radio"])
        #expect(try await steward.audit(by: "token:ci").map(\.what) == ["cancel_jobs"])
    }

    @Test func pagesGoByKeyAndOldRowsAreDropped() async throws {
        let lab = try await LedgerLab()
        try await lab.submit(1)
        for number in 1...7 { try await lab.ledger.setRunningLimit(Int32(number), queue: "default") }
        var found: [Int64] = []
        while true {
            let page = try await lab.ledger.audit(before: found.last, limit: 3)
            found += page.map(\.id)
            if page.count < 3 { break }
        }
        #expect(found.count == 7 && found == found.sorted(by: >))
        let middle = try await lab.ledger.time()
        try await lab.ledger.setPaused(true, queue: "default")
        #expect(try await lab.ledger.audit(since: middle).map(\.what) == ["pause_queue"])

        try await lab.set("keep_audit = '1 day'")
        try await lab.age(by: .seconds(2 * 86_400))
        try await lab.ledger.setPaused(false, queue: "default")
        #expect(try await lab.ledger.keepHouse().chores.first { $0.name == "trim_audit" }?.affected == 8)
        #expect(try await rows(lab).count == 1)
    }
}
