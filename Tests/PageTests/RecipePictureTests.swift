import Conversion
import Testing

@testable import Page

/// Recipes drawn over time.
struct RecipePictureTests {
    private static func time(_ seconds: Double) -> MediaTime {
        MediaTime(value: Int64((seconds * 1_000).rounded()), timescale: 1_000)
    }

    private static func range(_ start: Double, _ end: Double?) throws -> MediaTimeRange {
        try MediaTimeRange(start: time(start), end: end.map { time($0) } ?? .positiveInfinity)
    }

    private static func gain(_ decibels: Double) throws -> Gain { try #require(Gain(decibels: decibels)) }

    private static func mix(_ tracks: [Timeline.Track]) -> Recipe {
        Recipe(
            sources: [
                Recipe.Source(location: "in:2026/voice.flac", name: "voice"),
                Recipe.Source(location: "in:beds/tide.flac", name: "bed"),
            ],
            outputs: [Recipe.Output(location: "out:2026/trailer.mp3", preset: "podcast-mp3")],
            timeline: Timeline(tracks: tracks)
        )
    }

    @Test func `of the conversion of a whole source there is nothing to draw`() {
        let recipe = Recipe(from: Recipe.Source(location: "in:a.wav"), to: Recipe.Output(location: "out:a.flac"))
        #expect(RecipePicture(recipe, sourceLength: Self.time(60)) == nil)
        #expect(RecipePicture(Recipe(scanning: Recipe.Source(location: "in:a.wav")), sourceLength: nil) == nil)
    }

    @Test func `tracks are rows on one axis`() throws {
        let bed = [
            Piece(.source("bed", try Self.range(0, 25))),
            Piece(.source("bed", try Self.range(60, 83)), fadeOut: Fade(Self.time(3)), crossfade: Fade(Self.time(2))),
        ]
        let duck = [
            Ramp(try Self.range(4, 5), from: .unity, to: try Self.gain(-12)),
            Ramp(try Self.range(40, 42), from: try Self.gain(-12), to: .unity),
        ]
        let speech = [
            Piece(.source("voice", try Self.range(0, 20))), Piece(.silence(Self.time(2))),
            Piece(.source("voice", try Self.range(30, 50)), repeats: .times(2), gain: try Self.gain(-3)),
        ]
        let recipe = Self.mix([
            Timeline.Track(name: "speech", pieces: speech),
            Timeline.Track(gain: try Self.gain(-18), pan: .left, ramps: duck, pieces: bed),
        ])
        let picture = try #require(RecipePicture(recipe, sourceLength: nil))
        #expect(picture.summary == "2 sources, 2 tracks, mixed" && picture.rest == [])
        #expect(picture.rows.map(\.label) == ["speech", "track 2", "output"])
        #expect(picture.rows.map(\.note) == ["", "-18dB, pan -1", ""])
        // Silence is not drawn.
        #expect(picture.rows[0].blocks.map(\.start) == [0, 22])
        #expect(picture.rows[0].blocks.map(\.end) == [20, 62])
        #expect(picture.rows[0].blocks.map(\.text) == ["voice.flac", "voice.flac, from its 0:30, 2 times, -3dB"])
        #expect(picture.rows[0].blocks.allSatisfy { $0.course.isEmpty })
        #expect(picture.rows[1].blocks.map(\.start) == [0, 23] && picture.rows[1].blocks.map(\.end) == [25, 46])
        // A decibel is a unit, 0 dB is at 7 and silence at 30. The piece ends in the cross-fade of the next one.
        let first = picture.rows[1].blocks[0].course
        #expect(first.map(\.time) == [0, 4, 5, 23, 25] && first.map(\.level) == [7, 7, 19, 19, 30])
        let second = picture.rows[1].blocks[1].course
        #expect(second.map(\.time) == [0, 2, 17, 19, 20, 23] && second.map(\.level) == [30, 19, 19, 7, 7, 30])
        #expect(picture.rows[2].blocks == [.init(start: 0, end: 62, text: "trailer.mp3, podcast-mp3")])
        let text = picture.html.text
        #expect(text.contains("track 2 (-18dB, pan -1): tide.flac (0:00 to 0:25), "))
        #expect(text.contains("d=\"M0,7 160,7 200,19 920,19 1000,30\""))
    }

    @Test func `a gain may jump`() throws {
        let jump = [Ramp(try Self.range(2, 3), from: try Self.gain(-6), to: .silence)]
        let piece = Piece(.source("voice", try Self.range(0, 4)), ramps: jump)
        let picture = try #require(RecipePicture(Self.mix([Timeline.Track(pieces: [piece])]), sourceLength: nil))
        let course = picture.rows[0].blocks[0].course
        #expect(course.map(\.time) == [0, 2, 2, 3, 4] && course.map(\.level) == [7, 7, 13, 30, 30])
    }

    @Test func `what only the source tells stays open`() throws {
        let pieces = [
            Piece(.source("voice", try Self.range(0, 20))), Piece(.source("voice")), Piece(.source("bed")),
            Piece(.source("bed")),
        ]
        let recipe = Self.mix([Timeline.Track(pieces: pieces)])
        var picture = try #require(RecipePicture(recipe, sourceLength: Self.time(48)))
        #expect(picture.rows[0].blocks.map(\.end) == [20, nil] && picture.rest == ["2 pieces"])
        #expect(picture.html.text.contains("class=\"p open\"") && picture.html.text.contains("Not drawn: 2 pieces"))
        #expect(picture.html.text.contains("voice.flac (0:20 to its end)"))
        // The only source is as long as the report says.
        var alone = recipe
        alone.sources.removeLast()
        alone.timeline?.tracks[0].pieces.removeLast(2)
        picture = try #require(RecipePicture(alone, sourceLength: Self.time(48)))
        #expect(picture.rows.map { $0.blocks.map(\.end) } == [[20, 68], [68]])
    }

    @Test func `parts are drawn where they are in the source`() throws {
        var recipe = Recipe(
            sources: [Recipe.Source(location: "in:long.wav")],
            outputs: [
                Recipe.Output(location: "out:1.flac", range: try Self.range(0, 60)),
                Recipe.Output(location: "out:2.flac", range: try Self.range(70, nil)),
            ]
        )
        var picture = try #require(RecipePicture(recipe, sourceLength: Self.time(100)))
        #expect(picture.summary == "the source is cut into 2 outputs")
        #expect(picture.rows.map { $0.blocks.map(\.start) } == [[0], [0, 70]])
        #expect(picture.rows.map { $0.blocks.map(\.end) } == [[100], [60, 100]])
        recipe = Recipe(
            from: Recipe.Source(location: "in:long.wav", ranges: [try Self.range(5, 10), try Self.range(20, 21)]),
            to: Recipe.Output(location: "out:short.wav")
        )
        picture = try #require(RecipePicture(recipe, sourceLength: Self.time(100)))
        #expect(picture.summary == "2 parts of the source, one after another")
        #expect(picture.rows.map { $0.blocks.map(\.start) } == [[5, 20], [0]])
        #expect(picture.rows.map { $0.blocks.map(\.end) } == [[10, 21], [6]])
        // The axis is as long as the source: the parts are as wide as they are in it.
        #expect(picture.html.text.contains("<svg x=\"20.00%\" width=\"1.00%\""))
    }

    @Test func `a long recipe has a short picture`() throws {
        let ramps = try (0..<1_000).map { place in
            Ramp(try Self.range(Double(place), Double(place) + 0.5), from: .silence, to: .unity)
        }
        let piece = Piece(.source("voice", try Self.range(0, 1_000)), ramps: ramps)
        let track = Timeline.Track(pieces: Array(repeating: piece, count: 1_000))
        let recipe = Self.mix(Array(repeating: track, count: 64))
        let picture = try #require(RecipePicture(recipe, sourceLength: nil))
        #expect(picture.rows.count == 9 && picture.rest == ["56 tracks", "7,904 pieces"])
        #expect(picture.html.text.utf8.count < 64 << 10)
    }

    @Test func `names in a picture are texts`() throws {
        for name in Material.hostile {
            var recipe = Self.mix([
                Timeline.Track(name: name, pieces: [Piece(.source(name, try Self.range(0, 5)))]),
                Timeline.Track(pieces: [Piece(.track(name))]), Timeline.Track(pieces: [Piece(.source(name))]),
            ])
            recipe.sources[0] = Recipe.Source(location: name, name: name)
            recipe.outputs[0] = Recipe.Output(location: name, preset: name)
            let picture = try #require(RecipePicture(recipe, sourceLength: nil))
            let text = picture.html.text
            #expect(MarkupCheck(text).mistakes == [])
            #expect(!text.contains("<script") && !text.contains("\u{202E}") && text.utf8.count < 32 << 10)
        }
    }

    @Test func `marks are at round times`() {
        #expect(RecipePicture.marks(upTo: 48) == [0, 10, 20, 30, 40])
        #expect(RecipePicture.marks(upTo: 3_600) == [0, 600, 1_200, 1_800, 2_400, 3_000, 3_600])
        #expect(RecipePicture.marks(upTo: 0.001) == [0])
        #expect(RecipePicture.marks(upTo: 1e9).count == 9)
    }
}
