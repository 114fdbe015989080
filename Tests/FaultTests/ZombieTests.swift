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
            try await RandomMoment.wait(milliseconds: 20..<300, &generator)
            let (name, sleeper) = ("w\(round % 3)", workers[round % 3])
            // A worker that has not registered yet has no lease to lose, and one without a job publishes nothing anyway.
            try await cluster.until("\(name) holds a job") {
                jobs += try await cluster.keepLoad("more\(jobs)")
                return try await cluster.holdsJobs(name)
            }
            sleeper.send(SIGSTOP)
            try await cluster.until("\(name) is lost") { try registrations(of: name, in: cluster) == 0 }
            sleeper.send(SIGCONT)
        }
        try await cluster.untilAllEnded()
        for worker in workers { try worker.stop() }
        try coordinator.stop()
        let counts = try Checker(cluster: cluster).check(jobs: jobs)
        #expect(counts.spentBesides == 0)
        #expect(counts.lostAttempts > 0)
        FaultTable.note("SIGSTOP of a worker beyond its lease", times: naps, counts)
    }

    /// How many workers of this name hold a lease, as far as the ledger knows.
    private func registrations(of name: String, in cluster: Cluster) throws -> Int {
        let count = try cluster.server.run(
            "select count(*) from sluice.worker where name = '\(name)' and ended_at is null"
        )
        return try #require(Int(count))
    }

    /// The worker is stopped exactly at the call that gives the finished file the name of its attempt or its final
    /// name. It continues after another worker has done the job.
    @Test(arguments: ["linkat", "renameat2"])
    func aWorkerContinuedJustBeforeItPublishesPublishesNothing(_ call: String) async throws {
        let cluster = try await Cluster(lease: .seconds(1), clips: [0.5])
        let coordinator = try cluster.startCoordinator()
        try await cluster.submit(1, "zombie")
        let trace = cluster.folder.path("trace")
        try Bytes.write([], to: trace)
        let zombie = try cluster.startWorker(
            "zombie",
            slots: 1,
            behind: [
                "strace", "-f", "-qq", "-o", trace, "-e", "trace=\(call)", "-e",
                "inject=\(call):signal=SIGSTOP:when=1",
            ]
        )
        try #require(try await stops(in: trace, exceed: 0, of: zombie), "the worker never reached \(call)")
        let traced = try #require(try zombie.rooms().first)
        let other = try cluster.startWorker("other", slots: 1)
        try await cluster.untilAllEnded()
        // Each thread stops the worker at its first such call, so the worker needs several SIGCONT.
        let waker = Task {
            var seen = 0
            repeat {
                seen = try Self.stops(in: trace)
                _ = Glibc.kill(traced, SIGCONT)
            } while try await stops(in: trace, exceed: seen, of: zombie)
        }
        // The worker notices, registers anew, and can do more jobs.
        try await cluster.submit(10, "later")
        try await cluster.untilAllEnded()
        _ = Glibc.kill(traced, SIGTERM)
        try zombie.waitForGoodEnd()
        try await waker.value
        try other.stop()
        try coordinator.stop()
        let counts = try Checker(cluster: cluster).check(jobs: 11)
        #expect(counts.spentBesides == 0)
        // At its final name, the ledger has ordered the publication, and another process carries the order out.
        if call == "linkat" { #expect(counts.lostAttempts > 0, "the suspended worker lost its job") }
        FaultTable.note("SIGSTOP at \(call), continued after the job was done elsewhere", times: 1, counts)
    }

    /// How often strace has seen a thread stop. A stop of the process stops each of its threads.
    private static func stops(in trace: String) throws -> Int {
        String(decoding: try Bytes.read(trace), as: UTF8.self).components(separatedBy: "stopped by SIGSTOP").count - 1
    }

    /// Waits until there have been more than `count` stops. Returns false if the tracer ends before.
    private func stops(in trace: String, exceed count: Int, of tracer: ClusterProcess) async throws -> Bool {
        try await EventWait.until(.now + .seconds(240), changesOf: [trace], endOf: [tracer.id]) {
            try Self.stops(in: trace) > count
        }
    }
}
