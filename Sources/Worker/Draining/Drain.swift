import Conversion
import Ledger

/// Stops a worker: ends claiming, finishes or hands back what runs, and reports to the ledger.
struct Drain: Sendable {
    let shop: Workshop

    /// How long the last reports to the ledger may take. If they fail, the lease ends by itself.
    static let lastWords: Duration = .seconds(10)

    /// Returns after a stop was ordered, once no jobs are left or the ledger cannot be reached in time.
    func run() async {
        await shop.stopOrder.wait()
        let waiting = shop.board.takeQueued()
        shop.board.close()
        shop.handBack(waiting, because: .draining)
        shop.say(.draining(running: shop.board.counts.begun - waiting.count, handedBack: waiting.count))
        await waitForEmptiness()
        for job in shop.board.stop(.draining, { _ in true }) { shop.handBack([job], because: .draining) }
        let end = ContinuousClock.now + Self.lastWords
        while !shop.board.isEmpty, .now < end {
            let seen = shop.board.signal.count
            if shop.board.isEmpty { break }
            await shop.board.signal.wait(since: seen, until: end)
        }
    }

    /// Waits until no jobs are left or the deadline has passed.
    private func waitForEmptiness() async {
        while !shop.board.isEmpty {
            let seen = shop.board.signal.count
            // A second stop order may bring the deadline forward; it also signals.
            let deadline = shop.stopOrder.deadline
            if let deadline, .now >= deadline { return }
            if shop.board.isEmpty { return }
            if let deadline {
                await shop.board.signal.wait(since: seen, until: deadline)
            } else {
                await shop.board.signal.wait(since: seen)
            }
        }
    }
}
