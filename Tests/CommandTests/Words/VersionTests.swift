import Ledger
import TestSupport
import Testing

@testable import Command
@testable import PumpRoom

/// What `--version`, bug reports and `doctor` say about libraries.
struct VersionTests {
    private static let rooms = BuiltProgram.path("sluice-room")

    @Test func libraryThatTheCommandDoesNotLoadIsNamedOnlyWithAllOthers() throws {
        let lines = Version.lines(commit: nil)
        #expect(lines.count == 3 && lines[0] == "sluice \(SluiceBuild.number)")
        #expect(lines[1].hasPrefix("libpq ") && lines[2] == "ledger version \(Migrator.version)")
        let libraries = try RoomLibraries.asking(Self.rooms)
        #expect(Version.allLines(rooms: libraries) == Version.lines + libraries.lines)
        #expect(libraries.lines[0].hasPrefix("libav \(libraries.release) (libavformat "))
        #expect(libraries.description.contains("libavcodec \(libraries.codecVersion),"))
    }

    @Test func commitStandsBehindTheVersionIfTheBuildWasGivenIt() {
        func line(_ text: String) -> String? { Version.lines(commit: SourceCommit(text)).first }
        let version = "sluice \(Version.number)"
        #expect(line("3daa239f01") == "\(version), commit 3daa239f01")
        #expect(line("3daa239f01-changed") == "\(version), commit 3daa239f01 with changes")
        for text in ["", "-changed", "unknown", "3daa239f01 "] { #expect(line(text) == version) }
    }

    /// People who wonder which libav converts may ask the program itself.
    @Test func programOfRoomsSaysItsVersion() throws {
        let text = try Run.program(Self.rooms, ["--version"]).checked().outputText
        let libraries = try RoomLibraries.asking(Self.rooms)
        #expect(text == (["sluice-room \(SluiceBuild.number)"] + libraries.lines).joined(separator: "\n") + "\n")
    }

    @Test func releaseThatWasNeverTestedIsAWarningInBoth() throws {
        var libraries = try RoomLibraries.asking(Self.rooms)
        libraries.releaseWarning = "never tested"
        #expect(Version.allLines(rooms: libraries).last == "warning: never tested")
        let findings = MachineExamination.release(warning: "never tested")
        #expect(findings.map(\.verdict) == [.warn] && findings.map(\.subject) == ["libav"])
        #expect(MachineExamination.release(warning: nil).isEmpty)
    }

    @Test func adviceOnAMissingLayerNamesTheCallsThatAFilterForbids() {
        var level = RoomLevel(sandbox: .bestEffort, user: 1)
        level.missing = [.init(layer: .landlock, reason: "x")]
        #expect(
            MachineExamination.advice(on: level, isFiltered: false).hasPrefix("a worker needs --sandbox best-effort")
        )
        let advice = MachineExamination.advice(on: level, isFiltered: true)
        #expect(advice.contains("allow landlock_create_ruleset, landlock_add_rule, landlock_restrict_self there"))
        // A filter is not to blame for layers that need none of its calls.
        level.missing = [.init(layer: .limits, reason: "x")]
        #expect(MachineExamination.advice(on: level, isFiltered: true).hasPrefix("a worker needs"))
    }
}
