import Conversion
import Testing

/// The verbs of `Timeline`. A list of words, one for each second that is heard, says what an edit must do.
@Suite struct TimelineEditingTests {
    private typealias Material = TimelineMaterial

    private static let seconds = ["a": 30, "b": 7]
    private let lengths = seconds.mapValues { TimelineMaterial.seconds(Int64($0)) }

    private func heard(_ timeline: Timeline, _ track: Int = 0) -> [String] {
        PlainRenderer(timeline: timeline, sourceLengths: Self.seconds).track(track)
    }

    private func valid(_ timeline: Timeline) throws {
        // A recipe has a piece and a source.
        guard timeline.tracks.allSatisfy({ !$0.pieces.isEmpty }), !timeline.namesOfUsedSources.isEmpty else { return }
        try Material.recipe(tracks: timeline.tracks).validate(sourceLengths: lengths)
    }

    private func oneTrack(_ pieces: [Piece], start: Int64 = 0) -> Timeline {
        Timeline(tracks: [.init(start: Material.seconds(start), pieces: pieces)])
    }

    // MARK: Each verb

    @Test func insertionInTheMiddleSplitsARange() throws {
        var timeline = oneTrack([Piece(.source("a", try Material.range(10, 20)), gain: .init(decibels: -3) ?? .unity)])
        let new = Piece(.source("b", try Material.range(0, 2)))
        try timeline.insert(new, at: Material.seconds(4), inTrack: 0)
        let pieces = timeline.tracks[0].pieces
        #expect(
            pieces.map(\.material) == [
                .source("a", try Material.range(10, 14)), new.material, .source("a", try Material.range(14, 20)),
            ]
        )
        #expect(pieces.map(\.gain.decibels) == [-3, 0, -3])
        #expect(timeline.tracks.count == 1)
    }

    @Test func insertionBetweenPiecesSplitsNothing() throws {
        let first = Piece(.source("a", try Material.range(0, 5)))
        let second = Piece(.source("a"))
        var timeline = oneTrack([first, second])
        try timeline.insert(Piece(.source("b")), at: Material.seconds(5), inTrack: 0)
        #expect(timeline.tracks[0].pieces == [first, Piece(.source("b")), second])
        try timeline.insert(Piece(.source("b")), at: .zero, inTrack: 0)
        #expect(timeline.tracks[0].pieces == [Piece(.source("b")), first, Piece(.source("b")), second])
    }

    @Test func insertionBeyondTheEndFillsTheGapWithSilence() throws {
        var timeline = oneTrack([Piece(.source("b"))])
        try timeline.insert(Piece(.source("a")), at: Material.seconds(9), inTrack: 0, sourceLengths: lengths)
        #expect(
            timeline.tracks[0].pieces.map(\.material) == [
                .source("b"), .silence(Material.seconds(2)), .source("a"),
            ]
        )
        try timeline.insertSilence(Material.seconds(1), at: Material.seconds(39), inTrack: 0, sourceLengths: lengths)
        #expect(timeline.tracks[0].pieces.count == 4)
    }

    @Test func insertionBeforeTheStartMovesTheRest() throws {
        var timeline = oneTrack([Piece(.source("b"))], start: 5)
        try timeline.insert(Piece(.source("a", try Material.range(0, 1))), at: Material.seconds(2), inTrack: 0)
        #expect(timeline.tracks[0].start == Material.seconds(2))
        #expect(
            timeline.tracks[0].pieces.map(\.material) == [
                .source("a", try Material.range(0, 1)), .silence(Material.seconds(3)), .source("b"),
            ]
        )
    }

    @Test func emptyTrackStartsWithItsFirstPiece() throws {
        var timeline = Timeline(tracks: [.init()])
        try timeline.insert(Piece(.source("b")), at: Material.seconds(8), inTrack: 0)
        #expect(timeline.tracks == [.init(start: Material.seconds(8), pieces: [Piece(.source("b"))])])
        try timeline.append(Piece(.source("a")), toTrack: 0)
        #expect(timeline.tracks[0].pieces.map(\.material) == [.source("b"), .source("a")])
    }

    @Test func removalJoinsWhatIsAroundIt() throws {
        var timeline = oneTrack([Piece(.source("a")), Piece(.source("b"))])
        try timeline.remove(try Material.range(10, 32), fromTrack: 0, sourceLengths: lengths)
        #expect(
            timeline.tracks[0].pieces.map(\.material) == [
                .source("a", try Material.range(0, 10)),
                .source("b", try MediaTimeRange(startingAt: Material.seconds(2))),
            ]
        )
        try timeline.remove(try MediaTimeRange(startingAt: Material.seconds(3)), fromTrack: 0)
        #expect(timeline.tracks[0].pieces.map(\.material) == [.source("a", try Material.range(0, 3))])
    }

    @Test func reversedPieceIsCutFromItsOtherEnd() throws {
        var timeline = oneTrack([Piece(.source("b"), isReversed: true)])
        try timeline.insertSilence(Material.seconds(1), at: Material.seconds(2), inTrack: 0, sourceLengths: lengths)
        #expect(heard(timeline) == ["b6", "b5", "", "b4", "b3", "b2", "b1", "b0"])
        #expect(timeline.tracks.count == 1)
    }

    @Test func cutOutsideOfTheFadesLeavesThemAtTheirEnds() throws {
        let piece = Piece(.source("a", try Material.range(0, 10)), fadeIn: Fade(Material.seconds(2)))
        var timeline = oneTrack([piece])
        try timeline.insertSilence(Material.seconds(1), at: Material.seconds(2), inTrack: 0)
        #expect(timeline.tracks.count == 1)
        #expect(timeline.tracks[0].pieces.map(\.fadeIn) == [Fade(Material.seconds(2)), nil, nil])
    }

    @Test func cutInAFadeMovesThePieceToAnInnerTrack() throws {
        let piece = Piece(.source("a", try Material.range(0, 10)), fadeIn: Fade(Material.seconds(4)))
        var timeline = oneTrack([piece])
        let before = heard(timeline)
        try timeline.insertSilence(Material.seconds(1), at: Material.seconds(3), inTrack: 0)
        #expect(timeline.tracks[1] == .init(name: "a~1", pieces: [piece]))
        #expect(
            timeline.tracks[0].pieces.map(\.material) == [
                .track("a~1", try Material.range(0, 3)), .silence(Material.seconds(1)),
                .track("a~1", try MediaTimeRange(startingAt: Material.seconds(3))),
            ]
        )
        #expect(timeline.heardTracks == [0])
        var expected: [String] = before
        expected.insert("", at: 3)
        #expect(heard(timeline) == expected)
        // A second cut divides the range of the inner track, and makes no other one.
        try timeline.insertSilence(Material.seconds(1), at: Material.seconds(1), inTrack: 0)
        #expect(timeline.tracks.count == 2)
        // With the last piece that refers to it, the inner track goes: by itself it must not be heard.
        try timeline.remove(.whole, fromTrack: 0)
        #expect(timeline.tracks == [.init()])
    }

    @Test func crossfadeStaysWithTheFirstHalf() throws {
        let fade = Fade(Material.seconds(2), curve: .equalPower)
        var timeline = oneTrack([Piece(.source("b")), Piece(.source("a"), crossfade: fade)])
        let before = heard(timeline)
        try timeline.insertSilence(Material.seconds(1), at: Material.seconds(7), inTrack: 0, sourceLengths: lengths)
        #expect(timeline.tracks[0].pieces.map(\.crossfade) == [nil, fade, nil, nil])
        var expected: [String] = before
        expected.insert("", at: 7)
        #expect(heard(timeline) == expected)
    }

    // MARK: Refusals

    private func refusal(_ edit: (inout Timeline) throws -> Void, of given: Timeline) throws -> EditError {
        var timeline = given
        let error = try #require(throws: EditError.self) { try edit(&timeline) }
        #expect(timeline == given)
        return error
    }

    @Test func nothingIsEditedInsideACrossfade() throws {
        let pieces = [Piece(.source("b")), Piece(.source("a"), crossfade: Fade(Material.seconds(2)))]
        for time in [5, 6] as [Int64] {
            let error = try refusal(
                {
                    try $0.insertSilence(
                        Material.seconds(1),
                        at: Material.seconds(time),
                        inTrack: 0,
                        sourceLengths: lengths
                    )
                },
                of: oneTrack(pieces)
            )
            #expect(error.code == .insideCrossfade)
            #expect(error.description == "a cross-fade goes from 0:05 to 0:07, and 0:0\(time) is in it")
            let removal = try refusal(
                { try $0.remove(try Material.range(1, time), fromTrack: 0, sourceLengths: lengths) },
                of: oneTrack(pieces)
            )
            #expect(removal.code == .insideCrossfade)
        }
    }

    @Test func lengthThatIsNeededIsAskedFor() throws {
        let given = oneTrack([Piece(.source("a")), Piece(.source("b"))])
        let error = try refusal(
            { try $0.insertSilence(Material.seconds(1), at: Material.seconds(3), inTrack: 0) },
            of: given
        )
        #expect(error.code == .unknownLength)
        #expect(
            error.description
                == #"a piece takes "a" to its end; give the length of the source to edit in it or after it"#
        )
        #expect(throws: EditError.self) {
            var timeline = given
            try timeline.remove(try Material.range(0, 3), fromTrack: 0, sourceLengths: ["b": Material.seconds(7)])
        }
    }

    @Test func timesAndTracksMustExist() throws {
        let given = oneTrack([Piece(.source("a"))])
        for time in [MediaTime(value: -1, timescale: 1), .positiveInfinity, .indefinite, .invalid] {
            let error = try refusal({ try $0.insert(Piece(.source("b")), at: time, inTrack: 0) }, of: given)
            #expect(error.code == .timeNotAllowed)
        }
        #expect(try refusal({ try $0.insertSilence(.zero, at: .zero, inTrack: 0) }, of: given).code == .timeNotAllowed)
        let early = try Material.range(-1, 2)
        #expect(try refusal({ try $0.remove(early, fromTrack: 0) }, of: given).code == .timeNotAllowed)
        for index in [-1, 1, .max] {
            let error = try refusal({ try $0.append(Piece(.source("b")), toTrack: index) }, of: given)
            #expect(error.description == "there is no track \(index); the timeline has 1")
        }
    }

    // MARK: Any edit of any track

    @Test func aThousandRandomEditsDoWhatTheyDoToAList() throws {
        var generator = SeededGenerator(seed: 18)
        var counts: [String: Int] = [:]
        for round in 0..<1_000 {
            let pieces = (0...generator.below(3)).map { number in
                var piece = generator.plainPiece()
                if number > 0, generator.onceIn(3) { piece.crossfade = Fade(Material.seconds(1)) }
                return piece
            }
            var timeline = oneTrack(pieces, start: Int64(round % 3))
            var list = heard(timeline)
            for _ in 0..<4 {
                let edit = try generator.edit(ofListOf: list.count)
                do throws(EditError) {
                    try edit.apply(to: &timeline, lengths)
                } catch {
                    try #require(error.code == .insideCrossfade, "\(error)")
                    counts["refused", default: 0] += 1
                    continue
                }
                edit.apply(to: &list, PlainRenderer(timeline: timeline, sourceLengths: Self.seconds))
                try #require(Self.trimmed(heard(timeline)) == Self.trimmed(list), "round \(round), \(edit)")
                try valid(timeline)
                counts[timeline.tracks.count > 1 ? "with inner tracks" : "plain", default: 0] += 1
            }
        }
        #expect(counts.values.allSatisfy { $0 > 40 } && counts.count == 3, "\(counts)")
    }

    /// Without the silence at the end, which a track and a list may have in different lengths.
    private static func trimmed(_ list: [String]) -> ArraySlice<String> {
        list[..<((list.lastIndex { !$0.isEmpty } ?? -1) + 1)]
    }
}

