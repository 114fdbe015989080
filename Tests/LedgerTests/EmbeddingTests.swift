import Foundation
import TestSupport
import Testing

/// The build tool that embeds the migrations into the binary.
struct EmbeddingTests {
    /// Runs the tool on files with these names and texts. Returns the run and the source that it made.
    private func embed(_ files: [String: String]) throws -> (run: Run, source: String) {
        let folder = try TemporaryFolder.create()
        for (name, text) in files { try Data(text.utf8).write(to: URL(filePath: folder.path(name))) }
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
        #expect(run.outputText.contains("0001_a.sql:\(line.contains("\n") ? 3 : 2): error: "))
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

    @Test func noMigrationsAreAnEmptyList() throws {
        let (run, source) = try embed([:])
        #expect(run.succeeded)
        #expect(source.contains("static let embedded: [Migration] = ["))
    }
}
