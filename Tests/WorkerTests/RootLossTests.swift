import Conversion
import Foundation
import Ledger
import TestSupport
import Testing

/// Workers with several roots, some of which disappear.
struct RootLossTests {
    /// A lab with a third root, `more`, that has a source.
    private static func lab() async throws -> WorkerLab {
        let lab = try await WorkerLab()
        try lab.addSource()
        try fill(lab)
        return lab
    }

    private static func fill(_ lab: WorkerLab) throws {
        try FileManager.default.createDirectory(atPath: lab.path("more"), withIntermediateDirectories: false)
        try FileManager.default.copyItem(atPath: lab.path("in/talk.wav"), toPath: lab.path("more/talk.wav"))
    }

    private static func submit(_ count: Int, from root: String, _ stem: String, in lab: WorkerLab) async throws {
        let requests = (0..<count).map { number in
            JobRequest(
                WorkerLab.recipe("\(root):talk.wav", to: "out:\(stem)\(number).flac"),
                needs: ["codec:flac", "root:\(root)", "root:out"].sorted()
            )
        }
        _ = try await lab.ledger.submit(Submission(), requests)
    }

    private static func abilities(_ lab: WorkerLab) async throws -> [String] {
        try await lab.ledger.workers().first?.abilities.filter { $0.hasPrefix("root:") } ?? []
    }

    @Test func lostRootLeavesTheOthersAtWork() async throws {
        let lab = try await Self.lab()
        let worker = try lab.worker("--slots", "2", roots: ["in", "out", "more"])
        try await worker.waits(for: "started")
        try FileManager.default.removeItem(atPath: lab.path("more"))
        try await Self.submit(100, from: "more", "lost", in: lab)
        try await worker.waits(for: "paused")
        #expect(worker.lines("paused").map(\.root) == ["more"])
        try await lab.wait("the ledger has its new abilities") {
            try lab.sql("select 'root:more' = any (abilities) from \(lab.schema).worker") == "f"
        }
        try await lab.wait("the jobs are left to others") { try lab.truth() == ["waiting": 100] }
        try await Self.submit(100, from: "in", "well", in: lab)
        try await lab.wait(for: 100, "completed")
        #expect(try lab.truth() == ["waiting": 100, "completed": 100])
        // Each job may have begun before the worker noticed the loss, but none a second time.
        #expect(try lab.attempts()["failed storage_unavailable", default: 0] < 10)
        #expect(try lab.sql("select max(spent) from \(lab.schema).waiting") == "0", "no attempt was spent on it")

        let summary = try #require(try await lab.ledger.workers().first)
        #expect(summary.status.pausedRoots == ["more"])
        #expect(summary.status.pausedBecause?.hasPrefix("storage_unavailable: ") == true)
        let address = ["--database", lab.url, "--schema", lab.schema.text]
        let list = try Sluice.run(["workers"] + address).checked()
        #expect(list.outputText.contains(" partly "))
        #expect(list.errorText.contains(" has disabled root more until this is resolved: storage_unavailable: "))
        let waiting = try await lab.ledger.jobs(matching: JobFilter(states: [.waiting]), limit: 1).jobs[0].job
        #expect(try await lab.ledger.story(of: waiting)?.missing == ["root:more"])

        try Self.fill(lab)
        try await worker.waits(for: "resumed")
        #expect(worker.lines("resumed").map(\.root) == ["more"])
        try await lab.wait(for: 200, "completed")
        #expect(try await Self.abilities(lab) == ["root:in", "root:more", "root:out"])
        try await lab.wait("the ledger shows no problem") {
            try lab.sql("select status ->> 'pausedBecause' from \(lab.schema).worker").isEmpty
        }
        try await worker.stopsWell()
        #expect(try lab.sql("select max(spent) from \(lab.schema).finished") == "1", "no attempt was spent on it")
    }

    @Test func jobsOfALostRootAreDoneByAnotherWorkerMeanwhile() async throws {
        let lab = try await Self.lab()
        let worker = try lab.worker(roots: ["in", "out", "more"])
        try await worker.waits(for: "started")
        try FileManager.default.removeItem(atPath: lab.path("more"))
        try await Self.submit(10, from: "more", "lost", in: lab)
        try await worker.waits(for: "paused")
        // There the root is mounted elsewhere, and works.
        let other = try lab.worker("--root", "more=\(lab.path("in"))")
        try await lab.wait(for: 10, "completed")
        try await worker.stopsWell()
        // A worker writes its line of an attempt when the ledger has answered, which may be after the test saw the job.
        try await other.stopsWell()
        #expect(other.lines("attempt").count { $0.outcome == "completed" } == 10)
        #expect(worker.lines("resumed").isEmpty)
    }

