import Foundation
import Glibc
import Ledger
import TestSupport
import Testing

/// A worker is killed at each successive system call of publishing, until one run survives.
@Suite(.serialized)
struct PublishPathTests {
    @Test(arguments: ["linkat", "fsync", "syncfs", "renameat2", "sendto"])
    func aWorkerKilledAtAnyCallLosesNothing(_ call: String) async throws {
        let cluster = try await Cluster(lease: .seconds(1), clips: [0.3])
        let coordinator = try cluster.startCoordinator()
        let isGrouped = call == "syncfs"
        let perDeath = isGrouped ? 24 : 3
        let holdUp = isGrouped ? Cluster.slowFirstFlush : []
        var deaths = 0
        var jobs = 0
        for number in 1... {
            try #require(number < 400, "the run never gets through")
            let stem = "at\(number)"
            try await cluster.submit(perDeath, stem)
            jobs += perDeath
            let doomed = try cluster.startWorker(
                "doomed",
                slots: 1,
                behind: [
                    "strace", "-f", "-qq", "-o", "/dev/null", "-e", "inject=\(call):signal=SIGKILL:when=\(number)",
                ] + holdUp
            )
            let survived = try await endedOrDied(cluster, doomed, jobs)
            if survived {
                // The signal goes to the worker itself, because strace would detach from it. The worker may still
                // be killed at a call during its shutdown.
                if let worker = try doomed.rooms().first { _ = Glibc.kill(worker, SIGTERM) }
                if try doomed.wait() == .exited(0) { break }
            }
            deaths += 1
            let other = try cluster.startWorker("other", slots: 1)
            try await cluster.untilAllEnded()
            try other.askToEnd()
            try other.waitForGoodEnd()
        }
        try await cluster.untilAllEnded()
        try coordinator.stop()
        let counts = try Checker(cluster: cluster).check(jobs: jobs)
        #expect(counts.spentBesides == 0)
        #expect(deaths > 0)
        FaultTable.note("kill -9 at each \(call)", times: deaths, counts)
    }

    /// Waits until the doomed worker has died (returns false) or all jobs have ended (returns true).
    private func endedOrDied(_ cluster: Cluster, _ doomed: ClusterProcess, _ jobs: Int) async throws -> Bool {
        let deadline = ContinuousClock.now + .seconds(600)
        while ContinuousClock.now < deadline {
            // The ledger sends no notification when the last job ends, so ask it again after each 20 ms in which the
            // worker has not died.
            if doomed.hasEnded(within: .milliseconds(20)) { return false }
            let status = try await cluster.ledger.status().jobs
            if status.open == 0, status.total == jobs { return true }
        }
        throw SupportError("wait for the doomed worker", try cluster.whereTheyAre())
    }
}
