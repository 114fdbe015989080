import Conversion
import Foundation
import TestSupport
import Testing

@testable import Ledger

/// Jobs whose workers are lost again and again.
struct WorkerLossTests {
    /// A worker claims all jobs, begins those that `begun` selects, and then goes silent.
    private func loseWorker(_ lab: LedgerLab, begun: (Claim) -> Bool) async throws -> [Claim] {
        let worker = try await lab.worker()
        let claims = try await lab.claim(100, for: worker)
        let running = claims.filter(begun).map { RunningJob($0.fence, slot: 1) }
        #expect(try await lab.heartbeat.beat(worker.worker, running).isAlive)
        try await lose(worker, lab)
        return claims
    }

    /// The ledger takes the jobs of a worker that has been silent for too long.
    private func lose(_ worker: WorkerEntry, _ lab: LedgerLab) async throws {
        try await lab.lab.run { connection in
            try connection.execute(
                "update \(lab.schema).worker set lease_until = lease_until - interval '2 h' where id = \(worker.worker)"
            )
        }
        // Past any back-off, and in the state of a coordinator that never slept.
        try await lab.lab.run { connection in
            try connection.execute("select count(*) from \(lab.schema).begin_tick()")
            try connection.execute(
                "update \(lab.schema).house set quiet_until = '-infinity', tick_at = \(lab.schema).ledger_time()"
            )
            try connection.execute("select \(lab.schema).reap()")
            try connection.execute("update \(lab.schema).delayed set ready_at = \(lab.schema).ledger_time()")
        }
    }

    @Test func jobWhoseWorkersAreLostWhileTheyRunItIsPutAway() async throws {
        let lab = try await LedgerLab()
        try await lab.set("workers_lost_allowed = 3")
        let (killer, bystander) = (try await lab.submit(1).firstJob, try await lab.submit(1).firstJob)
        for loss in 0..<3 {
            let claims = try await loseWorker(lab) { $0.fence.job == killer }
            #expect(claims.map(\.fence.job).sorted() == [killer, bystander])
            #expect(claims.first { $0.fence.job == killer }?.workersLost == loss)
            #expect(claims.first { $0.fence.job == bystander }?.workersLost == 0)
        }
        let story = try #require(try await lab.ledger.story(of: killer))
        #expect((story.summary.state, story.summary.code, story.summary.kind) == (.failed, "workers_lost", .permanent))
        #expect(story.attempts.map(\.failure?.code) == ["worker_lost", "worker_lost", "worker_lost"])
        #expect(try await lab.state(bystander) == "waiting")
        #expect(try await lab.ledger.failures().map(\.code).contains("workers_lost"))

        // A retry by a person resets the job's count of lost workers.
        #expect(try await lab.ledger.apply(.retry, to: JobFilter(ids: [killer])).changed == 1)
        let again = try await loseWorker(lab) { $0.fence.job == killer }
        #expect(again.first { $0.fence.job == killer }?.workersLost == 0)
        #expect(try await lab.state(killer) != "failed")
    }

    /// What had left its room, and waited to be published, goes back as what never began.
    @Test func jobThatHadLeftItsRoomIsNotSuspected() async throws {
        let lab = try await LedgerLab()
        _ = try await lab.submit(3)
        let worker = try await lab.worker()
        let fences = try await lab.claim(3, for: worker).map(\.fence).sorted { $0.job < $1.job }
        for slots: [Int16?] in [[0, 1, nil], [nil, 1, 0]] {
            let running = zip(fences, slots).map { RunningJob($0, frames: 100, slot: $1) }
            #expect(try await lab.heartbeat.beat(worker.worker, running).isAlive)
        }
        try await lose(worker, lab)
        let suspects: [Int64] = try await lab.lab.run { connection in
            try connection.rows("select job from \(lab.schema).suspect order by job") { try $0[0] }
        }
        #expect(suspects == fences.dropFirst().map(\.job))
    }

    @Test func jobThatOnlyWaitedInLostWorkersIsNeverPutAway() async throws {
        let lab = try await LedgerLab()
        let job = try await lab.submit(1).firstJob
        for _ in 0..<12 { _ = try await loseWorker(lab) { _ in false } }
        #expect(["waiting", "delayed"].contains(try await lab.state(job)))
    }

    /// A worker that signs off, or that fails its job, does not count as lost.
    @Test func otherEndsDoNotCount() async throws {
        let lab = try await LedgerLab()
        let job = try await lab.submit(1).firstJob
        for _ in 0..<6 {
            let worker = try await lab.worker()
            let claim = try #require(try await lab.claim(1, for: worker).first)
            _ = try await lab.heartbeat.beat(worker.worker, [RunningJob(claim.fence, slot: 1)])
            try await lab.ledger.stop(worker.worker)
        }
        #expect(try await lab.state(job) == "waiting")
    }
}
