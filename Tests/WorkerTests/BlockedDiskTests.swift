import Foundation
import Ledger
import TestSupport
import Testing

/// A disk that neither accepts writes nor reports errors.
struct BlockedDiskTests {
    @Test(.enabled(if: FrozenDisk.isPossible, "no file system can be frozen here"))
    func blockedWriteDelaysNoBeat() async throws {
        // A busy machine, too, may delay a beat.
        let lease = 12
        let lab = try await WorkerLab(lease: "\(lease) s")
        try lab.addSource("long.wav", frames: 8_000 * 600)
        let disk = FrozenDisk.words(at: lab.path("out"), image: lab.path("disk"))
        let worker = try lab.worker("--slots", "2", behind: disk)
        try await worker.waits(for: "rooms")
        try FrozenDisk.freeze(lab.path("out"), of: worker)
        // A process that hangs there cannot even be killed, so thaw the disk however the test ends.
        defer { FrozenDisk.thaw(lab.path("out"), of: worker) }
        let frozenAt = try lab.sql("select \(lab.schema).ledger_time()")
        try await lab.submit(4, from: "in:long.wav")
        try await lab.wait("a thread is stuck in the kernel") { try worker.states().contains("D") }
        try await lab.wait("the worker holds jobs") { try lab.truth()["running", default: 0] >= 2 }
        try await lab.wait("it has sent heartbeats for two leases") {
            try lab.sql(
                "select beat_at > timestamptz '\(frozenAt)' + interval '\(lease * 2) s' from \(lab.schema).worker"
            ) == "t"
        }
        #expect(try worker.states().contains("D"), "it was stuck the whole time")
        #expect(try lab.sql("select count(*) from \(lab.schema).worker where ended_at is null") == "1")
        #expect(worker.lines("lease_lost").isEmpty && worker.lines("attempt").isEmpty)
        FrozenDisk.thaw(lab.path("out"), of: worker)
        try await lab.wait(for: 4, "completed")
        #expect(try lab.attempts() == ["completed": 4])
        try await worker.stopsWell()
    }
}

/// A small file system in a file, visible to one process only, that the test can freeze at any moment.
enum FrozenDisk {
    private static let make = """
        mkdir -p "$1" && truncate -s 64M "$0" && mkfs.ext4 -q "$0" && mount -o loop "$0" "$1" && shift && exec "$@"
        """

    /// The words to put before a command, so that the file system is mounted at `folder` for it.
    static func words(at folder: String, image: String) -> [String] {
        ["unshare", "--mount", "sh", "-c", make, image, folder]
    }

    static let isPossible: Bool = {
        // If no folder can be made, all other tests fail and show it.
        guard geteuid() == 0, let folder = try? TemporaryFolder.create() else { return false }
        let mount = words(at: folder.path("there"), image: folder.path("disk"))
        let both = "fsfreeze --freeze '\(folder.path("there"))' && fsfreeze --unfreeze '\(folder.path("there"))'"
        // If one of these steps fails, the test cannot run.
        let test = mount + ["sh", "-c", both]
        return (try? Run.program(test[0], Array(test.dropFirst())).succeeded) == true
    }()

    static func freeze(_ folder: String, of worker: WorkerProcess) throws {
        try Run.program("nsenter", inside(worker) + ["fsfreeze", "--freeze", folder]).checked()
    }

    /// Thawing a disk that is not frozen does no harm.
    static func thaw(_ folder: String, of worker: WorkerProcess) {
        do {
            _ = try Run.program("nsenter", inside(worker) + ["fsfreeze", "--unfreeze", folder])
        } catch {
            Issue.record("the disk stays frozen: \(error)")
        }
    }

    private static func inside(_ worker: WorkerProcess) -> [String] { ["--mount", "--target", "\(worker.id)"] }
}
