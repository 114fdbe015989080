import Conversion
import Foundation
import TestSupport
import Testing

@testable import Ledger

/// What the conversions of a tenant may use in 24 hours.
struct AllowanceTests {
    /// A ledger with a tenant, and the ledger as the tenant sees it.
    private struct Scene {
        let lab: LedgerLab
        let tenant: JobLedger

        init(_ limits: TenantLimits = TenantLimits()) async throws {
            lab = try await LedgerLab()
            #expect(try await lab.ledger.createTenant("radio"))
            tenant = try lab.ledger.acting(for: Principal(name: "ci", role: .submitter, tenant: "radio"))
            try await limit(limits)
        }

        func limit(_ limits: TenantLimits) async throws {
            #expect(try await lab.ledger.setLimits(limits, of: "radio"))
        }

        @discardableResult
        func submit(_ count: Int, to queue: String = "default") async throws -> SubmissionReceipt {
            try await tenant.submit(Submission(queue: queue), LedgerLab.requests(count))
        }

        func claim(_ count: Int32) async throws -> [Fence] {
            try await lab.claim(count, for: lab.worker()).map(\.fence)
        }

        /// Completes jobs after so much processor time, with outputs of so many bytes.
        func complete(_ fences: [Fence], cpu: Duration = .zero, bytes: Int64 = 0) async throws {
            let publications = fences.map { fence in
                var publication = LedgerLab.publication(fence)
                (publication.facts.cpu, publication.bytes) = (cpu, bytes)
                return publication
            }
            #expect(try await lab.ledger.publish(publications).allSatisfy { $0 == .done })
            #expect(try await lab.ledger.finish(fences).allSatisfy { $0 == .done })
        }

        /// Ticks of housekeeping, each a second after the last one, until the use is folded: a chore that took long is done
        /// less often.
        func keepHouse() async throws {
            var isFolded = false
            for _ in 1...20 where !isFolded {
                try await lab.age(by: .seconds(1))
                let report = try await lab.ledger.keepHouse()
                #expect(report.chores.allSatisfy { $0.error == nil }, "\(report)")
                isFolded = report.chores.contains { $0.name == "fold_use" }
            }
            #expect(isFolded)
        }

        /// What is counted of the tenant's processor time, folded or not, in milliseconds.
        func counted() async throws -> Int {
            try await lab.value("select (\(lab.schema).use_of('radio')).cpu_ms::bigint")
        }

        func demand() async throws -> Int { try await lab.value("select \(lab.schema).demand()") }

        func why(_ job: Int64) async throws -> JobStory.WaitingFor? {
            try await tenant.story(of: job)?.waitingFor
        }
    }

    @Test func jobsWaitWhenTheMinutesAreUsedUp() async throws {
        let scene = try await Scene(TenantLimits(cpuMinutes: 2))
        let receipt = try await scene.submit(5)
        try await scene.complete(try await scene.claim(1), cpu: .seconds(119))
        try await scene.keepHouse()
        #expect(try await scene.tenant.holds() == [])
        // Jobs that run are not stopped.
        let running = try await scene.claim(2)
        try await scene.complete([running[0]], cpu: .seconds(1))
        try await scene.keepHouse()
        #expect(try await scene.claim(5).isEmpty)
        let hold = try #require(try await scene.tenant.holds().first)
        #expect(hold.tenant == "radio" && hold.allowance == .cpuMinutes)
        let wait = try await hold.until.timeIntervalSince(scene.lab.ledger.time())
        #expect(wait > 86_000 && wait <= 87_000)
        let story = try #require(try await scene.tenant.story(of: receipt.lastJob))
        #expect(story.waitingFor == .cpuMinutes && story.summary.readyAt == hold.until)
        #expect(try await scene.why(running[1].job) == nil)
        #expect(try await scene.demand() == 1)
        try await scene.complete([running[1]], cpu: .seconds(3))

        // Submissions are accepted, and wait, also in a queue that is new to the tenant.
        let other = try await scene.submit(2, to: "other")
        #expect(try await scene.claim(5).isEmpty)
        #expect(try await scene.why(other.firstJob) == .cpuMinutes)
        #expect(try await scene.demand() == 0)
        // Other submitters notice nothing.
        try await scene.lab.submit(2)
        #expect(try await scene.claim(5).count == 2)
        let listed = try #require(try await scene.lab.ledger.tenants().first)
        #expect(listed.usedCPU == .seconds(123) && listed.hold == hold && listed.limits.cpuMinutes == 2)

        // A day later the jobs go on, without housekeeping. No process dies of the time that passes here.
        try await scene.lab.age(by: .seconds(86_300))
        #expect(try await scene.claim(5).isEmpty)
        try await scene.lab.age(by: .seconds(1_400))
        #expect(try await scene.claim(5).count == 4)
        try await scene.keepHouse()
        #expect(try await scene.lab.ledger.holds() == [])
        #expect(try await scene.lab.ledger.tenants()[0].usedCPU == .zero)
    }

