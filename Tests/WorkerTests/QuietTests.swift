import Foundation
import Ledger
import TestSupport
import Testing

/// What services cost while there is nothing to do.
@Suite(.serialized)
struct QuietTests {
    /// How often the threads of some processes went to sleep, and so were woken, by thread.
    private struct Switches {
        private var counts: [String: Int] = [:]
        /// Those since the first look.
        private(set) var total = 0
        private var isFirst = true

        /// Threads come and go, so it must look more often than they do.
        mutating func look(at process: pid_t) throws {
            let folder = "/proc/\(process)/task"
            for thread in try FileManager.default.contentsOfDirectory(atPath: folder) {
                // A thread may have ended since the list was read.
                guard let text = try? String(contentsOfFile: "\(folder)/\(thread)/status", encoding: .utf8),
                    let line = text.split(separator: "\n").first(where: { $0.hasPrefix("voluntary_ctxt_switches:") }),
                    let count = line.split(whereSeparator: \.isWhitespace).last.flatMap({ Int($0) })
                else { continue }
                if !isFirst { total += count - (counts[thread] ?? 0) }
                counts[thread] = count
            }
            isFirst = false
        }
    }

    /// Wake-ups a second of a process over `seconds` seconds.
    private func wakeUps(of process: pid_t, seconds: Int) async throws -> Double {
        var switches = Switches()
        let start = ContinuousClock.now
        try switches.look(at: process)
        for _ in 0..<4 * seconds {
            // The time in which wake-ups are counted.
            try await Task.sleep(for: .milliseconds(250))
            try switches.look(at: process)
        }
        let passed: Duration = ContinuousClock.now - start
        return Double(switches.total) / (passed / .seconds(1))
    }

    /// Both began at more than twice as many when all their parts had ticks.
    @Test func idleServicesWakeRarely() async throws {
        let lab = try await WorkerLab()
        let coordinator = try lab.coordinator()
        try await coordinator.waits(for: "started")
        let worker = try lab.worker("--slots", "8")
        try await worker.waits(for: "rooms")
        try lab.addSource()
        try await lab.submit(4)
        try await lab.wait(for: 4, "completed")
        try await lab.wait("the housekeeping rests") {
            try lab.sql("select rest_until > now() from \(lab.schema).house") == "t"
        }
        async let ofCoordinator = wakeUps(of: coordinator.id, seconds: 20)
        async let ofWorker = wakeUps(of: worker.id, seconds: 20)
        let (house, work) = try await (ofCoordinator, ofWorker)
        #expect(house < 12, "the coordinator woke \(house) times a second")
        #expect(work < 10, "the worker woke \(work) times a second")
        try await worker.stopsWell()
        try await coordinator.stopsWell()
    }

    /// Its supervisor starts it like this. It asks for bulk changes that were left, and then rests as well.
    @Test func theCoordinatorOfAPrivateClusterRests() async throws {
        let lab = try await WorkerLab()
        let links = lab.path("links")
        try FileManager.default.createDirectory(atPath: links, withIntermediateDirectories: false)
        let coordinator = try lab.coordinator("--listen", "0", behind: ["env", "SLUICE_PAGE_LINKS=\(links)"])
        try await coordinator.waits(for: "listens")
        // Others ask every three seconds.
        let asks = "query like '%\(lab.schema.text)%take_changes%' and pid <> pg_backend_pid()"
        try await lab.wait("it has not asked for bulk changes for ten seconds", within: .seconds(300)) {
            try lab.sql("select max(query_start) < now() - interval '10 s' from pg_stat_activity where \(asks)") == "t"
        }
        try await lab.wait("the housekeeping rests") {
            try lab.sql("select rest_until > now() from \(lab.schema).house") == "t"
        }
        let wakes = try await wakeUps(of: coordinator.id, seconds: 20)
        #expect(wakes < 12, "the coordinator woke \(wakes) times a second")
        try await coordinator.stopsWell()
    }

    /// A rest ends when a job comes: the job is converted and counted at once.
    @Test func jobThatComesInARestIsNotKeptWaiting() async throws {
        let lab = try await WorkerLab()
        try lab.addSource()
        let coordinator = try lab.coordinator()
        let worker = try lab.worker("--slots", "1")
        try await worker.waits(for: "rooms")
        var times: [Duration] = []
        for round in 1...10 where times.allSatisfy({ $0 >= .seconds(3) }) {
            try await lab.wait("the housekeeping rests") {
                try lab.sql("select rest_until > now() + interval '3 s' from \(lab.schema).house") == "t"
            }
            let start = ContinuousClock.now
            try await lab.submit(1, "round\(round)-")
            try await lab.wait(for: round, "completed")
            try await lab.wait("its counts are folded") {
                try lab.sql("select count(*) from \(lab.schema).count_delta") == "0"
            }
            times.append(.now - start)
        }
        // Without a notification, each would have taken three seconds or more. A busy machine may delay some of them.
        let best = times.min() ?? .zero
        #expect(best < .seconds(3), "\(times)")
        try await worker.stopsWell()
        try await coordinator.stopsWell()
    }

    /// What a caller has open, a pipe or a lock, would stay open as long as the service runs.
    @Test(arguments: ["worker", "coordinator"])
    func serviceClosesWhatItsCallerHadOpen(command: String) async throws {
        let lab = try await WorkerLab()
        let path = lab.path("held")
        try Data().write(to: URL(filePath: path))
        let shell = ["sh", "-c", "exec 7<\"$0\" 9<\"$0\" && exec \"$@\"", path]
        let service = command == "worker" ? try lab.worker(behind: shell) : try lab.coordinator(behind: shell)
        try await service.waits(for: "started")
        let folder = "/proc/\(service.id)/fd"
        let open = try FileManager.default.contentsOfDirectory(atPath: folder).compactMap { name in
            try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\(name)")
        }
        let isHeld = open.contains { $0.hasSuffix("/held") }
        #expect(!open.isEmpty && !isHeld, "\(open)")
        try await service.stopsWell()
    }
}
