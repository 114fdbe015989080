import Foundation
import Glibc
import TestSupport
import Testing

/// Disks that are full or broken give failures with names, and never a success.
@Suite(.serialized)
struct DiskTests {
    /// A file system of 2 MB, in a mount namespace of the worker's own. Every second output does not fit.
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
        try await untilSaid(cluster, "disk_full")
        let codes = try cluster.server.run(
            "select distinct code, class, stage from sluice.attempt where outcome = 'failed'"
        )
        #expect(codes.hasPrefix("disk_full|"))
        // The disk is of the place, not of the job.
        #expect(try cluster.server.run("select count(*) from sluice.finished where state = 'failed'") == "0")
        try worker.stop()
        // On a machine with room it is done.
        let other = try cluster.startWorker("other")
        try await cluster.untilAllEnded()
        try other.stop()
        try coordinator.stop()
        let ended = try cluster.server.run("select distinct state from sluice.finished")
        #expect(ended == "completed")
    }

    /// What the kernel could not write is gone, and asking again would say that all is well.
    @Test(arguments: ["fsync", "syncfs"])
    func aFlushThatFailsIsNoSuccess(_ call: String) async throws {
        let cluster = try await Cluster(clips: [0.3])
        let coordinator = try cluster.startCoordinator()
        try await cluster.submit(24, "flush")
        let worker = try cluster.startWorker(
            "w",
            slots: 1,
            behind: ["strace", "-f", "-qq", "-o", "/dev/null", "-e", "inject=\(call):error=EIO:when=1..2"]
        )
        try await cluster.untilAllEnded()
        _ = Glibc.kill(try #require(try worker.rooms().first), SIGTERM)
        try worker.waitForGoodEnd()
        try coordinator.stop()
        try Checker(cluster: cluster).check(jobs: 24)
    }

    /// Words that let the words after them mount file systems which nobody else sees.
    private static let namespace =
        ["unshare", "--mount"] + (geteuid() == 0 ? [] : ["--user", "--map-root-user"])

    private func untilSaid(_ cluster: Cluster, _ code: String) async throws {
        let deadline = ContinuousClock.now + .seconds(60)
        while try cluster.server.run("select count(*) from sluice.attempt where code = '\(code)'") == "0" {
            guard ContinuousClock.now < deadline else {
                throw SupportError("wait for \(code)", try cluster.whereTheyAre())
            }
            try await Task.sleep(for: .milliseconds(50))
        }
    }
}
