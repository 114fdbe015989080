import Foundation
import Ledger
import TestSupport
import Testing

@testable import PumpRoom
@testable import Worker

/// A worker whose pump rooms cannot start.
struct RoomStartTests {
    @Test func workerWithoutRoomsPausesAndResumesByItself() async throws {
        let lab = try await WorkerLab()
        try lab.addSource()
        // Copies of the programs: once that of rooms is not executable, no new room starts, but running processes go on.
        let (command, program) = (lab.path("sluice"), lab.path("sluice-room"))
        try FileManager.default.copyItem(atPath: WorkerProcess.program, toPath: command)
        try FileManager.default.copyItem(atPath: WorkerProcess.roomProgram, toPath: program)
        let worker = try lab.worker("--slots", "2", behind: ["sh", "-c", "shift; exec '\(command)' \"$@\"", "sh"])
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
        try await worker.stopsWell()
        #expect(try lab.sql("select max(spent) from \(lab.schema).finished") == "1", "no attempt was spent on it")
    }

    /// The rooms report that they are ready and exit when they get a job. No job began, so no job is to blame.
    @Test func jobsThatNoRoomBeginsGoBackUnspent() async throws {
        let lab = try await WorkerLab()
        try lab.addSource()
        let script = """
            #!/usr/bin/env python3
            import json, socket
            wire = socket.socket(fileno=3)
            wire.recv(1 << 18)
            level = {"sandbox": "off", "layers": [], "missing": [], "user": 0}
            wire.send(json.dumps({"hello": {"version": \(wireVersion), "build": "\(SluiceBuild.number)", "level": level}}).encode())
            wire.recv(1 << 18)
            """
        try Bytes.write(Array(script.utf8), to: lab.path("room"))
        try #require(chmod(lab.path("room"), 0o755) == 0)
        var configuration = WorkerConfiguration()
        configuration.roots = ["in", "out"].map { .init(name: $0, path: lab.path($0)) }
        configuration.room.executable = lab.path("room")
        configuration.libraries = try RoomLibraries.asking(WorkerProcess.roomProgram)
        configuration.room.sandbox = .off
        let worker = try AudioWorker(configuration, ledger: lab.configuration)
        let run = Task { try await worker.run() }
        try await lab.submit(4)
        try await lab.wait("a job went back") { try lab.attempts()["released neighbour_crashed", default: 0] > 0 }
        run.cancel()
        try await run.value
        #expect(try lab.attempts().keys.allSatisfy { $0.hasPrefix("released") }, "no attempt was spent on it")
        #expect(try lab.truth().keys.allSatisfy { ["waiting", "delayed"].contains($0) })
    }
}
