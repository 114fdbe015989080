import Foundation
import Ledger
import TestSupport
import Testing

/// Workers whose disks and mounts fail them.
struct PauseTests {
    @Test func lostRootPausesTheWorkerAndItResumesByItself() async throws {
        let lab = try await WorkerLab()
        try lab.addSource()
        let worker = try lab.worker("--slots", "2")
        try await worker.waits(for: "started")
        try lab.loseSources(keptAs: "away")
        // Under a lost mount its empty folder comes to light.
        try FileManager.default.createDirectory(atPath: lab.path("in"), withIntermediateDirectories: false)
        try await lab.submit(200)
        try await worker.waits(for: "paused")
        try await lab.wait("nothing is in its hands") { try lab.truth()["running"] == nil }
        try await lab.wait("the ledger shows why") {
            try lab.sql("select status ->> 'pausedBecause' from \(lab.schema).worker").contains("storage_unavailable")
        }
        #expect(try lab.attempts()["failed source_not_found"] == nil, "no source is missing, the mount is")
        #expect(try lab.attempts()["failed storage_unavailable", default: 0] < 20, "it does not eat the queue")
        try FileManager.default.removeItem(atPath: lab.path("in"))
        try FileManager.default.moveItem(atPath: lab.path("away"), toPath: lab.path("in"))
        try await worker.waits(for: "resumed")
        try await lab.wait(for: 200, "completed")
        #expect(try await worker.stop() == .exited(0))
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
        // Another folder than before, as after a remount.
        try FileManager.default.createDirectory(atPath: lab.path("in"), withIntermediateDirectories: false)
        try lab.addSource()
        try await worker.waits(for: "resumed")
        try await lab.wait(for: 3, "completed")
        #expect(try await worker.stop() == .exited(0))
    }

    @Test func missingSourceOnAHealthyRootPausesNobody() async throws {
        let lab = try await WorkerLab()
        let worker = try lab.worker()
        try await lab.submit(20, from: "in:missing.wav")
        try await lab.wait(for: 20, "failed")
        #expect(try await worker.stop() == .exited(0))
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
        #expect(try await worker.stop() == .exited(0))
        #expect(try lab.sql("select max(spent) from \(lab.schema).finished") == "1", "no attempt was spent on it")
        let classes = try lab.sql("select distinct class from \(lab.schema).attempt where code = 'disk_full'")
        #expect(classes == "infrastructure")
    }
}

extension WorkerLab {
    /// The root `in` is gone, as with a server that went away: not moved, for then whoever has it open still reads it.
    fileprivate func loseSources(keptAs name: String) throws {
        try FileManager.default.copyItem(atPath: path("in"), toPath: path(name))
        try FileManager.default.removeItem(atPath: path("in"))
    }
}

/// Whether a small file system can be had that only one process sees.
enum SmallDisk {
    static let command = geteuid() == 0 ? ["unshare", "--mount"] : ["unshare", "--user", "--map-root-user", "--mount"]

    static let isPossible: Bool = {
        // Where no folder can be made, all other tests say so.
        guard let folder = try? TemporaryFolder.create() else { return false }
        let words = command.dropFirst() + ["mount", "-t", "tmpfs", "tmpfs", folder.path]
        return (try? Run.program(command[0], Array(words)).succeeded) == true
    }()
}
