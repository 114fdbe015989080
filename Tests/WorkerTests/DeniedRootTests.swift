import Conversion
import Foundation
import Glibc
import Ledger
import TestSupport
import Testing

/// Folders that the worker's user may not write to, as after an installation that forgot to hand them over.
struct DeniedRootTests {
    /// A worker without root's privileges, which would open every folder.
    private static func worker(_ lab: WorkerLab) async throws -> WorkerProcess {
        try lab.addSource()
        // It must reach the server's socket all the same.
        try #require(chmod(lab.server.folder, 0o711) == 0)
        let worker = try lab.worker("--slots", "2", "--sandbox", "best-effort", behind: Sluice.withoutPrivilege)
        try await worker.waits(for: "started")
        return worker
    }

    private static func makeFolder(_ lab: WorkerLab, _ name: String, mode: mode_t) throws {
        try FileManager.default.createDirectory(atPath: lab.path(name), withIntermediateDirectories: false)
        try #require(chmod(lab.path(name), mode) == 0)
    }

    private static func recipes(_ count: Int, to folder: String) -> [Recipe] {
        (0..<count).map { WorkerLab.recipe("in:talk.wav", to: "\(folder)\($0).flac") }
    }

    @Test func jobsThatARootDeniesWaitUnspentAndTheOthersGoOn() async throws {
        let lab = try await WorkerLab()
        let worker = try await Self.worker(lab)
        try Self.makeFolder(lab, "out/open", mode: 0o755)
        try #require(chmod(lab.path("out"), 0o555) == 0)
        defer { chmod(lab.path("out"), 0o755) }
        let denied = try await lab.submit(Self.recipes(15, to: "out:a") + Self.recipes(5, to: "out:new/b"))
        try await lab.submit(Self.recipes(10, to: "out:open/c"))
        try await lab.wait("the others are done") { try lab.truth() == ["completed": 10, "delayed": 20] }
        let codes = try lab.sql("select distinct code, class, stage, spent from \(lab.schema).delayed")
        #expect(codes == "root_not_writable|infrastructure|release|0")
        #expect(worker.lines("paused").map(\.root) == ["out"])

        try await lab.wait("the ledger has the worker's status") {
            try lab.sql("select status ->> 'unwritableRoots' from \(lab.schema).worker").contains("permission_denied")
        }
        let address = ["--database", lab.url, "--schema", lab.schema.text]
        let status = try Sluice.run(["status"] + address).checked()
        #expect(!status.outputText.contains("all well"))
        #expect(status.errorText.contains("may not write to root out at \(lab.path("out")) since "))
        let record = try Sluice.run(["status", "--json"] + address).checked().outputText
        #expect(record.contains("\"unwritableRoots\":[{"))
        let doctor = try Sluice.run(["doctor"] + address).outputText
        #expect(doctor.contains("root out: worker "))
        #expect(doctor.contains("let that worker's user write to \(lab.path("out")) on that machine"))
        #expect(try Sluice.run(["workers"] + address).checked().outputText.contains("partly"))
        let story = try Sluice.run(["job", "\(denied[0])"] + address).checked().outputText
        #expect(story.contains("waits    for permission to write, since "))
        #expect(story.contains("root out at \(lab.path("out")): permission_denied"))

        try #require(chmod(lab.path("out"), 0o755) == 0)
        try await lab.wait(for: 30, "completed")
        #expect(worker.lines("resumed").map(\.root) == ["out"])
        try await worker.stopsWell()
        #expect(try lab.sql("select max(spent) from \(lab.schema).finished") == "1", "no attempt was spent on it")
        #expect(try lab.attempts().keys.sorted() == ["completed", "released root_not_writable"])
        let names = try FileManager.default.contentsOfDirectory(atPath: lab.path("out"))
        #expect(!names.contains { $0.hasPrefix(".") }, "the files of the tries are gone")
    }

    @Test func rootsAreTriedWhenTheWorkerStarts() async throws {
        let lab = try await WorkerLab()
        try #require(chmod(lab.path("out"), 0o555) == 0)
        defer { chmod(lab.path("out"), 0o755) }
        let worker = try await Self.worker(lab)
        try await worker.waits(for: "trouble")
        let failure = try #require(worker.lines("trouble").first?.failure)
        #expect(failure.code == "permission_denied" && worker.text.contains("cannot write to the root out"))
        try await worker.stopsWell()
    }

    @Test func aFolderThatDeniesFailsItsOwnJobsOnly() async throws {
        let lab = try await WorkerLab()
        let worker = try await Self.worker(lab)
        try Self.makeFolder(lab, "out/closed", mode: 0o555)
        let jobs = try await lab.submit(Self.recipes(1, to: "out:closed/a") + Self.recipes(5, to: "out:b"))
        try await lab.wait("its attempts are spent") { try lab.truth() == ["completed": 5, "failed": 1] }
        let codes = try lab.sql("select code, class from \(lab.schema).finished where state = 'failed'")
        #expect(codes == "folder_denied|transient")
        #expect(worker.lines("paused").isEmpty)
        try #require(chmod(lab.path("out/closed"), 0o755) == 0)
        _ = try await lab.ledger.apply(.retry, to: JobFilter(ids: [jobs[0]]))
        try await lab.wait(for: 6, "completed")
        try await worker.stopsWell()
        #expect(try lab.attempts().keys.sorted() == ["completed", "failed folder_denied"])
    }

    @Test func sourceThatMayNotBeReadFailsWhateverItsDestination() async throws {
        let lab = try await WorkerLab()
        let worker = try await Self.worker(lab)
        try #require(chmod(lab.path("in/talk.wav"), 0) == 0)
        try #require(chmod(lab.path("out"), 0o555) == 0)
        defer { chmod(lab.path("out"), 0o755) }
        try await lab.submit(Self.recipes(3, to: "out:a"))
        try await lab.wait(for: 3, "failed")
        #expect(try lab.attempts() == ["failed permission_denied": 3])
        try await worker.stopsWell()
    }
}
