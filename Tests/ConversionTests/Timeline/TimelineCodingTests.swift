import Conversion
import Testing

@Suite struct TimelineCodingTests {
    private func refusal(_ json: String, at location: SourceLocation = #_sourceLocation) throws -> RecipeError {
        try #require(throws: RecipeError.self, sourceLocation: location) { try Recipe(json: json) }
    }

    private func text(version: Int = 2, timeline: String) -> String {
        let source = #"{"location":"a.wav","name":"a"}"#
        let output = #"{"location":"b.mp3"}"#
        return #"{"version":\#(version),"sources":[\#(source)],"outputs":[\#(output)],"timeline":\#(timeline)}"#
    }

    private func text(piece: String) -> String { text(timeline: #"{"tracks":[{"pieces":[\#(piece)]}]}"#) }

    // MARK: Round trip

    @Test func everyFieldIsReadAndWritten() throws {
        let recipe = try Recipe(json: TimelineMaterial.whole)
        try recipe.validate()
        #expect(recipe.version == 2)
        let timeline = try #require(recipe.timeline)
        #expect((timeline.sampleRateHz, timeline.layout) == (48_000, .stereo))
        #expect(timeline.limit == Gain(decibels: -1))
        let track = timeline.tracks[0]
        #expect((track.start, track.gain.decibels, track.pan.position) == (TimelineMaterial.seconds(3), -1.5, -0.25))
        #expect(track.ramps.map(\.curve) == [.linear, .decibel])
        let first = track.pieces[0]
        #expect(first.material == .source("voice", try TimelineMaterial.range(10, 30)))
        #expect(first.fadeIn == Fade(TimelineMaterial.seconds(2)))
        #expect(first.fadeOut == Fade(TimelineMaterial.seconds(5), curve: .equalPower))
        #expect(track.pieces[2].channels == .numbers([2, 1]))
        #expect(track.pieces[2].repeats == .times(3))
        #expect(track.pieces[2].crossfade == Fade(TimelineMaterial.seconds(1), curve: .equalPower))
        #expect(track.pieces[3].crossfade == Fade(TimelineMaterial.seconds(2), curve: .linear))
        #expect(track.pieces[3].repeats == .until(TimelineMaterial.seconds(50)))
        #expect(timeline.heardTracks == [0])
        let json = try recipe.json()
        #expect(try Recipe(json: json) == recipe)
        #expect(try Recipe(json: json).json() == json)
    }

    @Test func aThousandRandomTimelinesComeBackInTheSameBytes() throws {
        var generator = SeededGenerator(seed: 18)
        for _ in 0..<1_000 {
            var recipe = Recipe(from: .init(location: "a"), to: .init(location: "b.wav"))
            recipe.timeline = generator.timeline()
            recipe.sources[0].name = generator.maybe { $0.name() }
            let json = try recipe.json()
            let again = try Recipe(json: json)
            try #require(again == recipe, "\(json)")
            let second = try again.json()
            try #require(second == json)
            // `try?`: a refusal is a valid answer; only a trap would be a defect.
            _ = try? recipe.validate()
        }
    }

    @Test func onlyWhatChangesSomethingIsWritten() throws {
        let recipe = TimelineMaterial.recipe([Piece(.source("a")), Piece(.silence(TimelineMaterial.seconds(1)))])
        let expected =
            #"{"damage":"strict","outputs":[{"location":"out:mix.wav","onConflict":"fail"}],"#
            + #""sources":[{"location":"in:a.wav","name":"a"}],"#
            + #""timeline":{"tracks":[{"pieces":[{"source":"a"},{"silence":"0:01"}]}]},"verify":false,"version":2}"#
        #expect(try recipe.json() == expected)
    }

    // MARK: Versions

    @Test func recipeWithoutNewFieldsIsWrittenAsVersion1() throws {
        let old = #"{"version":1,"sources":[{"location":"a.wav"}],"outputs":[{"location":"b.mp3"}]}"#
        let new = old.replacing(#""version":1"#, with: #""version":2"#)
        #expect(try Recipe(json: new) == Recipe(json: old))
        #expect(try Recipe(json: new).json().hasSuffix(#""verify":false,"version":1}"#))
    }

    @Test func version1HasNoFieldsOfVersion2() throws {
        let timeline = try refusal(text(version: 1, timeline: #"{"tracks":[]}"#))
        #expect((timeline.code, timeline.path) == (.valueNotAllowed, "recipe.timeline"))
        #expect(timeline.reason == "needs version 2 of recipes, and this one says version 1")
        let sources = #"[{"location":"a"},{"location":"b","name":"b"}]"#
        let name = try refusal(#"{"version":1,"sources":\#(sources),"outputs":[]}"#)
        #expect(name.path == "recipe.sources[1].name")
    }

    // MARK: Refusals with their paths

    @Test(arguments: [
        (#""source":"a","speed":2"#, "speed"), (#""source":"a","fadeIn":{"length":"1s","shape":1}"#, "fadeIn.shape"),
        (#""source":"a","ramps":[{"at":"1s"}]"#, "ramps[0].at"),
    ])
    func unknownFieldIsRefusedAtEveryDepth(fields: String, path: String) throws {
        let error = try refusal(text(piece: "{\(fields)}"))
        #expect((error.code, error.path) == (.unknownField, "recipe.timeline.tracks[0].pieces[0].\(path)"))
    }

    @Test func unknownFieldOfTimelineOrTrackIsRefused() throws {
        #expect(try refusal(text(timeline: #"{"tracks":[],"rate":1}"#)).path == "recipe.timeline.rate")
        let track = try refusal(text(timeline: #"{"tracks":[{"pieces":[],"id":1}]}"#))
        #expect(track.path == "recipe.timeline.tracks[0].id")
    }

    @Test(arguments: [
        (#""source":"a","gain":"loud""#, #"gain: "loud": not a gain; allowed: -3dB, 0dB, +2.5dB, -inf for silence"#),
        (#""source":"a","gain":-3"#, "gain: must be text"),
        (#""source":"a","pan":1.5"#, "pan: 1.5; allowed: -1 (left) to 1 (right)"),
        (
            #""source":"a","channels":[0]"#,
            #"channels: "0": allowed: left, right, swap, sum, or channel numbers from 1 to 64"#
        ),
        (
            #""source":"a","channels":"both""#,
            #"channels: "both": allowed: left, right, swap, sum, or channel numbers from 1 to 64"#
        ),
        (#""source":"a","channels":7"#, "channels: must be a list"),
        (#""source":"a","repeat":1.5"#, "repeat: must be a whole number"),
        (
            #""source":"a","repeat":2,"repeatUntil":"1s""#,
            "repeatUntil: a piece can have only one of repeat and repeatUntil"
        ),
        (#""source":"a","from":"2s","to":"1s""#, "to: a range cannot start at 0:02 and end at 0:01"),
        (#""from":"2s""#, "source: a piece must have source, silence or track"),
        (#""source":"a","silence":"1s""#, "silence: a piece can have only one of source, silence and track"),
        (#""source":"a","track":"b""#, "track: a piece can have only one of source, silence and track"),
        (#""silence":"1s","from":"1s""#, "from: silence has a length and no range"),
        (
            #""source":"a","crossfade":{"length":"1s","curve":"sine"}"#,
            #"crossfade.curve: "sine"; allowed: linear, decibel, equalPower"#
        ),
        (#""source":"a","fadeIn":5"#, "fadeIn: must be an object"),
        (#""source":"a","ramps":[{"from":"1s","to":"2s","toGain":"0dB"}]"#, "ramps[0].fromGain: the field is missing"),
        (#""source":"a","ramps":[{"to":"2s"}]"#, "ramps[0].from: the field is missing"),
    ])
    func whatIsNoValueIsRefused(fields: String, sentence: String) throws {
        let error = try refusal(text(piece: "{\(fields)}"))
        #expect(error.description == "recipe.timeline.tracks[0].pieces[0].\(sentence)")
    }

    @Test func timeThatIsNoneIsRefused() throws {
        let error = try refusal(text(piece: #"{"source":"a","fadeOut":"soon"}"#))
        #expect(error.path == "recipe.timeline.tracks[0].pieces[0].fadeOut")
        #expect(error.reason.hasPrefix(#""soon" is not a time"#))
    }

    @Test func requiredFieldsAreNamed() throws {
        #expect(try refusal(text(timeline: "{}")).description == "recipe.timeline.tracks: the field is missing")
        let track = try refusal(text(timeline: #"{"tracks":[{}]}"#))
        #expect(track.description == "recipe.timeline.tracks[0].pieces: the field is missing")
        #expect(try refusal(text(timeline: "[]")).description == "recipe.timeline: must be an object")
    }
}
