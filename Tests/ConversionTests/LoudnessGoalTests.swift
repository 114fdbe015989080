import Conversion
import Testing

/// Loudness goals as texts and in recipes.
struct LoudnessGoalTests {
    @Test(arguments: [
        ("-16LUFS", "-16LUFS"), ("-16", "-16LUFS"), ("-16.5 lufs", "-16.5LUFS"), ("-23.05LUFS", "-23.05LUFS"),
        ("-16.50LUFS", "-16.5LUFS"), ("-16.00", "-16LUFS"), ("podcast", "podcast"), ("Broadcast", "broadcast"),
        ("streaming", "streaming"), ("-5", "-5LUFS"), ("-50LUFS", "-50LUFS"),
    ])
    func targetsHaveOneText(text: String, written: String) throws {
        let target = try #require(LoudnessGoal.Target(text))
        #expect(target.text == written)
        #expect(LoudnessGoal.Target(target.text) == target)
    }

    @Test(arguments: [
        "", "LUFS", "-", "-16dB", "-16.123LUFS", "-4", "-51LUFS", "16LUFS", "-1e1", "-16,5", "−16", "-0016", "-16.",
        "-.5", "--16", "podcasts", "-16  LUFS", "nan", "-999999999999",
    ])
    func otherTargetsAreRefused(text: String) { #expect(LoudnessGoal.Target(text) == nil) }

    @Test func truePeaksHaveOneText() throws {
        for (text, written) in [("-1dBTP", "-1dBTP"), ("-1.5", "-1.5dBTP"), ("0 dbtp", "0dBTP"), ("-20", "-20dBTP")] {
            #expect(try #require(LoudnessGoal.Level(truePeak: text)).truePeakText == written)
        }
        for text in ["1", "-20.01", "-1LUFS", "loud"] { #expect(LoudnessGoal.Level(truePeak: text) == nil) }
    }

    @Test func purposesHaveTheirLevels() {
        func level(_ purpose: LoudnessGoal.Purpose, _ channels: Int) -> Double {
            LoudnessGoal(target: .named(purpose)).level(channelCount: channels).decibels
        }
        #expect(level(.podcast, 2) == -16 && level(.podcast, 1) == -19 && level(.podcast, 6) == -16)
        #expect(level(.broadcast, 1) == -23 && level(.broadcast, 2) == -23)
        #expect(level(.streaming, 2) == -14)
    }

    // MARK: Recipes

    private func recipe(_ output: String, version: Int = 2) throws -> Recipe {
        try Recipe(
            json: #"{"version":\#(version),"sources":[{"location":"a.wav"}],"#
                + #""outputs":[{"location":"b.flac"\#(output)}]}"#
        )
    }

    private func refusal(_ output: String, version: Int = 2) throws -> RecipeError {
        try #require(throws: RecipeError.self) { try recipe(output, version: version).validate() }
    }

    @Test func goalIsReadAndWrittenAsVersion2() throws {
        let recipe = try recipe(#","loudness":{"target":"-16LUFS","truePeak":"-1.5dBTP"}"#)
        try recipe.validate()
        #expect(recipe.outputs[0].loudness?.truePeak.decibels == -1.5)
        let json = try recipe.json()
        #expect(
            json.contains(#""loudness":{"target":"-16LUFS","truePeak":"-1.5dBTP"}"#) && json.contains(#""version":2"#)
        )
        #expect(try Recipe(json: json) == recipe)
        #expect(try self.recipe(#","loudness":{"target":"podcast"}"#).outputs[0].loudness?.truePeak == .usualTruePeak)
    }

    @Test func recipeWithoutNewFieldsStaysVersion1() throws {
        #expect(try recipe("", version: 2).json().contains(#""version":1"#))
        #expect(try recipe(#","format":{"dither":"tpdf"}"#, version: 1).version == 1)
        #expect(try recipe(#","format":{"dither":"shaped"}"#).version == 2)
        #expect(try recipe(#","format":{"resample":"best"}"#).version == 2)
    }

    @Test(arguments: [
        (#","loudness":{"target":"-16LUFS"}"#, "recipe.outputs[0].loudness"),
        (#","format":{"dither":"shaped"}"#, "recipe.outputs[0].format.dither"),
        (#","format":{"resample":"fast"}"#, "recipe.outputs[0].format.resample"),
    ])
    func newFieldsNeedVersion2(output: String, path: String) throws {
        #expect(try refusal(output, version: 1).path == path)
    }

    @Test(arguments: [
        (#","loudness":{}"#, "recipe.outputs[0].loudness.target"),
        (#","loudness":{"target":-16}"#, "recipe.outputs[0].loudness.target"),
        (#","loudness":{"target":"loud"}"#, "recipe.outputs[0].loudness.target"),
        (#","loudness":{"target":"-16","truePeak":"3dBTP"}"#, "recipe.outputs[0].loudness.truePeak"),
        (#","loudness":{"target":"-16","peak":"-1"}"#, "recipe.outputs[0].loudness.peak"),
        (#","format":{"resample":"good"}"#, "recipe.outputs[0].format.resample"),
    ])
    func goalsAreRefusedByTheirPlace(output: String, path: String) throws {
        #expect(try refusal(output).path == path)
    }

    @Test func goalsMadeInCodeAreChecked() throws {
        func path(_ output: Recipe.Output) throws -> String {
            let recipe = Recipe(from: .init(location: "a.wav"), to: output)
            return try #require(throws: RecipeError.self) { try recipe.validate() }.path
        }
        let loud = LoudnessGoal(target: .level(.init(hundredths: 100)))
        #expect(try path(.init(location: "b.flac", loudness: loud)) == "recipe.outputs[0].loudness.target")
        let peak = LoudnessGoal(target: .named(.podcast), truePeak: .init(hundredths: 1))
        #expect(try path(.init(location: "b.flac", loudness: peak)) == "recipe.outputs[0].loudness.truePeak")
        let copy = Recipe.Output(location: "b.mka", preset: "passthrough", loudness: .init(target: .named(.podcast)))
        #expect(try path(copy) == "recipe.outputs[0].loudness")
    }

    @Test func theScopeIsWrittenForAlbumsOnly() throws {
        let text = #"""
            {"version":2,"sources":[{"location":"in:a.wav"}],
             "outputs":[{"location":"out:a.flac","loudness":{"target":"-16LUFS","scope":"album"},"replayGain":"album"}]}
            """#
        var recipe = try Recipe(json: text)
        #expect(recipe.belongsToAlbum && recipe.outputs[0].loudness?.scope == .album)
        #expect(try Recipe(json: recipe.json()) == recipe)
        // Outputs of equal loudness have no contrasts that an album's tags could state.
        recipe.outputs[0].loudness?.scope = .track
        #expect(!(try recipe.json().contains("scope")))
        let error = try #require(throws: RecipeError.self) { try recipe.validate() }
        #expect(error.path == "recipe.outputs[0].replayGain")
        recipe.outputs[0].replayGain = .track
        try recipe.validate()
        #expect(!recipe.belongsToAlbum)
        let unknown = try #require(throws: RecipeError.self) {
            try Recipe(json: text.replacing(#""scope":"album""#, with: #""scope":"song""#))
        }
        #expect(unknown.path == "recipe.outputs[0].loudness.scope")
    }
}
