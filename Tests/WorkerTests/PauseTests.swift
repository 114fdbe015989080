import Foundation
import Ledger
import TestSupport
import Testing

/// Workers whose disks fill up and whose mounts disappear.
struct PauseTests {
    @Test func lostRootPausesTheWorkerAndItResumesByItself() async throws {
        let lab = try await WorkerLab()
        try lab.addSource()
        let worker = try lab.worker("--slots", "2")
        try await worker.waits(for: "started")
        try lab.loseSources(keptAs: "away")
        // Below a lost mount, its empty folder appears.
        try FileManager.default.createDirectory(atPath: lab.path("in"), withIntermediateDirectories: false)
        try await lab.submit(200)
        try await worker.waits(for: "paused")
        try await lab.wait("it holds no jobs") { try lab.truth()["running"] == nil }
        try await lab.wait("the ledger shows why") {
            try lab.sql("select status ->> 'pausedBecause' from \(lab.schema).worker").contains("storage_unavailable")
        }
        #expect(try lab.attempts()["failed source_not_found"] == nil, "the mount is missing, not the source")
        #expect(try lab.attempts()["failed storage_unavailable", default: 0] < 20, "it does not fail all jobs")
        try FileManager.default.removeItem(atPath: lab.path("in"))
        try FileManager.default.moveItem(atPath: lab.path("away"), toPath: lab.path("in"))
        try await worker.waits(for: "resumed")
        try await lab.wait(for: 200, "completed")
        try await worker.stopsWell()
        #expect(try lab.sql("select max(spent) from \(lab.schema).finished") == "1", "no attempt was spent on it")
    }

    @Test func rootThatIsMountedAnewIsOpenedAnew() async throws {
        let lab = try await WorkerLab()
        try lab.addSource()
        let worker = try lab.worker()
        try await worker.waits(for: "started")
        try lab.loseSources(keptAs: "away")
        try await lab.submit(3)
        try await worker.waits(for: "paused")
        // A different folder, as after a remount.
        try FileManager.default.createDirectory(atPath: lab.path("in"), withIntermediateDirectories: false)
        try lab.addSource()
        try await worker.waits(for: "resumed")
        try await lab.wait(for: 3, "completed")
        try await worker.stopsWell()
    }

    @Test func missingSourceOnAHealthyRootDoesNotPause() async throws {
        let lab = try await WorkerLab()
        let worker = try lab.worker()
        try await lab.submit(20, from: "in:missing.wav")
        try await lab.wait(for: 20, "failed")
        try await worker.stopsWell()
        #expect(worker.lines("paused").isEmpty)
        #expect(try lab.attempts() == ["failed source_not_found": 20])
    }

    @Test(.enabled(if: SmallDisk.isPossible, "no tmpfs can be mounted here"))
    func fullDiskPausesTheWorkerUntilThereIsRoom() async throws {
        let lab = try await WorkerLab()
        try lab.addSource()
        let disk = """
            mount -t tmpfs -o size=2m tmpfs "$0" || exit 99
            dd if=/dev/zero of="$0/ballast" bs=1k count=4096 status=none
            exec "$@"
            """
        let worker = try lab.worker(behind: SmallDisk.command + ["sh", "-c", disk, lab.path("out")])
        try await worker.waits(for: "started")
        try await lab.submit(30)
        try await worker.waits(for: "paused")
        #expect(try lab.sql("select coalesce(max(spent), 0) from \(lab.schema).finished") == "0")
        #expect(unlink("/proc/\(worker.id)/root\(lab.path("out"))/ballast") == 0)
        try await worker.waits(for: "resumed")
        try await lab.wait(for: 30, "completed")
        try await worker.stopsWell()
        #expect(try lab.sql("select max(spent) from \(lab.schema).finished") == "1", "no attempt was spent on it")
        let causes = try lab.sql("select distinct code, class from \(lab.schema).attempt where code like '%full'")
        #expect(causes == "file_system_full|infrastructure")
    }
}

extension WorkerLab {
    /// Removes the root `in`, as if its server went away. Not moved, because processes that have
    /// it open could still read it.
    fileprivate func loseSources(keptAs name: String) throws {
        try FileManager.default.copyItem(atPath: path("in"), toPath: path(name))
        try FileManager.default.removeItem(atPath: path("in"))
    }
}

/// Whether a small file system can be mounted that only one process sees.
enum SmallDisk {
    static let command = geteuid() == 0 ? ["unshare", "--mount"] : ["unshare", "--user", "--map-root-user", "--mount"]

    static let isPossible: Bool = {
        // If no folder can be made, all other tests fail and show it.
        guard let folder = try? TemporaryFolder.create() else { return false }
        let words = command.dropFirst() + ["mount", "-t", "tmpfs", "tmpfs", folder.path]
        return (try? Run.program(command[0], Array(words)).succeeded) == true
    }()
}
