import Ledger
import Testing

@testable import Command
@testable import PumpRoom

/// What `--version` and `doctor` say about the release of libav.
struct VersionTests {
    @Test func everyVersionOfALibraryIsNamed() {
        let lines = Version.lines(commit: nil, releaseWarning: nil)
        #expect(lines.count == 4)
        #expect(lines[0] == "sluice \(Version.number)")
        #expect(lines[1].hasPrefix("libav \(RoomLibraries.release) (libavformat "))
        #expect(lines[2].hasPrefix("libpq "))
        #expect(lines[3] == "ledger version \(Migrator.version)")
    }

    @Test func commitStandsBehindTheVersionIfTheBuildWasGivenIt() {
        func line(_ text: String) -> String? {
            Version.lines(commit: SourceCommit(text), releaseWarning: nil).first
        }
        let version = "sluice \(Version.number)"
        #expect(line("3daa239f01") == "\(version), commit 3daa239f01")
        #expect(line("3daa239f01-changed") == "\(version), commit 3daa239f01 with changes")
        for text in ["", "-changed", "unknown", "3daa239f01 "] { #expect(line(text) == version) }
    }

    @Test func releaseThatWasNeverTestedIsAWarningInBoth() {
        #expect(Version.lines(commit: nil, releaseWarning: "never tested").last == "warning: never tested")
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
