import Conversion
import Foundation
import Ledger
import TestSupport
import Testing

/// A worker whose root is the whole machine, with a drive below it that is unplugged.
@Suite(.enabled(if: getuid() == 0 && SmallDisk.isPossible, "only root mounts where another process sees it"))
struct LostMountTests {
    /// A worker that sees a file system mounted at `folder`.
    private static func worker(_ lab: WorkerLab, _ folder: String) async throws -> WorkerProcess {
        try FileManager.default.createDirectory(atPath: lab.path(folder), withIntermediateDirectories: true)
        let script = "mount -t tmpfs -o size=8m drive \"$0\" && exec \"$@\""
        let worker = try lab.worker(
            "--root",
            "all=/",
            "--slots",
            "2",
            roots: [],
            behind: SmallDisk.command + ["sh", "-c", script, lab.path(folder)]
        )
        try await worker.waits(for: "started")
        return worker
    }

    /// Runs a command in the worker's mount namespace.
    private static func run(_ worker: WorkerProcess, _ words: String...) throws {
        try Run.program("nsenter", ["--mount=/proc/\(worker.id)/ns/mnt", "--"] + words).checked()
    }

    private static func recipe(_ lab: WorkerLab, _ source: String, to destination: String) -> Recipe {
        WorkerLab.recipe("all:\(lab.path(source).dropFirst())", to: "all:\(lab.path(destination).dropFirst())")
    }

    /// The files below the drive's mount point, outside the mount.
    private static func beneath(_ lab: WorkerLab, _ folder: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: lab.path(folder))
    }

    @Test func jobsWithFilesOnItWaitAndTheOthersGoOn() async throws {
        let lab = try await WorkerLab()
        try lab.addSource()
        let worker = try await Self.worker(lab, "out/drive")
        try Self.run(worker, "umount", lab.path("out/drive"))
        let jobs = try await lab.submit(
            (0..<20).map { number in
                switch number % 4 {
                case 0: Self.recipe(lab, "in/talk.wav", to: "out/drive/a\(number).flac")
                case 1: Self.recipe(lab, "out/drive/deep/talk.wav", to: "out/b\(number).flac")
                default: Self.recipe(lab, "in/talk.wav", to: "out/c\(number).flac")
                }
            }
        )
        try await lab.wait("the others are done") { try lab.truth() == ["completed": 10, "delayed": 10] }
        let codes = try lab.sql("select distinct code, class, stage, spent from \(lab.schema).delayed")
        #expect(codes == "file_system_missing|infrastructure|release|0")
        #expect(try Self.beneath(lab, "out/drive").isEmpty, "nothing was written below the mount point")
        #expect(worker.lines("paused").map(\.file_system) == [lab.path("out/drive")])

        try await lab.wait("the ledger has the worker's status") {
            try lab.sql("select status ->> 'missingFileSystems' from \(lab.schema).worker").contains("mountPoint")
        }
        let address = ["--database", lab.url, "--schema", lab.schema.text]
        let status = try Sluice.run(["status"] + address).checked()
        #expect(!status.outputText.contains("all well"))
        #expect(status.errorText.contains("nothing is mounted at \(lab.path("out/drive")) on the machine of worker "))
        #expect(status.errorText.contains("where tmpfs of drive was"))
        let record = try Sluice.run(["status", "--json"] + address).checked().outputText
        #expect(record.contains("\"missingFileSystems\":[{"))
        let doctor = try Sluice.run(["doctor"] + address).outputText
        #expect(doctor.contains("file system \(lab.path("out/drive")): not mounted, reported by worker "))
        let workers = try Sluice.run(["workers"] + address).checked()
        #expect(workers.outputText.contains("partly"))
        #expect(workers.errorText.contains("nothing is mounted at \(lab.path("out/drive"))"))
        let story = try Sluice.run(["job", "\(jobs[0])"] + address).checked().outputText
        #expect(story.contains("waits    for a mount, since "))
        #expect(story.contains("nothing is mounted at \(lab.path("out/drive")), where tmpfs of drive was"))

        try Self.run(worker, "mount", "-t", "tmpfs", "-o", "size=8m", "other", lab.path("out/drive"))
        try Self.run(worker, "mkdir", lab.path("out/drive/deep"))
        try Self.run(worker, "cp", lab.path("in/talk.wav"), lab.path("out/drive/deep/talk.wav"))
        try await lab.wait(for: 20, "completed")
        #expect(worker.lines("resumed").map(\.note) == ["tmpfs of other"])
        #expect(try Self.beneath(lab, "out/drive").isEmpty)
        try await worker.stopsWell()
        #expect(try lab.sql("select max(spent) from \(lab.schema).finished") == "1", "no attempt was spent on it")
        #expect(try lab.attempts().keys.sorted() == ["completed", "released file_system_missing"])
    }

    /// The desktop removes the mount point's folder with the drive. The output's path leads through a
    /// link, and the source is a link.
    @Test func aMountPointThatWasRemovedAndIsReachedThroughLinksIsKnown() async throws {
        let lab = try await WorkerLab()
        try lab.addSource()
        let worker = try await Self.worker(lab, "media/drive")
        try FileManager.default.createSymbolicLink(
            atPath: lab.path("out/link"),
            withDestinationPath: "../media/drive/deep"
        )
        try FileManager.default.createSymbolicLink(
            atPath: lab.path("in/link.wav"),
            withDestinationPath: "../media/drive/talk.wav"
        )
        try Self.run(worker, "umount", lab.path("media/drive"))
        try Self.run(worker, "rmdir", lab.path("media/drive"))
        try await lab.submit([
            Self.recipe(lab, "in/talk.wav", to: "out/link/a.flac"),
            Self.recipe(lab, "in/link.wav", to: "out/b.flac"),
        ])
        try await lab.wait("both wait") { try lab.truth() == ["delayed": 2] }
        #expect(try lab.sql("select distinct code from \(lab.schema).delayed") == "file_system_missing")
        #expect(!FileManager.default.fileExists(atPath: lab.path("media/drive")))
        try await worker.stopsWell()
    }

    /// After a lazy unmount, open files remain on a file system that no path leads to.
    @Test func anOutputWhoseFileSystemWentAwayMeanwhileIsMadeAgain() async throws {
        let lab = try await WorkerLab()
        try lab.addLongSource(seconds: 900)
        let worker = try await Self.worker(lab, "out/drive")
        let output = "out/drive/a.mp3"
        try await lab.submit([Self.recipe(lab, "in/long.wav", to: output)])
        try await lab.wait("it converts") { try lab.sql("select frames > 0 from \(lab.schema).running") == "t" }
        try Self.run(worker, "umount", "--lazy", lab.path("out/drive"))
        try Self.run(worker, "mount", "-t", "tmpfs", "-o", "size=200m", "other", lab.path("out/drive"))
        try await lab.wait(for: 1, "completed")
        #expect(FileManager.default.fileExists(atPath: "/proc/\(worker.id)/root\(lab.path(output))"))
        #expect(try lab.attempts() == ["released file_system_missing": 1, "completed": 1])
        try await worker.stopsWell()
        #expect(try Self.beneath(lab, "out/drive").isEmpty)
    }
}
