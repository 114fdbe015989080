import Conversion
import Coordinator
import Storage
import TestSupport
import Testing

@testable import Ledger

/// Workers and coordinators beside a ledger that a later release has migrated.
struct CompatibilityTests {
    /// Migrates the lab's ledger one version beyond that of this build.
    private func migrate(_ lab: WorkerLab, _ text: String) async throws {
        let next = Migration(version: Migrator.version + 1, name: "next", sql: text)
        #expect(try await Migrator(lab.configuration, migrations: Migration.embedded + [next]).run().applied == [next])
    }

    @Test func aCompatibleMigrationChangesNothingForAWorker() async throws {
        let lab = try await WorkerLab()
        try lab.addSource()
        try await lab.submit(20, "before")
        let worker = try lab.worker()
        try await lab.wait("the jobs are done") { try lab.truth() == ["completed": 20] }
        try await migrate(lab, "-- Compatible from: \(Migrator.version)\ncreate table novelty ();")
        try await lab.submit(20, "after")
        try await lab.wait("the jobs are done") { try lab.truth() == ["completed": 40] }
        #expect(worker.lines("started").count == 1)
        // One that starts now works as well.
        let second = try lab.worker("--name", "second")
        try await second.waits(for: "started")
        try await worker.stopsWell()
        try await second.stopsWell()
    }

    @Test func aWorkerThatIsTooOldHandsItsJobsBackAndSaysWhy() async throws {
        let lab = try await WorkerLab()
        try await lab.submitLong(1)
        let worker = try lab.worker()
        try await lab.waitForMovement()
        try await migrate(lab, "create table novelty ();")
        #expect(try await worker.end() == .exited(7))
        #expect(worker.text.contains("code ledger_schema_too_new"))
        #expect(try lab.truth() == ["waiting": 1])
        #expect(try lab.attempts() == ["released handed_back": 1])
        #expect(try lab.sql("select max(spent) from \(lab.schema).waiting") == "0")
        let late = try lab.worker("--name", "late")
        #expect(try await late.end() == .exited(7))
        #expect(late.text.contains("knows versions up to \(Migrator.version)"))
    }

    @Test func aCoordinatorThatIsTooOldEnds() async throws {
        let lab = try await WorkerLab()
        let roots = try StorageRoots([])
        let keeper = try HouseKeeper(lab.configuration, roots: { roots }, checkInterval: .zero)
        let running = Task { try await keeper.run() }
        try await migrate(lab, "create table novelty ();")
        let error = await #expect(throws: LedgerError.self) { try await running.value }
        #expect(error?.code == .ledgerSchemaTooNew)
    }
}
