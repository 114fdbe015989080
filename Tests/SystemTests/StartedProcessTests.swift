import Foundation
import System
import TestSupport
import Testing

/// How long a process is waited for that this one has started.
struct StartedProcessTests {
    private func start(_ script: String, group: ProcessStart.Group = .ofThisProcess) throws -> pid_t {
        var process = ProcessStart()
        process.streams = [(0, .nothingToRead), (1, .discarded), (2, .discarded)]
        process.closesFrom = 3
        process.group = group
        return try process.start("/bin/sh", ["sh", "-c", script])
    }

    @Test func statusIsThatOfTheProcess() throws {
        #expect(StartedProcess.end(of: try start("exit 0"), within: .seconds(60)) == 0)
        #expect(StartedProcess.end(of: try start("exit 3"), within: .seconds(60)) == 3 << 8)
    }

    @Test(arguments: [Duration.zero, .milliseconds(50)])
    func processThatLivesOnIsKilledAndReaped(time: Duration) throws {
        // A stopped process ends only when it is killed.
        let id = try start("kill -STOP $$")
        #expect(StartedProcess.end(of: id, within: time) == nil)
        #expect(kill(id, 0) == -1 && errno == ESRCH)
    }

    @Test func groupEndsWithItsLeader() throws {
        let folder = try TemporaryFolder.create()
        // `sleep`: the other process of the group must still be there when the group is ended.
        let (part, whole) = (folder.path("part"), folder.path("id"))
        let script = "/bin/sleep 600 & echo $! >'\(part)'; /bin/mv '\(part)' '\(whole)'; wait"
        let id = try start(script, group: .own)
        while !FileManager.default.fileExists(atPath: whole) {
            // Poll: the shell gives a file this name once the other process is there, and has no other way to say so.
            usleep(2_000)
        }
        let text = try String(contentsOfFile: whole, encoding: .utf8)
        let other = try #require(pid_t(text.trimmingCharacters(in: .newlines)))
        #expect(StartedProcess.end(of: id, within: .zero, leadsGroup: true) == nil)
        #expect(ProcessEnd(of: other).wait(until: .now + .seconds(60)))
    }
}
