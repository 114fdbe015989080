import Conversion
import Testing

/// The next and the previous place from any time, and what an AutoDJ is told.
@Suite struct SourcePointTests {
    private static let points: [SourcePoint] = [
        SourcePoint(.soundStart, at: 100), SourcePoint(.chapter, at: 0, frames: 500, text: "One"),
        SourcePoint(.chapter, at: 500, frames: 500, text: "Two"), SourcePoint(.damage, at: 700, frames: 20),
        SourcePoint(.soundEnd, at: 900),
    ].sorted()
    private static let report = PointReport(sampleRateHz: 1_000, frames: 1_000, points: points)
    private let places = PointPlaces(report)

    @Test func placesAreWherePointsBeginAndWhereTheyEnd() {
        #expect(places.places.map(\.frame) == [0, 100, 500, 500, 700, 720, 900, 1_000])
        #expect(places.places.map(\.isEnd) == [false, false, true, false, false, true, false, true])
    }

    @Test func nextAndPreviousMeetEachPlaceOnce() {
        var (frame, met): (Int64, [Int64]) = (-1, [])
        while let place = places.next(after: frame).first {
            met.append(place.frame)
            frame = place.frame
        }
        #expect(met == [0, 100, 500, 700, 720, 900, 1_000])
        (frame, met) = (.max, [])
        while let place = places.previous(before: frame).first {
            met.append(place.frame)
            frame = place.frame
        }
        #expect(met == [1_000, 900, 720, 700, 500, 100, 0])
    }

    /// One chapter ends where the next one begins.
    @Test func placeHasAllThatBeginsAndEndsThere() {
        for both in [places.next(after: 100), places.previous(before: 700)] {
            #expect(both.map(\.point.text) == ["One", "Two"])
            #expect(both.map(\.isEnd) == [true, false])
        }
        let together = [SourcePoint(.soundStart, at: 5), SourcePoint(.cue, at: 5), SourcePoint(.loop, at: 5)]
        let crowded = PointPlaces(PointReport(sampleRateHz: 8, frames: 9, points: together))
        #expect(crowded.next(after: 4).map(\.point.kind) == [.soundStart, .cue, .loop])
        #expect(crowded.next(after: 4, of: [.cue, .loop]).map(\.point.kind) == [.cue, .loop])
        #expect(crowded.previous(before: 6, of: [.loop]).map(\.point.kind) == [.loop])
        #expect(crowded.next(after: 5).isEmpty && crowded.previous(before: 5).isEmpty)
    }

    @Test func timeBetweenTwoFramesIsBehindOneAndBeforeTheOther() {
        // 99.5 and 100.5 frames.
        let (early, late) = (MediaTime(value: 199, timescale: 2_000), MediaTime(value: 201, timescale: 2_000))
        #expect(places.next(after: early).first?.frame == 100)
        #expect(places.next(after: late).first?.frame == 500)
        #expect(places.previous(before: late).first?.frame == 100)
        #expect(places.previous(before: early).first?.frame == 0)
        let exact = MediaTime(value: 1, timescale: 10)
        #expect(places.next(after: exact).first?.frame == 500)
        #expect(places.previous(before: exact).first?.frame == 0)
        #expect(places.next(after: MediaTime.indefinite).isEmpty)
    }

    @Test func kindsThatAreNotWantedArePassedOver() {
        #expect(places.next(after: 0, of: [.damage]).first?.frame == 700)
        #expect(places.next(after: 700, of: [.damage]).first?.isEnd == true)
        #expect(places.next(after: 720, of: [.damage]).isEmpty)
        #expect(places.previous(before: 700, of: [.soundStart]).first?.frame == 100)
        #expect(places.previous(before: 100, of: [.damage]).isEmpty)
    }

    @Test func pointsAreOrderedByTimeThenByKind() {
        #expect(Self.points.map(\.frame) == [0, 100, 500, 700, 900])
        let together = [
            SourcePoint(.silence, at: 5, frames: 2), SourcePoint(.soundEnd, at: 5), SourcePoint(.cue, at: 5),
        ]
        #expect(together.sorted().map(\.kind) == [.soundEnd, .cue, .silence])
    }

