import Testing

@testable import WorkerRules

/// How many jobs a worker claims, depending on how long recent jobs took.
struct ClaimPlannerTests {
    private func planner(_ took: Duration?, slots: Int = 4) -> ClaimPlanner {
        var planner = ClaimPlanner(slots: slots, workAhead: .seconds(1))
        if let took { for _ in 0..<50 { planner.note(took) } }
        return planner
    }

    @Test func firstClaimFillsTheSlots() {
        #expect(planner(nil).wanted(queued: 0, busySlots: 0, running: []) == 4)
        #expect(planner(nil).wanted(queued: 0, busySlots: 4, running: []) == 0)
    }

    @Test func longJobsAreNotClaimedAhead() {
        for took in [1, 2, 3_600] as [Double] {
            #expect(planner(.seconds(took)).wanted(queued: 0, busySlots: 4, running: []) == 0)
            #expect(planner(.seconds(took)).wanted(queued: 0, busySlots: 3, running: []) == 1)
        }
    }

    @Test func shortJobsAreClaimedForASecondOfEachSlot() {
        #expect(planner(.milliseconds(10)).wanted(queued: 0, busySlots: 4, running: []) == 400)
        #expect(planner(.milliseconds(100)).wanted(queued: 0, busySlots: 2, running: []) == 42)
    }

    @Test func lineIsFilledUpBeforeItIsEmptyAndNotAtEachJob() {
        #expect(planner(.milliseconds(10)).wanted(queued: 390, busySlots: 4, running: []) == 0)
        #expect(planner(.milliseconds(10)).wanted(queued: 201, busySlots: 4, running: []) == 0)
        #expect(planner(.milliseconds(10)).wanted(queued: 200, busySlots: 4, running: []) == 200)
    }

    @Test func ledgersLimitIsKept() {
        #expect(planner(.microseconds(100), slots: 64).wanted(queued: 0, busySlots: 0, running: []) == 1_000)
    }

    @Test func jobThatTakesLongIsKnownBeforeItEnds() {
        let planner = planner(.milliseconds(10))
        let running = [Duration](repeating: .seconds(5), count: 4)
        #expect(planner.wanted(queued: 0, busySlots: 4, running: running) == 0)
    }

    @Test func averageFollowsWhatJobsTake() {
        var planner = planner(.milliseconds(10))
        for _ in 0..<40 { planner.note(.seconds(2)) }
        #expect(planner.wanted(queued: 0, busySlots: 4, running: []) == 0)
        #expect(!planner.isShort)
    }
}
