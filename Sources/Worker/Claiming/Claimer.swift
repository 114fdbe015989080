import Conversion
import Ledger
import Synchronization

/// Claims jobs from the ledger, one claim at a time.
final class Claimer: Sendable {
    private let shop: Workshop
    /// Whether the last claim found no work, and no signal of new work has arrived since.
    private let isDry = Mutex(false)

    init(_ shop: Workshop) { self.shop = shop }

    func run() async {
        var nextLook = ContinuousClock.now
        var isInDoubt = false
        var patience = Patience(first: .milliseconds(100), longest: .seconds(5))
        while !Task.isCancelled {
            let seen = shop.board.signal.count
            let session = shop.sessions.current
            do {
                if session.holds, isInDoubt || .now >= nextLook {
                    try await releaseStrays(of: session)
                    isInDoubt = false
                    nextLook = .now + session.leaseLength * Double.random(in: 0.8...1.2)
                }
                try await tellAbilities(of: session)
                if try await claim(for: session) { continue }
                patience = Patience(first: .milliseconds(100), longest: .seconds(5))
            } catch let error as LedgerError {
                isInDoubt = isInDoubt || error.mayHaveHappened
                if error.code == .ledgerLeaseOver {
                    session.lose()
                    shop.pulse.poke()
                } else if !Task.isCancelled {
                    if error.isTransient { shop.noteLedger(error) } else { shop.say(.trouble(error.failure)) }
                    _ = await patience.wait()
                    continue
                }
            } catch {
                shop.say(.trouble(Failure(error)))
            }
            await shop.board.signal.wait(since: seen)
        }
    }

    /// Listens for signals of new work. The worker also polls now and then.
    func listen() async {
        for await signal in shop.ledger.workSignals() {
            isDry.withLock { $0 = false }
            shop.board.signal.send()
            // The news may include a cancellation.
            if signal == .news { shop.beatSoon() }
        }
    }

    /// Updates the worker's abilities in the ledger if they have changed.
    private func tellAbilities(of session: Session) async throws {
        let abilities = shop.abilities
        guard session.holds, session.toldAbilities != abilities else { return }
        try await shop.ledger.setAbilities(abilities, of: session.worker)
        session.toldAbilities = abilities
        // With the new abilities, jobs that were passed over may now suit this worker.
        isDry.withLock { $0 = false }
    }

    /// Claims as many jobs as the board wants. Returns whether to check again at once.
    private func claim(for session: Session) async throws -> Bool {
        guard session.holds, shop.mayClaim, !isDry.withLock({ $0 }) else { return false }
        var wanted = shop.board.wanted
        guard wanted > 0, await shop.mayWork() else { return false }
        if case .probing = shop.healthState {
            guard shop.board.isEmpty else { return false }
            wanted = 1
        }
        // Set before the claim, so that a signal during the claim is not lost.
        isDry.withLock { $0 = true }
        let queues = shop.configuration.queues
        let claims: Claims
        do {
            claims = try await shop.ledger.claim(
                Int32(clamping: wanted),
                for: session.worker,
                from: queues.isEmpty ? nil : queues,
                inHand: shop.board.fences,
                within: .seconds(20)
            )
        } catch {
            isDry.withLock { $0 = false }
            throw error
        }
        shop.noteLedger(nil)
        guard !claims.jobs.isEmpty || !claims.refused.isEmpty else { return false }
        isDry.withLock { $0 = false }
        shop.board.add(claims.jobs, of: session)
        // The session or the stop order may have changed during the claim.
        if !session.holds {
            shop.drop(.leaseOver) { $0.session === session }
        } else if shop.stopOrder.isGiven {
            shop.handBack(shop.board.takeQueued(), because: .draining)
        }
        return true
    }

    /// Releases jobs that the ledger counts as held by this worker and that are not on its board: the answer to
    /// their claim was lost for good.
    private func releaseStrays(of session: Session) async throws {
        let before = Set(shop.board.fences)
        let held = try await shop.ledger.held(by: session.worker).jobs.map(\.fence)
        let known = before.union(shop.board.fences)
        let strays = held.filter { !known.contains($0) }
        if !strays.isEmpty { try await shop.ledger.release(strays) }
    }
}
