import Conversion
import Foundation
import TestSupport
import Testing

@testable import Ledger

/// Webhooks: who may have them, which events they get, and what becomes of a delivery.
struct WebhookTests {
    private static let url = "https://example.com/hook?key=1"

    /// Lets housekeeping do what is due.
    private func keepHouse(_ lab: LedgerLab) async throws {
        try await lab.lab.run { connection in
            for chore in ["fold_counts", "find_events"] {
                _ = try connection.script(
                    "update \(lab.schema).chore set due_at = '-infinity' where name = '\(chore)'",
                    changes: true
                )
                let error: String? = try connection.rows("select error from \(lab.schema).do_chore(\(chore))") {
                    try $0[0] as String?
                }[0]
                #expect(error == nil, "\(chore)")
            }
        }
    }

    private func bodies(_ lab: LedgerLab) async throws -> [String] {
        try await lab.lab.run { connection in
            try connection.rows("select body from \(lab.schema).webhook_event order by id") { try $0[0] }
        }
    }

    private func types(_ lab: LedgerLab) async throws -> [String] {
        try await lab.ledger.deliveries().reversed().map(\.event)
    }

    private func take(_ lab: LedgerLab, _ healthy: Int = 100, failing: Int = 100) async throws -> [TakenDelivery] {
        try await lab.ledger.takeDeliveries(healthy: healthy, failing: failing, lease: .seconds(60))
    }

    // MARK: - Secrets

    @Test func theSignatureIsThatOfTheStandard() throws {
        // The example of the specification of Standard Webhooks.
        let key = try #require(Data(base64Encoded: "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"))
        let signature = WebhookSecret(bytes: Array(key)).signature(
            ofMessage: "msg_p5jXN8AQM9LWM0D4loKWxJek",
            sentAt: 1_614_265_330,
            body: #"{"test": 2432232314}"#
        )
        #expect(signature == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
    }

    @Test func noDescriptionShowsASecret() {
        let secret = WebhookSecret()
        var dumped = ""
        dump(secret, to: &dumped)
        #expect(secret.text.wholeMatch(of: /whsec_[A-Za-z0-9+\/]{43}=/) != nil && secret != WebhookSecret())
        for text in ["\(secret)", String(reflecting: secret), dumped, "\([secret])"] {
            #expect(!text.contains(secret.text.dropFirst(6).prefix(10)) && !text.contains("\(secret.bytes[0]), "))
        }
    }

    @Test func theSecretIsForCoordinatorsAlone() async throws {
        let lab = try await LedgerLab()
        let secret = try await lab.ledger.createWebhook(NewWebhook(at: Self.url, for: .all)).secret
        try await lab.submit(1)
        try await lab.ledger.apply(.cancel, to: JobFilter())
        try await keepHouse(lab)
        let api = try lab.ledger(as: GrantTests.user("sluice_face", on: lab.lab.server))
        let taken = try await api.takeDeliveries(healthy: 1, failing: 1, lease: .seconds(60))
        #expect(taken.map(\.secret) == [secret] && taken.map(\.url) == [Self.url])
        for role in ["sluice_worker", "sluice_operator", "sluice_submitter", "sluice_viewer"] {
            let other = try lab.ledger(as: GrantTests.user(role, on: lab.lab.server))
            let refusal = try await failure(of: {
                _ = try await other.takeDeliveries(healthy: 1, failing: 1, lease: .seconds(60))
            })
            #expect(refusal.code == .ledgerPermissionDenied, "\(role)")
        }
    }

    // MARK: - Rights

    @Test func whatIsNoAddressIsRefused() async throws {
        let lab = try await LedgerLab()
        for url in [
            "", "example.com", "ftp://example.com/", "https://", "https:///x", "https://a@example.com/",
            "https://a:b@example.com", "https://example.com/#x", "https://example.com\\@evil/",
            "https://example.com/ x",
            "https://exämple.com/", "https://example.com/\n", "https://example.com/\u{7F}", "file:///etc/passwd",
            "https://example.com/" + String(repeating: "x", count: 2_000),
        ] {
            let error = try await failure(of: { _ = try await lab.ledger.createWebhook(NewWebhook(at: url, for: .all)) }
            )
            #expect(error.code == .ledgerRefused, "\(url)")
        }
        for url in ["http://[::1]:80", "https://example.com?x", "https://example.com/%23/@", "http://h:8080/a;b=c"] {
            _ = try await lab.ledger.createWebhook(NewWebhook(at: url, for: .all))
        }
    }

