import Conversion
import Foundation
import Testing

/// docs/recipe.md lists every member of a recipe, with an example that the reader takes.
struct RecipePageTests {
    /// A heading of the page, and the place in a recipe of the object that its table describes.
    struct Section: Sendable, CustomTestStringConvertible {
        let heading: String
        /// A recipe in which `OBJECT` stands for the object.
        let recipe: String
        /// What the object must have besides an example.
        var least = "{}"
        var testDescription: String { heading }
    }

    private static func source(_ text: String) -> String {
        #"{"version":4,"sources":[\#(text)],"outputs":[{"location":"a.flac"}]}"#
    }

    private static func output(_ text: String) -> String {
        #"{"version":4,"sources":[{"location":"a.wav"}],"outputs":[\#(text)]}"#
    }

    private static func part(_ name: String, _ text: String) -> String {
        #"{"version":4,"sources":[{"location":"a.wav"}],"outputs":[{"location":"a.flac"}],"\#(name)":\#(text)}"#
    }

    private static func track(_ text: String) -> String { part("timeline", #"{"tracks":[\#(text)]}"#) }

    private static let sections = [
        Section(
            heading: "The recipe",
            recipe: "OBJECT",
            least: #"{"version":4,"sources":[{"location":"a.wav"}],"outputs":[{"location":"a.flac"}]}"#
        ),
        Section(heading: "Sources", recipe: source("OBJECT"), least: #"{"location":"a.wav"}"#),
        Section(heading: "Ranges", recipe: source(#"{"location":"a.wav","ranges":[OBJECT]}"#)),
        Section(
            heading: "PCM without a header",
            recipe: source(#"{"location":"a.raw","raw":OBJECT}"#),
            least: #"{"sampleRateHz":8000,"channelCount":1}"#
        ),
        Section(heading: "Outputs", recipe: output("OBJECT"), least: #"{"location":"a.flac"}"#),
        Section(heading: "Formats", recipe: output(#"{"location":"a.flac","format":OBJECT}"#)),
        Section(
            heading: "Loudness",
            recipe: output(#"{"location":"a.flac","loudness":OBJECT}"#),
            least: #"{"target":"podcast"}"#
        ),
        Section(heading: "Waveforms", recipe: output(#"{"location":"a.png","waveform":OBJECT}"#)),
        Section(
            heading: "Presets of your own",
            recipe: output(#"{"location":"a.flac","ownPreset":OBJECT}"#),
            least: #"{"name":"house"}"#
        ),
        Section(heading: "Chapters", recipe: part("chapters", "[OBJECT]"), least: #"{"at":"0s"}"#),
        Section(heading: "Limits", recipe: part("limits", "OBJECT")),
        Section(
            heading: "Timeline",
            recipe: part("timeline", "OBJECT"),
            least: #"{"tracks":[{"pieces":[{"source":"a"}]}]}"#
        ),
        Section(heading: "Tracks", recipe: track("OBJECT"), least: #"{"pieces":[{"source":"a"}]}"#),
        Section(heading: "Pieces", recipe: track(#"{"pieces":[OBJECT]}"#), least: #"{"source":"a"}"#),
        Section(
            heading: "Fades",
            recipe: track(#"{"pieces":[{"source":"a","fadeIn":OBJECT}]}"#),
            least: #"{"length":"1s"}"#
        ),
        Section(
            heading: "Ramps",
            recipe: track(#"{"pieces":[{"source":"a"}],"ramps":[OBJECT]}"#),
            least: #"{"from":"0s","to":"1:00","fromGain":"-6dB","toGain":"-3dB"}"#
        ),
        Section(heading: "Scan", recipe: part("scan", "OBJECT")),
    ]

    private let lines: [String]

    init() throws {
        let page = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../docs/recipe.md")
        lines = try String(contentsOf: page.standardizedFileURL, encoding: .utf8).components(separatedBy: "\n")
    }

    /// The rows of the table of members under a heading: the member and its example.
    private func rows(under heading: String) throws -> [(member: String, example: String)] {
        let headings = ["## \(heading)", "### \(heading)"]
        let start = try #require(lines.firstIndex(where: headings.contains), "the page has no heading \(heading)")
        let section = lines[(start + 1)...].prefix { !$0.hasPrefix("#") }
        return section.compactMap { line in
            guard let row = line.wholeMatch(of: /\| `(\w+)` \| `(".*?)` \| .* \|/) else { return nil }
            return (String(row.1), String(row.2))
        }
    }

    private static func recipe(_ section: Section, _ object: [String: Any]) throws -> Recipe {
        let text = String(decoding: try JSONSerialization.data(withJSONObject: object), as: UTF8.self)
        return try Recipe(json: section.recipe.replacing("OBJECT", with: text))
    }

    private static func object(_ text: String) throws -> [String: Any] {
        try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any], "\(text)")
    }

    /// The refusal of an unknown member lists those that the reader knows.
    @Test(arguments: sections) func everyMemberHasARow(section: Section) throws {
        var wrong = try Self.object(section.least)
        wrong["x"] = 1
        let error = try #require(throws: RecipeError.self) { try Self.recipe(section, wrong) }
        let known = try #require(error.reason.split(separator: "known: ").last)
        // The members of a piece stand in the order in which they take effect.
        #expect(try rows(under: section.heading).map(\.member).sorted() == known.components(separatedBy: ", ").sorted())
    }

    @Test(arguments: sections) func everyExampleIsRead(section: Section) throws {
        for row in try rows(under: section.heading) {
            let example = try Self.object("{\(row.example)}")
            #expect(Array(example.keys) == [row.member], "\(row.example)")
            var object = try Self.object(section.least)
            // A piece has one of source, silence and track.
            if ["silence", "track"].contains(row.member), section.heading == "Pieces" { object["source"] = nil }
            object.merge(example) { $1 }
            #expect(throws: Never.self, "\(row.example)") { try Self.recipe(section, object) }
        }
    }

    @Test func everyRecipeOfThePageIsValid() throws {
        let blocks = lines.joined(separator: "\n").matches(of: /```json\n((?:.|\n)*?)```/).map { String($0.1) }
        #expect(blocks.count >= 2)
        for block in blocks { try Recipe(json: block).validate() }
    }

    /// Each version of the table is one that the reader knows.
    @Test func versionsAreListed() {
        let listed = lines.compactMap { $0.wholeMatch(of: /\| (\d) \| .*/).flatMap { Int($0.1) } }
        #expect(listed == Recipe.knownVersions)
    }
}
