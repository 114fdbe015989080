import Conversion
import Foundation
import TestSupport
import Testing

@testable import Ledger

/// A worker that lost its right to a job changes nothing, and gets the answer `lost`.
struct FenceTests {
    /// A fence with exactly one wrong part.
    enum Flaw: CaseIterable {
        case epoch
        case lease

        func spoil(_ fence: Fence) -> Fence {
            var fence = fence
            switch self {
            case .epoch: fence.epoch += 1
            case .lease: fence.lease = UUID()
            }
            return fence
        }
    }

    /// Ledgers that share an output folder recognize the files of their own attempts by the prefix of the lease.
    @Test func leasesOfALedgerBeginAlikeAndOthersDoNot() async throws {
        var marks: [[Substring]] = []
        for _ in 0..<2 {
            let lab = try await LedgerLab(on: .shared())
            try await lab.submit(2)
            let worker = try await lab.worker()
            var leases: [UUID] = []
            for _ in 0..<2 { leases += try await lab.claim(1, for: worker).map(\.fence.lease) }
            #expect(Set(leases).count == 2)
            marks.append(leases.map { $0.uuidString.prefix(8) })
        }
        #expect(Set(marks[0]).count == 1 && Set(marks[1]).count == 1)
        #expect(marks[0][0] != marks[1][0])
    }

    @Test(arguments: Flaw.allCases)
    func everyWriteRefusesAFenceThatIsWrongInOneThing(flaw: Flaw) async throws {
        let lab = try await LedgerLab()
        try await lab.submit(2)
        let worker = try await lab.worker()
        let claims = try await lab.claim(2, for: worker)
        let (running, publishing) = (claims[0].fence, claims[1].fence)
        try await lab.ledger.publish([LedgerLab.publication(publishing)])
        let (stale, other) = (flaw.spoil(running), flaw.spoil(publishing))
        let before = try await lab.truth()

        #expect(try await lab.ledger.publish([LedgerLab.publication(stale)]) == [.lost])
        #expect(try await lab.ledger.publish([LedgerLab.publication(other)]) == [.lost])
        #expect(try await lab.ledger.finish([other, stale]) == [.lost, .lost])
        let failures = [stale, other].map { AttemptFailure($0, LedgerLab.failure(.permanent)) }
        #expect(try await lab.ledger.fail(failures) == [.lost, .lost])
        #expect(try await lab.ledger.release([stale, other]) == [.lost, .lost])
        let reply = try await lab.heartbeat.beat(
            worker.worker,
            [RunningJob(stale, frames: 9), RunningJob(other, frames: 9)]
        )
        #expect(Set(reply.lost) == [stale.job, other.job])
        #expect(try await lab.ledger.standing([stale, other, running, publishing]) == [running, publishing])

        #expect(try await lab.truth() == before)
        let attempts: Int = try await lab.value("select count(*) from \(lab.schema).attempt")
        #expect(attempts == 0)
        let frames: Int = try await lab.value("select max(frames) from \(lab.schema).running")
        #expect(frames == 0)
    }

    @Test func aZombieWhoseJobAnotherHasIsTurnedAwayEverywhere() async throws {
        let lab = try await LedgerLab()
        try await lab.submit(1)
        let (first, second) = (try await lab.worker("first"), try await lab.worker("second"))
        let old = try #require(try await lab.claim(1, for: first).first).fence
        _ = try await lab.ledger.keepHouse()
        for _ in 0..<3 {
            try await lab.age(by: lab.lease * 8 / 30)
            _ = try await lab.keepWholeHouse()
        }
        try await lab.age(by: lab.lease * 8 / 30)
        #expect(try await lab.heartbeat.beat(second.worker).isAlive)
        #expect(try await lab.keepWholeHouse()["reap"]?.affected == 1)
        let new = try #require(try await lab.claim(1, for: second).first)
        #expect((new.fence.job, new.fence.epoch, new.losses, new.attempt) == (old.job, 2, 1, 1))
        #expect(try await lab.ledger.publish([LedgerLab.publication(old)]) == [.lost])
        #expect(try await lab.ledger.finish([old]) == [.lost])
        #expect(try await lab.ledger.fail([AttemptFailure(old, LedgerLab.failure(.permanent))]) == [.lost])
        #expect(try await lab.ledger.release([old]) == [.lost])
        #expect(try await !lab.heartbeat.beat(first.worker, [RunningJob(old)]).isAlive)
        #expect(try await lab.ledger.publish([LedgerLab.publication(new.fence)]) == [.done])
        // This also holds while the job is publishing for another worker.
        #expect(try await lab.ledger.finish([old]) == [.lost])
        #expect(try await lab.ledger.finish([new.fence]) == [.done])
        let story = try #require(try await lab.ledger.story(of: old.job))
        #expect(story.attempts.map(\.outcome) == [.lost, .completed])
        #expect(story.attempts.map(\.workerName) == ["first", "second"])
        #expect(story.attempts[0].failure?.code == "worker_lost")
    }

    /// A worker may claim a job again before it has reported an older claim of it.
    @Test func twoClaimsOfOneJobInOneCallAreAnsweredEachByItself() async throws {
        let lab = try await LedgerLab()
        try await lab.submit(2)
        let worker = try await lab.worker()
        let first = try await lab.claim(2, for: worker)
        try await lab.ledger.release([first[0].fence])
        let again = try #require(try await lab.claim(1, for: worker).first)
        #expect(again.fence.job == first[0].fence.job)
        let fences = [first[0].fence, first[1].fence, again.fence]
        #expect(try await lab.ledger.publish(fences.map(LedgerLab.publication)) == [.lost, .done, .done])
        #expect(try await lab.ledger.finish(fences) == [.lost, .done, .done])
    }

    /// The output must stay where it is: the process that finishes the job needs it.
    @Test func whatWasPublishedCannotBeHandedBackAndIsNotLost() async throws {
        let lab = try await LedgerLab()
        try await lab.submit(2)
        let worker = try await lab.worker()
        let fences = try await lab.claim(2, for: worker).map(\.fence)
        try await lab.ledger.publish([LedgerLab.publication(fences[0])])
        #expect(try await lab.ledger.release(fences) == [.publishing, .done])
        #expect(try await lab.truth() == ["publishing": 1, "waiting": 1])
        #expect(try await lab.ledger.publish([LedgerLab.publication(fences[0])]) == [.repeated])
        #expect(try await lab.ledger.finish([fences[0]]) == [.done])
        #expect(try await lab.ledger.release(fences) == [.lost, .repeated])
    }

    @Test func aCancelledJobEndsAtItsWorkersNextWord() async throws {
        let lab = try await LedgerLab()
        try await lab.submit(3)
        let worker = try await lab.worker()
        let claims = try await lab.claim(3, for: worker)
        try await lab.ledger.apply(.cancel, to: JobFilter())
        #expect(try await lab.ledger.publish([LedgerLab.publication(claims[0].fence)]) == [.cancelled])
        #expect(
            try await lab.ledger.fail([AttemptFailure(claims[1].fence, LedgerLab.failure(.transient))]) == [.cancelled]
        )
        #expect(try await lab.ledger.release([claims[2].fence]) == [.cancelled])
        #expect(try await lab.truth() == ["cancelled": 3])
        // The same calls again, as after a lost answer.
        #expect(try await lab.ledger.publish([LedgerLab.publication(claims[0].fence)]) == [.cancelled])
        #expect(try await lab.ledger.release([claims[2].fence]) == [.cancelled])
    }
}
