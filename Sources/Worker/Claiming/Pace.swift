/// How many jobs to have in hand: what the slots can start now, and more only while jobs are short.
///
/// A job that is claimed ahead waits here while another worker may be idle. So there are only as many as a second or so of
/// work, by what jobs took lately.
struct Pace: Sendable {
    let slots: Int
    let workAhead: Duration
    /// A moving average of what a job keeps a slot busy for; `nil` before the first.
    private(set) var average: Duration?

    /// The ledger gives no more at once.
    static let claimLimit = 1_000

    init(slots: Int, workAhead: Duration) {
        self.slots = slots
        self.workAhead = workAhead
    }

    /// A job kept its slot busy for so long.
    mutating func note(_ took: Duration) {
        let took = max(took, .microseconds(100))
        // About the last ten count.
        average = average.map { $0 + (took - $0) / 8 } ?? took
    }

    /// Whether preparing a job is worth its own turn beside another.
    var isShort: Bool { average.map { $0 < .milliseconds(100) } ?? false }

    /// How many to claim: for slots that are idle, and ahead. `running` is for how long each has been at work already: a long
    /// job is known for one before it ends.
    func wanted(queued: Int, busySlots: Int, running: [Duration]) -> Int {
        let idle = max(0, slots - busySlots)
        let ahead = ahead(running: running)
        let missing = idle + ahead - queued
        // A claim for each job that ends would be a statement a job; the line is filled up when half of it is gone.
        guard queued < idle || queued * 2 <= ahead else { return 0 }
        return min(max(0, missing), Self.claimLimit)
    }

    /// Jobs to have waiting.
    private func ahead(running: [Duration]) -> Int {
        guard let average else { return 0 }
        let underWay = running.isEmpty ? .zero : running.reduce(.zero, +) / running.count
        let expected = max(average, underWay)
        guard expected < workAhead else { return 0 }
        return min(Int((workAhead / expected * Double(slots)).rounded(.down)), Self.claimLimit - slots)
    }
}