    /// Formerly, a worker did not report the loss of its last root, only its return.
    @Test func everyLostRootIsSaidToBeLostAndBack() async throws {
        let lab = try await Self.lab()
        let worker = try lab.worker(roots: ["in", "more"])
        try await worker.waits(for: "started")
        try FileManager.default.removeItem(atPath: lab.path("in"))
        try await lab.submit((0..<5).map { WorkerLab.recipe("in:talk.wav", to: "in:a\($0).flac") })
        try await worker.waits(for: "paused")
        #expect(worker.lines("paused").map(\.root) == ["in"])
        try FileManager.default.removeItem(atPath: lab.path("more"))
        try await lab.submit((0..<5).map { WorkerLab.recipe("more:talk.wav", to: "more:a\($0).flac") })
        try await worker.waits(for: "paused", 3)
        let paused: [String?] = worker.lines("paused").prefix(3).map(\.root)
        #expect(paused == ["in", "more", nil])

        // The first root to go is the first to come back, while the other is still away.
        try FileManager.default.createDirectory(atPath: lab.path("in"), withIntermediateDirectories: false)
        try lab.addSource()
        try await lab.wait(for: 5, "completed")
        try Self.fill(lab)
        try await lab.wait(for: 10, "completed")
        try await worker.stopsWell()
        #expect(worker.lines("paused").compactMap(\.root) == ["in", "more"])
        #expect(worker.lines("resumed").compactMap(\.root) == ["in", "more"])
        #expect(worker.lines("resumed").count { $0.root == nil } == 1)
        #expect(try lab.sql("select max(spent) from \(lab.schema).finished") == "1", "no attempt was spent on it")
    }

    @Test func lossOfTheOnlyRootPausesTheWorker() async throws {
        let lab = try await Self.lab()
        let worker = try lab.worker(roots: ["more"])
        try await worker.waits(for: "started")
        try FileManager.default.removeItem(atPath: lab.path("more"))
        try await lab.submit((0..<50).map { WorkerLab.recipe("more:talk.wav", to: "more:a\($0).flac") })
        try await worker.waits(for: "paused", 2)
        let pauses = worker.lines("paused").map(\.root)
        #expect(pauses.first == "more" && pauses.dropFirst().allSatisfy { $0 == nil })
        try await lab.wait("it holds no jobs") { try lab.truth() == ["waiting": 50] }
        #expect(try await Self.abilities(lab).isEmpty)
        let status = try #require(try await lab.ledger.workers().first?.status)
        #expect(status.pausedRoots == nil && status.pausedBecause?.hasPrefix("storage_unavailable: ") == true)
        try Self.fill(lab)
        try await worker.waits(for: "resumed", 2)
        #expect(worker.lines("resumed").compactMap(\.root) == ["more"])
        #expect(worker.lines("resumed").contains { $0.root == nil })
        try await lab.wait(for: 50, "completed")
        try await worker.stopsWell()
        #expect(try lab.sql("select max(spent) from \(lab.schema).finished") == "1", "no attempt was spent on it")
    }

    // MARK: - Permissions

    @Test func jobsOfAFolderThatAWorkerMayNotEnterAreLeftToOthers() async throws {
        let lab = try await Self.lab()
        // Without root's privileges, too, the worker must reach the server's socket.
        try #require(chmod(lab.server.folder, 0o711) == 0)
        let worker = try lab.worker(
            "--slots",
            "2",
            "--sandbox",
            "best-effort",
            roots: ["in", "out", "more"],
            behind: Sluice.withoutPrivilege
        )
        try await worker.waits(for: "started")
        try #require(chmod(lab.path("more"), 0) == 0)
        try await Self.submit(20, from: "more", "denied", in: lab)
        try await worker.waits(for: "paused")
        #expect(worker.lines("paused").map(\.root) == ["more"])
        try await lab.wait("the jobs are left to others") { try lab.truth() == ["waiting": 20] }
        #expect(try lab.sql("select max(spent) from \(lab.schema).waiting") == "0", "no attempt was spent on it")
        let summary = try #require(try await lab.ledger.workers().first)
        #expect(summary.status.pausedBecause?.contains("may not enter the folder \(lab.path("more"))") == true)

        try #require(chmod(lab.path("more"), 0o755) == 0)
        try await worker.waits(for: "resumed")
        try await lab.wait(for: 20, "completed")
        try await worker.stopsWell()
    }

    @Test func workerDoesNotStartWithAFolderThatItMayNotEnter() async throws {
        let lab = try await Self.lab()
        try #require(chmod(lab.path("more"), 0) == 0)
        defer { chmod(lab.path("more"), 0o755) }
        let worker = try lab.worker(roots: ["in", "out", "more"], behind: Sluice.withoutPrivilege)
        #expect(try await worker.end() != .exited(0))
        #expect(worker.text.contains("this user may not enter the folder"))
    }
}
