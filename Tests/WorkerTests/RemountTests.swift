import Conversion
import Foundation
import Ledger
import TestSupport
import Testing

/// A different file system is mounted where a root's was.
@Suite(.enabled(if: getuid() == 0 && SmallDisk.isPossible, "only root mounts where another process sees it"))
struct RemountTests {
    private static func lab() async throws -> (WorkerLab, WorkerProcess) {
        let lab = try await WorkerLab()
        try lab.addSource()
        let script = "mount -t tmpfs -o size=4m first \"$0\" && exec \"$@\""
        let worker = try lab.worker(behind: SmallDisk.command + ["sh", "-c", script, lab.path("out")])
        try await worker.waits(for: "started")
        return (lab, worker)
    }

    /// Runs a command in the worker's mount namespace.
    private static func run(_ worker: WorkerProcess, _ words: String...) throws {
        try Run.program("nsenter", ["--mount=/proc/\(worker.id)/ns/mnt", "--"] + words).checked()
    }

    private static func outputs(_ lab: WorkerLab, _ worker: WorkerProcess) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/\(worker.id)/root\(lab.path("out"))").sorted()
    }

    /// When the loss is noticed, another file system is already mounted there. A file written below the folder that
    /// was opened first would be invisible.
    @Test func fileSystemThatIsMountedInPlaceOfTheLostOneIsUsed() async throws {
        let (lab, worker) = try await Self.lab()
        try await lab.submit(1, "before")
        try await lab.wait(for: 1, "completed")
        try Self.run(worker, "umount", "--lazy", lab.path("out"))
        try Self.run(worker, "mount", "-t", "tmpfs", "-o", "size=4m", "second", lab.path("out"))
        try await lab.submit(3, "after")
        try await lab.wait(for: 4, "completed")
        #expect(try Self.outputs(lab, worker) == ["after0.flac", "after1.flac", "after2.flac"])
        try await worker.waits(for: "resumed")
        let note = worker.lines("resumed").compactMap(\.note).first
        #expect(note == "tmpfs of second is mounted at \(lab.path("out")), where tmpfs of first was")
        try await worker.stopsWell()
        #expect(try lab.sql("select max(spent) from \(lab.schema).finished") == "1", "no attempt was spent on it")
    }

    @Test func folderUnderALostMountIsRefusedWithAReason() async throws {
        let (lab, worker) = try await Self.lab()
        try Self.run(worker, "umount", "--lazy", lab.path("out"))
        try await lab.submit(3)
        try await worker.waits(for: "paused")
        try await lab.wait("the ledger shows why") {
            try lab.sql("select status ->> 'pausedBecause' from \(lab.schema).worker")
                .contains("nothing is mounted at \(lab.path("out")), where tmpfs of first was; mount it again")
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: lab.path("out")) == [], "nothing was written there")
        let address = ["--database", lab.url, "--schema", lab.schema.text]
        let doctor = try Sluice.run(["doctor"] + address).outputText
        #expect(doctor.contains("nothing is mounted at"))
        try Self.run(worker, "mount", "-t", "tmpfs", "-o", "size=4m", "third", lab.path("out"))
        try await lab.wait(for: 3, "completed")
        #expect(try Self.outputs(lab, worker) == ["a0.flac", "a1.flac", "a2.flac"])
        try await worker.stopsWell()
    }
}
