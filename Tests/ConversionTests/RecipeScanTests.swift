import Conversion
import Testing

/// Recipes that decode a source and write nothing.
@Suite struct RecipeScanTests {
    private static let scan = #"""
        {"damage":"strict","outputs":[],"scan":{"loudness":true},"sources":[{"location":"archive:a.flac"}],\#
        "verify":false,"version":4}
        """#

    private func invalid(_ change: (inout Recipe) throws -> Void) throws -> RecipeError {
        var recipe = try Recipe(json: Self.scan)
        try change(&recipe)
        return try #require(throws: RecipeError.self) { try recipe.validate() }
    }

    @Test func scanIsReadBack() throws {
        let recipe = try Recipe(json: Self.scan)
        try recipe.validate()
        #expect(recipe == Recipe(scanning: .init(location: "archive:a.flac"), for: .init(loudness: true)))
        #expect(recipe.version == 4 && recipe.outputs.isEmpty)
        #expect(try recipe.json() == Self.scan)
    }

    @Test func shortestScanNamesItsSource() throws {
        let recipe = try Recipe(json: #"{"version":4,"sources":[{"location":"a.wav"}],"scan":{}}"#)
        try recipe.validate()
        #expect(recipe.scan == .init(loudness: false))
    }

    @Test(arguments: [1, 2, 3]) func anEarlierVersionHasNoScans(version: Int) throws {
        let text = Self.scan.replacing(#""version":4"#, with: #""version":\#(version)"#)
        let error = try #require(throws: RecipeError.self) { try Recipe(json: text) }
        #expect(error.path == "recipe.scan")
        #expect(error.reason == "needs version 4 of recipes, and this one says version \(version)")
    }

    @Test func aConversionStillNeedsItsOutputs() throws {
        let text = #"{"version":4,"sources":[{"location":"a.wav"}]}"#
        #expect(try #require(throws: RecipeError.self) { try Recipe(json: text) }.path == "recipe.outputs")
        var recipe = try Recipe(json: Self.scan)
        recipe.scan = nil
        #expect(try #require(throws: RecipeError.self) { try recipe.validate() }.path == "recipe.outputs")
    }

    @Test func whatAScanCannotDoIsRefused() throws {
        #expect(try invalid { $0.sources = [] }.path == "recipe.sources")
        #expect(try invalid { $0.sources.append(.init(location: "b.wav")) }.path == "recipe.sources")
        #expect(try invalid { $0.sources[0].location = "" }.path == "recipe.sources[0].location")
        #expect(try invalid { $0.sources[0].track = 1 }.path == "recipe.sources[0]")
        let raw = Recipe.RawDescription(sampleRateHz: 44_100, channelCount: 2)
        #expect(try invalid { $0.sources[0].raw = raw }.path == "recipe.sources[0]")
        #expect(try invalid { $0.outputs = [.init(location: "b.wav")] }.path == "recipe.outputs")
        #expect(try invalid { $0.tags = ["title": "x"] }.path == "recipe.tags")
        #expect(try invalid { $0.verify = true }.path == "recipe.verify")
        #expect(try invalid { $0.limits = .init(cpuSeconds: 0) }.path == "recipe.limits.cpuSeconds")
    }

    @Test func aPresetIsNoScan() throws {
        let text = #"{"version":4,"sources":[{"location":"{source}"}],"scan":{}}"#
        let error = try #require(throws: RecipeError.self) {
            try OwnPreset(PresetReference(name: "house"), json: Array(text.utf8))
        }
        #expect(error.path == "recipe.scan")
    }

    @Test func damageModeOfARetryDoesNotMatter() throws {
        var recipe = try Recipe(json: Self.scan)
        recipe.damage = .conceal
        try recipe.validate()
    }

    @Test(arguments: [#"{"loud":true}"#, #"{"loudness":1}"#, "true"]) func aScanIsReadStrictly(text: String) throws {
        let json = #"{"version":4,"sources":[{"location":"a.wav"}],"scan":\#(text)}"#
        #expect(try #require(throws: RecipeError.self) { try Recipe(json: json) }.path.hasPrefix("recipe.scan"))
    }

    @Test func digestIsASHA256InHexadecimalDigits() {
        let digest = SoundDigest(
            sha256: String(repeating: "0f", count: 32),
            form: "s16le",
            sampleRateHz: 44_100,
            channelCount: 2
        )
        #expect(digest.isWellFormed && digest.description == "s16le 44100 Hz 2 ch")
        for text in ["", "0f", String(repeating: "0F", count: 32), String(repeating: "0f", count: 33)] {
            var other = digest
            other.sha256 = text
            #expect(!other.isWellFormed)
        }
    }
}
