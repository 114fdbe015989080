import Conversion
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import Ledger

/// Webhooks that a submission names, and failures of one queue and of one submitter.
struct NoticeTests {
    private static let url = "https://example.com/hook?key=1"

    /// Lets housekeeping do what is due, twice: what is folded is seen after it.
    private func keepHouse(_ lab: LedgerLab) async throws {
        for _ in 0..<2 {
            for chore in ["fold_counts", "find_events"] {
                let error: String? = try await lab.lab.run { connection in
                    _ = try connection.script(
                        "update \(lab.schema).chore set due_at = '-infinity' where name = '\(chore)'",
                        changes: true
                    )
                    return try connection.rows("select error from \(lab.schema).do_chore(\(chore))") {
                        try $0[0] as String?
                    }[0]
                }
                #expect(error == nil, "\(chore)")
            }
        }
    }

    private func named(_ names: String..., queue: String = "default") -> Submission {
        var submission = Submission(queue: queue)
        submission.notify = names
        return submission
    }

    /// What webhooks were told: their ids and the types of the events, oldest first.
    private func told(_ lab: LedgerLab) async throws -> [String] {
        try await lab.ledger.deliveries(limit: 1_000).reversed().map { "\($0.webhook) \($0.event)" }.sorted()
    }

    private func bodies(_ lab: LedgerLab) async throws -> [String] {
        try await lab.lab.run { connection in
            try connection.rows("select body from \(lab.schema).webhook_event order by id") { try $0[0] }
        }
    }

    /// Ends jobs of a batch.
    private func work(_ lab: LedgerLab, _ worker: WorkerEntry, failing: Int, completing: Int) async throws {
        let fences = try await lab.claim(Int32(failing + completing), for: worker).map(\.fence)
        #expect(fences.count == failing + completing)
        let failures = fences.prefix(failing).map { AttemptFailure($0, LedgerLab.failure(.permanent)) }
        if failing > 0 { _ = try await lab.ledger.fail(failures) }
        if completing > 0 {
            _ = try await lab.ledger.publish(fences.dropFirst(failing).map { LedgerLab.publication($0) })
            _ = try await lab.ledger.finish(Array(fences.dropFirst(failing)))
        }
        try await keepHouse(lab)
    }

    // MARK: - Named by a submission

    @Test(arguments: [1, 3, 2_000])
    func onlyTheBatchesThatNameAWebhookAreTold(jobs: Int) async throws {
        let lab = try await LedgerLab()
        let studio = try await lab.ledger.createWebhook(
            NewWebhook(at: Self.url, for: .all, named: "studio", onNotify: true)
        ).id
        let other = try await lab.ledger.createWebhook(NewWebhook(at: Self.url, for: .submitter(nil), onNotify: true))
            .id
        let submission = named("studio", "\(other)", "studio")
        let receipt = try await lab.ledger.submit(submission, LedgerLab.requests(jobs))
        #expect(receipt.jobCount == jobs && !receipt.isRepetition)
        try await lab.submit(1)
        try await lab.ledger.apply(.cancel, to: JobFilter())
        for _ in 0..<2 { try await keepHouse(lab) }
        #expect(try await told(lab) == ["\(studio) batch.ended", "\(other) batch.ended"])
        #expect(try await bodies(lab)[0].contains(#""batch" : \#(receipt.batch)"#))
        // Again after a retry.
        #expect(try await lab.ledger.apply(.retry, to: JobFilter(batch: receipt.batch)).changed == jobs)
        try await keepHouse(lab)
        try await lab.ledger.apply(.cancel, to: JobFilter())
        try await keepHouse(lab)
        #expect(try await told(lab).count == 4)
    }

    @Test func aWebhookThatIsToldAnywayIsToldOnce() async throws {
        let lab = try await LedgerLab()
        let mine = try await lab.ledger.createWebhook(NewWebhook(at: Self.url, for: .submitter(nil), named: "mine")).id
        _ = try await lab.ledger.submit(named("mine"), LedgerLab.requests(2))
        try await lab.ledger.apply(.cancel, to: JobFilter())
        try await keepHouse(lab)
        #expect(try await told(lab) == ["\(mine) batch.ended"])
    }

