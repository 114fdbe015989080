import Conversion
import Foundation
import Testing

@Suite struct RecipeTests {
    private static let short =
        #"{"version":1,"sources":[{"location":"in:a.wav"}],"outputs":[{"location":"out:a.flac"}]}"#

    private func refusal(_ json: String, at location: SourceLocation = #_sourceLocation) throws -> RecipeError {
        try #require(throws: RecipeError.self, sourceLocation: location) { try Recipe(json: json) }
    }

    /// The JSON of a recipe, with `source` and `output` inserted into the two objects, and `rest` at the end.
    private func text(source: String = "", output: String = "", rest: String = "") -> String {
        let source = #"{"location":"a.wav"\#(source)}"#
        let output = #"{"location":"b.mp3"\#(output)}"#
        return #"{"version":1,"sources":[\#(source)],"outputs":[\#(output)]\#(rest)}"#
    }

    // MARK: Round trip

    @Test func shortestRecipeHasTheUsualModes() throws {
        let recipe = try Recipe(json: Self.short)
        #expect((recipe.damage, recipe.verify, recipe.tags, recipe.limits) == (.strict, false, [:], nil))
        #expect(recipe.outputs[0].onConflict == .fail)
        try recipe.validate()
    }

    @Test func everythingSaidIsReadBack() throws {
        var recipe = Recipe(
            from: .init(
                location: "in:talk.raw",
                track: 1,
                ranges: [
                    try MediaTimeRange(start: MediaTime(parsing: "0:10"), end: MediaTime(parsing: "1:00")),
                    try MediaTimeRange(startingAt: MediaTime(value: 1, timescale: 44_100)),
                ],
                raw: .init(sampleRateHz: 48_000, channelCount: 2, bitDepth: 24, endianness: .big)
            ),
            to: .init(
                location: "out:talk.mp3",
                preset: "mp3-v0",
                format: AudioFormat(container: .mp3, layout: .mono, quality: 0.5),
                onConflict: .replace
            )
        )
        recipe.damage = .conceal
        recipe.verify = true
        recipe.strictLoss = true
        recipe.tags = ["title": "Talk", "artist": ""]
        recipe.limits = .init(outputBytes: 1 << 40, decodedSeconds: 3600, expansionRatio: 1.5)
        let json = try recipe.json()
        #expect(try Recipe(json: json) == recipe)
        #expect(try Recipe(json: json).json() == json)
    }

    @Test func fieldsAreWrittenInTheOrderOfTheAlphabet() throws {
        let recipe = Recipe(from: .init(location: "a/b.wav"), to: .init(location: "c.flac"))
        let expected =
            #"{"damage":"strict","outputs":[{"location":"c.flac","onConflict":"fail"}],"#
            + #""sources":[{"location":"a/b.wav"}],"verify":false,"version":1}"#
        #expect(try recipe.json() == expected)
    }

