import Foundation
import Ledger
import TestSupport
import Testing

/// A worker whose pump rooms cannot start.
struct RoomStartTests {
    @Test func workerWithoutRoomsPausesAndResumesByItself() async throws {
        let lab = try await WorkerLab()
        try lab.addSource()
        // A copy of the program: once it is not executable, no new room starts, but running processes go on.
        let program = lab.path("sluice")
        try FileManager.default.copyItem(atPath: WorkerProcess.program, toPath: program)
        let worker = try lab.worker("--slots", "2", behind: ["sh", "-c", "shift; exec '\(program)' \"$@\"", "sh"])
        try await worker.waits(for: "rooms")
        try #require(chmod(program, 0o644) == 0)
        // Running rooms would go on working, so kill them.
        try await lab.wait("its rooms have been killed") {
            let rooms = try worker.rooms()
            for room in rooms { kill(room, SIGKILL) }
            return rooms.isEmpty
        }
        try await lab.submit(40)
        try await worker.waits(for: "paused")
        try await lab.wait("it holds no jobs") { try lab.truth()["running"] == nil }
        #expect(try lab.sql("select status ->> 'pausedBecause' from \(lab.schema).worker").hasPrefix("room_start: "))
        let failed = try lab.attempts()["failed room_start", default: 0]
        // Five of ten attempts pause the worker; each of two slots may have a few more in progress.
        #expect((5...20).contains(failed), "\(failed)")
        #expect(try lab.truth()["completed"] == nil)
        try #require(chmod(program, 0o755) == 0)
        try await worker.waits(for: "resumed")
        try await lab.wait(for: 40, "completed")
        #expect(try await worker.stop() == .exited(0))
        #expect(try lab.sql("select max(spent) from \(lab.schema).finished") == "1", "no attempt was spent on it")
    }
}
