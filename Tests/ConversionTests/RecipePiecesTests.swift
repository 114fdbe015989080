import Conversion
import Testing

/// Outputs that are parts of the source.
@Suite struct RecipePiecesTests {
    private static let cut = #"""
        {"damage":"strict","outputs":[{"location":"out:a-1.flac","onConflict":"fail","range":{"from":"0:00","to":"1/3"},\#
        "tags":{"title":"One","track":"1/2"}},{"location":"out:a-2.flac","onConflict":"fail","range":{"from":"0:20"},\#
        "tags":{"track":"2/2"}}],"sources":[{"location":"in:a.wav"}],"verify":false,"version":3}
        """#

    private func invalid(_ change: (inout Recipe) throws -> Void) throws -> RecipeError {
        var recipe = try Recipe(json: Self.cut)
        try change(&recipe)
        return try #require(throws: RecipeError.self) { try recipe.validate() }
    }

    private func range(_ start: Int64, _ end: Int64?) throws -> MediaTimeRange {
        let (start, end) = (MediaTime(value: start, timescale: 1), end.map { MediaTime(value: $0, timescale: 1) })
        return try MediaTimeRange(start: start, end: end ?? .positiveInfinity)
    }

    @Test func rangesAndTagsAreReadBack() throws {
        let recipe = try Recipe(json: Self.cut)
        try recipe.validate()
        #expect(recipe.version == 3 && recipe.isSplit)
        #expect(recipe.outputs.map { $0.range?.isOpenEnded } == [false, true])
        #expect(recipe.outputs[0].tags == ["title": "One", "track": "1/2"])
        #expect(try recipe.json() == Self.cut)
        #expect(try Recipe(json: recipe.json()) == recipe)
        // Tags alone need the version as well, and a recipe without either keeps its own.
        var tagged = try Recipe(json: #"{"version":1,"sources":[{"location":"a"}],"outputs":[{"location":"b.wav"}]}"#)
        #expect(tagged.version == 1)
        tagged.outputs[0].tags = ["title": "x"]
        #expect(tagged.version == 3 && !tagged.isSplit)
        try tagged.validate()
    }

    @Test(arguments: [1, 2]) func anEarlierVersionHasNoRanges(version: Int) throws {
        let text = Self.cut.replacing(#""version":3"#, with: #""version":\#(version)"#)
        let error = try #require(throws: RecipeError.self) { try Recipe(json: text) }
        #expect(error.path == (version == 1 ? "recipe.outputs[1]" : "recipe.outputs[0].range"))
        #expect(version == 1 || error.reason == "needs version 3 of recipes, and this one says version 2")
    }

    @Test func piecesFollowEachOther() throws {
        #expect(try invalid { $0.outputs[1].range = nil }.path == "recipe.outputs[1].range")
        #expect(try invalid { $0.outputs[0].range = nil }.path == "recipe.outputs[0].range")
        #expect(try invalid { $0.outputs[1].range = try range(0, 5) }.path == "recipe.outputs[1].range.from")
        #expect(try invalid { $0.outputs[0].range = try range(5, nil) }.path == "recipe.outputs[1].range.from")
        #expect(try invalid { $0.outputs[0].range = try range(-1, 1) }.path == "recipe.outputs[0].range.from")
        #expect(try invalid { $0.outputs[1].range = try range(30, 30) }.path == "recipe.outputs[1].range.to")
    }

    @Test func whatChangesTheClockIsRefused() throws {
        #expect(try invalid { $0.sources[0].ranges = [try range(1, 2)] }.path == "recipe.outputs[0].range")
        #expect(try invalid { $0.damage = .skip }.path == "recipe.damage")
        #expect(
            try invalid { recipe in
                recipe.sources[0].name = "a"
                recipe.timeline = Timeline(tracks: [.init(pieces: [Piece(.source("a", .whole))])])
            }.path == "recipe.outputs[0].range"
        )
        let goal = LoudnessGoal(target: .level(.init(hundredths: -1_600)))
        #expect(try invalid { $0.outputs[1].loudness = goal }.path == "recipe.outputs[1].loudness")
        #expect(try invalid { $0.outputs[1].replayGain = .track }.path == "recipe.outputs[1].replayGain")
        let copy = AudioFormat(container: .flac, codec: .copy)
        #expect(try invalid { $0.outputs[1].format = copy }.path == "recipe.outputs[1].format.codec")
        #expect(try invalid { $0.outputs[1].tags = ["": "x"] }.path == "recipe.outputs[1].tags")
    }

    @Test func asManyPiecesAsAMessageHolds() throws {
        func outputs(_ count: Int) throws -> [Recipe.Output] {
            try (0..<count).map { .init(location: "out:\($0).flac", range: try range(Int64($0), Int64($0) + 1)) }
        }
        var recipe = try Recipe(json: Self.cut)
        recipe.outputs = try outputs(200)
        try recipe.validate()
        #expect(try invalid { $0.outputs = try outputs(201) }.description == "recipe.outputs: 201; allowed: up to 200")
    }
}