    @Test func reportIsTheSameAfterJSON() throws {
        let line = try JSONText.line(Self.report)
        #expect(try JSONText.read(PointReport.self, from: Array(line.utf8)) == Self.report)
    }

    // MARK: AutoDJ

    @Test func autoDJPlaysFromTheFirstSoundToTheLast() throws {
        var points = Self.points
        points.append(SourcePoint(.ending, at: 650, frames: 250))
        let report = PointReport(sampleRateHz: 1_000, frames: 1_000, points: points.sorted())
        let loudness = LoudnessReport(integratedLUFS: -20.5, truePeakDBTP: -12)
        let values = try #require(AutoDJValues(report, loudness))
        let line =
            "annotate:liq_cue_in=\"0.100000\",liq_cue_out=\"0.900000\",liq_cross_duration=\"0.250\","
            + "liq_fade_in=\"0.000\",liq_fade_out=\"0.250\",liq_fade_out_delay=\"0.000\",liq_amplify=\"4.50 dB\",liq_loudness=\"-20.50 LUFS\":a b.mp3"
        #expect(values.annotation(of: "a b.mp3") == line)
    }

    private static let gains: [(level: Double, peak: Double, gain: Double)] = [
        (-10, 0, -6), (-20, -3, 2), (-20, -0.5, 0), (-20, -30, 4),
    ]

    @Test(arguments: gains) func gainKeepsPeaksBelowTheCeiling(level: Double, peak: Double, gain: Double) throws {
        let loudness = LoudnessReport(integratedLUFS: level, truePeakDBTP: peak)
        #expect(try #require(AutoDJValues(Self.report, loudness)).amplifyDB == gain)
    }

    @Test func timesAreRoundedSoThatNoSoundIsCut() throws {
        let points = [SourcePoint(.soundStart, at: 1), SourcePoint(.soundEnd, at: 2)]
        let report = PointReport(sampleRateHz: 3, frames: 3, points: points)
        let pairs = try #require(AutoDJValues(report, nil)).pairs
        #expect(pairs.map(\.value) == ["0.333333", "0.666667", "0.100", "0.000", "0.000", "0.100"])
    }

    /// Liquidsoap takes no overlap of zero, and a fade shorter than the overlap must wait for its end.
    @Test func trackWithoutAnEndingOverlapsByATenthOfASecond() throws {
        for (ending, fade, delay): (Int64, String, String) in [(0, "0.000", "0.100"), (40, "0.040", "0.060")] {
            var points = [SourcePoint(.soundStart, at: 0), SourcePoint(.soundEnd, at: 1_000)]
            if ending > 0 { points.append(SourcePoint(.ending, at: 1_000 - ending, frames: ending)) }
            let report = PointReport(sampleRateHz: 1_000, frames: 1_000, points: points.sorted())
            let values = try #require(AutoDJValues(report, nil)).pairs.map(\.value)
            #expect(values.suffix(4) == ["0.100", "0.000", fade, delay])
        }
    }

    @Test func silentTrackGivesAnAutoDJNothing() {
        let report = PointReport(sampleRateHz: 1_000, frames: 9, points: [SourcePoint(.silence, at: 0, frames: 9)])
        #expect(AutoDJValues(report, LoudnessReport()) == nil)
    }

    @Test func longEndingsOverlapByNoMoreThanSixSeconds() throws {
        let points = [
            SourcePoint(.soundStart, at: 0), SourcePoint(.ending, at: 1, frames: 60), SourcePoint(.soundEnd, at: 61),
        ]
        let report = PointReport(sampleRateHz: 1, frames: 61, points: points)
        let values = try #require(AutoDJValues(report, nil))
        #expect(values.crossDuration == MediaTime(value: 6, timescale: 1) && values.fadeOut == values.crossDuration)
    }
}
