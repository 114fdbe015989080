import Conversion
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import Ledger

struct SteeringTests {
    @Test func cancelEndsWhatWaitsAndAsksForWhatRunsAndLeavesWhatIsPublishing() async throws {
        let lab = try await LedgerLab()
        let worker = try await lab.worker()
        try await lab.submit(6)
        try await lab.submit(2, Submission(runAt: try await lab.ledger.time() + 3_600))
        let claims = try await lab.claim(3, for: worker)
        try await lab.ledger.publish([LedgerLab.publication(claims[0].fence)])
        #expect(try await lab.ledger.count(of: .cancel, matching: JobFilter()) == 7)
        let tally = try await lab.ledger.apply(.cancel, to: JobFilter())
        #expect((tally.seen, tally.changed, tally.asked, tally.isLowerBound) == (7, 5, 2, false))
        #expect(tally.publishing == 1)
        #expect(try await lab.truth() == ["cancelled": 5, "running": 2, "publishing": 1])
        #expect(try await lab.ledger.finish([claims[0].fence]) == [.done])
        let reply = try await lab.heartbeat.beat(worker.worker, claims.map { RunningJob($0.fence) })
        #expect(Set(reply.cancelled) == Set(claims.dropFirst().map(\.fence.job)))
        let asked = try await lab.ledger.jobs(matching: JobFilter(states: [.running])).jobs
        #expect(asked.map(\.isToBeCancelled) == [true, true])
        #expect(try await lab.ledger.apply(.cancel, to: JobFilter()).asked == 0)
    }

    @Test func changesAreMadeInChunksAndCountedBefore() async throws {
        let lab = try await LedgerLab()
        let receipt = try await lab.submit(2_500, Submission(queue: "a"))
        try await lab.submit(10, Submission(queue: "b"))
        let filter = JobFilter(batch: receipt.batch)
        #expect(try await lab.ledger.count(of: .cancel, matching: filter) == 2_500)
        let tallies = Mutex<[ChangeTally]>([])
        let tally = try await lab.ledger.apply(.cancel, to: filter, chunk: 1_000) { tally in
            tallies.withLock { $0.append(tally) }
        }
        #expect(tally.changed == 2_500)
        #expect(tallies.withLock { $0.map(\.changed) }.starts(with: [1_000, 2_000, 2_500]))
        #expect(try await lab.truth() == ["cancelled": 2_500, "waiting": 10])
        #expect(try await lab.ledger.count(of: .retry, matching: filter) == 2_500)
        #expect(try await lab.ledger.apply(.retry, to: filter, chunk: 700).changed == 2_500)
        #expect(try await lab.truth() == ["waiting": 2_510])
        let worker = try await lab.worker()
        #expect(try await lab.ledger.apply(.prioritize(7), to: filter, chunk: 999).changed == 2_500)
        #expect(try await lab.ledger.apply(.prioritize(7), to: filter).changed == 0)
        let claims = try await lab.claim(1_000, for: worker)
        #expect(claims.allSatisfy { $0.priority == 7 && $0.batch == receipt.batch })
        // Running jobs keep their priority.
        #expect(try await lab.ledger.count(of: .prioritize(1), matching: filter) == 1_500)
        let counts = try await lab.ledger.counts()
        #expect(counts["a"]?.waiting == 1_500 && counts["a"]?.running == 1_000 && counts["a"]?.cancelled == 0)
    }

    @Test func jobsRememberWhoRetriedThem() async throws {
        let lab = try await LedgerLab()
        let receipt = try await lab.submit(2)
        try await lab.ledger.apply(.cancel, to: JobFilter())
        try await lab.ledger.apply(.retry, to: JobFilter(ids: [receipt.firstJob]))
        let user: String = try await lab.value("select current_user::text")
        let jobs = try await lab.ledger.jobs(matching: JobFilter()).jobs.sorted { $0.job < $1.job }
        #expect(jobs.map(\.retriedBy) == [user, nil])
        #expect(try await lab.ledger.story(of: receipt.firstJob)?.summary.retriedBy == user)
    }

    @Test func aChangeIsForTheStatesThatTheFilterNames() async throws {
        let lab = try await LedgerLab()
        let worker = try await lab.worker()
        try await lab.submit(4)
        let claims = try await lab.claim(2, for: worker)
        #expect(try await lab.ledger.apply(.cancel, to: JobFilter(states: [.running])).asked == 2)
        #expect(try await lab.ledger.apply(.cancel, to: JobFilter(states: [.publishing, .failed])).seen == 0)
        #expect(try await lab.ledger.count(of: .cancel, matching: JobFilter(states: [.failed])) == 0)
        try await lab.ledger.fail(claims.map { AttemptFailure($0.fence, LedgerLab.failure(.permanent)) })
        #expect(try await lab.truth() == ["waiting": 2, "cancelled": 2])
    }

    @Test func aRetryLetsJobsGoThatWaitForAnotherTry() async throws {
        let lab = try await LedgerLab()
        try await lab.set("retry_base = '10 min'")
        let worker = try await lab.worker()
        try await lab.submit(20)
        let claims = try await lab.claim(20, for: worker)
        try await lab.ledger.fail(claims.map { AttemptFailure($0.fence, LedgerLab.failure(.transient)) })
        #expect(try await lab.ledger.apply(.retry, to: JobFilter(classes: [.transient])).changed >= 15)
        #expect(try await lab.claim(20, for: worker).count == 20)
    }

