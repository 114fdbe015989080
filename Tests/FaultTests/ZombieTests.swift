import Foundation
import Glibc
import TestSupport
import Testing

/// A worker that is suspended beyond the end of its lease and then carries on as if nothing had happened.
@Suite(.serialized)
struct ZombieTests {
    @Test func workersThatSleepBeyondTheirLeasePublishNothing() async throws {
        let cluster = try await Cluster(lease: .seconds(1))
        let coordinator = try cluster.startCoordinator()
        let workers = try (0..<3).map { try cluster.startWorker("w\($0)") }
        var generator = SeededGenerator(seed: 9)
        let naps = Rounds.scaled(20)
        var jobs = 0
        for round in 0..<naps {
            try await cluster.submit(20, "nap\(round)")
            jobs += 20
            try await Task.sleep(for: .milliseconds(generator.whole(in: 20..<300)))
            let sleeper = workers[round % 3]
            sleeper.send(SIGSTOP)
            try await Task.sleep(for: .milliseconds(1_600))
            sleeper.send(SIGCONT)
        }
        try await cluster.untilAllEnded()
        for worker in workers { try worker.stop() }
        try coordinator.stop()
        let counts = try Checker(cluster: cluster).check(jobs: jobs)
        #expect(counts.spentBesides == 0)
        FaultTable.note("SIGSTOP of a worker beyond its lease", times: naps, counts)
    }

    /// The worker is stopped exactly at the call that gives the finished file the name of its attempt or its final
    /// name. It continues after another worker has done the job.
    @Test(arguments: ["linkat", "renameat2"])
    func aWorkerContinuedJustBeforeItPublishesPublishesNothing(_ call: String) async throws {
        let cluster = try await Cluster(lease: .seconds(1), clips: [0.5])
        let coordinator = try cluster.startCoordinator()
        try await cluster.submit(1, "zombie")
        let zombie = try cluster.startWorker(
            "zombie",
            slots: 1,
            behind: ["strace", "-f", "-qq", "-o", "/dev/null", "-e", "inject=\(call):signal=SIGSTOP:when=1"]
        )
        let traced = try await untilStopped(zombie)
        let other = try cluster.startWorker("other", slots: 1)
        try await cluster.untilAllEnded()
        // Each of its threads stops at its first such call, so the worker needs several SIGCONT.
        let waker = Task {
            while !Task.isCancelled {
                _ = Glibc.kill(traced, SIGCONT)
                try await Task.sleep(for: .milliseconds(50))
            }
        }
        // The worker notices, registers anew, and can do more jobs.
        try await cluster.submit(10, "later")
        try await cluster.untilAllEnded()
        _ = Glibc.kill(traced, SIGTERM)
        try zombie.waitForGoodEnd()
        waker.cancel()
        try other.stop()
        try coordinator.stop()
        let counts = try Checker(cluster: cluster).check(jobs: 11)
        #expect(counts.spentBesides == 0)
        FaultTable.note("SIGSTOP at \(call), continued after the job was done elsewhere", times: 1, counts)
    }

    /// Waits until the traced process stays stopped, and returns its id.
    private func untilStopped(_ tracer: ClusterProcess) async throws -> pid_t {
        let deadline = ContinuousClock.now + .seconds(60)
        while ContinuousClock.now < deadline {
            for id in try tracer.rooms() {
                let status = (try? String(contentsOfFile: "/proc/\(id)/status", encoding: .utf8)) ?? ""
                // `t` is the state of a traced process that a signal has stopped.
                let state = status.split(separator: "\n").first { $0.hasPrefix("State:") } ?? ""
                if state.contains("T (stopped)") || state.contains("t (tracing stop)") {
                    // Ordinary tracing stops are short; a stop that lasts is the injected one.
                    try await Task.sleep(for: .milliseconds(300))
                    let again = (try? String(contentsOfFile: "/proc/\(id)/status", encoding: .utf8)) ?? ""
                    if again.contains("T (stopped)") || again.contains("t (tracing stop)") { return id }
                }
            }
            try await Task.sleep(for: .milliseconds(20))
        }
        throw SupportError("wait for the zombie to stop", try tracer.said())
    }
}
