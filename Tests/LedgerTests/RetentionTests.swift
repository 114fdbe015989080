import Conversion
import Foundation
import TestSupport
import Testing

@testable import Ledger

/// Jobs are kept after their end for as long as `setting.keep` says, and no job extends the time of another.
struct RetentionTests {
    /// A ledger with spans of a thousand jobs, kept for two hours. The queue `parked` is paused.
    private func lab() async throws -> (LedgerLab, WorkerEntry) {
        let lab = try await LedgerLab()
        try await lab.set("lease = '1 h', span_size = 1000, keep = '2 h'")
        try await lab.submit(1, Submission(queue: "parked", label: "first", key: "first"))
        try await lab.ledger.setPaused(true, queue: "parked")
        return (lab, try await lab.worker())
    }

    /// Completes all jobs that the ledger gives out.
    private func completeAll(_ lab: LedgerLab, _ worker: WorkerEntry) async throws {
        while true {
            let fences = try await lab.claim(1_000, for: worker).map(\.fence)
            if fences.isEmpty { return }
            try await lab.ledger.publish(fences.map(LedgerLab.publication))
            try await lab.ledger.finish(fences)
        }
    }

    /// Lets time pass, with housekeeping. Returns the number of dropped spans.
    @discardableResult
    private func age(_ lab: LedgerLab, minutes: Int, rounds: Int = 1) async throws -> Int {
        var dropped = 0
        try await lab.age(by: .seconds(60 * minutes))
        for _ in 0..<rounds {
            try await lab.age(by: .seconds(400))
            let report = try await lab.ledger.keepHouse()
            #expect(report.chores.allSatisfy { $0.error == nil }, "\(report)")
            dropped += report["drop_old"]?.affected ?? 0
        }
        return dropped
    }

    private func spans(_ lab: LedgerLab) async throws -> Int {
        try await lab.value("select count(*) from \(lab.schema).span where filled_at is not null")
    }

    /// Checks that the counts equal counted rows, for the whole ledger and for its batches.
    private func check(_ lab: LedgerLab, _ truth: [String: Int]) async throws {
        #expect(try await lab.truth() == truth)
        let counts = try await lab.ledger.status().jobs
        let batches = try await lab.ledger.batches(limit: 1_000)
        for state in JobState.allCases {
            #expect(counts[state] == truth[state.rawValue] ?? 0, "\(state)")
            #expect(batches.reduce(0) { $0 + $1.jobs[state] } == truth[state.rawValue] ?? 0, "\(state) in the batches")
        }
        let jobs: Int = try await lab.value("select count(*) from \(lab.schema).job")
        let total: Int = truth.values.reduce(0, +)
        #expect(jobs == total)
    }

    @Test func acceptedFailuresLeaveLikeOthers() async throws {
        let (lab, worker) = try await lab()
        for batch in 1...3 { try await lab.submit(1_000, Submission(label: "batch \(batch)", key: "\(batch)")) }
        _ = try await lab.ledger.keepHouse()
        for _ in 0..<3 {
            let fences = try await lab.claim(1_000, for: worker).map(\.fence)
            try await lab.ledger.fail(fences.map { AttemptFailure($0, LedgerLab.failure(.permanent)) })
        }
        #expect(try await lab.ledger.apply(.accept(), to: JobFilter(batch: 4)).changed == 1_000)
        #expect(try await lab.ledger.apply(.accept(), to: JobFilter(batch: 3)).changed == 1_000)
        try await check(lab, ["waiting": 1, "failed": 1_000, "accepted": 2_000])
        #expect(try await age(lab, minutes: 121, rounds: 10) == 3)
        try await check(lab, ["waiting": 1, "accepted": 1])
        #expect(try await lab.ledger.batches().map(\.name) == ["batch 3", "first"])
    }

    @Test func aJobThatWaitsSinceTheFirstDayKeepsNoNewerOne() async throws {
        let (lab, worker) = try await lab()
        for batch in 1...10 { try await lab.submit(1_000, Submission(label: "batch \(batch)", key: "\(batch)")) }
        _ = try await lab.ledger.keepHouse()
        try await completeAll(lab, worker)
        try await check(lab, ["waiting": 1, "completed": 10_000])
        #expect(try await age(lab, minutes: 121, rounds: 14) == 10)
        // Two jobs are left: the first one, and the last, whose span is not full.
        try await check(lab, ["waiting": 1, "completed": 1])
        #expect(try await spans(lab) == 1)
        #expect(try await lab.ledger.batches().map(\.name) == ["batch 10", "first"])
        #expect(try await lab.ledger.receipt(forKey: "9") == nil)
        #expect(try await lab.ledger.receipt(forKey: "first")?.firstJob == 1)

        // The job is listed, has its story, and can be run like any other.
        #expect(try await lab.ledger.jobs(matching: JobFilter(queue: "parked")).jobs.map(\.job) == [1])
        #expect(try await lab.ledger.story(of: 1)?.waitingFor == .paused)
        try await lab.ledger.setPaused(false, queue: "parked")
        let again = try await lab.worker("again")
        let first = try #require(try await lab.claim(1, for: again).first)
        #expect(first.fence.job == 1 && first.recipe == LedgerLab.recipe("first/0"))
        #expect(try await lab.ledger.fail([AttemptFailure(first.fence, LedgerLab.failure(.permanent))]) == [.done])
        #expect(try await lab.ledger.apply(.retryWithDamage(.skip), to: JobFilter(ids: [1])).changed == 1)
        let second = try #require(try await lab.claim(1, for: again).first)
        #expect(second.fence.epoch == 2 && second.recipe.damage == .skip)
        #expect(try await lab.ledger.publish([LedgerLab.publication(second.fence)]) == [.done])
        #expect(try await lab.ledger.finish([second.fence]) == [.done])
        let story = try #require(try await lab.ledger.story(of: 1))
        #expect(story.attempts.map(\.outcome) == [.failed, .completed] && story.attempts[0].workerName == "again")
        try await check(lab, ["completed": 2])

        // It is kept for as long as others.
        try await age(lab, minutes: 90, rounds: 3)
        try await check(lab, ["completed": 2])
        #expect(try await age(lab, minutes: 20, rounds: 3) == 1)
        try await check(lab, ["completed": 1])
        #expect(try await spans(lab) == 0)
        #expect(try await lab.ledger.story(of: 1) == nil)
    }

