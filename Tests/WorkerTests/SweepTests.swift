import Conversion
import Foundation
import Ledger
import Publishing
import PumpRoom
import Storage
import Synchronization
import TestSupport
import Testing

@testable import Worker

/// Attempts' files that are no longer needed.
struct SweepTests {
    @Test func filesWithoutAStandingFenceAreRemovedAndOthersStay() async throws {
        let lab = try await WorkerLab(publishGrace: "1 h")
        try lab.addSource()
        try await lab.submit(2)
        let other = try await lab.ledger.register(
            WorkerRegistration(name: "other", host: "h", build: "1", slots: 2, abilities: ["root:in", "root:out"])
        )
        let claims = try await lab.ledger.claim(2, for: other.worker).jobs
        try #require(claims.count == 2)
        // One file is being published, one belongs to a running job, one has a lease that the ledger does not know,
        // and one belongs to another ledger, whose job has the same number.
        let left = try LeftBehind.publish(claims, in: lab.path("out"))
        #expect(try await lab.ledger.publish([left[0]]) == [.done])
        var stale = claims[0].fence
        let bits = AttemptName(stale).lease
        stale.lease = UUID()
        let (foreign, dead) = (AttemptName(stale), AttemptName(job: stale.job, epoch: 1, lease: bits ^ 1))
        try #require(foreign.ledger != dead.ledger)
        for litter in [foreign, dead] {
            try Bytes.write([1, 2, 3], to: lab.path("out/\(litter.fileName(for: "a0.flac"))"))
        }
        try Bytes.write([1, 2, 3], to: lab.path("out/.somebody.elses"))

        var configuration = WorkerConfiguration()
        configuration.roots = ["in", "out"].map { .init(name: $0, path: lab.path($0)) }
        configuration.sweepAge = .zero
        configuration.room.executable = WorkerProcess.roomProgram
        let swept = Mutex(0)
        let worker = try AudioWorker(configuration, ledger: lab.configuration) { event in
            if case .swept(_, let files) = event { swept.withLock { $0 += files } }
        }
        let run = Task { try await worker.run() }
        try await lab.submit([WorkerLab.recipe(to: "out:fresh.flac")])
        try await lab.wait("it has swept") { swept.withLock { $0 } > 0 }
        run.cancel()
        try await run.value
        #expect(swept.withLock { $0 } == 1)
        let expected = [".somebody.elses", "fresh.flac", foreign.fileName(for: "a0.flac")] + left.map(\.attemptName)
        #expect(try lab.outputs() == expected.sorted())
    }

    @Test func fenceIsReadFromTheNameThatItMade() throws {
        let fence = Fence(job: 7, epoch: 3, lease: UUID())
        let name = try #require(AttemptName(fileName: AttemptName(fence).fileName(for: "a.flac")))
        #expect(Fence(name) == fence)
        #expect(Fence(AttemptName(job: 7, epoch: Int64(Int32.max) + 1, lease: 1)) == nil)
    }
}
