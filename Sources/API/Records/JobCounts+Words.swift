import Conversion
package import Ledger

extension JobCounts {
    /// Jobs in a final state.
    package var ended: Int { completed + skipped + failed + accepted + cancelled }

    /// Jobs whose outputs are there.
    package var done: Int { completed + skipped }

    /// The share of jobs that have ended, from 0 to 1; 1 for an empty batch.
    package var share: Double { total == 0 ? 1 : Double(ended) / Double(total) }

    /// `3,851 completed, 2 failed, 8 running`: the states with jobs in them, final states first.
    package var words: String {
        let order: [JobState] = [
            .completed, .skipped, .failed, .accepted, .cancelled, .running, .publishing, .waiting, .delayed,
        ]
        let parts = order.filter { self[$0] > 0 }.map { "\(Figures.grouped(self[$0])) \($0.rawValue)" }
        return parts.isEmpty ? "none" : parts.joined(separator: ", ")
    }
}

extension BatchSummary {
    /// `batch 17 "podcasts"`
    package var title: String { "batch \(batch)" + (name.map { " \"\($0.plain)\"" } ?? "") }
}
