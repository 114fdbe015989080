import Conversion
import Foundation
import Ledger
import TestSupport
import Testing

@testable import Worker

/// The worker and coordinator commands as services: how they start and end, and their exit statuses.
struct ServiceTests {
    @Test func coordinatorPutsTheJobsOfLostWorkersBack() async throws {
        let lab = try await WorkerLab(lease: "3 s")
        try await lab.submitLong(1)
        let coordinator = try lab.coordinator()
        let doomed = try lab.worker()
        try await lab.wait(for: 1, "running")
        doomed.kill()
        try await lab.wait(for: 1, "waiting")
        try await coordinator.waits(for: "reaped")
        try await coordinator.stopsWell()
        #expect(coordinator.lines.map(\.event).first == "started" && coordinator.lines.map(\.event).last == "stopped")
    }

    @Test func coordinatorWithTheRootFinishesWhatWasLeft() async throws {
        let lab = try await WorkerLab(publishGrace: "1 s")
        try lab.addSource()
        try await lab.submit(1)
        let entry = try await lab.ledger.register(
            WorkerRegistration(name: "gone", host: "h", build: "1", slots: 1, abilities: [])
        )
        let claims = try await lab.ledger.claim(1, for: entry.worker).jobs
        #expect(try await lab.ledger.publish(LeftBehind.publish(claims, in: lab.path("out"))) == [.done])
        let coordinator = try lab.coordinator("--root", "out=\(lab.path("out"))")
        try await lab.wait(for: 1, "completed")
        try await coordinator.stopsWell()
        #expect(try lab.outputs() == ["a0.flac"])
    }

    @Test func servicesOutliveADatabaseThatGoesAway() async throws {
        let server = try PrivatePostgres.start()
        let lab = try await WorkerLab(on: server, lease: "10 s")
        let (worker, coordinator) = (try lab.worker(), try lab.coordinator())
        try await worker.waits(for: "started")
        try await coordinator.waits(for: "started")
        try server.stop(.immediate)
        try await coordinator.waits(for: "ledger_away")
        try await worker.waits(for: "lease_overdue")
        try server.start()
        try await coordinator.waits(for: "ledger_back")
        try await worker.waits(for: "lease_revived")
        #expect(worker.lines("lease_lost").isEmpty)
        try await worker.stopsWell()
        try await coordinator.stopsWell()
    }

    @Test func workerMayOpenAsManyFilesAsTheAdministratorAllows() async throws {
        let lab = try await WorkerLab()
        let few = ["sh", "-c", "ulimit -Sn 200; ulimit -Hn 3000; exec \"$@\"", "sh"]
        let worker = try lab.worker(behind: few)
        try await worker.waits(for: "started")
        let limits = try String(contentsOfFile: "/proc/\(worker.id)/limits", encoding: .utf8)
        let line = try #require(limits.split(separator: "\n").first { $0.hasPrefix("Max open files") })
        let words: [Substring] = line.split(separator: " ")
        let numbers: [Substring] = words.filter { Int($0) != nil }
        #expect(numbers == ["3000", "3000"])
        try await worker.stopsWell()
    }

    @Test func workerSaysWhichJobsItTakes() async throws {
        let lab = try await WorkerLab()
        func said(_ words: [String]) async throws -> [String: Any] {
            let worker = try WorkerProcess(
                [],
                ["worker", "--schema", lab.schema.text] + words,
                url: lab.url,
                in: lab.folder
            )
            try await worker.waits(for: "takes")
            try await worker.stopsWell()
            let line = try #require(worker.text.split(separator: "\n").first { $0.contains("\"takes\"") })
            return try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        }
        let none = try await said([])
        #expect(none["roots"] as? [String] == [])
        #expect((none["warning"] as? String)?.hasPrefix("without --root this worker takes no jobs") == true)
        #expect((none["hint"] as? String)?.contains("--root local=/") == true)
        let some = try await said(["--root", "in=\(lab.path("in"))", "--queue", "nightly"])
        #expect(some["roots"] as? [String] == ["in=\(lab.path("in"))"])
        #expect(some["queues"] as? [String] == ["nightly"])
        #expect(some["warning"] == nil)
    }

    @Test(arguments: ["worker", "coordinator"])
    func numbersAtTheStartSayWhatIsWrong(command: String) async throws {
        let lab = try await WorkerLab()
        let empty = lab.server.url(database: try lab.server.createDatabase())
        func end(_ words: [String], url: String) async throws -> Run.Status {
            try await WorkerProcess([], [command] + words, url: url, in: lab.folder).end()
        }
        #expect(try await end([], url: "postgresql://x@%2Fnowhere/x") == .exited(5))
        #expect(try await end([], url: empty) == .exited(7))
        #expect(try await end(["--root", "in=/nowhere/at/all"], url: lab.url) == .exited(4))
        #expect(try await end(["--root", "in"], url: lab.url) == .exited(2))
        #expect(try await end(["--root", "file=/tmp"], url: lab.url) == .exited(2))
    }

    @Test func configurationIsCheckedWhole() {
        func problem(_ change: (inout WorkerConfiguration) -> Void) -> String? {
            var configuration = WorkerConfiguration()
            change(&configuration)
            do throws(WorkerError) {
                try configuration.validate()
                return nil
            } catch {
                return error.detail
            }
        }
        #expect(problem { _ in } == nil)
        #expect(problem { $0.slots = 0 }?.hasPrefix("slots must be 1 to 1024") == true)
        #expect(problem { $0.name = "" }?.hasPrefix("name must have 1 to 200 bytes") == true)
        #expect(problem { $0.queues = [""] } == "queues must not contain an empty name")
        #expect(problem { $0.longestPause = .seconds(1) }?.hasPrefix("longestPause must be at least") == true)
        let twice = WorkerConfiguration.RootPlace(name: "a", path: "/")
        #expect(problem { $0.roots = [twice, twice] } == "the names of roots must be unique")
    }
}
