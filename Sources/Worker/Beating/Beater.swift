import Conversion
import Ledger
import PumpRoom

/// The worker's signs of life. Runs on a thread of its own, and waits for nothing but its own connection.
struct Beater: Sendable {
    let shop: Workshop

    func run() async {
        var wait: Duration = .zero
        var seen = shop.pulse.pokes
        while !Task.isCancelled {
            await shop.pulse.sleep(until: .now + wait, since: seen)
            // Before the beat is sent: what comes while it is under way is news to it.
            seen = shop.pulse.pokes
            let session = shop.sessions.current
            guard session.holds, !Task.isCancelled else {
                // The guardian sees to it, and pokes when there is a new one.
                wait = .seconds(1)
                continue
            }
            wait = await beat(for: session)
        }
    }

    /// One sign of life; when the next is due.
    private func beat(for session: Session) async -> Duration {
        let interval = session.leaseLength / 3
        let board = shop.board
        let status = WorkerStatus(
            busySlots: board.busySlots,
            pausedBecause: shop.pausedBecause ?? shop.absentRoots?.reason,
            pausedRoots: shop.pausedBecause == nil ? shop.absentRoots?.names : nil,
            sandbox: shop.roomLevel?.description,
            paces: board.paces(in: session)
        )
        do {
            let reply = try await shop.heartbeat.beat(
                session.worker,
                board.running(in: session),
                status: status,
                within: min(.seconds(10), max(interval, .milliseconds(200)))
            )
            session.renew(with: reply)
            guard session.holds else {
                shop.pulse.poke()
                return .seconds(1)
            }
            apply(reply, to: session)
            return max(interval - (.now - reply.sentAt), .zero)
        } catch {
            // No sign of life: the right goes on for as long as the clock says.
            return min(interval, .seconds(1)) * Double.random(in: 0.2...1)
        }
    }

    private func apply(_ reply: BeatReply, to session: Session) {
        shop.take(reply.wish)
        let (lost, cancelled) = (Set(reply.lost), Set(reply.cancelled))
        if !lost.isEmpty { shop.drop(.lost) { $0.session === session && lost.contains($0.fence.job) } }
        if !cancelled.isEmpty {
            let waiting = shop.board.stop(.cancelled) { $0.session === session && cancelled.contains($0.fence.job) }
            shop.outbox.put(
                waiting.map { JobEnding(fence: $0.fence, kind: .failed(AttemptFailure($0.fence, .cancelled))) }
            )
        }
        let paused = Set(reply.pausedQueues)
        switch reply.wish {
        case .run: shop.handBack(shop.board.takeQueued { paused.contains($0.claim.queue) }, because: .handedBack)
        case .quiet: shop.handBack(shop.board.takeQueued(), because: .handedBack)
        case .drain: shop.stopOrder.give(by: nil)
        }
    }
}
