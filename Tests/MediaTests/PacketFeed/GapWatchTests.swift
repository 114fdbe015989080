import Conversion
import Testing

@testable import Media

/// Finding gaps by a container's clock, apart from any source.
@Suite struct GapWatchTests {
    private static let rate = 48_000
    private static let packet: Int64 = 1024

    /// A clock in frames, in each packet.
    private func exact() -> GapWatch {
        GapWatch(PacketTraits(clock: .frameNumbers), rate: Self.rate, length: .exact(1 << 20))
    }

    private func position(_ frame: Int64?, _ decoded: Int64, isSuspect: Bool = false) -> GapWatch.Position {
        GapWatch.Position(frame: frame, decoded: decoded, usual: Self.packet, isSuspect: isSuspect)
    }

    /// The jump at a packet.
    private func jump(_ gaps: inout GapWatch, _ position: GapWatch.Position, _ estimate: Loss? = nil)
        -> GapWatch.Jump?
    {
        if case .jump(let jump) = gaps.compare(position, estimate: estimate) { jump } else { nil }
    }

    private func loss(_ finding: GapWatch.Finding) throws -> Loss? {
        guard case .loss(let loss) = finding else {
            Issue.record("the clock jumps")
            return nil
        }
        return loss
    }

    @Test func containerWithoutAClockShowsNoGap() throws {
        var gaps = GapWatch(PacketTraits(), rate: Self.rate, length: .none)
        let watches = gaps.watchesNext()
        #expect(!gaps.isOn && !watches)
        #expect(gaps.place(of: position(9999, 1024), lost: 0) == 1024)
    }

    @Test func clockThatAgreesKeepsTheEstimate() throws {
        var gaps = exact()
        #expect(try loss(gaps.compare(position(0, 0), estimate: nil)) == nil)
        let estimate = Loss(code: .corruptStream, frames: 1024, detail: "damage")
        #expect(try loss(gaps.compare(position(2048, 1024), estimate: estimate))?.frames == 1024)
    }

    @Test func jumpAheadIsAGapOfWholePackets() throws {
        var gaps = exact()
        _ = gaps.compare(position(0, 0), estimate: nil)
        let jump = try #require(jump(&gaps, position(4096, 1024)))
        let accepted = gaps.accept(jump)
        let loss = try #require(accepted)
        #expect(loss.code == .timelineGap && loss.frames == 3072)
        // The clock and the count agree from there on.
        #expect(try self.loss(gaps.compare(position(5120, 1024 + 3072 + 1024), estimate: nil)) == nil)
    }

    @Test func jumpBehindMissingPagesIsDamage() throws {
        var gaps = exact()
        _ = gaps.compare(position(0, 0), estimate: nil)
        let jump = try #require(jump(&gaps, position(3072, 1024, isSuspect: true)))
        #expect(gaps.accept(jump)?.code == .corruptStream)
        #expect(try loss(gaps.compare(position(nil, 4096, isSuspect: true), estimate: nil))?.frames == 0)
    }

    @Test func clockCorrectsAnEstimate() throws {
        var gaps = exact()
        _ = gaps.compare(position(0, 0), estimate: nil)
        let estimate = Loss(code: .corruptStream, frames: 4096, detail: "damage")
        let jump = try #require(jump(&gaps, position(2048, 1024), estimate))
        let accepted = gaps.accept(jump)
        let loss = try #require(accepted)
        #expect(loss.frames == 1024 && loss.detail == "damage")
    }

    @Test func singleWrongTimeIsAlone() throws {
        var gaps = exact()
        _ = gaps.compare(position(0, 0), estimate: nil)
        let jump = try #require(jump(&gaps, position(90_000, 1024)))
        #expect(gaps.isAlone(jump, before: 2048))
        #expect(!gaps.isAlone(jump, before: 91_024))
    }

    @Test func fragmentsThatShiftTogetherLoseNothing() throws {
        let traits = PacketTraits(clock: .rounded, mayShiftTogether: true)
        for (length, loses) in [(LengthPromise.none, false), (.exact(1 << 20), true)] {
            var gaps = GapWatch(traits, rate: Self.rate, length: length)
            for number in 0..<Int64(16) {
                _ = gaps.compare(position(number * Self.packet, number * Self.packet), estimate: nil)
            }
            let jump = try #require(jump(&gaps, position(1 << 20, 16 * Self.packet)))
            var copy = gaps
            let (doubts, loss) = (gaps.doubts(jump), gaps.accept(jump))
            #expect(doubts != loses && (loss != nil) == loses)
            let proven = copy.accept(jump, isProven: true)
            #expect(proven?.frames == (1 << 20) - 16 * Self.packet)
        }
    }

    @Test func packetWithoutOutputIsSkippedOnce() {
        var gaps = exact()
        gaps.skipNext(true)
        let (first, second) = (gaps.watchesNext(), gaps.watchesNext())
        #expect(!first && second)
    }

    @Test func copyForgetsWhatCameLater() throws {
        var gaps = exact()
        _ = gaps.compare(position(0, 0), estimate: nil)
        let mark = gaps
        let first = try #require(jump(&gaps, position(4096, 1024)))
        _ = gaps.accept(first)
        gaps = mark
        let again = try #require(jump(&gaps, position(4096, 1024)))
        #expect(gaps.accept(again)?.frames == 3072)
    }

    @Test func skippedPacketsFollowTheClock() {
        var gaps = exact()
        #expect(gaps.place(of: position(1024, 1024), lost: 0) == 1024)
        #expect(gaps.place(of: position(4096, 2048), lost: 0) == 4096)
    }
}
