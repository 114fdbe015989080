import Testing

@testable import Worker

/// How many jobs a worker claims, depending on how long recent jobs took.
struct PaceTests {
    private func pace(_ took: Duration?, slots: Int = 4) -> Pace {
        var pace = Pace(slots: slots, workAhead: .seconds(1))
        if let took { for _ in 0..<50 { pace.note(took) } }
        return pace
    }

    @Test func firstClaimFillsTheSlots() {
        #expect(pace(nil).wanted(queued: 0, busySlots: 0, running: []) == 4)
        #expect(pace(nil).wanted(queued: 0, busySlots: 4, running: []) == 0)
    }

    @Test func longJobsAreNotClaimedAhead() {
        for took in [1, 2, 3_600] as [Double] {
            #expect(pace(.seconds(took)).wanted(queued: 0, busySlots: 4, running: []) == 0)
            #expect(pace(.seconds(took)).wanted(queued: 0, busySlots: 3, running: []) == 1)
        }
    }

    @Test func shortJobsAreClaimedForASecondOfEachSlot() {
        #expect(pace(.milliseconds(10)).wanted(queued: 0, busySlots: 4, running: []) == 400)
        #expect(pace(.milliseconds(100)).wanted(queued: 0, busySlots: 2, running: []) == 42)
    }

    @Test func lineIsFilledUpBeforeItIsEmptyAndNotAtEachJob() {
        #expect(pace(.milliseconds(10)).wanted(queued: 390, busySlots: 4, running: []) == 0)
        #expect(pace(.milliseconds(10)).wanted(queued: 201, busySlots: 4, running: []) == 0)
        #expect(pace(.milliseconds(10)).wanted(queued: 200, busySlots: 4, running: []) == 200)
    }

    @Test func ledgersLimitIsKept() {
        #expect(pace(.microseconds(100), slots: 64).wanted(queued: 0, busySlots: 0, running: []) == 1_000)
    }

    @Test func jobThatTakesLongIsKnownBeforeItEnds() {
        let pace = pace(.milliseconds(10))
        let running = [Duration](repeating: .seconds(5), count: 4)
        #expect(pace.wanted(queued: 0, busySlots: 4, running: running) == 0)
    }

    @Test func averageFollowsWhatJobsTake() {
        var pace = pace(.milliseconds(10))
        for _ in 0..<40 { pace.note(.seconds(2)) }
        #expect(pace.wanted(queued: 0, busySlots: 4, running: []) == 0)
        #expect(!pace.isShort)
    }
}
