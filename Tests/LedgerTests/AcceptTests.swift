import Conversion
import Foundation
import TestSupport
import Testing

@testable import Ledger

/// Failures that a person has accepted count apart, until the acceptance is taken back or the job is retried.
struct AcceptTests {
    /// Submits jobs and lets the first `failing` of them fail for good, the others be completed.
    private func batch(
        _ lab: LedgerLab,
        failing: Int,
        completing: Int,
        _ submission: Submission = Submission()
    ) async throws -> SubmissionReceipt {
        let worker = try await lab.worker()
        let receipt = try await lab.submit(failing + completing, submission)
        let fences = try await lab.claim(Int32(failing + completing), for: worker).map(\.fence)
        #expect(fences.count == failing + completing)
        let failures = fences.prefix(failing).map { AttemptFailure($0, LedgerLab.failure(.permanent)) }
        if failing > 0 { _ = try await lab.ledger.fail(failures) }
        let rest = Array(fences.dropFirst(failing))
        if !rest.isEmpty {
            _ = try await lab.ledger.publish(rest.map(LedgerLab.publication))
            _ = try await lab.ledger.finish(rest)
        }
        return receipt
    }

    /// Compares all counts with the rows, before and after they are folded.
    private func check(_ lab: LedgerLab, failed: Int, accepted: Int) async throws {
        for _ in 0..<2 {
            let truth = try await lab.truth()
            #expect(truth["failed", default: 0] == failed)
            #expect(truth["accepted", default: 0] == accepted)
            let status = try await lab.ledger.status().jobs
            #expect((status.failed, status.accepted) == (failed, accepted))
            let queues = try await lab.ledger.queues()
            #expect(queues.reduce(0) { $0 + $1.jobs.failed } == failed)
            #expect(queues.reduce(0) { $0 + $1.jobs.accepted } == accepted)
            let batches = try await lab.ledger.batches()
            #expect(batches.reduce(0) { $0 + $1.jobs.failed } == failed)
            #expect(batches.reduce(0) { $0 + $1.jobs.accepted } == accepted)
            let groups = try await lab.ledger.failures()
            #expect(groups.reduce(0) { $0 + $1.jobs } == failed)
            #expect(groups.reduce(0) { $0 + $1.accepted } == accepted)
            #expect(try await lab.ledger.count(matching: JobFilter(states: [.failed])) == failed)
            #expect(try await lab.ledger.count(matching: JobFilter(states: [.accepted])) == accepted)
            _ = try await lab.keepWholeHouse()
        }
    }

