/// Decides how many jobs to hold: what the slots can start now, and more only while jobs are short.
///
/// A job claimed ahead waits here while another worker may be idle. The worker therefore holds only about a second
/// of work ahead, estimated from recent jobs.
struct ClaimPlanner: Sendable {
    let slots: Int
    let workAhead: Duration
    /// A moving average of the time for which a job keeps a slot busy; `nil` before the first one.
    private(set) var average: Duration?

    /// The most jobs that the ledger gives out in one claim.
    static let claimLimit = 1_000

    init(slots: Int, workAhead: Duration) {
        self.slots = slots
        self.workAhead = workAhead
    }

    /// Records how long a job kept its slot busy.
    mutating func note(_ took: Duration) {
        let took = max(took, .microseconds(100))
        // An exponential average with weight 1/8: roughly the last ten jobs count.
        average = average.map { $0 + (took - $0) / 8 } ?? took
    }

    /// Whether jobs are so short that preparing the next one during a conversion pays.
    var isShort: Bool { average.map { $0 < .milliseconds(100) } ?? false }

    /// How many jobs to claim, for idle slots and ahead. `running` is how long each conversion has taken so far, so
    /// that a long job counts before it ends.
    func wanted(queued: Int, busySlots: Int, running: [Duration]) -> Int {
        let idle = max(0, slots - busySlots)
        let ahead = ahead(running: running)
        let missing = idle + ahead - queued
        // Refill the queue when half of it is gone: a claim for each finished job would cost a statement per job.
        guard queued < idle || queued * 2 <= ahead else { return 0 }
        return min(max(0, missing), Self.claimLimit)
    }

    /// How many jobs to have waiting.
    private func ahead(running: [Duration]) -> Int {
        guard let average else { return 0 }
        let underWay = running.isEmpty ? .zero : running.reduce(.zero, +) / running.count
        let expected = max(average, underWay)
        guard expected < workAhead else { return 0 }
        return min(Int((workAhead / expected * Double(slots)).rounded(.down)), Self.claimLimit - slots)
    }
}
