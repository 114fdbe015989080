import Conversion
import Foundation
import TestSupport
import Testing

@testable import Command
@testable import Console

/// `sluice recipe check` and `sluice recipe show`.
struct RecipeCommandTests {
    let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder.create()
        try Bytes.write(Array(Self.wide.utf8), to: folder.path("wide.json"))
        try Bytes.write(Array(Self.plain.utf8), to: folder.path("plain.json"))
        let page = String(decoding: try Bytes.read(Documentation.path("editing.md")), as: UTF8.self)
        let example = try #require(Documentation.blocks("json", in: page).first)
        try Bytes.write(Array(example.utf8), to: folder.path("show.json"))
    }

    /// Wide characters, open ends, and what could move a terminal's cursor.
    private static let wide = """
        {"version":2,"sources":[{"name":"講演","location":"講演.wav","track":1},{"name":"\\u001b[2J","location":"b.wav"}],
        "outputs":[{"location":"出力.flac"}],"timeline":{"tracks":[{"name":"声","pieces":[
        {"source":"講演","to":"0:40","fadeOut":"0:05"},{"source":"\\u001b[2J","crossfade":"0:03","channels":[2]},
        {"source":"講演","from":"0:50","repeatUntil":"1:00"}]}]}}
        """

    private static let plain = """
        {"version":1,"sources":[{"location":"in:a.wav","ranges":[{"from":"0:10","to":"0:20"},{"from":"1:00"}]}],
        "outputs":[{"location":"out:a.mp3"}]}
        """

    private func run(_ words: String..., environment: [String: String] = [:]) throws -> Run {
        try Sluice.run(words, in: folder, environment: environment)
    }

    // MARK: check

    @Test func validRecipeIsToldInOneLine() throws {
        let run = try run("recipe", "check", "show.json")
        #expect(run.succeeded && run.errorText.isEmpty)
        #expect(run.outputText == "show.json  valid, version 2: 2 sources, 3 tracks, 7 pieces, 1:30 long\n")
        #expect(try self.run("recipe", "check", "plain.json").outputText == "plain.json  valid, version 1: 1 source\n")
    }

    @Test func refusalNamesThePathAndEndsWithTwo() throws {
        let wrong = try String(decoding: Bytes.read(folder.path("show.json")), as: UTF8.self)
            .replacing("\"-3dB\"", with: "\"-3\"")
        try Bytes.write(Array(wrong.utf8), to: folder.path("wrong.json"))
        let run = try run("recipe", "check", "wrong.json")
        #expect(run.status == .exited(2) && run.stdout.isEmpty)
        #expect(
            run.errorText == """
                error: wrong.json: recipe.timeline.tracks[1].gain: "-3": not a gain; allowed: -3dB, 0dB, +2.5dB, -inf for silence

                """
        )
        let shown = try self.run("recipe", "show", "wrong.json")
        #expect(shown.status == .exited(2) && shown.errorText == run.errorText)
        let json = try self.run("recipe", "check", "wrong.json", "--json")
        #expect(json.status == .exited(2) && json.errorText.isEmpty)
        let record = try #require(try JSONSerialization.jsonObject(with: json.stdout) as? [String: Any])
        #expect(record["path"] as? String == "recipe.timeline.tracks[1].gain")
        #expect(record["isValid"] as? Bool == false)
    }

    @Test func standardInputIsRead() throws {
        let run = try Sluice.shell("cat show.json | \(Sluice.path) recipe check - --json", in: folder)
        let record = try #require(try JSONSerialization.jsonObject(with: run.stdout) as? [String: Any])
        #expect(record["file"] as? String == "-" && record["length"] as? String == "90/1")
        let broken = try Sluice.shell("echo '{' | \(Sluice.path) recipe check -", in: folder)
        #expect(broken.status == .exited(2))
        #expect(broken.errorText == "error: standard input: recipe: it is not valid JSON\n")
    }

    @Test func missingFileIsNotFound() throws {
        let run = try run("recipe", "check", "missing.json")
        #expect(run.status == .exited(4) && run.stdout.isEmpty)
        #expect(run.errorText.hasPrefix("error: cannot open the source missing.json: no such file"))
        #expect(try self.run("recipe", "check").status == .exited(2))
        let help = try self.run("recipe")
        #expect(help.succeeded && help.outputText.contains("check a recipe, or show its timeline"))
    }

    @Test func endlessInputIsRefused() throws {
        let run = try run("recipe", "check", "/dev/zero")
        #expect(run.status == .exited(1))
        #expect(run.errorText == "error: /dev/zero is too large: at most 64.0 MB are read\n")
    }

    // MARK: show

    @Test func pictureOfTheExampleInEightyColumns() throws {
        let run = try run("recipe", "show", "show.json")
        #expect(run.succeeded && run.errorText.isEmpty)
        try Golden.expect(run.outputText, is: "recipe-show.txt")
        try Golden.expect(
            self.run("recipe", "show", "show.json", environment: ["LANG": "C"]).outputText,
            is: "recipe-show-ascii.txt"
        )
        try Golden.expect(self.run("recipe", "show", "wide.json").outputText, is: "recipe-show-wide.txt")
        try Golden.expect(self.run("recipe", "show", "plain.json").outputText, is: "recipe-show-plain.txt")
    }

    @Test(arguments: [60, 80, 120]) func noLineIsWiderThanTheTerminal(columns: Int) throws {
        Locale.useUTF8()
        for name in ["show.json", "wide.json", "plain.json"] {
            for locale in ["C", "C.UTF-8"] {
                let run = try run("recipe", "show", name, environment: ["COLUMNS": "\(columns)", "LANG": locale])
                for line in run.outputText.split(separator: "\n").map(String.init) {
                    #expect(line.displayWidth <= columns, "\(name): \(line)")
                    #expect(!line.unicodeScalars.contains { $0.value < 0x20 }, "\(line)")
                }
            }
        }
    }

    @Test func asciiPictureHasOnlyASCIIBesidesNames() throws {
        let run = try run("recipe", "show", "show.json", environment: ["LANG": "C"])
        #expect(run.stdout.allSatisfy { $0 < 0x80 })
    }
}