    @Test func rangesAreWrittenAsPeopleWriteThem() throws {
        let recipe = try Recipe(
            json: text(source: #","ranges":[{"from":"0:10","to":"1:00"},{"to":"5s"},{"from":"441/44100"}]"#)
        )
        let ranges = recipe.sources[0].ranges
        #expect(ranges[0].duration == MediaTime(value: 50, timescale: 1))
        #expect(ranges[1].start == .zero)
        #expect(ranges[2].isOpenEnded)
        #expect(try recipe.json().contains(#"{"from":"0:10","to":"1:00"}"#))
    }

    @Test func rangeThatNoDecimalHoldsLosesNothing() throws {
        let recipe = try Recipe(json: text(source: #","ranges":[{"from":"1/44100","to":"2/3"}]"#))
        #expect(try recipe.json().contains(#"{"from":"1/44100","to":"2/3"}"#))
    }

    // MARK: Errors with name and path

    @Test func newerVersionIsRefusedBeforeItsFields() throws {
        let error = try refusal(#"{"version":5,"graph":{}}"#)
        #expect(error.code == .unsupportedVersion)
        #expect(error.description == "recipe.version: unsupported version 5; supported: 1, 2, 3, 4")
    }

    @Test func unknownFieldIsNamedWithItsPath() throws {
        let error = try refusal(text(output: #","fromat":{}"#))
        #expect(error.code == .unknownField)
        #expect(
            error.description
                == "recipe.outputs[0].fromat: unknown field; known: location, preset, format, onConflict, loudness, replayGain, range, tags, ownPreset, waveform, spec"
        )
    }

    @Test(arguments: [
        (#","extra":1"#, "", "", "recipe.sources[0].extra"),
        (#","ranges":[{},{"form":"1s"}]"#, "", "", "recipe.sources[0].ranges[1].form"),
        (#","raw":{"sampleRateHz":8000,"channelCount":1,"bits":8}"#, "", "", "recipe.sources[0].raw.bits"),
        ("", #","format":{"rate":1}"#, "", "recipe.outputs[0].format.rate"),
        ("", "", #","limits":{"bytes":1}"#, "recipe.limits.bytes"),
        ("", "", #","priority":1"#, "recipe.priority"),
    ])
    func unknownFieldIsRefusedAtEveryDepth(source: String, output: String, rest: String, path: String) throws {
        let error = try refusal(text(source: source, output: output, rest: rest))
        #expect((error.code, error.path) == (.unknownField, path))
    }

    @Test(arguments: [
        (#"{"sources":[],"outputs":[]}"#, "recipe.version"), (#"{"version":1,"outputs":[]}"#, "recipe.sources"),
        (#"{"version":1,"sources":[{}],"outputs":[]}"#, "recipe.sources[0].location"),
        (
            #"{"version":1,"sources":[{"location":"a","raw":{"channelCount":1}}],"outputs":[]}"#,
            "recipe.sources[0].raw.sampleRateHz"
        ),
        (#"{"version":1,"sources":[],"outputs":[{"location":"a","format":{}}]}"#, "recipe.outputs[0].format.container"),
    ])
    func missingFieldIsNamed(json: String, path: String) throws {
        let error = try refusal(json)
        #expect((error.code, error.path) == (.missingField, path))
    }

    @Test(arguments: [
        (#"{"version":"1"}"#, "recipe.version: must be a whole number"),
        (#"{"version":1.5}"#, "recipe.version: must be a whole number"),
        (
            #"{"version":1,"sources":[{"location":"a","track":1e99}],"outputs":[]}"#,
            "recipe.sources[0].track: must be a whole number"
        ),
        (#"{"version":1,"sources":{},"outputs":[]}"#, "recipe.sources: must be a list"),
        (#"{"version":1,"sources":["a"],"outputs":[]}"#, "recipe.sources[0]: must be an object"),
        (#"{"version":1,"sources":[{"location":1}],"outputs":[]}"#, "recipe.sources[0].location: must be text"),
        (#"{"version":1,"sources":[],"outputs":[],"verify":"yes"}"#, "recipe.verify: must be true or false"),
        (#"{"version":1,"sources":[],"outputs":[],"tags":{"a":1}}"#, "recipe.tags.a: must be text"),
        ("[]", "recipe: must be an object"),
    ])
    func wrongTypeIsNamed(json: String, sentence: String) throws {
        let error = try refusal(json)
        #expect((error.code, error.description) == (.wrongType, sentence))
    }

    /// Workers that would write the tags leave the job.
    @Test func recipesWithoutTheTagsOfTheirSourcesAreOfVersion4() throws {
        var recipe = try Recipe(json: text())
        recipe.dropTags = true
        #expect(recipe.version == 4)
        #expect(try Recipe(json: recipe.json()) == recipe)
        let older = try recipe.json().replacing(#""version":4"#, with: #""version":3"#)
        #expect(try refusal(older).path == "recipe.dropTags")
    }

    /// Workers of release 0.1.0 refuse the names, so they must leave the job.
    @Test func presetsThatTheFirstReleaseDoesNotKnowAreOfVersion4() throws {
        for preset in Preset.all {
            var recipe = try Recipe(json: text())
            recipe.outputs[0].preset = preset.name.uppercased()
            let isNew = ["acx", "librivox"].contains(preset.name)
            #expect(recipe.version == (isNew ? 4 : 1), "\(preset.name)")
            let json = try recipe.json()
            #expect(try Recipe(json: json) == recipe)
            guard isNew else { continue }
            let older = try refusal(json.replacing(#""version":4"#, with: #""version":3"#))
            #expect(older.path == "recipe.outputs[0].preset" && older.reason.hasPrefix("needs version 4 of recipes"))
        }
    }

    /// One value is written as ever.
    @Test func severalValuesOfATagAreOfVersion4() throws {
        var recipe = try Recipe(json: text())
        recipe.tags.set([("artist", "One"), ("Genre", "a"), ("ARTIST", "Two"), ("title", "")])
        #expect(recipe.tags == ["artist": .init(["One", "Two"]), "Genre": "a", "title": ""])
        #expect(recipe.version == 4)
        let json = try recipe.json()
        #expect(json.contains(#""tags":{"Genre":"a","artist":["One","Two"],"title":""}"#))
        #expect(try Recipe(json: json) == recipe)
        #expect(try refusal(json.replacing(#""version":4"#, with: #""version":3"#)).path == "recipe.tags")
        let wrong = json.replacing(#""Two"]"#, with: "2]")
        #expect(try refusal(wrong).description == "recipe.tags.artist[1]: must be text")
        recipe.tags.set([("artist", "Three")])
        #expect(recipe.tags["artist"] == "Three" && recipe.version == 1)
        recipe.outputs[0].tags = ["artist": .init(["One", "Two"])]
        #expect(recipe.version == 4)
        let late = try recipe.json().replacing(#""version":4"#, with: #""version":3"#)
        #expect(try refusal(late).path == "recipe.outputs[0].tags")
    }

    /// Sources that give a cover or tags are of version 4, and come last.
    @Test func sourcesWithoutSoundAreOfVersion4() throws {
        var recipe = try Recipe(json: text())
        recipe.sources.append(.init(location: "front.jpg", use: .cover))
        recipe.sources.append(.init(location: "other.flac", use: .tags))
        try recipe.validate()
        #expect(recipe.version == 4 && recipe.soundSources.map(\.location) == ["a.wav"])
        let json = try recipe.json()
        #expect(json.contains(#"{"location":"front.jpg","use":"cover"}"#))
        #expect(try Recipe(json: json) == recipe)
        #expect(try refusal(json.replacing(#""version":4"#, with: #""version":3"#)).path == "recipe.sources[1].use")
        let wrong = try refusal(json.replacing(#""use":"cover""#, with: #""use":"picture""#))
        #expect(wrong.description == #"recipe.sources[1].use: "picture"; allowed: sound, tags, cover"#)
        #expect(try invalid { $0.sources.append(.init(location: "b.wav")) }.path == "recipe.sources")
        #expect(try invalid { $0.sources[0].use = .cover }.path == "recipe.sources")
        let cover = Recipe.Source(location: "front.jpg", use: .cover)
        #expect(try invalid { $0.sources.insert(cover, at: 0) }.path == "recipe.sources[1]")
        #expect(try invalid { $0.sources += [cover, cover] }.path == "recipe.sources[2].use")
        let track = Recipe.Source(location: "c", track: 1, use: .tags)
        #expect(try invalid { $0.sources.append(track) }.path == "recipe.sources[1]")
        recipe.dropTags = true
        let error = #expect(throws: RecipeError.self) { try recipe.validate() }
        #expect(error?.path == "recipe.dropTags")
    }

    @Test func chaptersOfRecipesAreOfVersion4AndInOrder() throws {
        var recipe = try Recipe(json: text())
        recipe.chapters = [.init(at: .zero, title: "One"), .init(at: MediaTime(value: 3, timescale: 2))]
        #expect(recipe.version == 4)
        #expect(try Recipe(json: recipe.json()) == recipe)
        try recipe.validate()
        let older = try recipe.json().replacing(#""version":4"#, with: #""version":3"#)
        #expect(try refusal(older).path == "recipe.chapters")
        recipe.chapters.swapAt(0, 1)
        let error = #expect(throws: RecipeError.self) { try recipe.validate() }
        #expect(error?.path == "recipe.chapters[1].at")
        recipe.chapters = [.init(at: .positiveInfinity)]
        #expect(throws: RecipeError.self) { try recipe.validate() }
    }

    @Test func onlySourcesOfATimelineAreMarked() throws {
        var recipe = try Recipe(json: text())
        recipe.markSources = true
        #expect(recipe.version == 4)
        #expect(try Recipe(json: recipe.json()) == recipe)
        let error = #expect(throws: RecipeError.self) { try recipe.validate() }
        #expect(error?.path == "recipe.markSources")
    }

    /// A book may have a list of chapters, and the tags of a book.
    @Test func markedSourcesAndChaptersGoTogether() throws {
        var recipe = try Recipe(json: text())
        recipe.sources[0].name = "a"
        recipe.timeline = Timeline(tracks: [.init(pieces: [Piece(.source("a"))])])
        (recipe.markSources, recipe.chapters) = (true, [.init(at: .zero, title: "One")])
        try recipe.validate()
        #expect(try Recipe(json: recipe.json()) == recipe)
    }

    /// Workers that do not know the mode leave the job.
    @Test func recipesThatTrustPacketsAreOfVersion4() throws {
        var recipe = try Recipe(json: text())
        #expect(recipe.version == 1)
        recipe.damage = .trustPackets
        #expect(recipe.version == 4)
        #expect(try Recipe(json: recipe.json()) == recipe)
        let older = try recipe.json().replacing(#""version":4"#, with: #""version":3"#)
        #expect(try refusal(older).path == "recipe.damage")
        let modes = DamageMode.allCases.filter(\.movesSound)
        #expect(modes == [.skip, .trustPackets])
        let error = try refusal(text(rest: #","damage":"trust-packets""#))
        #expect(error.path == "recipe.damage")
        #expect(error.reason == "needs version 4 of recipes, and this one says version 1")
    }

    @Test func wordThatIsNotAllowedIsRefusedWithThoseThatAre() throws {
        let error = try refusal(text(rest: #","damage":"ignore""#))
        #expect(error.description == #"recipe.damage: "ignore"; allowed: strict, conceal, skip, trust-packets"#)
        let container = try refusal(text(output: #","format":{"container":"wavv"}"#))
        #expect(container.description.hasPrefix(#"recipe.outputs[0].format.container: "wavv"; allowed: wav, w64"#))
        let dither = try refusal(text(output: #","format":{"dither":"noisy"}"#))
        #expect(dither.description == #"recipe.outputs[0].format.dither: "noisy"; allowed: none, tpdf, shaped"#)
        let layout = try refusal(text(output: #","format":{"layout":"5.2"}"#))
        #expect(
            layout.description.hasPrefix(
                #"recipe.outputs[0].format.layout: "5.2" is not a channel layout; allowed: mono"#
            )
        )
    }

    @Test(arguments: [#","format":{"bitRate":0}"#, #","format":{"sampleRateHz":-1}"#, #","format":{"channelCount":0}"#])
    func countsBeginAtOne(output: String) throws {
        #expect(try refusal(text(output: output)).code == .valueNotAllowed)
    }

    @Test(arguments: [
        (#"{"from":"2s","to":"1s"}"#, "to"), (#"{"from":"soon"}"#, "from"), (#"{"from":"+infinity"}"#, "from"),
    ])
    func rangeThatIsNoneIsRefusedAtItsEnd(range: String, end: String) throws {
        let error = try refusal(text(source: #","ranges":[\#(range)]"#))
        #expect((error.code, error.path) == (.valueNotAllowed, "recipe.sources[0].ranges[0].\(end)"))
    }

    @Test(arguments: ["", "{", "recipe", #"{"version":1"#, "\u{0}"])
    func whatIsNoJSONIsSaidToBeNone(json: String) throws {
        let error = try refusal(json)
        #expect((error.code, error.path) == (.malformed, "recipe"))
        #expect(error.reason.hasPrefix("it is not valid JSON"))
    }

    // MARK: Formats of outputs

    private func format(
        _ location: String,
        preset: String? = nil,
        _ format: AudioFormat? = nil
    ) throws(RecipeError) -> AudioFormat {
        try Recipe.Output(location: location, preset: preset, format: format).audioFormat()
    }

    @Test func extensionAloneMakesAFormat() throws {
        #expect(try format("out:a/b.FLAC") == AudioFormat(container: .flac))
        #expect(try format("b.opus") == AudioFormat(container: .ogg, codec: .opus))
    }

    @Test func formatWithoutContainerTakesItFromPresetOrExtension() throws {
        let byPreset = try Recipe(json: text(output: #","preset":"mp3-128","format":{"bitRate":96000}"#)).outputs[0]
        #expect(byPreset.format?.container == .mp3)
        #expect(try byPreset.audioFormat().bitRate == 96_000)
        let byExtension = try Recipe(json: text(output: #","format":{"quality":4}"#)).outputs[0]
        #expect(try byExtension.audioFormat() == AudioFormat(container: .mp3, quality: 4))
    }

    @Test func passthroughTakesTheContainerOfTheExtension() throws {
        let made = try format("b.mka", preset: "passthrough")
        #expect((made.container, made.codec) == (.mka, .copy))
    }

    @Test(
        arguments: [
            ("b", nil, "recipe.outputs[0].format"), ("dir.wav/b", nil, "recipe.outputs[0].format"),
            ("b.wav", "mp3-128", "recipe.outputs[0].location"), ("b.opus", "vorbis-q6", "recipe.outputs[0].location"),
            ("b.mp3", "mp3-v00", "recipe.outputs[0].preset"),
        ] as [(String, String?, String)]
    )
    func outputThatMakesNoSenseIsRefused(location: String, preset: String?, path: String) throws {
        let error = try #require(throws: RecipeError.self) { try format(location, preset: preset) }
        #expect(error.path == path)
    }

    @Test func extensionIsAPromise() throws {
        let error = try #require(throws: RecipeError.self) { try format("b.wav", preset: "mp3-128") }
        #expect(error.reason == "the extension .wav means WAV, but the output would be MP3 with MP3")
        #expect(throws: Never.self) { try format("b.aif", AudioFormat(container: .aifc)) }
        #expect(throws: Never.self) { try format("b.bin", preset: "mp3-128") }
    }

    // MARK: Whole recipes

    private func invalid(_ change: (inout Recipe) throws -> Void) throws -> RecipeError {
        var recipe = try Recipe(json: Self.short)
        try change(&recipe)
        return try #require(throws: RecipeError.self) { try recipe.validate() }
    }

    @Test func aSourceAndAnOutputAreNeeded() throws {
        let none = try invalid { $0.sources = [] }
        #expect((none.code, none.path) == (.missingField, "recipe.sources"))
        #expect(try invalid { $0.outputs = [] }.path == "recipe.outputs")
        let two = try invalid { $0.sources.append($0.sources[0]) }
        #expect(two.description == "recipe.sources: must have exactly one entry without a timeline, not 2")
    }

    @Test func severalOutputsMustFitOneDecode() throws {
        func added(_ output: Recipe.Output) throws -> String {
            try invalid { $0.outputs.append(output) }.description
        }
        #expect(try invalid { $0.outputs.append($0.outputs[0]) }.path == "recipe.outputs[1].location")
        #expect(
            try added(.init(location: "out:b.mp3", format: AudioFormat(container: .mp3, codec: .copy)))
                .hasPrefix("recipe.outputs[1].format.codec: passthrough decodes nothing")
        )
        let loud = Recipe.Output(location: "out:b.opus", loudness: .init(target: .level(.init(hundredths: -1_600))))
        #expect(try added(loud).hasPrefix("recipe.outputs[1].loudness: differs from that of the first output"))
        #expect(try added(.init(location: "out:b.xyz")).hasPrefix("recipe.outputs[1].format: "))
        let many = try invalid { recipe in
            recipe.outputs = (0...16).map { .init(location: "out:\($0).flac") }
        }
        #expect(many.description == "recipe.outputs: 17; allowed: up to 16")
    }

    @Test func severalOutputsNeedVersion2() throws {
        var recipe = try Recipe(json: Self.short)
        #expect(recipe.version == 1)
        recipe.outputs.append(.init(location: "out:b.flac"))
        #expect(recipe.version == 2)
        try recipe.validate()
        #expect(try Recipe(json: recipe.json()) == recipe)
        let (text, version) = (try recipe.json(), "\"version\":")
        let place = try #require(text.range(of: version + "2"))
        #expect(try refusal(text.replacingCharacters(in: place, with: version + "1")).path == "recipe.outputs[1]")
    }

    @Test func recipeThatCannotBeDoneIsRefusedByPlace() throws {
        #expect(try invalid { $0.outputs[0].location = "in:a.wav" }.path == "recipe.outputs[0].location")
        #expect(try invalid { $0.sources[0].location = "" }.path == "recipe.sources[0].location")
        #expect(try invalid { $0.sources[0].track = -1 }.path == "recipe.sources[0].track")
        #expect(try invalid { $0.tags = ["": "x"] }.path == "recipe.tags")
        #expect(try invalid { $0.limits = .init(wallSeconds: 0) }.path == "recipe.limits.wallSeconds")
        #expect(try invalid { $0.limits = .init(expansionRatio: .infinity) }.path == "recipe.limits.expansionRatio")
    }

    @Test func emptyAndNegativeRangesAreRefused() throws {
        let second = MediaTime(value: 1, timescale: 1)
        let empty = try MediaTimeRange(start: second, end: second)
        #expect(try invalid { $0.sources[0].ranges = [empty] }.path == "recipe.sources[0].ranges[0].to")
        let early = try MediaTimeRange(start: MediaTime(value: -1, timescale: 1), end: second)
        #expect(try invalid { $0.sources[0].ranges = [early] }.path == "recipe.sources[0].ranges[0].from")
    }

    @Test func passthroughOfAPartIsRefused() throws {
        let error = try invalid { recipe in
            recipe.sources[0].ranges = [try MediaTimeRange(startingAt: MediaTime(value: 1, timescale: 1))]
            recipe.outputs[0] = .init(location: "b.wav", preset: "passthrough")
        }
        #expect(error.path == "recipe.sources[0].ranges")
    }

    @Test func rawSourcesAreDescribedInWholeOrRefused() throws {
        let wrong: [(Recipe.RawDescription, String)] = [
            (.init(sampleRateHz: 0, channelCount: 1), "sampleRateHz"),
            (.init(sampleRateHz: 1, channelCount: 0), "channelCount"),
            (.init(sampleRateHz: 1, channelCount: 1, bitDepth: 12), "bitDepth"),
            (.init(sampleRateHz: 1, channelCount: 1, bitDepth: 16, sampleKind: .float), "bitDepth"),
            (.init(codec: .mp3, sampleRateHz: 1, channelCount: 1), "codec"),
        ]
        for (raw, field) in wrong {
            #expect(try invalid { $0.sources[0].raw = raw }.path == "recipe.sources[0].raw.\(field)")
        }
        var recipe = try Recipe(json: Self.short)
        recipe.sources[0].raw = .init(codec: .ulaw, sampleRateHz: 8000, channelCount: 1)
        try recipe.validate()
    }
}
