import Conversion
import Testing

/// Recipes with outputs that hold the peaks of the sound.
@Suite struct RecipeWaveformTests {
    private static let both = #"""
        {"damage":"strict","outputs":[{"location":"b.flac","onConflict":"fail"},{"location":"b.dat",\#
        "onConflict":"fail","waveform":{"bits":16,"samplesPerPixel":512,"splitsChannels":true}}],\#
        "sources":[{"location":"a.wav"}],"verify":false,"version":4}
        """#

    private func invalid(_ change: (inout Recipe) -> Void) throws -> RecipeError {
        var recipe = try Recipe(json: Self.both)
        change(&recipe)
        return try #require(throws: RecipeError.self) { try recipe.validate() }
    }

    @Test func waveformIsReadBack() throws {
        let recipe = try Recipe(json: Self.both)
        try recipe.validate()
        let settings = Recipe.Waveform(samplesPerPixel: 512, bits: 16, splitsChannels: true)
        #expect(recipe.outputs[1] == Recipe.Output(location: "b.dat", waveform: settings))
        #expect(recipe.soundOutputs.map(\.location) == ["b.flac"])
        #expect(try recipe.json() == Self.both)
    }

    @Test func waveformMayStandAlone() throws {
        for name in ["a.dat", "a.JSON", "a.svg", "a.png"] {
            let recipe = Recipe(from: .init(location: "a.wav"), to: .init(location: name, waveform: .init()))
            try recipe.validate()
            #expect(recipe.version == 4)
        }
    }

    @Test func anEarlierVersionHasNoWaveforms() throws {
        let text = Self.both.replacing(#""version":4"#, with: #""version":3"#)
        let error = try #require(throws: RecipeError.self) { try Recipe(json: text) }
        #expect(error.path == "recipe.outputs[1].waveform")
    }

    @Test func whatAWaveformCannotHaveIsRefused() throws {
        #expect(try invalid { $0.outputs[1].location = "b.gif" }.path == "recipe.outputs[1].location")
        #expect(try invalid { $0.outputs[1].location = "b" }.path == "recipe.outputs[1].location")
        #expect(try invalid { $0.outputs[1].preset = "podcast-mp3" }.path == "recipe.outputs[1].preset")
        #expect(try invalid { $0.outputs[1].tags = ["title": "x"] }.path == "recipe.outputs[1].tags")
        #expect(try invalid { $0.outputs[1].waveform?.bits = 12 }.path == "recipe.outputs[1].waveform.bits")
        let zoom = "recipe.outputs[1].waveform.samplesPerPixel"
        #expect(try invalid { $0.outputs[1].waveform?.samplesPerPixel = 1 }.path == zoom)
        #expect(try invalid { $0.outputs[1].waveform?.width = 800 }.path == "recipe.outputs[1].waveform.width")
        #expect(try invalid { $0.outputs[1].location = "b.svg" }.path == zoom)
        #expect(try invalid { $0.outputs.swapAt(0, 1) }.path == "recipe.outputs[1]")
        #expect(try invalid { $0.outputs[1].location = "a.wav" }.path == "recipe.outputs[1].location")
    }

    @Test func nothingIsDecodedForPassthrough() throws {
        let error = try invalid { $0.outputs[0].preset = "passthrough" }
        #expect(error.path == "recipe.outputs[0].format.codec")
    }

    @Test func spectrogramIsAPNG() throws {
        let path = "recipe.outputs[1].waveform.spectrogram"
        for name in ["b.svg", "b.dat", "b.json"] {
            let error = try invalid { recipe in
                recipe.outputs[1] = Recipe.Output(location: name, waveform: .init(spectrogram: .mel))
            }
            #expect(error.path == path)
        }
        let large = try invalid { recipe in
            let settings = Recipe.Waveform(width: 8_192, height: 4_096, spectrogram: .linear)
            recipe.outputs[1] = Recipe.Output(location: "b.png", waveform: settings)
        }
        #expect(large.path == "recipe.outputs[1].waveform.width")
        var recipe = try Recipe(json: Self.both)
        let settings = Recipe.Waveform(width: 3_840, height: 2_160, spectrogram: .linear)
        recipe.outputs[1] = Recipe.Output(location: "b.png", waveform: settings)
        try recipe.validate()
        #expect(try Recipe(json: recipe.json()) == recipe)
        #expect(Recipe.Waveform(spectrogram: .mel).size == (1_200, 400))
        let wrong = try recipe.json().replacing("linear", with: "octaves")
        let error = try #require(throws: RecipeError.self) { try Recipe(json: wrong) }
        #expect(error.path == path && error.reason.contains("allowed: mel, linear"))
    }

    /// They are all in memory at once.
    @Test func spectrogramsHaveALimitTogether() throws {
        let settings = Recipe.Waveform(width: 3_840, height: 2_160, spectrogram: .mel)
        let many: [Recipe.Output] = (1...5).map { .init(location: "\($0).png", waveform: settings) }
        var recipe = try Recipe(json: Self.both)
        recipe.outputs = Array(many.prefix(4))
        try recipe.validate()
        let error = try invalid { $0.outputs = many }
        #expect(error.path == "recipe.outputs[4].waveform.width")
        // As many of the usual size as a recipe may have outputs.
        recipe.outputs = (1...Recipe.maximumOutputs).map { number in
            Recipe.Output(location: "\(number).png", waveform: .init(spectrogram: .mel))
        }
        try recipe.validate()
        // A waveform of that size is written row by row.
        recipe.outputs = (1...5).map { number in
            Recipe.Output(location: "\(number).png", waveform: .init(width: 16_384, height: 4_096))
        }
        try recipe.validate()
    }

    @Test func piecesHaveNoWaveforms() throws {
        let error = try invalid { recipe in
            recipe.outputs[0].range = .whole
        }
        #expect(error.path == "recipe.outputs[1].waveform")
    }

    @Test func recipeOfWaveformsAloneKeepsWhatTheyShow() throws {
        let recipe = try Recipe(json: Self.both)
        let rest = recipe.reduced(to: [1])
        #expect(rest == recipe)
        #expect(recipe.reduced(to: [0]).outputs == [recipe.outputs[0]])
        #expect(recipe.reduced(to: []).outputs.isEmpty)
        #expect(rest.fits(destinations: 2) && rest.fits(destinations: 1))
        #expect(!rest.fits(destinations: 0) && !rest.fits(destinations: 3))
        #expect(!recipe.reduced(to: [0]).fits(destinations: 0))
    }

    @Test func waveformHasNoAudioFormat() throws {
        let output = Recipe.Output(location: "a.dat", waveform: .init())
        let error = try #require(throws: RecipeError.self) { try output.audioFormat() }
        #expect(error.path == "recipe.outputs[0].waveform")
    }
}