/// One edit, of a timeline and of a list.
private enum Edit {
    case insert(Piece, at: Int)
    case remove(from: Int, to: Int)

    func apply(to timeline: inout Timeline, _ lengths: [String: MediaTime]) throws(EditError) {
        switch self {
        case .insert(let piece, let time):
            try timeline.insert(piece, at: TimelineMaterial.seconds(Int64(time)), inTrack: 0, sourceLengths: lengths)
        case .remove(let start, let end):
            // `try?`: the generator makes the start the smaller one.
            guard let range = try? TimelineMaterial.range(Int64(start), Int64(end)) else { return }
            try timeline.remove(range, fromTrack: 0, sourceLengths: lengths)
        }
    }

    func apply(to list: inout [String], _ renderer: PlainRenderer) {
        switch self {
        case .insert(let piece, let time):
            let alone = Timeline(tracks: [.init(pieces: [piece])])
            let sound = PlainRenderer(timeline: alone, sourceLengths: renderer.sourceLengths).track(0)
            while list.count < time { list.append("") }
            list.insert(contentsOf: sound, at: time)
        case .remove(let start, let end):
            let last = min(end, list.count)
            if start < last { list.removeSubrange(start..<last) }
        }
    }
}

extension SeededGenerator {
    /// A piece of whole seconds that is valid after any other one.
    fileprivate mutating func plainPiece() -> Piece {
        let start = Int64(below(4))
        let end = start + 2 + Int64(below(8))
        // `try?`: the end is after the start.
        let range = onceIn(4) ? .whole : (try? TimelineMaterial.range(start, end)) ?? .whole
        var piece = Piece(onceIn(6) ? .silence(TimelineMaterial.seconds(3)) : .source("a", range))
        if onceIn(4) { piece.isReversed = true }
        if onceIn(6) { piece.channels = .left }
        if onceIn(4) { piece.gain = gain() }
        if onceIn(6) { piece.pan = .left }
        if onceIn(4) { piece.repeats = onceIn(2) ? .times(2) : .until(TimelineMaterial.seconds(5)) }
        if onceIn(4) { piece.fadeIn = Fade(TimelineMaterial.seconds(1 + Int64(below(2)))) }
        if onceIn(4) { piece.fadeOut = Fade(TimelineMaterial.seconds(1 + Int64(below(2)))) }
        if onceIn(6), let range = try? TimelineMaterial.range(1, 3) {
            piece.ramps = [Ramp(range, from: .unity, to: .silence)]
        }
        return piece
    }

    fileprivate mutating func edit(ofListOf count: Int) throws -> Edit {
        let time = Int(below(UInt64(count + 3)))
        return onceIn(2)
            ? .insert(plainPiece(), at: time) : .remove(from: time, to: time + 1 + Int(below(10)))
    }
}
