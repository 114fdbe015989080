import Testing

@testable import Ledger

struct LeaseClockTests {
    private let start = ContinuousClock.now

    private func reply(alive: Bool = true, sentAt: Duration, lease: Duration = .seconds(30)) -> BeatReply {
        BeatReply(isAlive: alive, leaseLength: lease, sentAt: start + sentAt)
    }

    @Test func theRightHoldsForALeaseLessTheMarginFromWhenTheLastAnsweredBeatWasSent() {
        var clock = LeaseClock(sentAt: start, leaseLength: .seconds(30), margin: .seconds(3))
        #expect(clock.holds(at: start))
        #expect(clock.holds(at: start + .milliseconds(26_999)))
        #expect(!clock.holds(at: start + .seconds(27)))
        // Sent at 10 and answered at 20. The clock counts from 10.
        clock.renew(with: reply(sentAt: .seconds(10)), now: start + .seconds(20))
        #expect(clock.end == start + .seconds(37))
        #expect(clock.left(at: start + .seconds(36)) == .seconds(1))
        #expect(clock.left(at: start + .seconds(40)) == .zero)
    }

    @Test func anOlderAnswerThatComesLaterTakesNothingAway() {
        var clock = LeaseClock(sentAt: start, leaseLength: .seconds(30), margin: .zero)
        clock.renew(with: reply(sentAt: .seconds(10)), now: start + .seconds(11))
        clock.renew(with: reply(sentAt: .seconds(5)), now: start + .seconds(12))
        #expect(clock.end == start + .seconds(40))
    }

    @Test func aRightThatIsOverStaysOver() {
        var clock = LeaseClock(sentAt: start, leaseLength: .seconds(30), margin: .zero)
        clock.renew(with: reply(sentAt: .seconds(29)), now: start + .seconds(31))
        #expect(!clock.holds(at: start + .seconds(31)))
        clock.renew(with: reply(sentAt: .seconds(32)), now: start + .seconds(32))
        #expect(!clock.holds(at: start + .seconds(33)))
    }

    @Test func patienceOutlastsTheLeaseFromTheLastAnsweredBeatOn() {
        var clock = LeaseClock(sentAt: start, leaseLength: .seconds(30), margin: .seconds(3), patience: .seconds(3_600))
        #expect(!clock.isOverdue(at: start + .seconds(26)))
        #expect(clock.isOverdue(at: start + .seconds(27)) && clock.holds(at: start + .seconds(27)))
        clock.renew(with: reply(sentAt: .seconds(3_000)), now: start + .seconds(3_001))
        #expect(!clock.isOverdue(at: start + .seconds(3_001)))
        #expect(clock.leaseEnd == start + .seconds(3_027))
        #expect(clock.end == start + .seconds(6_600))
        #expect(clock.isOverdue(at: start + .seconds(6_599)))
        #expect(!clock.holds(at: start + .seconds(6_600)) && !clock.isOverdue(at: start + .seconds(6_600)))
        // The ledger can end it at any time.
        clock.renew(with: reply(alive: false, sentAt: .seconds(3_030)), now: start + .seconds(3_031))
        #expect(!clock.holds(at: start + .seconds(3_031)))
    }

    @Test func patienceThatIsShorterThanTheLeaseIsTheLease() {
        let clock = LeaseClock(sentAt: start, leaseLength: .seconds(30), margin: .seconds(3), patience: .seconds(5))
        #expect(clock.end == start + .seconds(27))
    }

    @Test func aDeadLeaseEndsTheRightAtOnce() {
        var clock = LeaseClock(sentAt: start, leaseLength: .seconds(30))
        #expect(clock.margin == .seconds(3))
        clock.renew(with: reply(alive: false, sentAt: .seconds(1)), now: start + .seconds(1))
        #expect(!clock.holds(at: start + .seconds(1)))
        #expect(clock.left(at: start + .seconds(1)) == .zero)
    }

    @Test func aLeaseThatBecomesShorterCountsAtOnce() {
        var clock = LeaseClock(sentAt: start, leaseLength: .seconds(30), margin: .seconds(1))
        clock.renew(with: reply(sentAt: .seconds(2), lease: .seconds(5)), now: start + .seconds(2))
        #expect(clock.end == start + .seconds(6))
    }
}
