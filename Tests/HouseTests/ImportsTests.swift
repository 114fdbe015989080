import Testing

/// Modules import only those below them, and only the designated folders import C.
struct ImportsTests {
    @Test func everyImportFollowsThePlan() throws {
        let files = try SourceTree().swiftFiles(in: "Sources")
        #expect(!files.isEmpty)
        for violation in files.flatMap({ importViolations(path: $0.path, text: $0.text) }) {
            Issue.record("\(violation)")
        }
    }

    @Test func everyFolderIsInThePlan() throws {
        for name in HousePlan.unknownFolders(in: try SourceTree().names(in: "Sources")) {
            Issue.record("Sources/\(name) is not in the plan of the house (HousePlan.swift)")
        }
    }

    /// `make test` runs only Swift Testing, so an XCTest case would silently not run.
    @Test func everyTestIsWrittenWithSwiftTesting() throws {
        for file in try SourceTree().swiftFiles(in: "Tests") {
            for found in SwiftScan(of: file.text).imports where found.module == "XCTest" {
                Issue.record("\(file.path):\(found.line): \(found): tests here are written with Swift Testing")
            }
        }
    }
}

/// The checker itself: the imports that it must refuse and those that it must accept.
struct ImportViolationsTests {
    /// A file and the statement in it that the checker must refuse.
    struct Breach: CustomTestStringConvertible {
        let path: String
        let text: String
        let statement: String
        var line = 1

        var testDescription: String { "\(path): \(statement)" }
    }

