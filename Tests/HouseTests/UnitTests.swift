import Foundation
import TestSupport
import Testing

/// The systemd units in `deploy/systemd`.
struct UnitTests {
    private static let names = ["sluice-worker.service", "sluice-worker@.service", "sluice-coordinator.service"]

    private static let socket = "sluice-coordinator.socket"

    private static func path(_ name: String) throws -> String {
        try SourceTree().root.appending(path: "deploy/systemd/\(name)").path
    }

    private func settings(_ name: String) throws -> [String] {
        try String(contentsOfFile: Self.path(name), encoding: .utf8).split(separator: "\n").map(String.init)
            .filter { $0.contains("=") && !$0.hasPrefix("#") }
    }

    @Test func everyUnitIsTested() throws {
        #expect(try SourceTree().names(in: "deploy/systemd") == (Self.names + [Self.socket]).sorted())
    }

    @Test(arguments: names)
    func exposureIsLow(name: String) throws {
        // The threshold is in tenths.
        let run = try Run.program(
            "systemd-analyze",
            ["--no-pager", "security", "--offline=true", "--threshold=15", Self.path(name)]
        )
        #expect(run.succeeded, "\(run.outputText.suffix(200)) \(run.errorText)")
        #expect(run.outputText.contains("Overall exposure level"))
    }

    @Test(arguments: names + [socket])
    func systemdUnderstandsEveryLine(name: String) throws {
        let run = try Run.program("systemd-analyze", ["--no-pager", "--man=no", "verify", Self.path(name)])
        // The program is not installed where tests run.
        let complaints = run.errorText.split(separator: "\n").filter {
            !$0.contains("/usr/bin/sluice is not executable")
        }
        #expect(complaints.isEmpty, "\(run.errorText)")
    }

    @Test func roomsCanLockThemselvesUnderTheFilterOfEveryWorker() throws {
        for name in Self.names where name.hasPrefix("sluice-worker") {
            let lines = try settings(name)
            // The last line adds what the groups before it lack or took away.
            let filter = try #require(lines.last { $0.hasPrefix("SystemCallFilter=") })
            for call in ["landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self", "seccomp", "capset"]
            {
                #expect(
                    filter.split(whereSeparator: { " =".contains($0) }).contains(Substring(call)),
                    "\(name): \(call)"
                )
            }
            // Otherwise a call that is not allowed kills the room, which then cannot report what it lacks.
            #expect(lines.contains("SystemCallErrorNumber=EPERM"))
        }
    }

    /// It ends with 0. One that fails is started again.
    @Test func workerThatWasDrainedStaysAway() throws {
        for name in Self.names where name.hasPrefix("sluice-worker") {
            #expect(try settings(name).contains("Restart=on-failure"), "\(name)")
        }
    }

    @Test func unitsDifferOnlyWhereTheirServicesDo() throws {
        let own = [
            "Description", "Documentation", "ExecStart", "EnvironmentFile", "TimeoutStopSec", "LimitNOFILE",
            "SystemCallFilter", "OOMPolicy", "Restart",
        ]
        func shared(_ name: String) throws -> [String] {
            try settings(name).filter { line in !own.contains { line.hasPrefix($0 + "=") } }
        }
        let worker = try shared(Self.names[0])
        #expect(worker.count > 35)
        for name in Self.names.dropFirst() { #expect(try shared(name) == worker, "\(name)") }
    }
}
