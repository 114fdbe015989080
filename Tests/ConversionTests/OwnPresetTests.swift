import Foundation
import Testing

@testable import Conversion

/// Presets that users make.
struct OwnPresetTests {
    private static let house = PresetReference(name: "house", version: 3)

    private static func recipe(_ output: String, _ more: String = "", source: String = "") -> [UInt8] {
        Array(
            """
            {"version": 3, "sources": [{"location": "{source}"\(source)}],
             "outputs": [{"location": "{stem}.{ext}", \(output)}]\(more)}
            """.utf8
        )
    }

    private static func preset(_ output: String, _ more: String = "") throws -> OwnPreset {
        try OwnPreset(house, json: recipe(output, more))
    }

    @Test func namesAreReadWithTheirVersions() {
        #expect(PresetReference("podcast-house") == PresetReference(name: "podcast-house"))
        #expect(PresetReference("Podcast-House@3") == PresetReference(name: "podcast-house", version: 3))
        #expect(PresetReference("a@3")?.description == "a@3")
        let long = String(repeating: "a", count: 51)
        for text in [
            "", "@3", "a@", "a@0", "a@-1", "a@+1", "a@x", "a@99999999999", "1a", ".a", "a/b", "a b", "é", long,
        ] {
            #expect(PresetReference(text) == nil, "\(text)")
        }
    }

