import Foundation
import TestSupport
import Testing

/// What the services tell systemd, received by a real socket.
struct ServiceManagerTests {
    @Test func workerIsReadyShowsItsStatusAndFeedsTheWatchdogUntilItStops() async throws {
        let lab = try await WorkerLab()
        let socket = try NotifySocket(in: lab.folder)
        let worker = try lab.worker(
            "--grace",
            "100s",
            "--slots",
            "1",
            behind: ["env", "NOTIFY_SOCKET=\(socket.path)", "WATCHDOG_USEC=400000"]
        )
        try await socket.waits(for: "READY=1")
        // The rooms are ready before the manager hears it.
        #expect(worker.lines("started").count == 1)
        try await socket.waits(for: "STATUS=0 of 1 slot, 0 jobs/min")
        try await socket.waits(for: "WATCHDOG=1", 4)
        // A process that stands still does not feed the watchdog, and one that goes on does again.
        worker.signal(SIGSTOP)
        try await lab.submitLong(1)
        worker.signal(SIGCONT)
        try await socket.waits(for: "STATUS=1 of 1 slot, 0 jobs/min")
        worker.signal(SIGTERM)
        try await socket.waits(for: "STOPPING=1")
        #expect(socket.messages.last == "STOPPING=1\nEXTEND_TIMEOUT_USEC=115000000")
        // It lives on while its job has time to end.
        try await socket.waits(for: "STATUS=stopping: 1 job to finish; 1 of 1 slot")
        try await socket.waits(for: "WATCHDOG=1", socket.count("WATCHDOG=1") + 1)
        try await worker.stopsWell()
        #expect(socket.lines.count { $0 == "READY=1" } == 1)
    }

    @Test func statusCountsTheJobsOfTheLastMinute() async throws {
        let lab = try await WorkerLab()
        let socket = try NotifySocket(in: lab.folder)
        try lab.addSource()
        try await lab.submit(4)
        let worker = try lab.worker(
            "--slots",
            "1",
            behind: ["env", "NOTIFY_SOCKET=\(socket.path)", "WATCHDOG_USEC=400000"]
        )
        try await socket.waits(for: "STATUS=0 of 1 slot, 4 jobs/min")
        try await worker.stopsWell()
    }

    @Test func coordinatorIsReadyAndFeedsTheWatchdog() async throws {
        let lab = try await WorkerLab()
        let socket = try NotifySocket(in: lab.folder)
        let coordinator = try lab.coordinator(
            behind: ["env", "NOTIFY_SOCKET=\(socket.path)", "WATCHDOG_USEC=3000000"]
        )
        try await socket.waits(for: "READY=1")
        try await socket.waits(for: "STATUS=running housekeeping")
        try await socket.waits(for: "WATCHDOG=1")
        coordinator.signal(SIGTERM)
        try await socket.waits(for: "STOPPING=1")
        try await coordinator.endsWell()
    }

    @Test func watchdogOfAnotherProcessIsNotFed() async throws {
        let lab = try await WorkerLab()
        let socket = try NotifySocket(in: lab.folder)
        let variables = ["NOTIFY_SOCKET=\(socket.path)", "WATCHDOG_USEC=400000", "WATCHDOG_PID=1"]
        let worker = try lab.worker(behind: ["env"] + variables)
        try await socket.waits(for: "READY=1")
        worker.signal(SIGTERM)
        try await socket.waits(for: "STOPPING=1")
        try await worker.endsWell()
        #expect(!socket.lines.contains("WATCHDOG=1"))
    }

    @Test func workerThatCannotBeginIsNeverReady() async throws {
        let lab = try await WorkerLab()
        let socket = try NotifySocket(in: lab.folder)
        let worker = try lab.worker(
            "--root",
            "gone=/nowhere/at/all",
            behind: ["env", "NOTIFY_SOCKET=\(socket.path)", "WATCHDOG_USEC=400000"]
        )
        #expect(try await worker.end() == .exited(4))
        await #expect(throws: SupportError.self) { try await socket.waits(for: "READY=1", within: .zero) }
        #expect(socket.messages.isEmpty)
    }

    @Test func linesForTheJournalCarryTheirPriority() async throws {
        let lab = try await WorkerLab()
        let socket = try NotifySocket(in: lab.folder)
        let journal = "JOURNAL_STREAM=$(stat -Lc %d:%i /proc/self/fd/2) NOTIFY_SOCKET=$0 exec \"$@\""
        let worker = try lab.worker(behind: ["sh", "-c", journal, socket.path])
        try await socket.waits(for: "READY=1")
        try await worker.stopsWell()
        let lines = worker.text.split(separator: "\n")
        #expect(lines.allSatisfy { $0.hasPrefix("<5>{\"") }, "\(worker.text)")
        #expect(lines.count >= 4)
        let failing = try lab.worker("--root", "gone=/nowhere", behind: ["sh", "-c", journal, socket.path])
        #expect(try await failing.end() == .exited(4))
        let errors = failing.text.split(separator: "\n")
        #expect(!errors.isEmpty && errors.allSatisfy { $0.hasPrefix("<3>") }, "\(failing.text)")
    }
}
