import Ledger

/// Stops all jobs when the ledger has ended the worker's lease, or has not answered for too long,
/// and registers the worker again.
struct Guardian: Sendable {
    let shop: Workshop

    func run() async {
        while !Task.isCancelled {
            let session = shop.sessions.current
            guard session.holds else {
                await startAgain(after: session)
                continue
            }
            await shop.pulse.sleep(until: session.end)
        }
    }

    private func startAgain(after session: Session) async {
        let stopped = shop.drop(.leaseOver) { $0.session === session }
        shop.say(.leaseLost(worker: session.worker, stopped: stopped))
        // A worker that is being stopped needs no new lease: it no longer holds any jobs.
        let registration = shop.registration
        let entry = await shop.ask(while: { !shop.stopOrder.isGiven }) {
            try await shop.ledger.register(registration)
        }
        guard let entry else {
            if shop.stopOrder.isGiven { return await shop.pulse.sleep(until: .now + .seconds(60)) }
            return await shop.pulse.sleep(until: .now + .seconds(1))
        }
        shop.sessions.begin(shop.session(entry, abilities: registration.abilities))
        shop.say(.registeredAgain(worker: entry.worker))
        shop.pulse.poke()
        shop.board.signal.send()
    }
}
