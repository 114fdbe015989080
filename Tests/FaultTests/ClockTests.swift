import Foundation
import Glibc
import TestSupport
import Testing

/// Only the database's clock decides when a lease ends, whatever a worker's wall clock says.
@Suite(.serialized)
struct ClockTests {
    @Test func aWorkerWhoseClockJumpsIsNeitherEarlyNorLate() async throws {
        // Most steps are longer. A busy machine holds no worker up for as long.
        let cluster = try await Cluster(lease: .seconds(60))
        let coordinator = try cluster.startCoordinator()
        let time = cluster.folder.path("time")
        try Self.set("+0", time)
        let library = try Self.fakeClock()
        // `env` goes first, because the first program that loads the library gets no arguments if it is written in
        // Swift.
        let jumping = try cluster.startWorker(
            "jumping",
            behind: ["env"],
            // The library also shifts readings of another process's processor time, which no kernel does.
            more: ["--job-cpu", "1000d", "--queue", "default"],
            environment: [
                "LD_PRELOAD": library, "FAKETIME_TIMESTAMP_FILE": time, "FAKETIME_NO_CACHE": "1",
                "FAKETIME_DONT_FAKE_MONOTONIC": "1",
                // A source whose time seems to change is converted again.
                "NO_FAKE_STAT": "1",
            ]
        )
        // This worker starts alone, and the other one has a queue to itself, so that each does some of the work.
        try await cluster.submit(40, "alone")
        var jobs = 40
        try await cluster.untilEnded(jobs)
        let steady = try cluster.startWorker("steady")
        let steps = ["+1h", "-1h", "+400d", "-10m", "+0"]
        for (round, step) in steps.enumerated() {
            try await cluster.submit(40, "step\(round)")
            try await cluster.submit(5, "steady\(round)", queue: "steady")
            jobs += 45
            try await cluster.untilEnded(jobs - 30)
            try Self.set(step, time)
        }
        try await cluster.untilAllEnded()
        try jumping.stop()
        try steady.stop()
        try coordinator.stop()
        let counts = try Checker(cluster: cluster).check(jobs: jobs)
        // No worker lost a lease because of the steps.
        #expect(counts.attempts == jobs)
        let busy = try cluster.server.run(
            "select count(distinct name) from sluice.attempt a join sluice.worker w on w.id = a.worker"
        )
        #expect(busy == "2")
        FaultTable.note("wall clock of a worker stepped by hours and days", times: steps.count, counts)
    }

    /// Replaces the file at once: a newer libfaketime ends a program that reads it while it is empty.
    private static func set(_ step: String, _ time: String) throws {
        try Bytes.write(Array("\(step)\n".utf8), to: time + ".next")
        guard rename(time + ".next", time) == 0 else { throw SupportError("rename", "errno \(errno)") }
    }

    /// The path of libfaketime, where Debian installs it on either architecture.
    private static func fakeClock() throws -> String {
        let folders = ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu"]
        let found = folders.map { $0 + "/faketime/libfaketimeMT.so.1" }.first(where: FileManager.default.fileExists)
        guard let found else { throw SupportError("find libfaketime", "not in \(folders); run scripts/prepare test") }
        return found
    }
}