    @Test func acceptedFailuresCountApart() async throws {
        let lab = try await LedgerLab()
        let batch = try await batch(lab, failing: 3, completing: 1).batch
        try await check(lab, failed: 3, accepted: 0)
        let filter = JobFilter(batch: batch)
        #expect(try await lab.ledger.count(of: .accept(), matching: filter) == 3)
        let tally = try await lab.ledger.apply(.accept(), to: filter, chunk: 2)
        #expect((tally.seen, tally.changed, tally.asked, tally.publishing) == (3, 3, 0, 0))
        try await check(lab, failed: 0, accepted: 3)
        let user: String = try await lab.value("select current_user::text")
        let accepted = try await lab.ledger.jobs(matching: JobFilter(states: [.accepted])).jobs
        #expect(accepted.map(\.state) == [.accepted, .accepted, .accepted])
        #expect(accepted.map(\.acceptedBy) == [user, user, user])
        #expect(accepted.allSatisfy { $0.acceptedAt != nil && $0.code == "corrupt_stream" })
        let story = try #require(try await lab.ledger.story(of: accepted[0].job))
        #expect(story.summary.state == .accepted && story.summary.acceptedBy == user && story.attempts.count == 1)
        // What they failed with still finds them, and so does their source.
        #expect(try await lab.ledger.jobs(matching: JobFilter(codes: ["corrupt_stream"])).jobs.count == 3)
        #expect(
            try await lab.ledger.jobs(matching: JobFilter(states: [.accepted], sourcePrefix: "in:")).jobs.count == 3
        )
        #expect(
            try await lab.ledger.jobs(matching: JobFilter(states: [.accepted], sourceContains: "a/")).jobs.count == 3
        )
        #expect(try await lab.ledger.failures(batch: batch).map(\.accepted) == [3])
        // Nothing is accepted twice.
        #expect(try await lab.ledger.apply(.accept(), to: filter).seen == 0)
        let audited = try await lab.ledger.audit().map { "\($0.what) \($0.affected)" }
        #expect(audited == ["accept_jobs 3"])
    }

    @Test func anAcceptanceIsTakenBack() async throws {
        let lab = try await LedgerLab()
        let receipt = try await batch(lab, failing: 4, completing: 0)
        _ = try await lab.keepWholeHouse()
        let since = try await lab.ledger.time() - 3_600
        let paces = try await lab.ledger.paces(since: since).reduce(0) { $0 + $1.failed }
        try await lab.ledger.apply(.accept(), to: JobFilter(batch: receipt.batch))
        _ = try await lab.keepWholeHouse()
        let filter = JobFilter(ids: [receipt.firstJob, receipt.lastJob])
        #expect(try await lab.ledger.count(of: .accept(undo: true), matching: filter) == 2)
        #expect(try await lab.ledger.apply(.accept(undo: true), to: filter).changed == 2)
        try await check(lab, failed: 2, accepted: 2)
        // These jobs have not failed once more.
        #expect(try await lab.ledger.paces(since: since).reduce(0) { $0 + $1.failed } == paces)
        #expect(try await lab.ledger.story(of: receipt.firstJob)?.summary.acceptedBy == nil)
    }

    @Test func aRetryEndsTheAcceptance() async throws {
        let lab = try await LedgerLab()
        let receipt = try await batch(lab, failing: 3, completing: 0)
        try await lab.ledger.apply(.accept(), to: JobFilter(batch: receipt.batch))
        _ = try await lab.keepWholeHouse()
        #expect(try await lab.ledger.apply(.retry, to: JobFilter(ids: [receipt.firstJob])).changed == 1)
        try await check(lab, failed: 0, accepted: 2)
        let story = try #require(try await lab.ledger.story(of: receipt.firstJob))
        #expect(story.summary.state == .waiting && story.summary.acceptedAt == nil)
        let worker = try await lab.worker("again")
        let fence = try #require(try await lab.claim(1, for: worker).first?.fence)
        try await lab.ledger.fail([AttemptFailure(fence, LedgerLab.failure(.permanent))])
        try await check(lab, failed: 1, accepted: 2)
    }

    @Test func onlyFailedJobsAreAccepted() async throws {
        let lab = try await LedgerLab()
        _ = try await batch(lab, failing: 1, completing: 1)
        try await lab.submit(2)
        try await lab.ledger.apply(.cancel, to: JobFilter())
        try await lab.submit(1)
        #expect(try await lab.ledger.apply(.accept(), to: JobFilter()).changed == 1)
        #expect(try await lab.truth() == ["accepted": 1, "completed": 1, "cancelled": 2, "waiting": 1])
        #expect(try await lab.ledger.apply(.accept(), to: JobFilter(states: [.cancelled])).seen == 0)
    }

    /// The batch has ended when its last job has; that its failures are accepted later ends nothing.
    @Test func anAcceptanceDoesNotEndABatchOnceMore() async throws {
        let lab = try await LedgerLab()
        _ = try await lab.ledger.createWebhook(NewWebhook(at: "https://example.com/hook", for: .all))
        func told() async throws -> Int {
            for _ in 0..<3 { _ = try await lab.keepWholeHouse() }
            return try await lab.ledger.deliveries(limit: 100).count { $0.event == "batch.ended" }
        }
        let batch = try await batch(lab, failing: 2, completing: 1).batch
        #expect(try await told() == 1)
        try await lab.ledger.apply(.accept(), to: JobFilter(batch: batch))
        #expect(try await told() == 1)
        try await lab.ledger.apply(.accept(undo: true), to: JobFilter(batch: batch))
        #expect(try await told() == 1)
        // A retry makes it go on, and then it ends again.
        try await lab.ledger.apply(.retry, to: JobFilter(states: [.failed], batch: batch))
        try await lab.ledger.apply(.cancel, to: JobFilter(batch: batch))
        #expect(try await told() == 2)
    }

    /// Commands of release 0.1 know no accepted jobs.
    @Test func earlierReleasesSeeFailedJobs() async throws {
        let lab = try await LedgerLab()
        let receipt = try await batch(lab, failing: 1, completing: 0)
        try await lab.ledger.apply(.accept(), to: JobFilter())
        let job = receipt.firstJob
        let states: [String] = try await lab.lab.run { connection in
            try connection.rows(
                """
                select state::text from \(lab.schema).list_jobs()
                union all select state::text from \(lab.schema).show_jobs(array[\(job)])
                union all select state::text from \(lab.schema).find_earlier(array['out:a/0.flac'])
                union all select state::text from \(lab.schema).counts() where state = 'accepted'
                """
            ) { try $0[0] }
        }
        #expect(states == ["failed", "failed", "failed"])
        #expect(try await lab.ledger.earlierJobs(at: ["out:a/0.flac"]).map { $0?.state } == [.accepted])
    }

    // MARK: - Bulk changes

    @Test func whatABulkChangeHasAcceptedIsUndone() async throws {
        let lab = try await LedgerLab()
        let acting = try lab.ledger.acting(for: Principal(name: "ci", role: .operator))
        let receipt = try await batch(lab, failing: 5, completing: 0)
        // Another has accepted one before.
        try await lab.ledger.apply(.accept(), to: JobFilter(ids: [receipt.firstJob]))
        let change = try await acting.begin(.accept(), on: JobFilter(batch: receipt.batch))
        #expect(change.change == .accept() && change.expected == 4)
        while try await acting.step(ofChange: change.number)?.phase == .running {}
        #expect(try await acting.bulkChange(change.number)?.tally.changed == 4)
        try await check(lab, failed: 0, accepted: 5)
        let names = try await lab.ledger.jobs(matching: JobFilter(states: [.accepted])).jobs.map(\.acceptedBy)
        #expect(names.count { $0 == "token:ci" } == 4)
        // Another accepts one anew since: that stays.
        let again = JobFilter(ids: [receipt.lastJob])
        try await lab.ledger.apply(.accept(undo: true), to: again)
        try await lab.ledger.apply(.accept(), to: again)
        _ = try await acting.wish(.undo, of: change.number)
        while try await acting.step(ofChange: change.number)?.phase == .undoing {}
        let undone = try #require(try await acting.bulkChange(change.number))
        #expect(undone.phase == .undone && undone.undone == 3)
        try await check(lab, failed: 3, accepted: 2)
    }

    @Test func aBulkChangeThatTakesAcceptancesBackIsUndoneToo() async throws {
        let lab = try await LedgerLab()
        let acting = try lab.ledger.acting(for: Principal(name: "ci", role: .operator))
        let receipt = try await batch(lab, failing: 3, completing: 0)
        try await lab.ledger.apply(.accept(), to: JobFilter(batch: receipt.batch))
        let change = try await acting.begin(.accept(undo: true), on: JobFilter(batch: receipt.batch))
        #expect(change.change == .accept(undo: true))
        while try await acting.step(ofChange: change.number)?.phase == .running {}
        try await check(lab, failed: 3, accepted: 0)
        // A job that has failed once more since stays failed.
        try await lab.ledger.apply(.retry, to: JobFilter(ids: [receipt.lastJob]))
        let worker = try await lab.worker("again")
        let fence = try #require(try await lab.claim(1, for: worker).first?.fence)
        try await lab.ledger.fail([AttemptFailure(fence, LedgerLab.failure(.permanent))])
        _ = try await acting.wish(.undo, of: change.number)
        while try await acting.step(ofChange: change.number)?.phase == .undoing {}
        #expect(try await acting.bulkChange(change.number)?.undone == 2)
        try await check(lab, failed: 1, accepted: 2)
    }

    // MARK: - Sources that a submission left out

    @Test(arguments: [1, 3, 2_000])
    func theBatchKeepsHowManySourcesWereLeftOut(jobs: Int) async throws {
        let lab = try await LedgerLab()
        var submission = Submission(key: "night")
        submission.sourcesSkipped = 17
        let receipt = try await lab.ledger.submit(submission, LedgerLab.requests(jobs))
        #expect(try await lab.ledger.batch(receipt.batch)?.sourcesSkipped == 17)
        // The number tells no submission from another, and a repetition changes nothing.
        submission.sourcesSkipped = 18
        let again = try await lab.ledger.submit(submission, LedgerLab.requests(jobs))
        #expect(again.batch == receipt.batch && again.isRepetition && again.isSameRequest)
        #expect(try await lab.ledger.batches().map(\.sourcesSkipped) == [17])
        // Without a key.
        submission.key = nil
        let other = try await lab.ledger.submit(submission, LedgerLab.requests(jobs, "b"))
        #expect(try await lab.ledger.batch(other.batch)?.sourcesSkipped == 18)
        try await lab.submit(1)
        #expect(try await lab.ledger.batches().first?.sourcesSkipped == 0)
    }
}
