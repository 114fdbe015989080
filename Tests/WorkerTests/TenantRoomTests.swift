import Foundation
import Ledger
import TestSupport
import Testing

/// Tenants do not share rooms: a file that takes a room over meets its own tenant's sound only.
struct TenantRoomTests {
    /// Has a worker's only slot begin a long job for a tenant. Returns the worker's children at that time.
    private func begin(_ tenant: String, _ lab: WorkerLab, _ worker: WorkerProcess) async throws -> Set<pid_t> {
        let ledger = try lab.ledger.acting(for: Principal(name: "ci", role: .submitter, tenant: tenant))
        let recipe = WorkerLab.recipe("in:long.wav", to: "out:\(tenant).mp3")
        _ = try await ledger.submit(Submission(), [JobRequest(recipe, needs: ["root:in", "root:out"])])
        try await lab.waitForMovement()
        let rooms = Set(try worker.rooms())
        try await lab.ledger.apply(.cancel, to: JobFilter(states: [.running]))
        try await lab.wait("it is cancelled") { try lab.truth()["running"] == nil }
        return rooms
    }

    @Test func tenantsDoNotShareRooms() async throws {
        let lab = try await WorkerLab()
        try lab.addLongSource()
        for tenant in ["alpha", "bravo"] { _ = try await lab.ledger.createTenant(tenant) }
        let worker = try lab.worker("--slots", "1")
        let first = try await begin("alpha", lab, worker)
        let second = try await begin("bravo", lab, worker)
        // What remains is the fork server that makes the rooms, which sees no file.
        #expect(!first.subtracting(second).isEmpty, "\(first), then \(second)")
        #expect(first.intersection(second).count <= 1, "\(first), then \(second)")
        try await worker.stopsWell()
    }
}
