import Conversion
import Testing

@testable import Command
@testable import Console

/// The picture that `sluice recipe show` draws.
struct TimelinePictureTests {
    init() { Locale.useUTF8() }

    private func seconds(_ count: Int64) -> MediaTime { MediaTime(value: count, timescale: 1) }

    private func range(_ start: Int64, _ end: Int64) throws -> MediaTimeRange {
        try MediaTimeRange(start: seconds(start), end: seconds(end))
    }

    /// The picture without the axis, in columns of one second each.
    private func picture(_ tracks: [Timeline.Track], seconds count: Int, unicode: Bool = true) -> [String] {
        let timeline = Timeline(tracks: tracks, padTo: seconds(Int64(count)))
        let known = TimelineSchedule(timeline)
        return Array(
            TimelinePicture(timeline, known: known, width: count + 10, usesUnicode: unicode).lines.dropFirst(2)
        )
    }

    @Test func fadesAreSlopes() throws {
        let piece = Piece(.source("voice", try range(0, 12)), fadeIn: Fade(seconds(2)), fadeOut: Fade(seconds(3)))
        let lines = picture([.init(start: seconds(4), pieces: [piece])], seconds: 40)
        #expect(lines == [#"1            //▔▔▔▔▔▔▔\\\"#, "             │voice      │"])
    }

    @Test func crossfadesSilenceAndMarksAreShown() throws {
        let pieces = [
            Piece(.source("a", try range(0, 8))),
            Piece(.source("b", try range(0, 4)), isReversed: true, repeats: .times(3), crossfade: Fade(seconds(2))),
            Piece(.silence(seconds(10))), Piece(.source("a", try range(0, 12)), gain: Gain(decibels: -3) ?? .unity),
        ]
        let lines = picture([.init(pieces: pieces)], seconds: 45)
        #expect(
            lines == [
                "1        ▔▔▔▔▔▔╳╳▔▔▔▔▔▔▔▔▔▔▁▁▁▁▁▁▁▁▁▁▔▔▔▔▔▔▔▔▔▔▔▔",
                "         │a    │b ◀×3      │silence  │a -3dB     │",
            ]
        )
        #expect(
            picture([.init(pieces: pieces)], seconds: 45, unicode: false) == [
                "1        ======XX==========__________============",
                "         |a    |b <x3      |silence  |a -3dB     |",
            ]
        )
    }

    @Test func rampsRiseAndFall() throws {
        let low = Gain(decibels: -20) ?? .unity
        let track = Timeline.Track(
            gain: low,
            ramps: [Ramp(try range(5, 8), from: .unity, to: low), Ramp(try range(12, 14), from: low, to: .unity)],
            pieces: [Piece(.source("music", try range(0, 20)))]
        )
        #expect(
            picture([track], seconds: 30) == [
                #"1        ▔▔▔▔▔\\\────//▔▔▔▔▔▔"#, "-20dB    │music              │",
            ]
        )
    }

    @Test func innerTracksAndOpenEndsAreMarked() throws {
        let tracks = [
            Timeline.Track(pieces: [Piece(.track("bed")), Piece(.silence(seconds(10)))]),
            Timeline.Track(name: "bed", pieces: [Piece(.source("a"))]),
        ]
        let lines = picture(tracks, seconds: 30)
        #expect(lines[0] == "1        ▔▔▔▔…▁▁▁▁▁▁▁▁▁▁")
        #expect(lines[2] == "bed      ▔▔▔▔…")
        #expect(lines[3] == "inside   │a   │")
    }

    @Test func wideCharactersTakeTwoColumns() throws {
        let pieces = [
            Piece(.source("講演", try range(0, 8))), Piece(.source("音楽音楽", try range(0, 6))),
            Piece(.source("e\u{301}tude", try range(0, 10))),
        ]
        let lines = picture([.init(name: "講演", pieces: pieces)], seconds: 30)
        #expect(lines[1] == "         │講演   │音楽…│e\u{301}tude    │")
        #expect(lines[0].hasPrefix("講演     ▔"))
        #expect(lines[1].displayWidth == 9 + 25)
    }

    @Test func shortPiecesKeepAColumn() throws {
        let pieces = (0..<1_000).map { _ in Piece(.silence(MediaTime(value: 1, timescale: 1_000))) }
        let lines = picture([.init(pieces: [Piece(.source("a", .whole))] + pieces)], seconds: 30)
        #expect(lines.allSatisfy { $0.displayWidth <= 40 })
        let fade = MediaTime(value: 1, timescale: 10)
        let click = Piece(.silence(seconds(3))),
            blip = Piece(
                .source("a", try MediaTimeRange(start: .zero, duration: MediaTime(value: 2, timescale: 10))),
                fadeIn: Fade(fade),
                fadeOut: Fade(fade)
            )
        #expect(picture([.init(pieces: [click, blip])], seconds: 30)[0].hasPrefix("1        ▁▁▁^"))
    }

    @Test(arguments: [(30, "0:00"), (60, "0:00"), (3_600, "0:00"), (3_600_000, "0:00")])
    func axisHasTicksAtUsualTimes(length: Int64, first: String) {
        let timeline = Timeline(tracks: [.init(pieces: [Piece(.silence(seconds(length)))])])
        let lines = TimelinePicture(timeline, known: .init(timeline), width: 80, usesUnicode: true).lines
        let times = lines[0].split(separator: " ").map(String.init)
        #expect(times.first == first && times.count >= 4 && times.count <= 8, "\(lines[0])")
        #expect(lines[1].filter { "├┼".contains($0) }.count >= times.count)
        #expect(lines.allSatisfy { $0.displayWidth <= 80 })
    }

    @Test func tinyTimelineHasAnAxisToo() {
        let timeline = Timeline(tracks: [.init(pieces: [Piece(.silence(MediaTime(value: 1, timescale: .max)))])])
        let lines = TimelinePicture(timeline, known: .init(timeline), width: 80, usesUnicode: true).lines
        #expect(lines[0].contains("0:00") && lines.allSatisfy { $0.displayWidth <= 80 })
    }
}
