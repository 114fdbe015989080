import Foundation
import TestSupport
import Testing

/// Pump rooms under the system call filter of the worker's unit, as an ordinary user like that of the unit.
struct UnitFilterTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    /// What `doctor` says about the sandbox, behind the words of another program.
    private func sandbox(_ behind: [String]) throws -> [String: Any] {
        let user = geteuid() == 0 ? ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] : []
        let line = user + behind + [BuiltProgram.path("sluice"), "doctor", "--config", "/dev/null"]
        let words = ["--database", "host=/nowhere", "--json"]
        // There is no ledger, so the doctor exits with 1.
        let run = try Run.program("env", line + words)
        for line in run.outputText.split(separator: "\n") {
            let finding = try #require(JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
            if finding["subject"] as? String == "sandbox" { return finding }
        }
        throw SupportError("find the sandbox", run.outputText + run.errorText)
    }

    @Test func roomsReachTheirFullLevelUnderTheFilterOfTheUnit() throws {
        let program = Self.root.appending(path: "Tests/Programs/UnderUnit/under-unit").path
        let unit = Self.root.appending(path: "deploy/systemd/sluice-worker.service").path
        let (plain, under) = (try sandbox([]), try sandbox([program, unit, "--"]))
        #expect(under["verdict"] as? String == plain["verdict"] as? String)
        #expect(under["message"] as? String == plain["message"] as? String)
        // Without the calls of landlock the room does not die: it says what it lacks.
        let weak = try sandbox([program, unit, "--without", "landlock_create_ruleset", "--"])
        #expect(weak["verdict"] as? String == "warn")
        #expect((weak["message"] as? String)?.contains("no landlock (Operation not permitted)") == true)
    }

    /// libdispatch would: an ordinary user may not raise the priority of its threads.
    @Test func nothingIsWrittenIntoTheSystemsLog() throws {
        let folder = try TemporaryFolder.create()
        let trace = folder.path("trace")
        let user = geteuid() == 0 ? ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] : []
        let words = [BuiltProgram.path("sluice"), "doctor", "--config", "/dev/null", "--database", "host=/nowhere"]
        let run = try Run.program("strace", ["-f", "-e", "trace=connect", "-o", trace] + user + words)
        #expect(run.status == .exited(1), "\(run.errorText)")
        let calls = try String(contentsOfFile: trace, encoding: .utf8)
        // What it was to connect to: the server.
        #expect(calls.contains("/nowhere/") && !calls.contains("/dev/log"), "\(calls)")
    }

    /// As in a container whose runtime is older than landlock, or whose profile allows no further filter.
    @Test func doctorSaysWhichCallsARuntimeHasToAllow() throws {
        let program = Self.root.appending(path: "Tests/Programs/UnderUnit/under-unit").path
        let unit = Self.root.appending(path: "deploy/systemd/sluice-worker.service").path
        let found = try sandbox(
            [program, unit, "--without", "landlock_create_ruleset", "--without", "seccomp", "--without", "prctl", "--"]
        )
        #expect(found["verdict"] as? String == "warn")
        let message = try #require(found["message"] as? String)
        #expect(message.contains("no landlock (") && message.contains("no seccomp ("), "\(message)")
        let hint = try #require(found["hint"] as? String)
        #expect(
            hint.contains(
                "allow landlock_create_ruleset, landlock_add_rule, landlock_restrict_self, seccomp there (docs/containers.md)"
            ),
            "\(hint)"
        )
    }
}
