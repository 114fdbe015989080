import Foundation
import TestSupport
import Testing

/// Services and the processes that they start leave no core dumps, which would hold passwords and what others have sent,
/// even where the machine permits them.
struct CoreDumpTests {
    /// Permits core dumps to a command as far as the administrator does.
    private static let permitting = ["sh", "-c", #"ulimit -S -c "$(ulimit -H -c)" && exec "$@""#, "sh"]

    private func coreLimit(of process: pid_t) throws -> String {
        let limits = try String(contentsOfFile: "/proc/\(process)/limits", encoding: .utf8)
        let line = try #require(limits.split(separator: "\n").first { $0.hasPrefix("Max core file size") })
        return String(line.split(separator: " ")[4])
    }

    @Test func neitherAWorkerNorItsRoomsAndForkServersLeaveOne() async throws {
        let lab = try await WorkerLab()
        try await lab.submitLong(1)
        let worker = try lab.worker("--slots", "1", "--grace", "1s", behind: Self.permitting)
        try await lab.waitForMovement()
        let children = try worker.rooms()
        // A room and the fork server that it has left behind.
        #expect(children.count >= 2)
        for process in [worker.id] + children { #expect(try coreLimit(of: process) == "0") }
        // A pipe in /proc/sys/kernel/core_pattern gets a dump whatever the limit is, unless the process forbids it. The
        // kernel shows that by giving the files of the process to root.
        let rooms = try children.filter(isLocked)
        #expect(!rooms.isEmpty)
        for room in rooms { #expect(try owner(of: "/proc/\(room)/environ") == 0) }
        try await worker.stopsWell()
    }

    @Test func aCoordinatorLeavesNone() async throws {
        let lab = try await WorkerLab()
        let coordinator = try lab.coordinator(behind: Self.permitting)
        try await coordinator.waits(for: "started")
        #expect(try coreLimit(of: coordinator.id) == "0")
        try await coordinator.stopsWell()
    }

    private func owner(of path: String) throws -> uid_t {
        var facts = stat()
        let status = stat(path, &facts)
        try #require(status == 0, "\(path)")
        return facts.st_uid
    }

    /// Whether a process has a filter for system calls.
    private func isLocked(_ process: pid_t) throws -> Bool {
        let status = try String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
        return status.contains("Seccomp:\t2")
    }
}
