import Conversion
import Testing

@Suite struct TimelineScheduleTests {
    private typealias Material = TimelineMaterial

    private let thirty: [String: MediaTime] = ["a": TimelineMaterial.seconds(30)]

    @Test func piecesFollowEachOtherAndCrossfadesOverlap() throws {
        let track = Timeline.Track(
            start: Material.seconds(3),
            pieces: [
                Piece(.source("a", try Material.range(5, 15))),
                Piece(.silence(Material.seconds(4)), repeats: .times(2), crossfade: Fade(Material.seconds(1))),
                Piece(.source("a"), repeats: .until(Material.seconds(100))),
                Piece(.source("a", try MediaTimeRange(startingAt: Material.seconds(20)))),
            ]
        )
        let schedule = TimelineSchedule(Timeline(tracks: [track]), sourceLengths: thirty)
        #expect(schedule.places[0].map(\.start) == [3, 12, 20, 120].map(Material.seconds))
        #expect(schedule.places[0].map(\.length) == [10, 8, 100, 10].map(Material.seconds))
        #expect(schedule.places[0].map(\.lengthOfOne) == [10, 4, 30, 10].map(Material.seconds))
        #expect(schedule.ends == [Material.seconds(130)])
        #expect(schedule.length == Material.seconds(130))
    }

    @Test func whatDependsOnASourceIsUnknownWithoutItsLength() throws {
        let track = Timeline.Track(pieces: [
            Piece(.silence(Material.seconds(1))), Piece(.source("a")), Piece(.silence(Material.seconds(2))),
        ])
        let schedule = TimelineSchedule(Timeline(tracks: [track], padTo: Material.seconds(9)))
        #expect(schedule.places[0].map(\.start) == [.zero, Material.seconds(1), nil])
        #expect(schedule.places[0].map(\.length) == [Material.seconds(1), nil, Material.seconds(2)])
        #expect(schedule.length == nil)
    }

    @Test func innerTracksAreHeardWhereTheyAreReferredTo() throws {
        let timeline = Timeline(
            tracks: [
                .init(name: "outer", pieces: [Piece(.track("inner"), repeats: .times(3))]),
                .init(name: "inner", start: Material.seconds(1), pieces: [Piece(.source("a"))]),
                .init(pieces: [Piece(.silence(Material.seconds(50)))]),
            ]
        )
        #expect(timeline.heardTracks == [0, 2])
        let schedule = TimelineSchedule(timeline, sourceLengths: thirty)
        #expect(schedule.ends == [93, 31, 50].map(Material.seconds))
        #expect(schedule.length == Material.seconds(93))
        var padded = timeline
        padded.padTo = Material.seconds(100)
        #expect(TimelineSchedule(padded, sourceLengths: thirty).length == Material.seconds(100))
    }

    @Test func cyclesAndUnknownNamesHaveNoLength() {
        let timeline = Timeline(
            tracks: [
                .init(name: "a", pieces: [Piece(.track("b"))]), .init(name: "b", pieces: [Piece(.track("a"))]),
                .init(name: "c", pieces: [Piece(.track("a"))]), .init(pieces: [Piece(.track("nobody"))]),
                .init(pieces: []),
            ]
        )
        #expect(TimelineSchedule(timeline).ends == [nil, nil, nil, nil, .zero])
    }
}
