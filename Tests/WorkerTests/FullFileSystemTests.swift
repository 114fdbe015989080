import Conversion
import Foundation
import Ledger
import TestSupport
import Testing

/// A worker whose root is the whole machine, as in the default configuration, with a full file system below it.
@Suite(.enabled(if: SmallDisk.isPossible, "no tmpfs can be mounted here"))
struct FullFileSystemTests {
    private static let folder = "out/small disk"

    /// A worker that sees a file system of 4 MB in the root `all`, of which `ballast` kilobytes are used.
    private static func worker(_ lab: WorkerLab, ballast: String) throws -> WorkerProcess {
        let place = lab.path(folder)
        try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: false)
        let script = """
            mount -t tmpfs -o size=4m tmpfs "$0" || exit 99
            dd if=/dev/zero of="$0/ballast" bs=1k count=\(ballast) status=none
            exec "$@"
            """
        return try lab.worker(
            "--root",
            "all=/",
            "--slots",
            "2",
            roots: [],
            behind: SmallDisk.command + ["sh", "-c", script, place]
        )
    }

    private static func recipe(_ lab: WorkerLab, to destination: String) -> Recipe {
        WorkerLab.recipe("all:\(lab.path("in/talk.wav").dropFirst())", to: "all:\(lab.path(destination).dropFirst())")
    }

    private static func makeRoom(_ lab: WorkerLab, _ worker: WorkerProcess) {
        #expect(unlink("/proc/\(worker.id)/root\(lab.path(folder))/ballast") == 0)
    }

    @Test func onlyTheJobsThatWriteToItWaitAndNoneIsBlamed() async throws {
        let lab = try await WorkerLab()
        try lab.addSource()
        let worker = try Self.worker(lab, ballast: "8192")
        try await worker.waits(for: "started")
        let jobs = try await lab.submit(
            (0..<200).map { number in
                Self.recipe(lab, to: number % 2 == 0 ? "\(Self.folder)/a\(number).flac" : "out/b\(number).flac")
            }
        )
        try await lab.wait(for: 100, "completed")
        try await lab.wait("the others are put off") { try lab.truth() == ["completed": 100, "delayed": 100] }
        let codes = try lab.sql("select distinct code, class, stage from \(lab.schema).delayed")
        #expect(codes == "file_system_full|infrastructure|release")
        #expect(try lab.sql("select max(spent) from \(lab.schema).delayed") == "0")
        #expect(worker.lines("paused").map(\.file_system) == [lab.path(Self.folder)])
        try await lab.wait("the ledger has the worker's status") {
            try lab.sql("select status ->> 'fullFileSystems' from \(lab.schema).worker").contains("mountPoint")
        }

        let address = ["--database", lab.url, "--schema", lab.schema.text]
        let status = try Sluice.run(["status"] + address).checked()
        #expect(!status.outputText.contains("all well"))
        #expect(status.errorText.contains("the file system at \(lab.path(Self.folder)) of worker "))
        #expect(status.errorText.contains(" is full: "))
        let record = try Sluice.run(["status", "--json"] + address).checked().outputText
        #expect(record.contains("\"fullFileSystems\":[{"))
        #expect(record.contains("\"mountPoint\":\"\(lab.path(Self.folder))\""))
        let doctor = try Sluice.run(["doctor"] + address).outputText
        #expect(doctor.contains("file system \(lab.path(Self.folder)): full, reported by worker "))
        #expect(!doctor.contains("start a worker that can"))
        let story = try Sluice.run(["job", "\(jobs[0])"] + address).checked().outputText
        #expect(story.contains("waits    for disk space, since "))
        #expect(story.contains("the file system at \(lab.path(Self.folder)) has "))

        Self.makeRoom(lab, worker)
        try await worker.waits(for: "resumed")
        try await lab.wait(for: 200, "completed")
        #expect(worker.lines("resumed").map(\.file_system) == [lab.path(Self.folder)])
        try await worker.stopsWell()
        #expect(try lab.sql("select max(spent) from \(lab.schema).finished") == "1", "no attempt was spent on it")
        #expect(try lab.attempts().keys.sorted() == ["completed", "released file_system_full"])
    }

    /// There is some free space, but less than any of these jobs needs.
    @Test func jobsOfWhichNoneFindsRoomAreNotBlamedForIt() async throws {
        let lab = try await WorkerLab()
        try lab.addSource(frames: 240_000)
        let worker = try Self.worker(lab, ballast: "3896")
        try await worker.waits(for: "started")
        try await lab.submit((0..<8).map { Self.recipe(lab, to: "\(Self.folder)/a\($0).flac") })
        try await worker.waits(for: "paused")
        try await lab.wait("all are put off") { try lab.truth() == ["delayed": 8] }
        Self.makeRoom(lab, worker)
        try await lab.wait(for: 8, "completed")
        try await worker.stopsWell()
        // The first of them looks like a job that needs too much, so its attempt counts.
        #expect(try lab.sql("select sum(spent - 1) <= 2 from \(lab.schema).finished") == "t")
    }
}
