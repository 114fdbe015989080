import Conversion
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

    /// One worker converts for one tenant after another. Neither the memory nor the open files of its processes hold
    /// anything of the last one's then.
    @Test(.enabled(if: geteuid() == 0, "root alone may look into a locked room"))
    func nothingOfATenantIsLeftForTheNext() async throws {
        let lab = try await WorkerLab()
        try lab.addSource("alpha.wav", frames: 80_000)
        try lab.addLongSource()
        let file = try Bytes.read(lab.path("in/alpha.wav"))
        // It begins with a byte that is rare in memory.
        let start = try #require(file[1_000..<100_000].firstIndex(of: 0x9B))
        let sound = Array(file[start..<start + 64])
        // Tags are in the memory of the room that writes them.
        let marks = ["alpha", "bravo"].map { "~\($0)-\(UInt64.random(in: 0...UInt64.max))" }
        func submit(_ tenant: String, _ source: String, _ mark: String) async throws {
            _ = try await lab.ledger.createTenant(tenant)
            let ledger = try lab.ledger.acting(for: Principal(name: "ci", role: .submitter, tenant: tenant))
            var recipe = WorkerLab.recipe("in:\(source)", to: "out:\(tenant).mp3")
            recipe.tags = ["title": .init(mark)]
            _ = try await ledger.submit(Submission(), [JobRequest(recipe, needs: ["root:in", "root:out"])])
        }
        let worker = try lab.worker("--slots", "1", "--grace", "1s")
        try await submit("alpha", "alpha.wav", marks[0])
        try await lab.wait(for: 1, "completed")
        try await submit("bravo", "long.wav", marks[1])
        try await lab.waitForMovement()
        func count(_ word: [UInt8], in process: pid_t) throws -> Int {
            try ProcessMemoryFacts.count(of: word, in: process, onlyWritable: true).hits
        }
        var own = 0
        for process in try worker.rooms() {
            own += try count(Array(marks[1].utf8), in: process)
            #expect(try count(Array(marks[0].utf8), in: process) == 0)
            #expect(try count(sound, in: process) == 0)
            let open = "/proc/\(process)/fd"
            for name in try FileManager.default.contentsOfDirectory(atPath: open) {
                // `try?`: the descriptor with which the folder was listed is closed.
                let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "\(open)/\(name)")
                #expect(target?.contains("alpha") != true)
            }
        }
        // The search finds what is there.
        #expect(own > 0)
        // The worker itself reads no sound.
        #expect(try count(sound, in: worker.id) == 0)
        try await worker.stopsWell()
    }
}