    /// `run_at` promises that a job does not start before, whatever happened to it meanwhile.
    @Test func aCancelledJobThatIsRetriedWaitsForItsTime() async throws {
        let lab = try await LedgerLab()
        let worker = try await lab.worker()
        let soon = try await lab.ledger.time() + 7_200
        try await lab.submit(2)
        try await lab.submit(3, Submission(priority: 4, runAt: soon))
        try await lab.ledger.apply(.cancel, to: JobFilter())
        #expect(try await lab.truth() == ["cancelled": 5])
        #expect(try await lab.ledger.apply(.retry, to: JobFilter()).changed == 5)
        #expect(try await lab.truth() == ["waiting": 2, "delayed": 3])
        let delayed = try await lab.ledger.jobs(matching: JobFilter(states: [.delayed])).jobs
        #expect(
            delayed.count == 3 && delayed.allSatisfy { abs(($0.readyAt ?? .distantPast).timeIntervalSince(soon)) < 1 }
        )
        #expect(try await lab.ledger.story(of: delayed[0].job)?.waitingFor == .runAt)
        // Neither a second retry, nor another priority, nor a pause lets them go.
        try await lab.ledger.apply(.retry, to: JobFilter())
        try await lab.ledger.apply(.prioritize(7), to: JobFilter(states: [.delayed]))
        try await lab.ledger.setPaused(true, queue: "default")
        try await lab.ledger.setPaused(false, queue: "default")
        #expect(try await lab.claim(9, for: worker).count == 2)
        try await lab.age(by: .seconds(7_100))
        #expect(try await lab.claim(9, for: worker).isEmpty)
        try await lab.age(by: .seconds(101))
        #expect(try await lab.claim(9, for: worker).count == 3)
        _ = try await lab.keepWholeHouse()
        #expect(try await lab.ledger.status().jobs.running == 5)
        #expect(try await lab.ledger.status().jobs.open == 5)
    }

    /// Their files may already be renamed, so only finishing can end these jobs.
    @Test func halfPublishedJobsAreTooLateToCancelAndHandedOutAgainByARetry() async throws {
        let lab = try await LedgerLab()
        let worker = try await lab.worker()
        try await lab.submit(2)
        let fences = try await lab.claim(2, for: worker).map(\.fence)
        try await lab.ledger.publish([LedgerLab.publication(fences[0])])
        let filter = JobFilter(ids: fences.map(\.job))
        #expect(try await lab.ledger.countPublishing(matching: filter) == 1)
        let cancelled = try await lab.ledger.apply(.cancel, to: filter)
        #expect((cancelled.seen, cancelled.asked, cancelled.publishing) == (1, 1, 1))
        // Its worker may still be working on it.
        #expect(try await lab.ledger.apply(.retry, to: filter).publishing == 0)
        #expect(try await lab.ledger.takeUnfinished().isEmpty)
        try await lab.age(by: .seconds(3_601))
        // A process that took the publication and died withholds it for the grace period, unless a person retries.
        #expect(try await lab.ledger.takeUnfinished().count == 1)
        #expect(try await lab.ledger.takeUnfinished().isEmpty)
        let retried = try await lab.ledger.apply(.retry, to: filter)
        #expect((retried.seen, retried.changed, retried.publishing) == (0, 0, 1))
        #expect(try await lab.ledger.takeUnfinished(in: ["out"]).map(\.fence) == [fences[0]])
        #expect(try await lab.ledger.finish([fences[0]]) == [.done])
        // A filter that names other states does not touch the job.
        #expect(try await lab.ledger.apply(.retry, to: JobFilter(states: [.failed])).publishing == 0)
    }

    @Test func aChangeWhoseAnswerIsLostIsMadeOnceAndSaysSo() async throws {
        let lab = try await LedgerLab()
        let proxy = try DroppingProxy(before: lab.lab.server)
        let ledger = try JobLedger(lab.configuration(proxy.url(database: lab.lab.database)))
        try await lab.submit(10)
        proxy.lose(.answer, ofNext: ".cancel_jobs(")
        let tally = try await ledger.apply(.cancel, to: JobFilter())
        #expect(tally.isLowerBound)
        #expect(try await lab.truth() == ["cancelled": 10])
        #expect(try await lab.ledger.counts()["default"]?.cancelled == 10)
    }

    @Test func theQueueOfExcerptsBeginsWithAShareOfTheSlots() async throws {
        let lab = try await LedgerLab()
        func limit(of name: String) async throws -> Int?? {
            try await lab.ledger.queues().first { $0.name == name }.map(\.runningLimit)
        }
        // Two workers of four slots.
        let workers = [try await lab.worker("a"), try await lab.worker("b")]
        try await lab.submit(5, Submission(queue: "excerpts"))
        #expect(try await limit(of: "excerpts") == .some(2))
        #expect(try await lab.claim(5, for: workers[0]).count == 2)
        // What an operator has set stays.
        try await lab.ledger.setRunningLimit(3, queue: "excerpts")
        try await lab.submit(1, Submission(queue: "excerpts"))
        #expect(try await limit(of: "excerpts") == .some(3))
        // Without workers it is one, and other queues have none.
        let empty = try await LedgerLab()
        try await empty.submit(1, Submission(queue: "excerpts"))
        try await empty.submit(1, Submission(queue: "other"))
        let limits = try await empty.ledger.queues().reduce(into: [String: Int]()) { $0[$1.name] = $1.runningLimit }
        #expect(limits == ["excerpts": 1])
    }
}