    @Test func jobsWaitWhenTheBytesAreUsedUp() async throws {
        let scene = try await Scene(TenantLimits(cpuMinutes: 1, outputBytes: 1_000))
        let receipt = try await scene.submit(6)
        try await scene.complete(try await scene.claim(2), cpu: .seconds(1), bytes: 499)
        // A job whose output was left alone has published nothing.
        let skipped = try await scene.claim(1)
        #expect(try await scene.lab.ledger.publish(skipped.map(LedgerLab.publication)) == [.done])
        #expect(try await scene.lab.ledger.finish(skipped.map { FinishedJob($0, .skipped) }) == [.done])
        try await scene.keepHouse()
        #expect(try await scene.lab.ledger.tenants()[0].usedOutputBytes == 998)
        try await scene.complete(try await scene.claim(1), bytes: 2)
        try await scene.keepHouse()
        #expect(try await scene.claim(1).isEmpty)
        #expect(try await scene.why(receipt.lastJob) == .outputBytes)

        // Another limit applies at once.
        try await scene.limit(TenantLimits(cpuMinutes: 1, outputBytes: 1_001))
        #expect(try await scene.why(receipt.lastJob) == .line)
        try await scene.limit(TenantLimits(outputBytes: 1_000))
        #expect(try await scene.why(receipt.lastJob) == .outputBytes)
        try await scene.limit(TenantLimits())
        #expect(try await scene.claim(1).count == 1)
        for wrong in [TenantLimits(cpuMinutes: 0), TenantLimits(outputBytes: 0)] {
            #expect(
                try await failure(of: { _ = try await scene.lab.ledger.setLimits(wrong, of: "radio") }).code
                    == .ledgerRefused
            )
        }
    }

    @Test func theWindowMovesByTenMinutes() async throws {
        let scene = try await Scene(TenantLimits(cpuMinutes: 10))
        try await scene.submit(20)
        // Three minutes in each hour: the fourth job is over the limit, until the first is a day old.
        for _ in 0..<4 {
            try await scene.complete(try await scene.claim(1), cpu: .seconds(180))
            try await scene.keepHouse()
            try await scene.lab.age(by: .seconds(3_600))
        }
        #expect(try await scene.claim(1).isEmpty)
        try await scene.lab.age(by: .seconds(86_300 - 4 * 3_600))
        #expect(try await scene.claim(1).isEmpty)
        try await scene.lab.age(by: .seconds(900))
        let next = try await scene.claim(1)
        try await scene.complete(next, cpu: .seconds(180))
        try await scene.keepHouse()
        // Now the second is the oldest.
        #expect(try await scene.claim(1).isEmpty)
        try await scene.lab.age(by: .seconds(3_600))
        #expect(try await scene.claim(1).count == 1)
    }

    @Test func eachAttemptCountsOnceHoweverItEnds() async throws {
        let scene = try await Scene()
        try await scene.submit(9)
        let fences = try await scene.claim(8)
        func facts(_ seconds: Int) -> AttemptFacts { AttemptFacts(slot: 1, cpu: .seconds(seconds)) }
        let ledger = scene.lab.ledger
        try await scene.complete(Array(fences[..<2]), cpu: .seconds(1))
        #expect(try await ledger.finish(Array(fences[..<2])) == [.repeated, .repeated])
        let failures = [
            AttemptFailure(fences[2], LedgerLab.failure(.permanent), facts: facts(10)),
            AttemptFailure(fences[3], LedgerLab.failure(.transient), facts: facts(100)),
            AttemptFailure(fences[4], LedgerLab.failure(.infrastructure), facts: facts(1_000)),
        ]
        #expect(try await ledger.fail(failures) == [.done, .done, .done])
        #expect(try await ledger.fail(failures) == [.repeated, .repeated, .repeated])
        // Nothing has measured these.
        try await ledger.release([fences[5]])
        // Cancelled while it ran.
        #expect(try await scene.tenant.apply(.cancel, to: JobFilter(ids: [fences[6].job])).asked == 1)
        #expect(
            try await ledger.fail([AttemptFailure(fences[6], LedgerLab.failure(.permanent), facts: facts(10_000))])
                == [.cancelled]
        )
        #expect(try await scene.counted() == 11_112_000)
        // A second attempt counts as well; what others convert does not.
        try await scene.lab.submit(1)
        try await scene.lab.age(by: .seconds(3_000))
        let again = try await scene.claim(9)
        #expect(again.contains { $0.job == fences[3].job } && again.count == 5)
        try await scene.complete(again, cpu: .seconds(100_000))
        try await scene.keepHouse()
        let attempts: Int = try await scene.lab.value(
            """
            select sum(a.cpu_ms)::bigint from \(scene.lab.schema).attempt a
            join \(scene.lab.schema).job j on j.id = a.job join \(scene.lab.schema).batch b on b.id = j.batch
            where b.submitter = 'tenant:radio'
            """
        )
        #expect(try await scene.counted() == attempts && attempts == 411_112_000)
    }

    /// Four workers that repeat their calls, and two coordinators.
    @Test func manyProcessesCountExactly() async throws {
        let scene = try await Scene(TenantLimits(cpuMinutes: 1_000_000))
        try await scene.lab.set("retry_base = '1 ms', retry_cap = '1 ms'")
        let (lab, count) = (scene.lab, 400)
        try await scene.submit(count)
        try await lab.lab.run { connection in
            _ = try connection.script("update \(lab.schema).chore set every = '0'", changes: true)
        }
        let ended = Counter()
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            for _ in 0..<2 {
                tasks.addTask {
                    while await ended.value < count {
                        let found: [String?] = try await lab.lab.run { connection in
                            try connection.rows("select error from \(lab.schema).do_chore('fold_use')") { try $0[0] }
                        }
                        #expect(found.allSatisfy { $0 == nil }, "\(found)")
                    }
                }
            }
            for number in 0..<4 {
                tasks.addTask {
                    let worker = try await lab.worker("w\(number)")
                    while await ended.value < count {
                        let fences = try await lab.claim(7, for: worker).map(\.fence)
                        let facts = AttemptFacts(slot: 1, cpu: .milliseconds(7))
                        let failing = fences.filter { $0.epoch == 1 && $0.job % 3 == 0 }.map {
                            AttemptFailure($0, LedgerLab.failure(.transient), facts: facts)
                        }
                        let good = fences.filter { $0.epoch > 1 || $0.job % 3 != 0 }
                        for _ in 0..<2 {
                            if !failing.isEmpty { _ = try await lab.ledger.fail(failing) }
                            if !good.isEmpty {
                                _ = try await lab.ledger.publish(good.map(LedgerLab.publication))
                                _ = try await lab.ledger.finish(good)
                            }
                        }
                        await ended.add(good.count)
                    }
                }
            }
            try await tasks.waitForAll()
        }
        let (usage, attempts): (Int, Int) = (
            try await scene.counted(),
            try await lab.value("select sum(cpu_ms)::bigint from \(lab.schema).attempt")
        )
        #expect(usage == attempts && attempts == count * 12 + count / 3 * 7)
        let bytes: Int = try await lab.value("select (\(lab.schema).use_of('radio')).bytes::bigint")
        #expect(bytes == count * 1_234)
        #expect(try await lab.truth() == ["completed": count])
    }

    /// 146 slices of ten minutes belong to a window, whatever happens in it.
    @Test func theRowsOfATenantAreBounded() async throws {
        let scene = try await Scene(TenantLimits(cpuMinutes: 1))
        let schema = scene.lab.schema
        try await scene.submit(1)
        try await scene.lab.lab.run { connection in
            _ = try connection.script(
                """
                insert into \(schema).use_delta (tenant, cpu_ms, bytes, at)
                select 'radio', 1000, 10, \(schema).ledger_time() - i * interval '7 s' from generate_series(0, 30000) i
                """,
                changes: true
            )
        }
        // A page has 20,000 rows.
        for _ in 0..<2 { try await scene.keepHouse() }
        let (rows, rest): (Int, Int) = (
            try await scene.lab.value("select count(*) from \(schema).tenant_use"),
            try await scene.lab.value("select count(*) from \(schema).use_delta")
        )
        #expect(rows >= 144 && rows <= 146 && rest == 0)
        // A minute of processor time is in each of the latest slices.
        let hold = try #require(try await scene.lab.ledger.holds().first)
        #expect(try await hold.until > scene.lab.ledger.time() + 85_700)
    }

    @Test func aTenantIsToldOfItselfAlone() async throws {
        let scene = try await Scene(TenantLimits(outputBytes: 1))
        try await scene.submit(2)
        try await scene.complete(try await scene.claim(1), bytes: 1)
        try await scene.keepHouse()
        #expect(try await scene.lab.ledger.holds().map(\.tenant) == ["radio"])
        _ = try await scene.lab.ledger.createTenant("tv")
        let other = try scene.lab.ledger.acting(for: Principal(name: "x", role: .viewer, tenant: "tv"))
        #expect(try await other.holds().isEmpty)
    }

    @Test func aHoldIsShownWhileJobsWaitForItsEnd() async throws {
        let scene = try await Scene(TenantLimits(outputBytes: 1))
        try await scene.submit(2)
        try await scene.complete(try await scene.claim(1), bytes: 1)
        try await scene.keepHouse()
        #expect(try await scene.lab.ledger.overview().holds.map(\.tenant) == ["radio"])
        #expect(try await scene.tenant.holds().map(\.tenant) == ["radio"])
        try await scene.tenant.apply(.cancel, to: JobFilter())
        #expect(try await scene.lab.ledger.overview().holds.isEmpty)
        #expect(try await scene.tenant.holds().isEmpty)
        #expect(try await scene.lab.ledger.tenants()[0].hold != nil)
        try await scene.submit(1)
        #expect(try await scene.lab.ledger.overview().holds.map(\.tenant) == ["radio"])
    }

    private actor Counter {
        private(set) var value = 0
        func add(_ amount: Int) { value += amount }
    }
}