    @Test func othersCreateThemForTheirOwnBatchesOnly() async throws {
        let lab = try await LedgerLab()
        _ = try await lab.ledger.createTenant("radio")
        let tenant = try lab.ledger.acting(for: Principal(name: "ci", role: .submitter, tenant: "radio"))
        let other = try lab.ledger.acting(for: Principal(name: "o", role: .submitter))
        let steward = try lab.ledger.acting(for: Principal(name: "p", role: .operator))
        let batch = try await tenant.submit(Submission(), LedgerLab.requests(1)).batch

        func code(_ ledger: JobLedger, _ scope: Webhook.Scope, _ events: [Webhook.Event]? = nil) async throws
            -> FailureCode?
        {
            do {
                _ = try await ledger.createWebhook(NewWebhook(at: Self.url, for: scope, events: events))
                return nil
            } catch let error as LedgerError {
                return error.code
            }
        }
        #expect(try await code(tenant, .all) == .ledgerPermissionDenied)
        #expect(try await code(tenant, .submitter("token:o")) == .ledgerPermissionDenied)
        #expect(try await code(other, .batch(batch)) == .ledgerPermissionDenied)
        #expect(try await code(tenant, .batch(99)) == .ledgerRefused)
        #expect(try await code(tenant, .submitter(nil), [.workerLost]) == .ledgerRefused)
        #expect(try await code(tenant, .submitter(nil), []) == .ledgerRefused)
        #expect(try await code(tenant, .submitter(nil)) == nil)
        #expect(try await code(tenant, .batch(batch)) == nil)
        #expect(try await code(steward, .submitter("tenant:radio")) == nil)
        #expect(try await code(steward, .all) == nil)
        #expect(try await tenant.webhooks().map(\.id) == [1, 2, 3])
        #expect(try await other.webhooks().isEmpty)
        #expect(try await steward.webhooks().count == 4)
        let refusal = try await failure(of: { try await other.removeWebhook(1) })
        #expect(refusal.code == .ledgerRefused)
        #expect(try await failure(of: { _ = try await other.deliveries(to: 1) }).code == .ledgerRefused)
        #expect(try await failure(of: { _ = try await other.retryDeliveries(to: 1) }).code == .ledgerRefused)

        try await tenant.apply(.cancel, to: JobFilter())
        try await keepHouse(lab)
        #expect(try await tenant.deliveries().count == 3)
        #expect(try await other.deliveries().isEmpty)
        #expect(try await steward.deliveries().count == 4)
        try await tenant.removeWebhook(1)
        #expect(try await tenant.deliveries().count == 2)
    }

