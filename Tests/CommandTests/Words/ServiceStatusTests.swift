import Conversion
import Coordinator
import Foundation
import TestSupport
import Testing

@testable import Command
@testable import Console
@testable import Worker

/// The line that a service manager shows, and the settings file that the packages install.
struct ServiceStatusTests {
    private static let completed = WorkerEvent.attempt(
        AttemptLine(
            job: 1,
            epoch: 1,
            batch: 1,
            queue: "default",
            attempt: 1,
            maxAttempts: 3,
            outcome: .completed,
            source: "in:a",
            destination: "out:a"
        )
    )

    @Test func lineSaysHowBusyTheWorkerIs() {
        var status = ServiceStatus(slots: 8)
        let start = ContinuousClock.now
        #expect(status.line(at: start) == "0 of 8 slots, 0 jobs/min")
        for second in 0..<41 { status.note(Self.completed, at: start + .seconds(second)) }
        status.load = WorkerLoad(busySlots: 8, slots: 8)
        #expect(status.line(at: start + .seconds(41)) == "8 of 8 slots, 41 jobs/min")
        // Jobs of more than a minute ago no longer count.
        #expect(status.line(at: start + .seconds(200)) == "8 of 8 slots, 0 jobs/min")
    }

    @Test func lineSaysWhatKeepsTheWorkerFromWork() {
        var status = ServiceStatus(slots: 1)
        let now = ContinuousClock.now
        status.note(.paused(because: "the disk fails", wait: .seconds(5)), at: now)
        #expect(status.line(at: now) == "paused: the disk fails; 0 of 1 slot, 0 jobs/min")
        status.note(.resumed, at: now)
        status.note(.leaseOverdue(worker: 1, jobs: 1, keptFor: .seconds(5)), at: now)
        #expect(status.line(at: now) == "the ledger is unreachable; 0 of 1 slot, 0 jobs/min")
        status.note(.leaseRevived(worker: 1, jobs: 1), at: now)
        status.note(.draining(running: 2, handedBack: 0), at: now)
        #expect(status.line(at: now) == "stopping: 2 jobs to finish; 0 of 1 slot, 0 jobs/min")
    }

    @Test func coordinatorSaysWhetherItReachesTheLedger() {
        var status = ServiceStatus()
        #expect(status.line(at: .now) == "running housekeeping")
        status.note(.ledgerAway(Failure(.unexpected, at: .ledger, "x")))
        #expect(status.line(at: .now) == "the ledger is unreachable")
        status.note(.ledgerBack)
        #expect(status.line(at: .now) == "running housekeeping")
    }

    /// Each commented example of the installed file must work once its mark is removed.
    @Test func installedSettingsFileIsValidWithAllItsExamples() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        let text = try String(contentsOf: root.appending(path: "deploy/sluice.conf"), encoding: .utf8)
        let lines = text.split(separator: "\n").map { line in
            line.hasPrefix("# ") && line.firstMatch(of: #/^# [a-z-]+ = /#) != nil
                ? String(line.dropFirst(2)) : String(line)
        }
        let file = try SettingsFile(
            path: "sluice.conf",
            text: lines.joined(separator: "\n"),
            forms: ServiceFile.forms
        )
        #expect(lines.count { !$0.hasPrefix("#") && !$0.isEmpty } > 6)
        #expect(file.entries(of: LedgerOptions.databaseFile.form).map(\.text) == ["/etc/sluice/database"])
    }
}
