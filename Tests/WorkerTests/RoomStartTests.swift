import Foundation
import Ledger
import TestSupport
import Testing

/// A worker whose pump rooms cannot start.
struct RoomStartTests {
    @Test func workerWithoutRoomsPausesAndResumesByItself() async throws {
        let lab = try await WorkerLab()
        try lab.addSource()
        // A program of its own: what may not be executed any more starts no room, and what runs goes on.
        let program = lab.path("sluice")
        try FileManager.default.copyItem(atPath: WorkerProcess.program, toPath: program)
        let worker = try lab.worker("--slots", "2", behind: ["sh", "-c", "shift; exec '\(program)' \"$@\"", "sh"])
        try await worker.waits(for: "rooms")
        try #require(chmod(program, 0o644) == 0)
        // Those that run work on; these end.
        try await lab.wait("its rooms have been killed") {
            let rooms = try worker.rooms()
            for room in rooms { kill(room, SIGKILL) }
            return rooms.isEmpty
        }
        try await lab.submit(40)
        try await worker.waits(for: "paused")
        try await lab.wait("nothing is in its hands") { try lab.truth()["running"] == nil }
        #expect(try lab.sql("select status ->> 'pausedBecause' from \(lab.schema).worker").hasPrefix("room_start: "))
        let failed = try lab.attempts()["failed room_start", default: 0]
        // Five of ten tell, and in each of two slots some may be on their way.
        #expect((5...20).contains(failed), "\(failed)")
        #expect(try lab.truth()["completed"] == nil)
        try #require(chmod(program, 0o755) == 0)
        try await worker.waits(for: "resumed")
        try await lab.wait(for: 40, "completed")
        #expect(try await worker.stop() == .exited(0))
        #expect(try lab.sql("select max(spent) from \(lab.schema).finished") == "1", "no attempt was spent on it")
    }
}