    @Test func namesOfBuiltInPresetsAreRefused() throws {
        for preset in Preset.all { #expect(OwnPreset.mistake(inName: preset.name) != nil) }
        #expect(OwnPreset.mistake(inName: "Podcast") != nil && OwnPreset.mistake(inName: "podcast") == nil)
        let error = #expect(throws: RecipeError.self) {
            _ = try OwnPreset(PresetReference(name: "opus-96"), json: Self.recipe(#""format": {"container": "flac"}"#))
        }
        #expect(error?.path == "name")
    }

    @Test func theFormatOfABuiltInPresetIsCopied() throws {
        let preset = try Self.preset(#""preset": "podcast-mp3", "format": {"bitRate": 96000}"#)
        let made = preset.recipe.outputs[0]
        #expect(made.preset == nil && made.format?.bitRate == 96_000 && made.format?.sampleRateHz == 44_100)
        #expect(preset.summary == "mp3 96k 44.1 kHz in mp3")
    }

    @Test(arguments: [
        (#""format": {"container": "flac"}, "onConflict": "skip""#, "", "", "recipe.outputs[0].onConflict"),
        (#""format": {"container": "flac"}, "replayGain": "album""#, "", "", "recipe.outputs[0].replayGain"),
        (#""format": {"container": "flac"}"#, "", #", "track": 1"#, "recipe.sources[0].track"),
        (#""format": {"container": "flac"}"#, "", #", "ranges": [{"to": "5"}]"#, "recipe.sources[0].ranges"),
        (#""format": {"container": "flac", "rate": 5}"#, "", "", "recipe.outputs[0].format.rate"),
        (#""preset": "no-such""#, "", "", "recipe.outputs[0].preset"),
        (#""tags": {}"#, "", "", "recipe.outputs[0].format"),
    ])
    func aRefusalNamesThePosition(output: String, more: String, source: String, path: String) {
        let error = #expect(throws: RecipeError.self) {
            _ = try OwnPreset(Self.house, json: Self.recipe(output, more, source: source))
        }
        #expect(error?.path == path)
    }

    @Test func recipesOfManyTagsAreRefused() {
        let tags = (0..<400).map { "\"tag\($0)\": \"xxxxxxxxxxxx\"" }.joined(separator: ", ")
        let error = #expect(throws: RecipeError.self) {
            _ = try Self.preset(#""format": {"container": "flac"}"#, ", \"tags\": {\(tags)}")
        }
        #expect(error?.reason.contains("may have 8192") == true)
    }

    @Test func anOutputIsLiteralAndSaysWhatItWasMadeWith() throws {
        let preset = try Self.preset(#""format": {"container": "ogg", "codec": "opus", "bitRate": 96000}"#)
        var output = preset.output(at: "out:talk.webm", onConflict: .skip)
        #expect(output.ownPreset == Self.house && output.presetName == "house" && output.onConflict == .skip)
        // In the container of the extension, as built-in presets.
        #expect(output.format?.container == .webm && output.format?.codec == .opus)
        let recipe = Recipe(from: Recipe.Source(location: "in:talk.wav"), to: output)
        try recipe.validate()
        let text = try recipe.json()
        #expect(recipe.version == 3 && text.contains(#""ownPreset":{"name":"house","version":3}"#))
        #expect(try Recipe(json: text) == recipe)
        // A program that does not know the field needs nothing else of it.
        output.ownPreset = nil
        #expect(Recipe(from: Recipe.Source(location: "in:talk.wav"), to: output).version == 1)
    }

    @Test func anOutputHasOnePreset() throws {
        let error = #expect(throws: RecipeError.self) {
            _ = try Recipe(
                json: Self.recipe(#""preset": "opus-96", "ownPreset": {"name": "house"}"#)
            )
        }
        #expect(error?.path == "recipe.outputs[0].ownPreset")
        let name = #expect(throws: RecipeError.self) {
            _ = try Recipe(json: Self.recipe(#""format": {"container": "wav"}, "ownPreset": {"name": "A B"}"#))
        }
        #expect(name?.path == "recipe.outputs[0].ownPreset.name")
    }

    @Test func recipesInFilesMayNamePresets() throws {
        let preset = try Self.preset(
            #""format": {"container": "mp3", "bitRate": 96000}, "loudness": {"target": "podcast"}"#,
            #", "tags": {"artist": "us", "genre": "talk"}"#
        )
        let text = """
            {"version": 1, "sources": [{"location": "a.wav"}],
             "outputs": [{"location": "a.mp3", "preset": "House", "format": {"channelCount": 1}}], "tags": {"genre": "x"}}
            """
        #expect(Recipe.presetNames(json: Array(text.utf8)) == ["House"])
        let recipe = try Recipe(json: Array(text.utf8), presets: ["house": preset])
        let output = recipe.outputs[0]
        #expect(output.preset == nil && output.ownPreset == Self.house && output.loudness != nil)
        #expect(output.format?.bitRate == 96_000 && output.format?.channelCount == 1)
        #expect(output.tags == ["artist": "us", "genre": "talk"] && recipe.version == 3)
        let error = #expect(throws: RecipeError.self) { _ = try Recipe(json: text) }
        #expect(error?.path == "recipe.outputs[0].preset")
    }

    @Test func whatConcernsTheWholeRecipeIsAdded() throws {
        let more = #", "damage": "conceal", "verify": true, "tags": {"artist": "us", "genre": "talk"}"#
        let preset = try Self.preset(#""format": {"container": "flac"}, "tags": {"album": "one"}"#, more)
        var recipe = Recipe(from: Recipe.Source(location: "a"), to: preset.output(at: "b.flac"))
        recipe.tags = ["genre": "music"]
        preset.settle(&recipe)
        #expect(recipe.damage == .conceal && recipe.verify && !recipe.strictLoss)
        #expect(recipe.tags == ["artist": "us", "genre": "music", "album": "one"])
        #expect(preset.summary == "flac in flac, 3 tags, on damage conceal, verified")
    }

    @Test func differencesAreFields() throws {
        let first = try Self.preset(
            #""format": {"container": "mp3", "bitRate": 96000}, "loudness": {"target": "podcast"}"#
        )
        let second = try Self.preset(
            #""format": {"container": "mp3", "bitRate": 128000, "channelCount": 1}"#,
            #", "tags": {"artist": "us"}"#
        )
        let differences = try first.differences(to: second)
        #expect(
            differences.map(\.field) == [
                "format.bitRate", "format.channelCount", "loudness.target", "loudness.truePeak", "tags.artist",
            ]
        )
        #expect(differences[0].first == "96000" && differences[0].second == "128000")
        #expect(differences[1].first == nil && differences[4].second == "\"us\"")
        #expect(try first.differences(to: first).isEmpty)
        for preset in Preset.all { #expect(try OwnPreset(preset).differences(to: OwnPreset(preset)).isEmpty) }
    }
}
