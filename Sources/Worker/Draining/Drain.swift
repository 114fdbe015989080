import Ledger

/// The end of a worker: no more claims, what runs is finished or handed back, and the ledger is told.
struct Drain: Sendable {
    let shop: Workshop

    /// How long the ledger may take to hear of the last things; without it the lease ends by itself.
    static let lastWords: Duration = .seconds(10)

    /// Returns when an end was ordered and nothing is in hand any more, or the ledger cannot be told of it.
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
            let seen = shop.board.bell.rings
            if shop.board.isEmpty { break }
            await shop.board.bell.wait(since: seen, until: end)
        }
    }

    /// Until all is done, or the time for that is over.
    private func waitForEmptiness() async {
        while !shop.board.isEmpty {
            let seen = shop.board.bell.rings
            // A second order may bring the end nearer; it rings as well.
            let deadline = shop.stopOrder.deadline
            if let deadline, .now >= deadline { return }
            if shop.board.isEmpty { return }
            if let deadline {
                await shop.board.bell.wait(since: seen, until: deadline)
            } else {
                await shop.board.bell.wait(since: seen)
            }
        }
    }
}
