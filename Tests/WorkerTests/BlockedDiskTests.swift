import Foundation
import Ledger
import TestSupport
import Testing

/// A disk that neither takes what is written nor says that it does not.
struct BlockedDiskTests {
    @Test(.enabled(if: FrozenDisk.isPossible, "no file system can be frozen here"))
    func blockedWriteDelaysNoBeat() async throws {
        let lease = 2
        let lab = try await WorkerLab(lease: "\(lease) s")
        try lab.addSource("long.wav", frames: 8_000 * 600)
        let disk = FrozenDisk.words(at: lab.path("out"), image: lab.path("disk"))
        let worker = try lab.worker("--slots", "2", behind: disk)
        try await worker.waits(for: "rooms")
        try FrozenDisk.freeze(lab.path("out"), of: worker)
        // What hangs cannot even be killed: the disk goes on, whatever becomes of the test.
        defer { FrozenDisk.thaw(lab.path("out"), of: worker) }
        let frozenAt = try lab.sql("select \(lab.schema).ledger_time()")
        try await lab.submit(4, from: "in:long.wav")
        try await lab.wait("somebody is stuck in the kernel") { try worker.states().contains("D") }
        try await lab.wait("jobs are in hand") { try lab.truth()["running", default: 0] >= 2 }
        try await lab.wait("it has beaten for several leases") {
            try lab.sql(
                "select beat_at > timestamptz '\(frozenAt)' + interval '\(lease * 4) s' from \(lab.schema).worker"
            ) == "t"
        }
        #expect(try worker.states().contains("D"), "it was stuck all the time")
        #expect(try lab.sql("select count(*) from \(lab.schema).worker where ended_at is null") == "1")
        #expect(worker.lines("lease_lost").isEmpty && worker.lines("attempt").isEmpty)
        FrozenDisk.thaw(lab.path("out"), of: worker)
        try await lab.wait(for: 4, "completed")
        #expect(try lab.attempts() == ["completed": 4])
        #expect(try await worker.stop() == .exited(0))
    }
}

/// A small file system in a file, seen by one process alone, that can be stopped in the middle of everything.
enum FrozenDisk {
    private static let make = """
        mkdir -p "$1" && truncate -s 64M "$0" && mkfs.ext4 -q "$0" && mount -o loop "$0" "$1" && shift && exec "$@"
        """

    /// Words before a program that mount it at `folder`.
    static func words(at folder: String, image: String) -> [String] {
        ["unshare", "--mount", "sh", "-c", make, image, folder]
    }

    static let isPossible: Bool = {
        // Where no folder can be made, all other tests say so.
        guard geteuid() == 0, let folder = try? TemporaryFolder.create() else { return false }
        let mount = words(at: folder.path("there"), image: folder.path("disk"))
        let both = "fsfreeze --freeze '\(folder.path("there"))' && fsfreeze --unfreeze '\(folder.path("there"))'"
        // Where one of these cannot be done, the test cannot be.
        let test = mount + ["sh", "-c", both]
        return (try? Run.program(test[0], Array(test.dropFirst())).succeeded) == true
    }()

    static func freeze(_ folder: String, of worker: WorkerProcess) throws {
        try Run.program("nsenter", inside(worker) + ["fsfreeze", "--freeze", folder]).checked()
    }

    /// Once more does no harm.
    static func thaw(_ folder: String, of worker: WorkerProcess) {
        do {
            _ = try Run.program("nsenter", inside(worker) + ["fsfreeze", "--unfreeze", folder])
        } catch {
            Issue.record("the disk stays frozen: \(error)")
        }
    }

    private static func inside(_ worker: WorkerProcess) -> [String] { ["--mount", "--target", "\(worker.id)"] }
}
