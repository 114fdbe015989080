import Testing

@testable import Command
@testable import PumpRoom

/// What `--version` and `doctor` say about the release of libav.
struct VersionTests {
    @Test func everyVersionOfALibraryIsNamed() {
        let lines = Version.lines(releaseWarning: nil)
        #expect(lines.count == 3)
        #expect(lines[1].hasPrefix("libav \(RoomLibraries.release) (libavformat "))
    }

    @Test func releaseThatWasNeverTestedIsAWarningInBoth() {
        #expect(Version.lines(releaseWarning: "never tested").last == "warning: never tested")
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