    static let breaches: [Breach] = [
        // Imports of a higher module, of a module beside it, and of test code.
        Breach(path: "Sources/Conversion/Job.swift", text: "import Media", statement: "import Media"),
        Breach(path: "Sources/Media/Writing/Writer.swift", text: "import Ledger", statement: "import Ledger"),
        Breach(path: "Sources/Media/Reader.swift", text: "import Storage", statement: "import Storage"),
        Breach(path: "Sources/Ledger/JobLedger.swift", text: "import Media", statement: "import Media"),
        Breach(path: "Sources/Ledger/JobLedger.swift", text: "import Worker", statement: "import Worker"),
        Breach(path: "Sources/Storage/Root.swift", text: "import Ledger", statement: "import Ledger"),
        Breach(path: "Sources/PumpRoom/Room.swift", text: "import Storage", statement: "import Storage"),
        Breach(path: "Sources/PumpRoom/Room.swift", text: "import Media", statement: "import Media"),
        Breach(path: "Sources/Command/Submit.swift", text: "import RoomProgram", statement: "import RoomProgram"),
        Breach(path: "Sources/PumpRoom/Room.swift", text: "import Worker", statement: "import Worker"),
        Breach(path: "Sources/Worker/Slot.swift", text: "import Media", statement: "import Media"),
        Breach(path: "Sources/Worker/Slot.swift", text: "import Coordinator", statement: "import Coordinator"),
        Breach(path: "Sources/Coordinator/Reaper.swift", text: "import PumpRoom", statement: "import PumpRoom"),
        Breach(path: "Sources/Coordinator/Reaper.swift", text: "import Media", statement: "import Media"),
        Breach(path: "Sources/Command/Submit.swift", text: "import Media", statement: "import Media"),
        Breach(path: "Sources/Command/Submit.swift", text: "import sluice", statement: "import sluice"),
        Breach(path: "Sources/Console/Help/A.swift", text: "import Command", statement: "import Command"),
        Breach(path: "Sources/Console/Words/A.swift", text: "import Ledger", statement: "import Ledger"),
        Breach(path: "Sources/LocalCluster/A.swift", text: "import Console", statement: "import Console"),
        Breach(path: "Sources/sluice/main.swift", text: "import TestSupport", statement: "import TestSupport"),

        // C modules outside their folders.
        Breach(path: "Sources/Media/Reader.swift", text: "import CLibAV", statement: "import CLibAV"),
        Breach(path: "Sources/Media/LibAVExtras/A.swift", text: "import CLibAV", statement: "import CLibAV"),
        Breach(path: "Sources/Media/LibAV.swift", text: "import CLibAV", statement: "import CLibAV"),
        Breach(path: "Sources/Media/LibAV/A.swift", text: "import CLibPQ", statement: "import CLibPQ"),
        Breach(path: "Sources/Ledger/JobLedger.swift", text: "import CLibPQ", statement: "import CLibPQ"),
        Breach(path: "Sources/PumpRoom/Room.swift", text: "import CSandbox", statement: "import CSandbox"),
        Breach(path: "Sources/PumpRoom/Room.swift", text: "import CLibAV", statement: "import CLibAV"),
        Breach(path: "Sources/sluice/main.swift", text: "import CSandbox", statement: "import CSandbox"),
        Breach(path: "Sources/Worker/Slot.swift", text: "import CZlib", statement: "import CZlib"),
        Breach(path: "Sources/Media/LibAV/A.swift", text: "public import CLibAV", statement: "public import CLibAV"),
        Breach(path: "Sources/Media/LibAV/A.swift", text: "package import CLibAV", statement: "package import CLibAV"),
        Breach(path: "Sources/Media/Reader.swift", text: "import Glibc", statement: "import Glibc"),
        Breach(path: "Sources/Ledger/JobLedger.swift", text: "import Glibc", statement: "import Glibc"),
        Breach(path: "Sources/Coordinator/HTTP.swift", text: "import Musl", statement: "import Musl"),

        // Conversion holds values only.
        Breach(path: "Sources/Conversion/Job.swift", text: "import Glibc", statement: "import Glibc"),
        Breach(path: "Sources/Conversion/Job.swift", text: "import CLibAV", statement: "import CLibAV"),
        Breach(path: "Sources/Conversion/Job.swift", text: "import Foundation", statement: "import Foundation"),
        Breach(path: "Sources/Conversion/Job.swift", text: "import Dispatch", statement: "import Dispatch"),

        // Every syntax of an import.
        Breach(path: "Sources/Ledger/A.swift", text: "@testable import Media", statement: "@testable import Media"),
        Breach(path: "Sources/Ledger/A.swift", text: "internal import Media", statement: "internal import Media"),
        Breach(path: "Sources/Ledger/A.swift", text: "public import Media", statement: "public import Media"),
        Breach(path: "Sources/Ledger/A.swift", text: "@_spi(Pump) import Media", statement: "@_spi import Media"),
        Breach(
            path: "Sources/Ledger/A.swift",
            text: "import struct Media.Reader",
            statement: "import struct Media.Reader"
        ),
        Breach(path: "Sources/Ledger/A.swift", text: "import Media.LibAV", statement: "import Media.LibAV"),
        Breach(path: "Sources/Ledger/A.swift", text: "import `Media`", statement: "import Media"),
        Breach(path: "Sources/Ledger/A.swift", text: "import Swift; import Media", statement: "import Media"),
        Breach(path: "Sources/Ledger/A.swift", text: "import /* why */ Media // oh", statement: "import Media"),
        Breach(
            path: "Sources/Ledger/A.swift",
            text: "/* /* */ */\n\nimport\n  Media",
            statement: "import Media",
            line: 3
        ),
        Breach(
            path: "Sources/Ledger/A.swift",
            text: "let a = \"/*\"\nimport Media",
            statement: "import Media",
            line: 2
        ),
        Breach(
            path: "Sources/Ledger/A.swift",
            text: "let a = #\"\"\"#\nlet b = \"\\(f(\")\"))\"\nimport Media",
            statement: "import Media",
            line: 3
        ),
        Breach(
            path: "Sources/Ledger/A.swift",
            text: "@_exported\npublic import Conversion",
            statement: "@_exported public import Conversion",
            line: 2
        ),
        Breach(
            path: "Sources/Conversion/A.swift",
            text: "#if canImport(FoundationEssentials)\nimport FoundationEssentials\n#else\nimport Foundation\n#endif",
            statement: "import Foundation",
            line: 4
        ),
        Breach(
            path: "Sources/Ledger/A.swift",
            text: "#if canImport(Media)\n    import Media\n#endif",
            statement: "import Media",
            line: 2
        ),
    ]

