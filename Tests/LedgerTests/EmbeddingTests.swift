import Foundation
import TestSupport
import Testing

/// The build tool that embeds the steps and the functions of the ledger into the binary.
struct EmbeddingTests {
    /// Runs the tool on steps and files of functions with these names and texts. Returns the run and the source that
    /// it made.
    private func embed(_ steps: [String: String], functions: [String: String] = [:]) throws -> (
        run: Run, source: String
    ) {
        let folder = try TemporaryFolder.create()
        for (part, files) in [("tables", steps), ("functions", functions)] {
            try FileManager.default.createDirectory(atPath: folder.path(part), withIntermediateDirectories: false)
            for (name, text) in files { try Data(text.utf8).write(to: URL(filePath: folder.path("\(part)/\(name)"))) }
        }
        let output = folder.path("Made.swift")
        let run = try Run.program(Self.program, [folder.path, output])
        let made = FileManager.default.contents(atPath: output) ?? Data()
        return (run, String(decoding: made, as: UTF8.self))
    }

    /// The tool, beside the test bundle. The runner may name the bundle among its arguments.
    private static let program: String = {
        let runner = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().path
        return ([runner] + CommandLine.arguments)
            .map { URL(filePath: $0).deletingLastPathComponent().appending(path: "embed-migrations").path }
            .first(where: FileManager.default.isExecutableFile) ?? "embed-migrations"
    }()

    @Test(arguments: [
        ["0001_a.sql": "", "0003_c.sql": ""], ["0002_b.sql": ""], ["0001_a.sql": "", "0001_b.sql": ""],
        ["1_a.sql": ""], ["0001_A.sql": ""], ["0001.sql": ""], ["0001_a-b.sql": ""], ["0001_a.sql": "\u{0}"],
    ])
    func aFileThatIsNoMigrationEndsTheBuildByName(files: [String: String]) throws {
        let (run, source) = try embed(files)
        #expect(run.status == .exited(1))
        #expect(run.outputText.contains(".sql: error: "))
        #expect(source.isEmpty)
    }

    @Test(arguments: [
        "-- Compatible from: x", "-- Compatible from: 2", "-- Compatible from: 0", "-- compatible from: 1",
        " -- Compatible from: 1", "-- Compatible from:1", "-- Compatible from: 1 ",
        "-- Compatible from: 1\n-- Compatible from: 1",
    ])
    func aLineAboutEarlierBinariesThatWouldNotBeReadEndsTheBuild(line: String) throws {
        let (run, source) = try embed(["0001_a.sql": "select 1;\n\(line)\nselect 2;"])
        #expect(run.status == .exited(1))
        #expect(run.outputText.contains("tables/0001_a.sql:\(line.contains("\n") ? 3 : 2): error: "))
        #expect(source.isEmpty)
        #expect(try embed(["0001_a.sql": "select 1;\n-- Compatible from: 1\n"]).run.succeeded)
    }

    @Test func aTextIsQuotedSoThatNothingInItEndsTheLiteral() throws {
        let text = "select '\"\"\"#', '\\(x)', '\\#(x)', '\"##', E'\\\\n';"
        let (run, source) = try embed(["0001_a.sql": text + "\r\nselect 2;", "README.md": "# Migrations"])
        #expect(run.succeeded)
        #expect(source.contains("###\"\"\"\n\(text)\nselect 2;\n\"\"\"###"))
        #expect(!source.contains("README"))
    }

    @Test(arguments: [
        ["A.sql": ""], ["a-b.sql": ""], ["a.sql": "-- A.\nselect 1;\ncreate or replace view a as select 1;"],
        ["a.sql": "create function a() returns integer language sql return 1;"], ["a.sql": "\u{1}"],
    ])
    func aFileThatHasNoFunctionsEndsTheBuildByName(files: [String: String]) throws {
        let (run, source) = try embed(["0001_a.sql": ""], functions: files)
        #expect(run.status == .exited(1))
        #expect(run.outputText.contains("/functions/") && run.outputText.contains(".sql"))
        #expect(run.outputText.contains(": error: "))
        #expect(source.isEmpty)
    }

    @Test func functionsAreEmbeddedBesideTheSteps() throws {
        let text = "-- A.\n\ncreate or replace view a as select 1;\n"
        let (run, source) = try embed(["0001_a.sql": "select 2;"], functions: ["b.sql": text, "a.sql": "-- Empty."])
        #expect(run.succeeded)
        #expect(source.contains("version: 1,") && source.contains("select 2;"))
        let list = try #require(source.split(separator: "extension LedgerFunctions").last)
        #expect(list.contains("name: \"b\",") && list.contains("\n\(text)\n"))
        let (first, second) = (try #require(list.firstRange(of: "\"a\"")), try #require(list.firstRange(of: "\"b\"")))
        #expect(first.lowerBound < second.lowerBound)
    }

    /// The compiler builds a module again if a file of its sources has another time, even with the same bytes.
    @Test func sourceThatIsUpToDateKeepsItsTime() throws {
        let folder = try TemporaryFolder.create()
        for part in ["tables", "functions"] {
            try FileManager.default.createDirectory(atPath: folder.path(part), withIntermediateDirectories: false)
        }
        let output = folder.path("Made.swift")
        let long = Date(timeIntervalSince1970: 1_000_000_000)
        func madeAgain() throws -> Bool {
            if FileManager.default.fileExists(atPath: output) {
                try FileManager.default.setAttributes([.modificationDate: long], ofItemAtPath: output)
            }
            try Run.program(Self.program, [folder.path, output]).checked()
            return try FileManager.default.attributesOfItem(atPath: output)[.modificationDate] as? Date != long
        }
        #expect(try madeAgain())
        #expect(try !madeAgain())
        try Data("select 1;".utf8).write(to: URL(filePath: folder.path("tables/0001_a.sql")))
        #expect(try madeAgain())
        #expect(try String(contentsOfFile: output, encoding: .utf8).contains("select 1;"))
        #expect(try !madeAgain())
    }

    @Test func noMigrationsAreAnEmptyList() throws {
        let (run, source) = try embed([:])
        #expect(run.succeeded)
        #expect(source.contains("static let embedded: [Migration] = ["))
    }
}