    @Test func theNumberOfWebhooksIsBounded() async throws {
        let lab = try await LedgerLab()
        try await lab.set("webhooks_per_submitter = 2, webhooks_allowed = 3")
        let one = try lab.ledger.acting(for: Principal(name: "s", role: .submitter))
        for _ in 0..<2 { _ = try await one.createWebhook(NewWebhook(at: Self.url, for: .submitter(nil))) }
        #expect(
            try await failure(of: { _ = try await one.createWebhook(NewWebhook(at: Self.url, for: .submitter(nil))) })
                .code
                != .unexpected
        )
        _ = try await lab.ledger.createWebhook(NewWebhook(at: Self.url, for: .all))
        await #expect(throws: LedgerError.self) {
            _ = try await lab.ledger.createWebhook(NewWebhook(at: Self.url, for: .all))
        }
        #expect(try await lab.ledger.webhooks().count == 3)
    }

    // MARK: - Events

    @Test func aBatchEndsOnceAndAgainAfterARetry() async throws {
        let lab = try await LedgerLab()
        _ = try await lab.ledger.createWebhook(NewWebhook(at: Self.url, for: .all))
        let batch = try await lab.submit(2, Submission(label: "pods")).batch
        let worker = try await lab.worker()
        try await keepHouse(lab)
        let claims = try await lab.claim(2, for: worker)
        #expect(try await lab.ledger.fail([AttemptFailure(claims[0].fence, LedgerLab.failure(.permanent))]) == [.done])
        try await keepHouse(lab)
        #expect(try await types(lab).isEmpty)
        #expect(try await lab.ledger.publish([LedgerLab.publication(claims[1].fence)]) == [.done])
        try await keepHouse(lab)
        #expect(try await types(lab).isEmpty)
        #expect(try await lab.ledger.finish([claims[1].fence]) == [.done])
        for _ in 0..<3 { try await keepHouse(lab) }
        #expect(try await types(lab) == ["batch.ended"])
        let body = try #require(try await bodies(lab).first)
        for part in [
            #""type" : "batch.ended""#, #""batch" : \#(batch)"#, #""name" : "pods""#, #""completed" : 1"#,
            #""failed" : 1"#, #""cancelled" : 0"#,
        ] {
            #expect(body.contains(part), "\(body)")
        }

        #expect(try await lab.ledger.apply(.retry, to: JobFilter()).changed == 1)
        try await keepHouse(lab)
        try await lab.ledger.apply(.cancel, to: JobFilter())
        for _ in 0..<3 { try await keepHouse(lab) }
        #expect(try await types(lab) == ["batch.ended", "batch.ended"])
        // Retried and ended between two rounds of housekeeping.
        #expect(try await lab.ledger.apply(.retry, to: JobFilter(batch: batch)).changed > 0)
        try await lab.ledger.apply(.cancel, to: JobFilter())
        for _ in 0..<3 { try await keepHouse(lab) }
        #expect(try await types(lab).count == 3)
    }

    @Test func aWebhookForABatchThatHasEndedHearsOfItAlone() async throws {
        let lab = try await LedgerLab()
        let ofAll = try await lab.ledger.createWebhook(NewWebhook(at: Self.url, for: .all))
        let batch = try await lab.submit(1).batch
        let early = try await lab.ledger.createWebhook(NewWebhook(at: Self.url, for: .batch(batch)))
        try await lab.ledger.apply(.cancel, to: JobFilter())
        for _ in 0..<3 { try await keepHouse(lab) }
        let late = [
            try await lab.ledger.createWebhook(NewWebhook(at: Self.url, for: .batch(batch))),
            try await lab.ledger.createWebhook(NewWebhook(at: Self.url, for: .batch(batch))),
        ]
        for _ in 0..<3 { try await keepHouse(lab) }
        let told = try await lab.ledger.deliveries().map(\.webhook)
        #expect(told.sorted() == ([ofAll, early] + late).map(\.id).sorted())

        // A new end is for all, also if a webhook is made between the end and the round that finds it.
        try await lab.ledger.apply(.retry, to: JobFilter())
        try await keepHouse(lab)
        try await lab.ledger.apply(.cancel, to: JobFilter())
        let last = try await lab.ledger.createWebhook(NewWebhook(at: Self.url, for: .batch(batch)))
        for _ in 0..<3 { try await keepHouse(lab) }
        let toldAgain = try await lab.ledger.deliveries().map(\.webhook)
        #expect(toldAgain.count == 4 + 5 && toldAgain.count { $0 == last.id } == 1)
    }

    /// Folding in the smallest pages names a batch in the midst of its work.
    @Test(arguments: 1...3)
    func anEndIsToldOnceHoweverCountsAreFolded(page: Int) async throws {
        let lab = try await LedgerLab()
        _ = try await lab.ledger.createWebhook(NewWebhook(at: Self.url, for: .all))
        try await lab.submit(1)
        let worker = try await lab.worker()
        /// Folds some rows at a time, with a look for events behind each.
        func fold() async throws {
            var left = 1
            while left > 0 {
                let (folded, rest): (Int, Int) = try await lab.lab.run { connection in
                    let folded: Int = try connection.value(
                        "select affected from \(lab.schema).fold_counts(\(Int32(page)))"
                    )
                    _ = try connection.execute("select \(lab.schema).find_events(100)")
                    return (folded, try connection.value("select count(*) from \(lab.schema).count_delta"))
                }
                #expect(folded > 0 || rest == 0)
                left = rest
            }
        }
        for round in 1...4 {
            let fence = try #require(try await lab.claim(1, for: worker).first).fence
            // The claim and the end are folded together.
            if round % 2 == 0 { try await fold() }
            #expect(try await lab.ledger.fail([AttemptFailure(fence, LedgerLab.failure(.permanent))]) == [.done])
            try await fold()
            try await fold()
            #expect(try await types(lab).count == round)
            #expect(try await lab.ledger.apply(.retry, to: JobFilter()).changed == 1)
        }
    }

    @Test func nothingIsKeptWithoutWebhooks() async throws {
        let lab = try await LedgerLab()
        try await lab.submit(3)
        try await lab.ledger.apply(.cancel, to: JobFilter())
        try await keepHouse(lab)
        let rows: Int = try await lab.value(
            "select (select count(*) from \(lab.schema).batch_news) + (select count(*) from \(lab.schema).webhook_event)"
        )
        #expect(rows == 0)
        // What remains of a webhook that was removed is cleared away.
        let webhook = try await lab.ledger.createWebhook(NewWebhook(at: Self.url, for: .all)).id
        try await lab.submit(1)
        try await lab.ledger.apply(.cancel, to: JobFilter())
        try await lab.lab.run { _ = try $0.execute("select \(lab.schema).fold_counts()") }
        try await lab.ledger.removeWebhook(webhook)
        try await keepHouse(lab)
        #expect(try await lab.value("select count(*) from \(lab.schema).batch_news") == 0)
    }

    @Test func failuresAreToldOnceUntilTheyHaveFallen() async throws {
        let lab = try await LedgerLab()
        _ = try await lab.ledger.createWebhook(
            NewWebhook(at: Self.url, for: .all, events: [.failuresHigh], failurePercent: 20)
        )
        let worker = try await lab.worker()
        func work(failing: Int, completing: Int) async throws {
            try await lab.submit(failing + completing)
            let fences = try await lab.claim(Int32(failing + completing), for: worker).map(\.fence)
            let failures = fences.prefix(failing).map { AttemptFailure($0, LedgerLab.failure(.permanent)) }
            if failing > 0 { _ = try await lab.ledger.fail(failures) }
            if completing > 0 {
                _ = try await lab.ledger.publish(fences.dropFirst(failing).map { LedgerLab.publication($0) })
                _ = try await lab.ledger.finish(Array(fences.dropFirst(failing)))
            }
            for _ in 0..<2 { try await keepHouse(lab) }
        }
        try await work(failing: 19, completing: 0)
        #expect(try await types(lab).isEmpty)
        try await work(failing: 0, completing: 60)
        #expect(try await types(lab) == ["failures.high"])
        #expect(try await bodies(lab)[0].contains(#""ended" : 79, "failed" : 19, "percent" : 24, "limitPercent" : 20"#))
        try await work(failing: 30, completing: 0)
        #expect(try await types(lab).count == 1)
        // Ten minutes later these count no more.
        try await lab.age(by: .seconds(700))
        try await work(failing: 0, completing: 5)
        try await work(failing: 25, completing: 0)
        #expect(try await types(lab) == ["failures.high", "failures.high"])
    }

    @Test func lostWorkersAndOutagesAreToldOnceToThoseWhoWereThere() async throws {
        let lab = try await LedgerLab()
        try await lab.set("lease = '60 s'")
        func lose() async throws {
            _ = try await lab.worker("gone")
            _ = try await lab.ledger.keepHouse()
            // In small steps, which are no outage, even if a busy machine adds some seconds to each.
            for _ in 0..<20 {
                try await lab.age(by: .seconds(5))
                _ = try await lab.ledger.keepHouse()
            }
        }
        try await lose()
        _ = try await lab.ledger.createWebhook(NewWebhook(at: Self.url, for: .all))
        try await lose()
        try await keepHouse(lab)
        #expect(try await types(lab) == ["worker.lost"])
        #expect(try await bodies(lab)[0].contains(#""name" : "gone", "host" : "h", "slots" : 4"#))
        try await lab.age(by: .seconds(100))
        for _ in 0..<3 {
            _ = try await lab.ledger.keepHouse()
            try await lab.age(by: .seconds(2))
        }
        #expect(try await types(lab) == ["worker.lost", "ledger.recovered"])
    }

    @Test func aWebhookWithTooManyWaitingDeliveriesGetsNoMore() async throws {
        let lab = try await LedgerLab()
        try await lab.set("deliveries_waiting = 2")
        _ = try await lab.ledger.createWebhook(NewWebhook(at: Self.url, for: .all))
        for _ in 0..<5 {
            try await lab.submit(1)
            try await lab.ledger.apply(.cancel, to: JobFilter())
            try await keepHouse(lab)
        }
        let webhook = try #require(try await lab.ledger.webhooks().first)
        #expect(webhook.waiting == 2 && webhook.skipped == 3)
    }

    // MARK: - Deliveries

    /// A ledger with a webhook to which deliveries of tests are due.
    private func lab(deliveries: Int) async throws -> (LedgerLab, webhook: Int32) {
        let lab = try await LedgerLab()
        let webhook = try await lab.ledger.createWebhook(NewWebhook(at: Self.url, for: .all, events: [.batchEnded])).id
        for _ in 0..<deliveries { _ = try await lab.ledger.testWebhook(webhook) }
        return (lab, webhook)
    }

    @Test func aDeliveryIsTakenByOneAndAgainAfterItsLease() async throws {
        let (lab, _) = try await lab(deliveries: 1)
        let first = try #require(try await take(lab).first)
        #expect(first.attempt == 1 && first.body.contains("webhook.test"))
        #expect(try await take(lab).isEmpty)
        try await lab.age(by: .seconds(61))
        let second = try #require(try await take(lab).first)
        #expect(second.message == first.message && second.body == first.body && second.attempt == 2)
        // A failure counts only from the one who has the lease; a success is a fact.
        #expect(try await lab.ledger.record(first, status: 500, error: "x") == nil)
        #expect(try await lab.ledger.record(first, status: 204, error: nil) == .delivered)
        #expect(try await lab.ledger.record(second, status: 500, error: "x") == nil)
        #expect(try await lab.ledger.record(second, status: 200, error: nil) == nil)
        let metrics = try await lab.ledger.metrics()
        #expect(metrics[.webhookDeliveries, "delivered"] == 1 && metrics[.webhookDeliveries, "failed"] == 0)
    }

    @Test func attemptsSpreadOverADayAndThenEnd() async throws {
        let (lab, webhook) = try await lab(deliveries: 1)
        var passed: Duration = .zero
        // The shortest and the longest that each can be: the ledger set it between two looks at its clock.
        var waits: [(least: Double, most: Double)] = []
        for attempt in 1...10 {
            let taken = try #require(try await take(lab).first)
            #expect(taken.attempt == attempt && taken.fails == (attempt > 1))
            let before = try await lab.ledger.time()
            let state = try await lab.ledger.record(taken, status: attempt == 3 ? nil : 500, error: "no")
            let after = try await lab.ledger.time()
            #expect(state == (attempt < 10 ? .waiting : .dead))
            let delivery = try #require(try await lab.ledger.deliveries().first)
            guard let due = delivery.dueAt, let tried = delivery.triedAt else { break }
            waits.append((due.timeIntervalSince(after), due.timeIntervalSince(before)))
            // Not before its time.
            #expect(try await take(lab).isEmpty)
            let wait = Duration.seconds(due.timeIntervalSince(tried) + 1)
            passed += wait
            try await lab.age(by: wait)
        }
        #expect(waits.count == 9 && passed > .seconds(17 * 3_600) && passed < .seconds(30 * 3_600))
        for (number, wait) in waits.enumerated() {
            let middle = min(28_800, 5 * pow(4, Double(number)))
            #expect(wait.most > middle * 0.74 && wait.least < middle * 1.26)
        }
        let dead = try #require(try await lab.ledger.deliveries(in: .dead).first)
        #expect(dead.attempts == 10 && dead.status == 500 && dead.error == "no")
        #expect(try await lab.ledger.retryDeliveries(to: webhook) == 1)
        #expect(try await lab.ledger.retryDeliveries(to: webhook) == 0)
        let again = try #require(try await take(lab).first)
        #expect(again.message == dead.message && again.attempt == 1)
        #expect(try await lab.ledger.record(again, status: 410, error: "gone") == .dead)
    }

    @Test func jitterKeepsDeliveriesApart() async throws {
        let lab = try await LedgerLab()
        let waits: Int = try await lab.value(
            "select count(distinct \(lab.schema).delivery_delay(5)) from generate_series(1, 50)"
        )
        #expect(waits > 45)
    }

    @Test func aFailingWebhookTakesNoPlaceFromOthers() async throws {
        let (lab, failing) = try await lab(deliveries: 8)
        for delivery in try await take(lab) { try await lab.ledger.record(delivery, status: 500, error: "no") }
        let good = try await lab.ledger.createWebhook(NewWebhook(at: Self.url, for: .all)).id
        for _ in 0..<8 { _ = try await lab.ledger.testWebhook(good) }
        // Four at a time to one that takes them, one to one that does not.
        let taken = try await take(lab, 2, failing: 2)
        #expect(taken.count { $0.webhook == good } == 2 && taken.count { $0.webhook == failing } == 1)
        let more = try await take(lab)
        #expect(more.count { $0.webhook == good } == 2 && more.allSatisfy { $0.webhook == good })
        #expect(try await take(lab).isEmpty)
        // It takes one, and is well again.
        let one = try #require(taken.first { $0.webhook == failing })
        try await lab.ledger.record(one, status: 200, error: nil)
        #expect(try await take(lab).count { $0.webhook == failing } == 3)
    }

    @Test func manyTakeEachDeliveryOnce() async throws {
        let (lab, _) = try await lab(deliveries: 40)
        let messages = try await withThrowingTaskGroup(of: [String].self) { group in
            for _ in 0..<8 {
                group.addTask {
                    var messages: [String] = []
                    while true {
                        let taken = try await take(lab)
                        for delivery in taken {
                            #expect(try await lab.ledger.record(delivery, status: 200, error: nil) == .delivered)
                            messages.append(delivery.message)
                        }
                        let left = try await lab.ledger.deliveries(in: .waiting, limit: 1)
                        if left.isEmpty { return messages }
                    }
                }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        #expect(messages.count == 40 && Set(messages).count == 40)
    }

    @Test func whatEndedLongAgoIsDropped() async throws {
        let (lab, webhook) = try await lab(deliveries: 3)
        let batch = try await lab.submit(1).batch
        _ = try await lab.ledger.createWebhook(NewWebhook(at: Self.url, for: .batch(batch)))
        try await lab.ledger.apply(.cancel, to: JobFilter())
        try await keepHouse(lab)
        let taken = try await take(lab)
        #expect(taken.count == 5)
        for delivery in taken.dropLast() { try await lab.ledger.record(delivery, status: 200, error: nil) }
        try await lab.age(by: .seconds(31 * 86_400))
        _ = try await lab.ledger.keepHouse()
        // One still waits, and keeps its event and its webhook.
        #expect(try await lab.ledger.deliveries().map(\.message) == [taken[4].message])
        try await lab.ledger.record(try #require(try await take(lab).first), status: 200, error: nil)
        try await lab.age(by: .seconds(31 * 86_400))
        _ = try await lab.ledger.keepHouse()
        #expect(try await lab.ledger.deliveries().isEmpty)
        #expect(try await lab.value("select count(*) from \(lab.schema).webhook_event") == 0)
        try await lab.age(by: .seconds(3_600))
        _ = try await lab.ledger.keepHouse()
        #expect(try await lab.ledger.webhooks().map(\.id) == [webhook])
    }
}
