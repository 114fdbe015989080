import Foundation
import Glibc
import TestSupport
import Testing

/// A full or failing disk leads to a failure with a specific code, never to a success.
@Suite(.serialized)
struct DiskTests {
    /// The worker writes to a file system of 2 MB in a separate mount namespace. Every second output does not fit.
    @Test func aFullDestinationIsAFailureWithAName() async throws {
        let cluster = try await Cluster(clips: [0.5, 40])
        let coordinator = try cluster.startCoordinator()
        let out = cluster.folder.path("out")
        let worker = try cluster.startWorker(
            "w",
            behind: Self.namespace + ["sh", "-c", "mount -t tmpfs -o size=2m none '\(out)' && exec \"$@\"", "sh"]
        )
        try await cluster.submit(2, "full")
        try await cluster.untilEnded(1)
        try await cluster.until("an attempt has failed by a full disk", within: .seconds(300)) {
            try cluster.server.run("select count(*) from sluice.attempt where code = 'disk_full'") != "0"
        }
        let codes = try cluster.server.run(
            "select distinct code, class, stage from sluice.attempt where outcome = 'failed'"
        )
        #expect(codes.hasPrefix("disk_full|"))
        // The full disk counts against the place, not against the job.
        #expect(try cluster.server.run("select count(*) from sluice.finished where state = 'failed'") == "0")
        try worker.stop()
        // A worker on a machine with enough space completes the job.
        let other = try cluster.startWorker("other")
        try await cluster.untilAllEnded()
        try other.stop()
        try coordinator.stop()
        let ended = try cluster.server.run("select distinct state from sluice.finished")
        #expect(ended == "completed")
    }

    /// Data that the kernel could not write is lost, and a repeated call would report success.
    @Test(arguments: ["fsync", "syncfs"])
    func aFlushThatFailsIsNoSuccess(_ call: String) async throws {
        let cluster = try await Cluster(clips: [0.3])
        let coordinator = try cluster.startCoordinator()
        try await cluster.submit(24, "flush")
        let trace = cluster.folder.path("trace")
        let holdUp = call == "syncfs" ? Cluster.slowFirstFlush : []
        let worker = try cluster.startWorker(
            "w",
            slots: 1,
            behind: [
                "strace", "-f", "-qq", "-o", trace, "-e", "trace=fsync,syncfs", "-e",
                "inject=\(call):error=EIO:when=1..2",
            ] + holdUp
        )
        try await cluster.untilAllEnded()
        _ = Glibc.kill(try #require(try worker.rooms().first), SIGTERM)
        try worker.waitForGoodEnd()
        try coordinator.stop()
        try Checker(cluster: cluster).check(jobs: 24)
        let calls = String(decoding: try Bytes.read(trace), as: UTF8.self).split(separator: "\n")
        #expect(calls.contains { $0.contains(call) && $0.contains("INJECTED") }, "no \(call) failed")
    }

    /// A command prefix that gives a program its own mount namespace, in which it may mount file systems.
    private static let namespace =
        ["unshare", "--mount"] + (geteuid() == 0 ? [] : ["--user", "--map-root-user"])
}
