import Testing

@testable import Media

/// The place of decoded frames on the time line of a track.
@Suite struct TrackClockTests {
    private typealias Block = TrackClock.Block

    /// A clock at 48 kHz that has counted 960 frames of sound.
    private func running(priming: Int = 0) -> TrackClock {
        var clock = TrackClock(rate: 48_000, priming: priming)
        _ = clock.count(Block(frames: 960 + priming, rate: 48_000))
        return clock
    }

    @Test func primingIsDroppedOverSeveralBlocks() {
        var clock = TrackClock(rate: 48_000, priming: 1500)
        #expect(clock.count(Block(frames: 1024, rate: 48_000)) == (1024, 0))
        #expect((clock.place, clock.decoded, clock.priming) == (0, 1024, 476))
        #expect(clock.count(Block(frames: 1024, rate: 48_000)) == (476, 0))
        #expect((clock.place, clock.decoded, clock.priming) == (548, 2048, 0))
    }

    @Test func paddingIsDroppedButCountsAsDecoded() {
        var clock = running()
        #expect(clock.count(Block(frames: 960, rate: 48_000, skip: (0, 100))) == (0, 100))
        #expect((clock.place, clock.decoded) == (1820, 1920))
    }

    @Test func primingGoesBeforePaddingInAShortBlock() {
        var clock = TrackClock(rate: 48_000, priming: 80)
        #expect(clock.count(Block(frames: 100, rate: 48_000, skip: (0, 50))) == (80, 20))
        #expect(clock.place == 0)
    }

    @Test func negativePaddingIsNone() {
        var clock = running()
        #expect(clock.count(Block(frames: 960, rate: 48_000, skip: (0, -5))) == (0, 0))
    }

    @Test func skipOfADecoderCountsUnlessThePacketsStateIt() {
        var clock = TrackClock(rate: 48_000, priming: 0)
        #expect(clock.count(Block(frames: 960, rate: 48_000, skip: (312, 0))) == (312, 0))

        clock = TrackClock(rate: 48_000, priming: 0)
        clock.addPriming(ofPacket: 2112)
        #expect(clock.count(Block(frames: 2048, rate: 48_000, skip: (1024, 0))) == (2048, 0))
        #expect(clock.priming == 64)
    }

    @Test func discardedBlockIsDroppedOnlyBehindSound() {
        var clock = TrackClock(rate: 48_000, priming: 0)
        #expect(clock.count(Block(frames: 960, rate: 48_000, isDiscarded: true)) == (0, 0))
        #expect(clock.count(Block(frames: 960, rate: 48_000, isDiscarded: true)) == (960, 0))
        #expect((clock.place, clock.decoded) == (960, 1920))
    }

    @Test func blocksOfAnotherRateLoseNoFraction() {
        var clock = TrackClock(rate: 44_100, priming: 0)
        for _ in 0..<1000 { _ = clock.count(Block(frames: 960, rate: 48_000)) }
        #expect(clock.place == 1000 * 960 * 44_100 / 48_000)
        #expect(clock.hasChangedRate)
        #expect(clock.blockFrames(441, rate: 48_000) == 480)
        #expect(clock.blockFrames(441, rate: 44_100) == 441)
    }

    @Test func silenceIsReachedBeforeItIsGiven() {
        var clock = running()
        #expect(clock.lose(5000) == 5000)
        clock.oweSilence(5000)
        #expect((clock.place, clock.reached, clock.decoded, clock.owedSilence) == (960, 5960, 5960, 5000))
        clock.giveSilence(4096)
        #expect((clock.place, clock.reached, clock.owedSilence) == (5056, 5960, 904))
    }

    @Test func lostPrimingIsNoSound() {
        var clock = TrackClock(rate: 48_000, priming: 1000)
        #expect(clock.lose(1500) == 500)
        clock.pass(500)
        #expect((clock.place, clock.decoded, clock.priming) == (500, 1500, 0))
    }

    /// A clock that jumps to and fro.
    @Test func whatIsFollowedDoesNotAddUpWithoutEnd() {
        var clock = running()
        for _ in 0..<3 { clock.follow(Plausible.frames) }
        #expect(clock.decoded == Plausible.frames && clock.followed == Plausible.frames - 960)
        #expect(clock.place == 960)
        // The next stream of a chain has no part in it.
        clock.beginLink(priming: 0)
        #expect(clock.followed == 0)
    }

    @Test func jumpKeepsTheDistanceOfTheTwoCounts() throws {
        var clock = running(priming: 312)
        let target = try #require(clock.target(for: 48_000))
        #expect(target == 48_312)
        clock.jump(to: target - 12)
        #expect((clock.place, clock.decoded) == (47_988, 48_300))
    }

    @Test func skipIsRefusedWhereItCannotBeExact() {
        #expect(running().target(for: 960) == nil)
        #expect(TrackClock(rate: 48_000, priming: 0).target(for: 960) == nil)
        var clock = TrackClock(rate: 48_000, priming: 5000)
        _ = clock.count(Block(frames: 960, rate: 48_000))
        #expect(clock.target(for: 9600) == nil)
        clock = running()
        _ = clock.count(Block(frames: 960, rate: 24_000))
        #expect(clock.target(for: 96_000) == nil)
    }
}