    @Test func aNameThatIsUnknownSubmitsNothing() async throws {
        let lab = try await LedgerLab()
        _ = try await lab.ledger.createWebhook(NewWebhook(at: Self.url, for: .all, named: "studio", onNotify: true))
        for jobs in [1, 3, 2_000] {
            let error = try await failure(of: {
                _ = try await lab.ledger.submit(named("studio", "nobody"), LedgerLab.requests(jobs))
            })
            #expect(error.code == .ledgerRefused && error.detail.contains("nobody"), "\(error)")
        }
        let many = Array(repeating: "studio", count: 11)
        var submission = Submission()
        submission.notify = many
        let requests = LedgerLab.requests(2)
        #expect(try await failure(of: { _ = try await lab.ledger.submit(submission, requests) }).code == .ledgerRefused)
        #expect(try await lab.ledger.batches().isEmpty)
    }

    @Test func aRepetitionIsOneSubmissionAndAnotherWebhookAnotherRequest() async throws {
        let lab = try await LedgerLab()
        _ = try await lab.ledger.createWebhook(NewWebhook(at: Self.url, for: .all, named: "studio", onNotify: true))
        var submission = named("studio")
        submission.key = "k"
        let requests = LedgerLab.requests(2)
        let first = try await lab.ledger.submit(submission, requests)
        let second = try await lab.ledger.submit(submission, requests)
        #expect(second.batch == first.batch && second.isRepetition && second.isSameRequest)
        submission.notify = []
        #expect(try await lab.ledger.submit(submission, requests).isSameRequest == false)
        try await lab.ledger.apply(.cancel, to: JobFilter())
        for _ in 0..<2 { try await keepHouse(lab) }
        #expect(try await told(lab).count == 1)
    }

