import TestSupport
import Testing

@testable import Media

/// Where a later stream of a source lies on the clock of its output.
@Suite struct SourceLinkTests {
    private func track(rate: Int) throws -> Track {
        let folder = try TemporaryFolder.create()
        let path = folder.path("a.wav")
        try WAVFile.write(Signal.silence(rate: rate, frames: 10).pcm(.s16), to: path)
        let file = try OpenFile.reading(path)
        return try Reader(descriptor: file.descriptor).track()
    }

    @Test func streamOfTheSameRateCountsOn() throws {
        var clock = TrackClock(rate: 48_000, priming: 0)
        _ = clock.count(TrackClock.Block(frames: 1_000, rate: 48_000))
        let link = SourceLink(try track(rate: 48_000), at: clock)
        #expect(link.isLater && link.start == 1_000)
        #expect(link.place(of: 500, rate: 48_000) == 1_500 && link.frames(upTo: 1_500, rate: 48_000) == 500)
    }

    @Test func streamOfAnotherRateIsConverted() throws {
        var clock = TrackClock(rate: 48_000, priming: 0)
        _ = clock.count(TrackClock.Block(frames: 960, rate: 48_000))
        let link = SourceLink(try track(rate: 44_100), at: clock)
        #expect(link.place(of: 44_100, rate: 48_000) == 48_960)
        // The clock has rounded down.
        let heard = link.frames(upTo: 48_960, rate: 48_000)
        #expect((44_100...44_101).contains(heard) && link.frames(upTo: 960, rate: 48_000) == 0)
    }

    @Test func delayOfTheStreamIsDroppedAfterTheJoin() {
        var clock = TrackClock(rate: 48_000, priming: 0)
        _ = clock.count(TrackClock.Block(frames: 1_000, rate: 48_000))
        clock.cut(at: 900)
        clock.beginLink(priming: 312)
        let dropped = clock.count(TrackClock.Block(frames: 960, rate: 48_000))
        #expect(dropped.front == 312 && dropped.back == 0 && clock.place == 900 + 648)
        clock.cut(at: .max)
        #expect(clock.place == 1_548)
    }
}
