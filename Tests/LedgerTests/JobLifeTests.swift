import Conversion
import Foundation
import TestSupport
import Testing

@testable import Ledger

/// Each path through a job's life: see docs/job-lifecycle.md.
struct JobLifeTests {
    @Test func aJobGoesFromSubmissionToItsEnd() async throws {
        let lab = try await LedgerLab()
        let recipe = LedgerLab.recipe("album/one \"two\" \\ ü\n")
        let receipt = try await lab.ledger.submit(
            Submission(queue: "night", label: "album", labels: ["who": "ada"]),
            [JobRequest(recipe, cost: 77, labels: ["disc": "1"])]
        )
        #expect(receipt.jobCount == 1)
        #expect(!receipt.isRepetition)
        let worker = try await lab.worker()
        #expect(worker.leaseLength == lab.lease)
        let claim = try #require(try await lab.claim(8, for: worker).first)
        #expect(claim.recipe == recipe)
        #expect(claim.fence.job == receipt.firstJob)
        #expect(claim.fence.epoch == 1)
        #expect(claim.batch == receipt.batch)
        #expect((claim.queue, claim.priority, claim.cost) == ("night", 0, 77))
        #expect(claim.labels == ["disc": "1"])
        #expect((claim.attempt, claim.maxAttempts, claim.losses, claim.roomDeaths) == (1, 3, 0, 0))
        let reply = try await lab.heartbeat.beat(
            worker.worker,
            [RunningJob(claim.fence, frames: 10, totalFrames: 100, slot: 0)],
            status: WorkerStatus(busySlots: 1)
        )
        #expect(reply.isAlive)
        #expect(reply.lost.isEmpty && reply.cancelled.isEmpty && reply.pausedQueues.isEmpty)
        #expect(try await lab.ledger.publish([LedgerLab.publication(claim.fence)]) == [.done])
        #expect(try await lab.state(claim.fence.job) == "publishing")
        #expect(try await lab.ledger.publish([LedgerLab.publication(claim.fence)]) == [.repeated])
        #expect(try await lab.ledger.finish([claim.fence]) == [.done])
        #expect(try await lab.state(claim.fence.job) == "completed")
        #expect(try await lab.ledger.finish([claim.fence]) == [.repeated])
        #expect(try await lab.claim(8, for: worker).isEmpty)
        #expect(try await lab.ledger.stop(worker.worker) == 0)
    }

    @Test func theLedgerSaysHowAnOutputCameToItsName() async throws {
        let lab = try await LedgerLab()
        try await lab.submit(4)
        let worker = try await lab.worker()
        let fences = try await lab.claim(4, for: worker).map(\.fence)
        try await lab.ledger.publish(fences.map(LedgerLab.publication))
        let finished = zip(fences, Placement.allCases).map { FinishedJob($0, $1) }
        #expect(try await lab.ledger.finish(finished) == [.done, .done, .done])
        // The first report stands.
        #expect(try await lab.ledger.finish(fences.prefix(3).map { FinishedJob($0, .adopted) }).allSatisfy(\.stands))
        let jobs = try await lab.ledger.jobs(matching: JobFilter(ids: fences.map(\.job))).jobs.reversed()
        let placements: [Placement?] = jobs.map(\.placement)
        #expect(placements == [.published, .adopted, .skipped, nil])
        // A skipped job has no digest.
        let haveDigests: [Bool] = jobs.map { $0.digest != nil }
        #expect(haveDigests == [true, true, false, true])
        let sizes: [Int64?] = jobs.map(\.bytes)
        #expect(sizes == [1_234, 1_234, nil, 1_234])
        for (fence, placement) in zip(fences, Placement.allCases) {
            #expect(try await lab.ledger.story(of: fence.job)?.summary.placement == placement)
        }
        let counts = try #require(try await lab.ledger.counts()["default"])
        #expect((counts.completed, counts.skipped) == (2, 1))
    }

    @Test func jobsThatAreHandedBackGoToWhereTheyWereUnspent() async throws {
        let lab = try await LedgerLab()
        try await lab.submit(3)
        let worker = try await lab.worker()
        let first = try await lab.claim(1, for: worker)
        #expect(try await lab.ledger.release(first.map(\.fence), because: .draining) == [.done])
        #expect(try await lab.ledger.release(first.map(\.fence), because: .draining) == [.repeated])
        let again = try await lab.claim(1, for: worker)
        #expect(again.map(\.fence.job) == first.map(\.fence.job))
        #expect(again[0].fence.epoch == 2)
        #expect((again[0].attempt, again[0].losses) == (1, 0))
        #expect(try await lab.ledger.stop(worker.worker) == 1)
        #expect(try await lab.truth() == ["waiting": 3])
    }

    @Test func housekeepingDoesItsChoresAndATickThatComesTooSoonDoesNothing() async throws {
        let lab = try await LedgerLab()
        try await lab.submit(1)
        let report = try await lab.ledger.keepHouse()
        #expect(report.chores.count == 13)
        #expect(report.chores.allSatisfy { $0.error == nil }, "\(report)")
        let schema = lab.schema
        try await lab.lab.run { try $0.execute("update \(schema).house set tick_at = tick_at + interval '50 s'") }
        #expect(try await lab.ledger.keepHouse().chores.isEmpty)
    }
}