    @Test func whoMayNameWhich() async throws {
        let lab = try await LedgerLab()
        _ = try await lab.ledger.createTenant("radio")
        let tenant = try lab.ledger.acting(for: Principal(name: "ci", role: .submitter, tenant: "radio"))
        let other = try lab.ledger.acting(for: Principal(name: "o", role: .submitter))
        let steward = try lab.ledger.acting(for: Principal(name: "p", role: .operator))
        let shared = try await steward.createWebhook(
            NewWebhook(at: Self.url, for: .all, named: "studio", onNotify: true)
        ).id
        _ = try await steward.createWebhook(NewWebhook(at: Self.url, for: .all, named: "global"))
        let granted = try await steward.createWebhook(
            NewWebhook(
                at: Self.url,
                for: .submitter("tenant:radio"),
                named: "desk",
                onNotify: true
            )
        ).id
        let own = try await other.createWebhook(
            NewWebhook(at: Self.url, for: .submitter(nil), named: "mine", onNotify: true)
        ).id
        // Another's name hides nothing of theirs.
        _ = try await tenant.createWebhook(NewWebhook(at: Self.url, for: .submitter(nil), named: "mine"))

        func may(_ ledger: JobLedger, _ word: String) async throws -> Bool {
            do {
                _ = try await ledger.submit(named(word), LedgerLab.requests(1))
                return true
            } catch let error as LedgerError where error.code == .ledgerRefused {
                return false
            }
        }
        for word in ["studio", "mine", "\(own)"] { #expect(try await may(other, word), "\(word)") }
        for word in ["global", "desk", "\(granted)"] { #expect(try await may(other, word) == false, "\(word)") }
        for word in ["desk", "mine"] { #expect(try await may(tenant, word), "\(word)") }
        // What the installation's own webhooks reach is not for tenants.
        for word in ["studio", "\(shared)", "\(own)"] { #expect(try await may(tenant, word) == false, "\(word)") }
        // One that may only be named shows no path, which may hold a key, and none of its deliveries.
        let seen = try await other.webhooks()
        #expect(seen.map(\.id) == [shared, own])
        #expect(seen.map(\.url) == ["https://example.com", Self.url])
        #expect(try await failure(of: { _ = try await other.deliveries(to: shared) }).code == .ledgerRefused)
        #expect(try await failure(of: { try await other.removeWebhook(shared) }).code == .ledgerRefused)
        #expect(try await failure(of: { _ = try await other.testWebhook(shared) }).code == .ledgerRefused)
        #expect(try await tenant.webhooks().map(\.name) == ["desk", "mine"])
        // The caller's own before that of all.
        let mine = try await other.createWebhook(NewWebhook(at: Self.url, for: .submitter(nil), named: "studio")).id
        _ = try await other.submit(named("studio"), LedgerLab.requests(1))
        #expect(try await lab.value("select max(webhook) from \(lab.schema).webhook_notice") == Int(mine))
    }

    @Test func namesAreOfOne() async throws {
        let lab = try await LedgerLab()
        _ = try await lab.ledger.createWebhook(NewWebhook(at: Self.url, for: .all, named: "studio"))
        let batch = try await lab.submit(1).batch
        for name in ["", "1", "-x", "a b", "a,b", "é", String(repeating: "x", count: 65), "studio"] {
            let error = try await failure(of: {
                _ = try await lab.ledger.createWebhook(NewWebhook(at: Self.url, for: .all, named: name))
            })
            #expect(error.code == .ledgerRefused, "\(name)")
        }
        for scope in [Webhook.Scope.batch(batch), .queue("default")] {
            let error = try await failure(of: {
                _ = try await lab.ledger.createWebhook(NewWebhook(at: Self.url, for: scope, named: "x", onNotify: true))
            })
            #expect(error.code == .ledgerRefused)
        }
        try await lab.ledger.removeWebhook(1)
        #expect(try await lab.ledger.createWebhook(NewWebhook(at: Self.url, for: .all, named: "studio")).id > 1)
    }

    @Test func noticesAreDroppedLongAfterTheEnd() async throws {
        let lab = try await LedgerLab()
        _ = try await lab.ledger.createWebhook(NewWebhook(at: Self.url, for: .all, named: "studio", onNotify: true))
        _ = try await lab.ledger.submit(named("studio"), LedgerLab.requests(1))
        _ = try await lab.ledger.submit(named("studio"), LedgerLab.requests(1))
        try await lab.ledger.apply(.cancel, to: JobFilter(batch: 1))
        for _ in 0..<2 { try await keepHouse(lab) }
        for days in [29, 2] {
            try await lab.age(by: .seconds(days * 86_400))
            _ = try await lab.ledger.keepHouse()
            let left: Int = try await lab.value("select count(*) from \(lab.schema).webhook_notice")
            #expect(left == (days == 29 ? 2 : 1))
        }
        #expect(try await lab.ledger.webhooks().count == 1)
    }

    // MARK: - Failures

    @Test func theFailuresOfANamingBatchAreToldOnceUntilTheyHaveFallen() async throws {
        let lab = try await LedgerLab()
        let studio = try await lab.ledger.createWebhook(
            NewWebhook(
                at: Self.url,
                for: .all,
                events: [.failuresHigh],
                failurePercent: 20,
                named: "studio",
                onNotify: true
            )
        ).id
        let worker = try await lab.worker()
        let batch = try await lab.ledger.submit(named("studio"), LedgerLab.requests(400)).batch
        try await work(lab, worker, failing: 10, completing: 0)
        #expect(try await told(lab).isEmpty)
        // The twentieth that ends is none that fails.
        try await work(lab, worker, failing: 0, completing: 10)
        #expect(try await told(lab) == ["\(studio) failures.high"])
        let body = try #require(try await bodies(lab).first)
        #expect(
            body.contains(
                #""batch" : \#(batch), "queue" : null, "submitter" : null, "ended" : 20, "failed" : 10, "percent" : 50"#
            ),
            "\(body)"
        )
        try await work(lab, worker, failing: 5, completing: 0)
        #expect(try await told(lab).count == 1)
        try await work(lab, worker, failing: 0, completing: 200)
        try await work(lab, worker, failing: 100, completing: 0)
        #expect(try await told(lab).count == 2)
    }

    @Test func theFailuresOfAQueueAreItsOwn() async throws {
        let lab = try await LedgerLab()
        try await lab.submit(1, Submission(queue: "nightly"))
        let nightly = try await lab.ledger.createWebhook(NewWebhook(at: Self.url, for: .queue("nightly"))).id
        let worker = try await lab.worker()
        try await lab.submit(30)
        let all = try await lab.claim(31, for: worker)
        _ = try await lab.ledger.fail(
            all.filter { $0.queue == "default" }.map { AttemptFailure($0.fence, LedgerLab.failure(.permanent)) }
        )
        try await keepHouse(lab)
        #expect(try await told(lab).isEmpty)
        _ = try await lab.ledger.fail(
            all.filter { $0.queue != "default" }.map { AttemptFailure($0.fence, LedgerLab.failure(.permanent)) }
        )
        try await lab.submit(25, Submission(queue: "nightly"))
        try await work(lab, worker, failing: 25, completing: 0)
        let (end, high) = ("\(nightly) batch.ended", "\(nightly) failures.high")
        #expect(try await told(lab) == [end, end, high])
        #expect(
            try await bodies(lab).contains {
                $0.contains(#""batch" : null, "queue" : "nightly", "submitter" : null, "ended" : 26, "failed" : 26"#)
            }
        )
        #expect(
            try await failure(of: { _ = try await lab.ledger.createWebhook(NewWebhook(at: Self.url, for: .queue("x"))) }
            ).code
                == .ledgerRefused
        )
    }

    @Test func theFailuresOfASubmitterAreItsOwn() async throws {
        let lab = try await LedgerLab()
        _ = try await lab.ledger.createTenant("radio")
        let tenant = try lab.ledger.acting(for: Principal(name: "ci", role: .submitter, tenant: "radio"))
        let hook = try await tenant.createWebhook(
            NewWebhook(at: Self.url, for: .submitter(nil), events: [.failuresHigh])
        ).id
        let worker = try await lab.worker()
        try await lab.submit(30)
        try await work(lab, worker, failing: 30, completing: 0)
        #expect(try await told(lab).isEmpty)
        #expect(try await lab.value("select count(*) from \(lab.schema).submitter_pace") == 0)
        _ = try await tenant.submit(Submission(), LedgerLab.requests(60))
        try await work(lab, worker, failing: 2, completing: 20)
        #expect(try await told(lab).isEmpty)
        try await work(lab, worker, failing: 1, completing: 0)
        #expect(try await told(lab) == ["\(hook) failures.high"])
        #expect(
            try await bodies(lab)[0].contains(
                #""submitter" : "tenant:radio", "ended" : 23, "failed" : 3, "percent" : 13"#
            )
        )
        // Ten minutes later these count no more, and after an hour they are forgotten.
        try await lab.age(by: .seconds(700))
        try await work(lab, worker, failing: 0, completing: 1)
        try await work(lab, worker, failing: 20, completing: 0)
        #expect(try await told(lab).count == 2)
        try await lab.age(by: .seconds(2 * 3_600))
        _ = try await lab.ledger.keepHouse()
        #expect(try await lab.value("select count(*) from \(lab.schema).submitter_pace") == 0)
    }

    // MARK: - Many deliveries

    /// A webhook with dead deliveries, the first of which is `first`.
    private func lab(dead: Int) async throws -> (lab: LedgerLab, webhook: Int32) {
        let lab = try await LedgerLab()
        let webhook = try await lab.ledger.createWebhook(NewWebhook(at: Self.url, for: .all, named: "studio")).id
        _ = try await lab.ledger.testWebhook(webhook)
        try await lab.lab.run { connection in
            _ = try connection.script(
                """
                with e as (
                    insert into \(lab.schema).webhook_event (type, key, at, body)
                    select 'batch.ended', 'k' || n, now(), '{}' from generate_series(1, \(dead)) n returning id
                )
                insert into \(lab.schema).webhook_delivery (webhook, event, created_at, due_at, attempts, outcome, ended_at)
                select \(webhook), e.id, now(), now(), 10, 'dead', now() from e order by e.id
                """,
                changes: true
            )
        }
        return (lab, webhook)
    }

    @Test func manyDeadDeliveriesAreRetriedInPages() async throws {
        let (lab, webhook) = try await lab(dead: 2_500)
        let steps = Steps()
        #expect(try await lab.ledger.retryDeliveries(to: webhook) { steps.add($0) } == 2_500)
        #expect(steps.all == [1_000, 2_000, 2_500])
        // Each page has its transaction.
        let transactions: Int = try await lab.value(
            "select count(distinct xmin::text) from \(lab.schema).webhook_delivery"
        )
        #expect(transactions == 4)
        #expect(try await lab.ledger.retryDeliveries(to: webhook) == 0)
        #expect(try await lab.ledger.deliveries(in: .waiting, limit: 3_000).count == 2_501)
    }

    @Test func aRetryEndsThoughDeliveriesDieMeanwhile() async throws {
        let (lab, webhook) = try await lab(dead: 30)
        let first = try await lab.ledger.retryPart(ofDeliveriesTo: webhook, nil, after: 0, page: 10)
        #expect(first.count == 10)
        try await lab.lab.run { connection in
            _ = try connection.script(
                "update \(lab.schema).webhook_delivery set outcome = 'dead', ended_at = now() where attempts = 0",
                changes: true
            )
        }
        let rest = try await lab.ledger.retryPart(
            ofDeliveriesTo: webhook,
            nil,
            after: try #require(first.next),
            page: 100
        )
        #expect(rest.count == 20 && rest.next == nil)
    }

    @Test func aWebhookWithManyDeliveriesIsGoneAtOnceAndDeletedInPages() async throws {
        let (lab, webhook) = try await lab(dead: 25_000)
        try await lab.ledger.removeWebhook(webhook)
        // No list shows the deliveries that are left, no coordinator takes them, and the name is free.
        let left: Int = try await lab.value("select count(*) from \(lab.schema).webhook_delivery")
        #expect(left == 15_001)
        #expect(try await lab.ledger.webhooks().isEmpty)
        #expect(try await lab.ledger.deliveries().isEmpty)
        #expect(try await lab.ledger.takeDeliveries(healthy: 9, failing: 9, lease: .seconds(60)).isEmpty)
        #expect(try await failure(of: { try await lab.ledger.removeWebhook(webhook) }).code == .ledgerRefused)
        #expect(try await failure(of: { _ = try await lab.ledger.testWebhook(webhook) }).code == .ledgerRefused)
        let next = try await lab.ledger.createWebhook(NewWebhook(at: Self.url, for: .all, named: "studio")).id
        try await lab.submit(1)
        try await lab.ledger.apply(.cancel, to: JobFilter())
        try await keepHouse(lab)
        #expect(try await told(lab) == ["\(next) batch.ended"])
        try await lab.age(by: .seconds(3_600))
        for _ in 0..<5 { _ = try await lab.ledger.keepHouse() }
        #expect(try await lab.value("select count(*) from \(lab.schema).webhook where id = \(webhook)") == 0)
        #expect(try await lab.value("select count(*) from \(lab.schema).webhook_delivery") == 1)
    }
}

/// What a progress closure was told.
private final class Steps: Sendable {
    private let steps = Mutex<[Int]>([])
    func add(_ count: Int) { steps.withLock { $0.append(count) } }
    var all: [Int] { steps.withLock { $0 } }
}
