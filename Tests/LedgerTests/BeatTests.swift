import Conversion
import Foundation
import TestSupport
import Testing

@testable import Ledger

struct BeatTests {
    @Test func aBeatRenewsTheLeaseAndStoresHowFarJobsAre() async throws {
        let lab = try await LedgerLab()
        try await lab.submit(2)
        let worker = try await lab.worker()
        let claims = try await lab.claim(2, for: worker)
        for _ in 0..<3 {
            try await lab.age(by: lab.lease * 2 / 3)
            let reply = try await lab.heartbeat.beat(
                worker.worker,
                [
                    RunningJob(claims[0].fence, frames: 480, totalFrames: 960, slot: 2), RunningJob(claims[1].fence),
                ],
                status: WorkerStatus(busySlots: 2, pausedBecause: "the disk is full")
            )
            #expect(reply.isAlive && reply.wish == .run)
            #expect(reply.leaseLength == lab.lease)
        }
        let summary = try #require(
            try await lab.ledger.jobs(matching: JobFilter(ids: [claims[0].fence.job])).jobs.first
        )
        #expect((summary.frames, summary.totalFrames, summary.slot, summary.worker) == (480, 960, 2, "w"))
        let known = try #require(try await lab.ledger.workers().first)
        #expect(known.status == WorkerStatus(busySlots: 2, pausedBecause: "the disk is full"))
        #expect((known.holds, known.begun) == (2, 1))
        #expect(known.abilities == ["recipe:1", "recipe:2", "recipe:3", "recipe:4"])
        #expect(try await lab.claim(1, for: worker).isEmpty)
    }

    @Test func aBeatBringsBackWhatIsCancelledAndWhatIsLost() async throws {
        let lab = try await LedgerLab()
        try await lab.submit(3)
        let worker = try await lab.worker()
        let claims = try await lab.claim(3, for: worker)
        try await lab.ledger.release([claims[1].fence])
        let tally = try await lab.ledger.apply(.cancel, to: JobFilter(ids: [claims[0].fence.job]))
        #expect((tally.changed, tally.asked) == (0, 1))
        var stale = claims[2].fence
        stale.lease = UUID()
        let reply = try await lab.heartbeat.beat(
            worker.worker,
            [RunningJob(claims[0].fence), RunningJob(claims[1].fence), RunningJob(stale, frames: 77)]
        )
        #expect(reply.cancelled == [claims[0].fence.job])
        #expect(Set(reply.lost) == [claims[1].fence.job, claims[2].fence.job])
        let untouched = try await lab.ledger.jobs(matching: JobFilter(ids: [stale.job])).jobs.first
        #expect(untouched?.frames == 0)
    }

    /// A beat that was under way while its job was released and claimed again refers to the old attempt.
    @Test func whatIsLostIsTheAttemptThatWasTold() async throws {
        let lab = try await LedgerLab()
        try await lab.submit(1)
        let worker = try await lab.worker()
        let first = try #require(try await lab.claim(1, for: worker).first)
        let told = [RunningJob(first.fence)]
        try await lab.ledger.release([first.fence])
        let second = try #require(try await lab.claim(1, for: worker).first)
        #expect(second.fence.job == first.fence.job)
        let reply = try await lab.heartbeat.beat(worker.worker, told)
        #expect(reply.lost == [first.fence.job])
        #expect(BeatReply.attempts(of: reply.lost, among: told) == [first.fence])
    }

    @Test func aJobThatIsPublishingIsNotLost() async throws {
        let lab = try await LedgerLab()
        try await lab.submit(1)
        let worker = try await lab.worker()
        let claim = try #require(try await lab.claim(1, for: worker).first)
        try await lab.ledger.publish([LedgerLab.publication(claim.fence)])
        #expect(try await lab.heartbeat.beat(worker.worker, [RunningJob(claim.fence)]).lost.isEmpty)
    }

    /// An outage may outlast any lease. Jobs that a worker claimed before it stay with the worker.
    @Test func expiredLeaseTakesNothingFromAWorkerThatHasNotBeenEnded() async throws {
        let lab = try await LedgerLab()
        try await lab.submit(5)
        let worker = try await lab.worker()
        let fences = try await lab.claim(5, for: worker).map(\.fence)
        try await lab.age(by: lab.lease * 3)
        #expect(try await lab.ledger.publish([LedgerLab.publication(fences[0])]) == [.done])
        #expect(try await lab.ledger.finish([fences[0]]) == [.done])
        #expect(try await lab.ledger.fail([AttemptFailure(fences[1], LedgerLab.failure(.permanent))]) == [.done])
        #expect(try await lab.ledger.release([fences[2]]) == [.done])
        let reply = try await lab.heartbeat.beat(worker.worker, [RunningJob(fences[3], frames: 7)])
        #expect(reply.isAlive && reply.lost.isEmpty && reply.leaseLength == lab.lease)
        try await lab.ledger.setAbilities(["root:in"], of: worker.worker)
        // The beat renewed the lease.
        let schema = lab.schema
        let isRenewed: Bool = try await lab.value(
            "select lease_until > \(schema).ledger_time() from \(schema).worker where id = \(worker.worker)"
        )
        #expect(isRenewed)
        #expect(try await lab.truth() == ["completed": 1, "failed": 1, "waiting": 1, "running": 2])
    }

    @Test func aClaimRevivesALeaseAsABeatDoes() async throws {
        let lab = try await LedgerLab()
        let worker = try await lab.worker()
        try await lab.submit(1)
        try await lab.age(by: lab.lease)
        #expect(try await lab.claim(1, for: worker).count == 1)
        let schema = lab.schema
        let isRenewed: Bool = try await lab.value(
            "select lease_until > \(schema).ledger_time() from \(schema).worker where id = \(worker.worker)"
        )
        #expect(isRenewed)
    }

    @Test func aWorkerThatWasTakenForLostIsNeverRevived() async throws {
        let lab = try await LedgerLab()
        try await lab.submit(1)
        let worker = try await lab.worker()
        let claim = try #require(try await lab.claim(1, for: worker).first)
        _ = try await lab.ledger.keepHouse()
        for _ in 0..<7 {
            try await lab.age(by: lab.lease / 6)
            _ = try await lab.keepWholeHouse()
        }
        #expect(try await lab.truth() == ["waiting": 1])
        for _ in 0..<2 {
            let reply = try await lab.heartbeat.beat(worker.worker, [RunningJob(claim.fence)])
            #expect(!reply.isAlive)
            #expect(reply.lost == [claim.fence.job])
        }
        #expect(try await lab.ledger.publish([LedgerLab.publication(claim.fence)]) == [.lost])
        #expect(try await lab.ledger.fail([AttemptFailure(claim.fence, LedgerLab.failure(.permanent))]) == [.lost])
        #expect(try await lab.ledger.release([claim.fence]) == [.lost])
        #expect(try await failure { try await lab.claim(1, for: worker) }.code == .ledgerLeaseOver)
        #expect(try await failure { try await lab.ledger.setAbilities([], of: worker.worker) }.code == .ledgerLeaseOver)
        #expect(try await lab.truth() == ["waiting": 1])
    }

    @Test func beatsGoThroughWhenAllOtherConnectionsAreTaken() async throws {
        let lab = try await LedgerLab { $0.connectionLimit = 1 }
        let worker = try await lab.worker()
        let ledger = lab.ledger
        let busy = Task { try await ledger.source.run("test") { try $0.execute("select pg_sleep(600)") } }
        try await lab.lab.untilRunning("%pg_sleep(600)%")
        #expect(try await lab.heartbeat.beat(worker.worker).isAlive)
        busy.cancel()
        _ = await busy.result
    }
}