    @Test(arguments: breaches)
    func aBreachIsNamedWithItsLine(breach: Breach) throws {
        let violations = importViolations(path: breach.path, text: breach.text)
        try #require(violations.count == 1)
        #expect(violations[0].path == breach.path)
        #expect(violations[0].line == breach.line)
        #expect(violations[0].statement == breach.statement)
    }

    @Test(arguments: [
        ("Sources/Conversion/Job.swift", "import FoundationEssentials"),
        ("Sources/Media/Reader.swift", "public import Conversion\nimport Foundation\nimport Synchronization"),
        ("Sources/Media/LibAV/Decoder.swift", "import CLibAV\nimport Glibc\ninternal import struct CLibAV.AVFrame"),
        ("Sources/Media/LibAV/Opening/Source.swift", "import CLibAV"),
        ("Sources/Ledger/LibPQ/Connection.swift", "import CLibPQ"),
        ("Sources/PumpRoom/Sandbox/Lock.swift", "import CSandbox\n#if canImport(Glibc)\nimport Glibc\n#endif"),
        ("Sources/PumpRoom/Room.swift", "import Conversion\nimport Glibc"),
        ("Sources/RoomProgram/Probe.swift", "import PumpRoom\nimport Media\nimport Conversion\nimport Glibc"),
        ("Sources/sluice-room/main.swift", "import RoomProgram\nimport Glibc"),
        ("Sources/Worker/Slot.swift", "import PumpRoom\nimport Storage\nimport Ledger\nimport Conversion"),
        ("Sources/Coordinator/Reaper.swift", "import Ledger\nimport Storage"),
        ("Sources/Command/Submit.swift", "import Worker\nimport Coordinator\nimport PumpRoom"),
        ("Sources/sluice/main.swift", "import Command\nimport Glibc"),
    ])
    func importsThatFollowThePlanPass(path: String, text: String) {
        #expect(importViolations(path: path, text: text).isEmpty)
    }

    @Test(arguments: [
        "// import Media",
        "/// ```\n/// import Media\n/// ```",
        "/*\nimport Media\n/* nested */\nimport Media\n*/",
        "let help = \"import Media\"",
        "let help = \"\"\"\n    import Media\n    \\\"\"\"\n    import Media\n    \"\"\"",
        "let help = #\"\"\"\n    \"\"\"\n    import Media\n    \"\"\"#",
        "let mode = Mode.import\nlet Media = 1",
        "func run(import Media: Int, _ other: Int) {}",
        "let `import` = Media",
        "importMedia()",
        "#if canImport(Media)\n#endif",
    ])
    func textThatOnlyLooksLikeAnImportPasses(text: String) {
        #expect(importViolations(path: "Sources/Ledger/A.swift", text: text).isEmpty)
    }

    @Test(arguments: ["/* import Conversion", "let help = \"\"\"\nimport Conversion"])
    func aFileThatCannotBeReadIsRefused(text: String) {
        #expect(importViolations(path: "Sources/Ledger/A.swift", text: text).map(\.line) == [1])
    }

    @Test(arguments: ["Sources/Helpers/A.swift", "Sources/main.swift", "Sources/CLibAV/A.swift"])
    func aFileOutsideEveryRoomIsRefused(path: String) {
        #expect(importViolations(path: path, text: "").count == 1)
    }

    @Test func anUnknownFolderIsRefused() {
        #expect(HousePlan.unknownFolders(in: ["Media", "CLibAV", "Utilities", "Helpers"]) == ["Helpers", "Utilities"])
    }

    @Test func aViolationNamesFileLineAndImport() {
        let text = "import Conversion\nimport Ledger\n"
        let violations = importViolations(path: "Sources/Media/Pumping/Pump.swift", text: text)
        #expect(
            violations.map(\.description) == [
                "Sources/Media/Pumping/Pump.swift:2: import Ledger: of our modules Media imports only Conversion, System"
            ]
        )
    }
}
