import Conversion
import Testing

/// Timelines that can be read but not used: each refusal names the path and the reason.
@Suite struct TimelineRefusalTests {
    private typealias Material = TimelineMaterial

    private func invalid(
        _ change: (inout Recipe) throws -> Void,
        lengths: [String: MediaTime] = [:],
        at location: SourceLocation = #_sourceLocation
    ) throws -> String {
        var recipe = try Recipe(json: TimelineMaterial.whole)
        try change(&recipe)
        return try #require(throws: RecipeError.self, sourceLocation: location) {
            try recipe.validate(sourceLengths: lengths)
        }.description
    }

    /// The refusal of the valid recipe after a change of its timeline, without `recipe.timeline.`.
    private func refusal(
        _ change: (inout Timeline) throws -> Void,
        at location: SourceLocation = #_sourceLocation
    ) throws -> String {
        let text = try invalid(
            { recipe in
                var timeline = try #require(recipe.timeline)
                try change(&timeline)
                recipe.timeline = timeline
            },
            at: location
        )
        let prefix = "recipe.timeline."
        try #require(text.hasPrefix(prefix), "\(text)", sourceLocation: location)
        return String(text.dropFirst(prefix.count))
    }

    /// The refusal of the third piece after a change, without its path.
    private func refusal(
        ofPiece change: (inout Piece) throws -> Void,
        at location: SourceLocation = #_sourceLocation
    ) throws -> String {
        let text = try refusal({ try change(&$0.tracks[0].pieces[2]) }, at: location)
        let prefix = "tracks[0].pieces[2]."
        try #require(text.hasPrefix(prefix), "\(text)", sourceLocation: location)
        return String(text.dropFirst(prefix.count))
    }

    private let second = MediaTime(value: 1, timescale: 1)
    private let beyondNumbers: [MediaTime] = [.indefinite, .invalid, .positiveInfinity, .negativeInfinity]

    // MARK: Lengths that are known later

    /// Without lengths the recipe is valid: its pieces reach to 0:30 of the voice, and from 0:30 of the music on.
    @Test func rangesBeyondTheEndOfASourceAreRefusedOnceItIsKnown() throws {
        let recipe = try Recipe(json: TimelineMaterial.whole)
        try recipe.validate()
        try recipe.validate(sourceLengths: ["voice": Material.seconds(30), "music": Material.seconds(60)])
        let pieces = "recipe.timeline.tracks[0].pieces"
        let short = try invalid({ _ in }, lengths: ["voice": Material.seconds(29)])
        #expect(short == "\(pieces)[0].to: 0:30 is after the end of source \"voice\", which is 0:29 long")
        let shorter = try invalid({ _ in }, lengths: ["voice": Material.seconds(10)])
        #expect(shorter == "\(pieces)[0].from: 0:10 is not before the end of source \"voice\", which is 0:10 long")
        let music = try invalid({ _ in }, lengths: ["music": Material.seconds(30)])
        #expect(
            music
                == "recipe.timeline.tracks[1].pieces[0].from: 0:30 is not before the end of source \"music\", which is 0:30 long"
        )
        // The bed is shorter than the range of it that the main track plays.
        let bed = try invalid({ _ in }, lengths: ["music": Material.seconds(49)])
        #expect(bed == "\(pieces)[3].to: 0:20 is after the end of track \"bed\", which is 0:19 long")
    }

    // MARK: Sources

    @Test func severalSourcesNeedATimeline() throws {
        let text = try invalid { $0.timeline = nil }
        #expect(text == "recipe.sources: must have exactly one entry without a timeline, not 2")
        #expect(try invalid { $0.sources = [] } == "recipe.sources: must have at least one entry")
    }

    @Test func eachSourceHasOneNameAndAPurpose() throws {
        let voice = "recipe.sources[0]"
        #expect(try invalid { $0.sources[0].name = nil } == "\(voice).name: a source of a timeline must have a name")
        #expect(try invalid { $0.sources[0].name = "" } == "\(voice).name: is empty")
        let long = String(repeating: "n", count: 101)
        #expect(try invalid { $0.sources[0].name = long } == "\(voice).name: is longer than 100 characters")
        let twice = try invalid { $0.sources[1].name = "voice" }
        #expect(twice == #"recipe.sources[1].name: "voice" is also the name of another source"#)
        let unused = try invalid { $0.sources.append(.init(location: "in:c.wav", name: "c")) }
        #expect(unused == "recipe.sources[2].name: no piece of the timeline uses this source")
        let ranges = try invalid { $0.sources[0].ranges = [.whole] }
        #expect(ranges == "recipe.sources[0].ranges: with a timeline, its pieces say which ranges are heard")
        let many = try invalid { recipe in
            recipe.sources = (0...250).map { .init(location: "in:\($0).wav", name: "\($0)") }
        }
        #expect(many == "recipe.sources: 251; allowed: up to 250")
    }

    @Test func passthroughEditsNothing() throws {
        let text = try invalid { $0.outputs[0] = .init(location: "out:b.mka", preset: "passthrough") }
        let reason = "copied packets keep the rate and the channels of their source"
        #expect(text == "recipe.timeline: \(reason); passthrough joins whole sources; choose a codec to edit them")
    }

    /// Whole sources, one after another, have packets that can follow one another.
    @Test func onlyWholeSourcesAreCopied() throws {
        let pieces = [Piece(.source("a")), Piece(.source("b"))]
        var recipe = Material.recipe(pieces)
        recipe.outputs = [.init(location: "out:b.m4b", format: AudioFormat(container: .m4a, codec: .copy))]
        try recipe.validate()
        #expect(recipe.version == 4 && recipe.timeline?.wholeSources == ["a", "b"])
        #expect(try Recipe(json: recipe.json()) == recipe)
        let whole = try #require(recipe.timeline)
        let changes: [(inout Timeline) -> Void] = [
            { $0.padTo = Material.seconds(9) }, { $0.limit = Gain(decibels: -1) }, { $0.sampleRateHz = 44_100 },
            { $0.tracks[0].start = Material.seconds(1) }, { $0.tracks[0].gain = Gain(decibels: -1) ?? .unity },
            { $0.tracks[0].pieces.insert(Piece(.silence(Material.seconds(1))), at: 1) },
            { $0.tracks[0].pieces[1].fadeIn = Fade(Material.seconds(1)) },
            { $0.tracks[0].pieces[1].crossfade = Fade(Material.seconds(1)) },
            { $0.tracks.append($0.tracks[0]) },
        ]
        for change in changes {
            var timeline = whole
            change(&timeline)
            #expect(timeline.reasonAgainstCopying != nil && timeline.wholeSources == nil)
        }
    }

    @Test func packetsAreCopiedIntoOneOutputOfAAC() throws {
        let pieces = [Piece(.source("a")), Piece(.source("b"))]
        var recipe = Material.recipe(pieces)
        recipe.copyPackets = true
        func reason() throws -> String {
            try #require(throws: RecipeError.self) { try recipe.validate() }.description
        }
        #expect(try reason() == "recipe.copyPackets: needs an output of AAC, not of PCM")
        recipe.outputs = [.init(location: "out:b.m4b")]
        try recipe.validate()
        #expect(recipe.version == 4)
        #expect(try Recipe(json: recipe.json()) == recipe)
        recipe.timeline?.tracks[0].pieces[0].gain = Gain(decibels: -3) ?? .unity
        #expect(try reason() == "recipe.copyPackets: copied packets cannot be edited")
        recipe.timeline = whole(pieces)
        recipe.outputs.append(.init(location: "out:c.m4b"))
        #expect(try reason().hasPrefix("recipe.copyPackets: copied packets are not decoded"))
        recipe.timeline = nil
        recipe.outputs.removeLast()
        recipe.sources.removeLast()
        #expect(try reason() == "recipe.copyPackets: needs a timeline")
    }

    private func whole(_ pieces: [Piece]) -> Timeline { Timeline(tracks: [.init(pieces: pieces)]) }

    // MARK: The clock

    @Test func clockIsOneThatFilesCanHave() throws {
        #expect(try refusal { $0.sampleRateHz = 16_777_216 } == "sampleRateHz: 16777216; allowed: 1 to 16777215")
        #expect(
            try refusal { $0.layout = .discrete(65) } == "layout: discrete 65; allowed: 1 to 64 channels"
        )
        #expect(try refusal { $0.layout = .mono } == "tracks[0].pan: needs a stereo timeline, and this one is mono")
        let piece = try refusal { timeline in
            timeline.layout = .mono
            timeline.tracks[0].pan = .centre
        }
        #expect(piece == "tracks[0].pieces[0].pan: needs a stereo timeline, and this one is mono")
        #expect(try refusal { $0.limit = Gain(decibels: 1) } == "limit: +1dB; allowed: -144dB to 0dB")
        #expect(try refusal { $0.limit = .silence } == "limit: -inf; allowed: -144dB to 0dB")
    }

    @Test func lengthsAreAboveZero() throws {
        for length in beyondNumbers + [.zero, MediaTime(value: -1, timescale: 1)] {
            let rest = "\(length); a length must be above 0"
            #expect(try refusal { $0.padTo = length } == "padTo: \(rest)")
            #expect(try refusal(ofPiece: { $0.material = .silence(length) }) == "silence: \(rest)")
            #expect(try refusal(ofPiece: { $0.repeats = .until(length) }) == "repeatUntil: \(rest)")
            #expect(try refusal(ofPiece: { $0.fadeIn = Fade(length) }) == "fadeIn: \(rest)")
            #expect(try refusal(ofPiece: { $0.fadeOut = Fade(length) }) == "fadeOut: \(rest)")
            #expect(try refusal(ofPiece: { $0.crossfade = Fade(length) }) == "crossfade: \(rest)")
        }
    }

    @Test func lengthIsBounded() throws {
        let long = Material.seconds(3_600_001)
        #expect(try refusal { $0.padTo = long } == "padTo: 1000:00:01; allowed: up to 1000:00:00")
        #expect(try refusal { $0.tracks[0].start = long } == "tracks[0].start: 1000:00:01; allowed: up to 1000:00:00")
        #expect(
            try refusal(ofPiece: { $0.repeats = .until(long) }) == "repeatUntil: 1000:00:01; allowed: up to 1000:00:00"
        )
        let silence = try refusal { $0.tracks[0].pieces[1] = Piece(.silence(long)) }
        #expect(silence == "tracks[0]: is 1000:01:25 long; allowed: up to 1000:00:00")
        let end = MediaTime(value: .max, timescale: 1)
        let endless = try refusal { timeline in
            timeline.tracks[0].pieces = [Piece](repeating: Piece(.silence(end)), count: 3) + timeline.tracks[0].pieces
        }
        #expect(endless == "tracks[0]: is +infinity long; allowed: up to 1000:00:00")
    }

    // MARK: Tracks

    @Test func timelineHasTracksAndTracksHavePieces() throws {
        #expect(try refusal { $0.tracks = [] } == "tracks: is empty")
        #expect(try refusal { $0.tracks[1].pieces = [] } == "tracks[1].pieces: is empty")
    }

    @Test func tracksHaveDifferentNames() throws {
        #expect(
            try refusal { $0.tracks[0].name = "bed" } == #"tracks[1].name: "bed" is also the name of another track"#
        )
        #expect(try refusal { $0.tracks[0].name = "" } == "tracks[0].name: is empty")
    }

    @Test func trackStartsOnTheTimeline() throws {
        for start in beyondNumbers + [MediaTime(value: -1, timescale: 1)] {
            let text = try refusal { $0.tracks[0].start = start }
            #expect(text == "tracks[0].start: \(start) is before the start of the timeline")
        }
    }

    @Test func tracksAreCounted() throws {
        let track = Timeline.Track(pieces: [Piece(.silence(second))])
        let mixed = try refusal { $0.tracks += [Timeline.Track](repeating: track, count: 64) }
        #expect(mixed == "tracks: 65 are mixed; allowed: up to 64")
        let all = try refusal { $0.tracks += [Timeline.Track](repeating: track, count: 999) }
        #expect(all == "tracks: 1001; allowed: up to 1000")
        let pieces = try refusal { timeline in
            timeline.tracks[0].pieces += [Piece](repeating: Piece(.silence(second)), count: 100_000)
        }
        #expect(pieces == "tracks: 100005 pieces; allowed: up to 100000")
    }

    // MARK: Tracks in tracks

    @Test func cycleIsSpelledOut() throws {
        let own = try refusal { $0.tracks[1].pieces[0] = Piece(.track("bed")) }
        #expect(own == "tracks[1]: the track contains itself: bed > bed")
        let long = try refusal { timeline in
            timeline.tracks[1].pieces[0] = Piece(.track("b"))
            timeline.tracks.append(.init(name: "b", pieces: [Piece(.silence(second)), Piece(.track("c"))]))
            timeline.tracks.append(.init(name: "c", pieces: [Piece(.track("bed"))]))
        }
        #expect(long == "tracks[1]: the track contains itself: bed > b > c > bed")
    }

    @Test func longCycleIsCutShort() throws {
        let count = 900
        let tracks = (0..<count).map { number in
            Timeline.Track(name: "t\(number)", pieces: [Piece(.track("t\((number + 1) % count)"))])
        }
        let text = try refusal { $0.tracks += tracks }
        #expect(text == "tracks[2]: the track contains itself: t0 > t1 > t2 > t3 > ... > t898 > t899 > t0")
    }

    @Test func nestingEnds() throws {
        func tracks(_ count: Int) -> [Timeline.Track] {
            (1...count).map { number in
                let inner = number == count ? Piece(.silence(second)) : Piece(.track("t\(number + 1)"))
                return Timeline.Track(name: "t\(number)", pieces: [inner])
            }
        }
        try Material.recipe(tracks: [.init(pieces: [Piece(.source("a"))])] + tracks(16)).validate()
        let text = try refusal { $0.tracks += tracks(17) }
        #expect(text == "tracks[2]: its tracks in tracks are 17 deep; allowed: up to 16")
    }

    @Test func trackThatIsRepeatedInEachOtherStaysWithinBounds() throws {
        // Ten pieces of the next track in each of seven: ten million pieces are heard.
        let tracks = (0..<7).map { number in
            let inner = number == 6 ? Piece(.silence(second)) : Piece(.track("t\(number + 1)"))
            return Timeline.Track(name: "t\(number)", pieces: [Piece](repeating: inner, count: 10))
        }
        let text = try refusal { $0.tracks += tracks }
        #expect(
            text == "tracks[3].pieces: too many; allowed: up to 1000000, counted each time that one is heard"
        )
        let repeated = try refusal { timeline in
            timeline.tracks[1].pieces += [Piece](repeating: Piece(.silence(second)), count: 999)
            timeline.tracks[0].pieces = [Piece(.source("voice")), Piece(.track("bed"), repeats: .times(1_000))]
        }
        #expect(repeated == "tracks[0].pieces: too many; allowed: up to 1000000, counted each time that one is heard")
    }

    @Test func voicesAreBounded() throws {
        // Two voices in each cross-fade, four in each cross-fade of cross-fades, and so on.
        let fade = Fade(second)
        let tracks = (0..<8).map { number in
            let inner = number == 7 ? Piece(.source("a")) : Piece(.track("t\(number + 1)"))
            var next = inner
            next.crossfade = fade
            return Timeline.Track(name: "t\(number)", pieces: [inner, next])
        }
        try Material.recipe(tracks: Array(tracks.dropFirst())).validate()
        let error = try #require(throws: RecipeError.self) { try Material.recipe(tracks: tracks).validate() }
        #expect(error.path == "recipe.timeline.tracks")
        #expect(error.reason == "up to 256 sources may be heard at the same time; allowed: up to 128")
    }

    // MARK: Pieces

    @Test func pieceIsOfSomethingKnown() throws {
        #expect(
            try refusal(ofPiece: { $0.material = .source("vocie") })
                == #"source: there is no source "vocie"; did you mean "voice"?"#
        )
        #expect(
            try refusal(ofPiece: { $0.material = .source("piano") })
                == #"source: there is no source "piano"; known: music, voice"#
        )
        #expect(
            try refusal(ofPiece: { $0.material = .track("voice") })
                == #"track: there is no track "voice"; known: bed"#
        )
        #expect(
            try refusal(ofPiece: { $0.material = .source("\u{1B}[2J") })
                == #"source: there is no source "\u{1b}[2J"; known: music, voice"#
        )
    }

    @Test func rangesAreNeitherEmptyNorNegative() throws {
        let early = try MediaTimeRange(start: MediaTime(value: -1, timescale: 1), end: second)
        let empty = try MediaTimeRange(start: second, end: second)
        #expect(
            try refusal(ofPiece: { $0.material = .source("voice", early) })
                == #"from: -0:01 is before the start of source "voice""#
        )
        #expect(
            try refusal(ofPiece: { $0.material = .source("voice", empty) })
                == "to: the range is empty: it also starts at 0:01"
        )
        #expect(
            try refusal(ofPiece: { $0.material = .track("bed", empty) })
                == "to: the range is empty: it also starts at 0:01"
        )
    }

    @Test func channelsRepetitionsAndCurvesAreAllowedOnes() throws {
        let channels = "channels: allowed: left, right, swap, sum, or channel numbers from 1 to 64"
        for numbers in [[], [0], [65], [.max], [Int](repeating: 1, count: 65)] {
            #expect(try refusal(ofPiece: { $0.channels = .numbers(numbers) }) == channels)
        }
        for count in [0, -1, 1_000_001, .min, .max] {
            #expect(try refusal(ofPiece: { $0.repeats = .times(count) }) == "repeat: \(count); allowed: 1 to 1000000")
        }
        let curve = #""decibel" cannot start from silence; allowed: linear, equalPower"#
        #expect(try refusal(ofPiece: { $0.fadeIn = Fade(second, curve: .decibel) }) == "fadeIn: \(curve)")
        #expect(try refusal(ofPiece: { $0.crossfade = Fade(second, curve: .decibel) }) == "crossfade: \(curve)")
    }

    @Test func repetitionUntilATimeIsBoundedToo() throws {
        let text = try refusal(ofPiece: { piece in
            piece.material = .source(
                "voice",
                try MediaTimeRange(start: .zero, end: MediaTime(value: 1, timescale: .max))
            )
            piece.repeats = .until(second)
        })
        #expect(text.hasPrefix("repeatUntil: 0:01 is too long for a range of "))
        #expect(text.hasSuffix("; allowed: up to 1000000 repetitions"))
    }

    // MARK: Ramps

    @Test func rampsAreInOrder() throws {
        func ramp(_ start: Int64, _ end: Int64, _ curve: Curve = .linear) throws -> Ramp {
            Ramp(try Material.range(start, end), from: .unity, to: .silence, curve: curve)
        }
        let cases: [([Ramp], String)] = [
            ([try ramp(-1, 2)], "ramps[0].from: -0:01 is before the start"),
            ([try ramp(1, 3), try ramp(2, 4)], "ramps[1].from: 0:02 is before 0:03, where the ramp before ends"),
            ([try ramp(5, 6), try ramp(1, 2)], "ramps[1].from: 0:01 is before 0:06, where the ramp before ends"),
            ([try ramp(1, 1)], "ramps[0].to: the ramp is empty: it also starts at 0:01"),
            ([Ramp(.whole, from: .unity, to: .unity)], "ramps[0].to: a ramp must have an end"),
            (
                [try ramp(1, 2, .decibel)],
                "ramps[0].toGain: -inf has no decibels to ramp over; choose the curve linear"
            ),
            ([try ramp(1, 2, .equalPower)], #"ramps[0].curve: "equalPower"; allowed: linear, decibel"#),
        ]
        for (ramps, text) in cases {
            #expect(try refusal(ofPiece: { $0.ramps = ramps }) == text)
            #expect(try refusal { $0.tracks[1].ramps = ramps } == "tracks[1].\(text)")
        }
        #expect(throws: Never.self) {
            try Material.recipe([Piece(.source("a"), ramps: [try ramp(1, 2), try ramp(2, 3)])]).validate()
        }
    }

    // MARK: Fades

    @Test func fadeFitsIntoItsPiece() throws {
        // The third piece has three times fourteen thirds of a second.
        #expect(
            try refusal(ofPiece: { $0.fadeIn = Fade(Material.seconds(15)) })
                == "fadeIn: 0:15 is longer than the piece, which is 0:14 long"
        )
        let fits = Piece(.silence(second), fadeIn: Fade(second), fadeOut: Fade(second))
        try Material.recipe([Piece(.source("a")), fits]).validate()
    }

    @Test func crossfadeFitsIntoBothPieces() throws {
        #expect(
            try refusal { $0.tracks[0].pieces[0].crossfade = Fade(second) }
                == "tracks[0].pieces[0].crossfade: the first piece of a track has no piece before it"
        )
        #expect(
            try refusal(ofPiece: { $0.crossfade = Fade(Material.seconds(15)) })
                == "crossfade: 0:15 is longer than the piece, which is 0:14 long"
        )
        #expect(
            try refusal(ofPiece: { $0.crossfade = Fade(Material.seconds(5)) })
                == "crossfade: 0:05 is longer than the piece before, which is 0:04 long"
        )
        let both = try refusal { $0.tracks[0].pieces[3].crossfade = Fade(MediaTime(value: 131, timescale: 10)) }
        #expect(
            both == "tracks[0].pieces[3].crossfade: overlaps with the cross-fade at the start of the piece before, "
                + "which is 0:14 long"
        )
    }

    // MARK: Once the sources' lengths are known

    @Test func rangeBeyondTheEndIsRefusedOnceTheEndIsKnown() throws {
        let lengths = ["voice": Material.seconds(60), "music": Material.seconds(50)]
        try Recipe(json: TimelineMaterial.whole).validate(sourceLengths: lengths)
        func refusal(_ voice: Int64, _ music: Int64) throws -> String {
            try invalid({ _ in }, lengths: ["voice": Material.seconds(voice), "music": Material.seconds(music)])
        }
        let piece = "recipe.timeline.tracks[0].pieces"
        #expect(
            try refusal(29, 90) == #"\#(piece)[0].to: 0:30 is after the end of source "voice", which is 0:29 long"#
        )
        #expect(
            try refusal(10, 90)
                == #"\#(piece)[0].from: 0:10 is not before the end of source "voice", which is 0:10 long"#
        )
        #expect(
            try refusal(60, 49) == #"\#(piece)[3].to: 0:20 is after the end of track "bed", which is 0:19 long"#
        )
        #expect(
            try refusal(60, 30)
                == #"recipe.timeline.tracks[1].pieces[0].from: 0:30 is not before the end of source "music", "#
                + "which is 0:30 long"
        )
    }
}
