import Foundation
import Ledger
import TestSupport
import Testing

/// How a worker ends when it is stopped.
struct DrainTests {
    @Test func stopUnderLoadSpendsNoAttemptAndLeavesNothingRunning() async throws {
        let lab = try await WorkerLab()
        try lab.addSource()
        var (count, truth): (Int, [String: Int]) = (0, [:])
        var worker = try lab.worker("--slots", "2")
        // A worker may do all jobs before a busy machine has asked it to stop.
        for _ in 0..<5 {
            try await lab.submit(300, "a\(count)-")
            count += 300
            try await lab.wait("some are done") { try lab.truth()["completed", default: 0] > count - 300 + 50 }
            try await worker.stopsWell()
            truth = try lab.truth()
            if truth["waiting"] != nil { break }
            worker = try lab.worker("--slots", "2")
        }
        #expect(Set(truth.keys) == ["completed", "waiting"], "\(truth)")
        let total: Int = truth.values.reduce(0, +)
        #expect(total == count, "\(truth)")
        // Jobs that were handed back wait as if they had never been claimed.
        #expect(try lab.sql("select coalesce(sum(spent + lost), 0) from \(lab.schema).waiting") == "0")
        #expect(try lab.outputs().count == truth["completed"])
        #expect(worker.lines("stopped").first?.handed_back == 0, "the worker handed back all jobs before its end")
        let next = try lab.worker()
        try await lab.wait(for: count, "completed")
        try await next.stopsWell()
    }

    @Test func whatOutlastsTheGracePeriodGoesBack() async throws {
        let lab = try await WorkerLab()
        try await lab.submitLong(2)
        let worker = try lab.worker("--slots", "2", "--grace", "1s")
        try await lab.waitForMovement(2)
        let asked = ContinuousClock.now
        try await worker.stopsWell()
        #expect(.now - asked >= .seconds(1))
        #expect(try lab.truth() == ["waiting": 2])
        #expect(try lab.attempts().keys.allSatisfy { $0.hasPrefix("released") })
        #expect(try lab.outputs().isEmpty)
        #expect(worker.lines("attempt").map(\.reason) == ["draining", "draining"])
    }

    @Test func secondSignalHandsBackAtOnce() async throws {
        let lab = try await WorkerLab()
        try await lab.submitLong(1)
        let worker = try lab.worker("--grace", "1h")
        try await lab.waitForMovement()
        worker.signal(SIGTERM)
        try await worker.waits(for: "draining")
        #expect(try lab.truth() == ["running": 1])
        worker.signal(SIGINT)
        try await worker.endsWell()
        #expect(try lab.truth() == ["waiting": 1])
        #expect(try lab.outputs().isEmpty)
    }

    @Test func idleWorkerEndsAtOnce() async throws {
        let lab = try await WorkerLab()
        let worker = try lab.worker()
        try await worker.waits(for: "started")
        let asked = ContinuousClock.now
        try await worker.stopsWell()
        #expect(.now - asked < .seconds(300))
        #expect(try lab.sql("select end_reason from \(lab.schema).worker") == "stopped")
    }

    @Test func workerThatIsWishedToDrainEndsWhenNothingIsInHand() async throws {
        let lab = try await WorkerLab(lease: "15 s")
        let worker = try lab.worker()
        try await worker.waits(for: "started")
        let number = try #require(worker.lines("started").first?.worker)
        #expect(try await lab.ledger.wish(.drain, of: number))
        try await worker.endsWell()
    }
}