    @Test func jobsThatAreCancelledLateAreKeptForAsLongAsPromised() async throws {
        let (lab, worker) = try await lab()
        let parked = try await lab.submit(4, Submission(queue: "parked"))
        try await lab.submit(2_000)
        _ = try await lab.ledger.keepHouse()
        try await completeAll(lab, worker)
        try await age(lab, minutes: 100)
        let late = Array(parked.firstJob...parked.firstJob + 2)
        #expect(try await lab.ledger.apply(.cancel, to: JobFilter(ids: late)).changed == 3)
        try await check(lab, ["waiting": 2, "completed": 2_000, "cancelled": 3])
        #expect(try await age(lab, minutes: 20, rounds: 4) == 2)
        try await check(lab, ["waiting": 2, "completed": 5, "cancelled": 3])
        #expect(try await spans(lab) == 1)
        try await age(lab, minutes: 50, rounds: 3)
        try await check(lab, ["waiting": 2, "completed": 5, "cancelled": 3])
        // A retry reopens one of them.
        #expect(try await lab.ledger.apply(.retry, to: JobFilter(ids: [late[0]])).changed == 1)
        try await check(lab, ["waiting": 3, "completed": 5, "cancelled": 2])
        try await age(lab, minutes: 20, rounds: 4)
        try await check(lab, ["waiting": 3, "completed": 5])
        let left = try await lab.ledger.batch(parked.batch)
        #expect(left?.jobs.total == 2 && left?.jobsSubmitted == 4)
    }

    /// A job that is retried while its span is being counted stays, and the counts stay right.
    @Test func aRetryWhileTheSpanIsCountedKeepsTheJob() async throws {
        let (lab, worker) = try await lab()
        try await lab.submit(1_200)
        let failing = try await lab.claim(3, for: worker)
        try await lab.ledger.fail(failing.map { AttemptFailure($0.fence, LedgerLab.failure(.permanent)) })
        _ = try await lab.ledger.keepHouse()
        try await completeAll(lab, worker)
        try await lab.age(by: .seconds(7_300))
        let schema = lab.schema
        func phase() async throws -> String? {
            try await lab.lab.run { try $0.first("select phase from \(schema).leaving") { try $0[0] } }
        }
        while try await phase() != "counted" {
            try await lab.lab.run { try $0.execute("select \(schema).do_chore('drop_old')") }
        }
        #expect(try await lab.ledger.apply(.retry, to: JobFilter(ids: [failing[1].fence.job])).changed == 1)
        #expect(try await phase() == "void")
        try await age(lab, minutes: 0, rounds: 3)
        #expect(try await lab.state(failing[1].fence.job) == "waiting")
        try await check(lab, ["waiting": 2, "completed": 201])
    }

    /// Copying the remaining jobs must be worth it. Later it may be.
    @Test func aSpanOfWhichNearlyAllStaysIsLeftAlone() async throws {
        let (lab, worker) = try await lab()
        try await lab.submit(970, Submission(queue: "parked"))
        try await lab.submit(1_100)
        _ = try await lab.ledger.keepHouse()
        try await completeAll(lab, worker)
        // The first span is kept because of its own jobs, and keeps no other.
        #expect(try await age(lab, minutes: 121, rounds: 5) == 1)
        try await check(lab, ["waiting": 971, "completed": 100])
        #expect(try await lab.ledger.apply(.cancel, to: JobFilter(queue: "parked")).changed == 971)
        #expect(try await age(lab, minutes: 121, rounds: 3) == 1)
        try await check(lab, ["completed": 71])
    }

    @Test func workersAreForgottenWhenNoJobKnowsThemAnyMore() async throws {
        let (lab, worker) = try await lab()
        let parked = try await lab.submit(1)
        let claim = try #require(try await lab.claim(1, for: worker).first)
        #expect(claim.fence.job == parked.firstJob)
        try await lab.ledger.release([claim.fence], after: .seconds(1_000_000))
        try await lab.ledger.stop(worker.worker)
        let other = try await lab.worker("other")
        try await lab.submit(3_000)
        _ = try await lab.ledger.keepHouse()
        try await completeAll(lab, other)
        try await lab.ledger.stop(other.worker)
        #expect(try await age(lab, minutes: 121, rounds: 6) == 3)
        let later = try await lab.worker("later")
        try await lab.submit(2_000)
        try await completeAll(lab, later)
        try await age(lab, minutes: 0, rounds: 1)
        #expect(try await age(lab, minutes: 121, rounds: 6) == 2)
        // A waiting job refers to the first worker. No job refers to the second.
        let names = try await lab.ledger.workers(endedSince: .distantPast).map(\.name)
        #expect(names.contains("w") && !names.contains("other"), "\(names)")
        let story = try #require(try await lab.ledger.story(of: parked.firstJob))
        #expect(story.attempts.map(\.workerName) == ["w"])
    }
}
