import Conversion
import Testing

@testable import Media

/// What an output knows about damage.
@Suite struct DamageJournalTests {
    private func loss(_ frames: Int64, _ code: FailureCode = .corruptStream) -> Loss {
        Loss(code: code, frames: frames, detail: "damaged")
    }

    @Test func packetThatGivesItsFramesIsNoLoss() {
        var journal = DamageJournal()
        journal.expect(1024, at: 5000)
        #expect(journal.excess(ofBlock: 1024, padding: 0, at: 5000) == 0)
        let found = journal.settlePacket(at: 6024, holdsBack: false)
        #expect(found == nil)
    }

    @Test func packetThatGivesTooLittleIsALoss() {
        var journal = DamageJournal()
        journal.expect(1024, at: 5000)
        let found = journal.settlePacket(at: 5500, holdsBack: false)
        #expect(found?.frames == 524)
        #expect(found?.detail == "a packet gave 500 of 1024 frames")
        let again = journal.settlePacket(at: 5500, holdsBack: false)
        #expect(again == nil)
    }

    @Test(arguments: [(short: Int64(0), lost: Int64?.none), (99, nil), (100, 120), (219, 120), (220, 240)])
    func decoderThatHoldsBackIsExactInSteps(short: Int64, lost: Int64?) {
        var journal = DamageJournal()
        journal.expect(960, at: 0)
        let found = journal.settlePacket(at: 960 - short, holdsBack: true)
        #expect(found?.frames == lost)
    }

    @Test func packetThatGivesTooMuchIsCutAndReported() {
        var journal = DamageJournal()
        journal.expect(1024, at: 5000)
        #expect(journal.excess(ofBlock: 1024, padding: 0, at: 5000) == 0)
        #expect(journal.excess(ofBlock: 200, padding: 0, at: 6024) == 200)
        let found = journal.settlePacket(at: 6024, holdsBack: false)
        #expect(found?.frames == 0)
        #expect(found?.detail == "a packet gave more than 1024 frames")
    }

    @Test func paddingAndSmallExcessAreAllowed() {
        var journal = DamageJournal()
        journal.expect(1024, at: 0)
        #expect(journal.excess(ofBlock: 1143, padding: 0, at: 0) == 0)
        #expect(journal.excess(ofBlock: 2048, padding: 1024, at: 0) == 0)
    }

    @Test func packetOfUnknownLengthIsNotMeasured() {
        var journal = DamageJournal()
        journal.expect(nil, at: 0)
        #expect(journal.excess(ofBlock: 9999, padding: 0, at: 0) == 0)
        let unknown = journal.settlePacket(at: 1, holdsBack: false)
        #expect(unknown == nil)
        journal.expect(1024, at: 0)
        journal.expectNothing()
        let forgotten = journal.settlePacket(at: 1, holdsBack: false)
        #expect(forgotten == nil)
    }

    @Test func lossesInARowAreOneEstimate() {
        var journal = DamageJournal()
        journal.bear(loss(100))
        journal.bear(nil)
        journal.bear(loss(50, .truncated))
        #expect(journal.pending?.frames == 150)
        #expect(journal.pending?.code == .corruptStream)
        #expect(journal.account.isEmpty)
        let taken = journal.takePending()
        #expect(taken?.frames == 150)
        #expect(journal.pending == nil)
    }

    @Test func onlyWhatTheContainerSaysIsAClaim() {
        let claim = Loss(
            code: .timelineGap,
            frames: 40,
            detail: "gap",
            contradiction: Contradiction(.clock, promised: "frame 50", found: "frame 10")
        )
        #expect(claim.isByContainer && claim.costing(7).isByContainer && claim.evidence.known == .clock)
        let both = claim.followed(by: loss(5))
        #expect(!both.isByContainer && both.evidence.known == .decoding && both.frames == 45)
        var journal = DamageJournal()
        journal.note(claim)
        #expect(!journal.hasLostData)
        journal.claim(30, claim, at: 7)
        journal.claim(10, claim, at: 90)
        #expect(journal.claimedFrames == 40 && journal.firstClaim?.loss.detail == "gap")
        #expect(journal.firstClaim?.place == 7)
        journal.note(loss(5))
        #expect(journal.hasLostData)
    }

    @Test func whatIsIgnoredIsToldOnceForEachRule() {
        var journal = DamageJournal()
        for frame in ["frame 50", "frame 70"] {
            journal.ignore(Contradiction(.clock, promised: frame, found: "frame 10"))
        }
        journal.ignore(Contradiction(.digest, found: "another MD5"))
        #expect(journal.remarks.map(\.count) == [2, 1])
        #expect(journal.remarks[0].detail.contains("promises frame 50; found: frame 10 (the first of 2)"))
    }

    @Test(
        arguments: [
            (500, 10_000, false), (11_025, 200_000, false), (11_026, 200_000, true), (20_000, 500_000, false),
        ] as [(Int64, Int64, Bool)]
    )
    func aQuarterOfASecondAndFivePercentMayBeSilent(frames: Int64, whole: Int64, isRefused: Bool) {
        #expect(ConcealLimit.refuses(frames, of: whole, 44_100) == isRefused)
    }

    @Test func suspicionIsRecordedAtItsFirstPlace() {
        var journal = DamageJournal()
        journal.suspect(at: 100)
        journal.suspect(at: 200)
        journal.recordSuspicion()
        #expect(journal.account.stretches == [.init(start: 100, frames: 0, code: .corruptStream)])
    }

    @Test func recordedLossExplainsASuspicion() {
        var journal = DamageJournal()
        journal.suspect(at: 100)
        journal.record(.timelineGap, at: 120, frames: 30)
        journal.recordSuspicion()
        #expect(journal.account.stretches == [.init(start: 120, frames: 30, code: .timelineGap)])
        #expect(journal.account.frames == 30)
    }

    @Test func startingOverKeepsWhatIsCertain() {
        var journal = DamageJournal()
        journal.record(.corruptStream, at: 0, frames: 10)
        journal.bear(loss(5))
        journal.suspect(at: 50)
        journal.expect(1024, at: 0)
        journal.startOver()
        #expect(journal.pending == nil)
        let found = journal.settlePacket(at: 1, holdsBack: false)
        #expect(found == nil)
        journal.recordSuspicion()
        #expect(journal.account.frames == 10)
        #expect(journal.account.stretchCount == 1)
    }
}
