import Conversion
import Ledger
import PumpRoom

/// Sends the worker's heartbeats. Runs on a separate thread, and waits only for its own connection.
struct Beater: Sendable {
    let shop: Workshop
    /// Progress of a conversion that takes longer than this is sent at once, before the next beat is due.
    private static let patience = Duration.seconds(1)

    func run() async {
        var wait: Duration = .zero
        var seen = shop.pulse.pokes
        while !Task.isCancelled {
            let due = ContinuousClock.now + wait
            // However short the jobs are, the worker sends at most four beats in the time of one.
            let pause = min(max(Self.patience, shop.sessions.current.leaseLength / 12), .milliseconds(2_500))
            repeat {
                await shop.pulse.sleep(until: min(due, .now + pause), since: seen)
            } while .now < due && shop.pulse.pokes == seen && !Task.isCancelled
                && !shop.board.hasNews(in: shop.sessions.current, after: Self.patience)
            // Read before the beat is sent, so that a poke during the beat counts as news.
            seen = shop.pulse.pokes
            let session = shop.sessions.current
            guard session.holds, !Task.isCancelled else {
                // The guardian registers the worker again, and then pokes.
                wait = .seconds(1)
                continue
            }
            wait = await beat(for: session)
        }
    }

    /// Sends one heartbeat. Returns the time until the next one is due.
    private func beat(for session: Session) async -> Duration {
        let interval = session.leaseLength / 3
        let board = shop.board
        let status = WorkerStatus(
            busySlots: board.busySlots,
            pausedBecause: shop.pausedBecause ?? shop.absentRoots?.reason,
            pausedRoots: shop.pausedBecause == nil ? shop.absentRoots?.names : nil,
            sandbox: shop.roomLevel?.description,
            paces: board.paces(in: session),
            fullFileSystems: shop.fullFileSystems.isEmpty ? nil : shop.fullFileSystems,
            missingFileSystems: shop.missingFileSystems.isEmpty ? nil : shop.missingFileSystems
        )
        let told = board.running(in: session)
        do {
            let reply = try await shop.heartbeat.beat(
                session.worker,
                told,
                status: status,
                within: min(.seconds(10), max(interval, .milliseconds(200)))
            )
            session.renew(with: reply)
            guard session.holds else {
                shop.pulse.poke()
                return .seconds(1)
            }
            if session.tellOverdue(false) {
                shop.say(.leaseRevived(worker: session.worker, jobs: board.fences.count))
            }
            apply(reply, to: session, told)
            return max(interval - (.now - reply.sentAt), .zero)
        } catch {
            // No answer: the worker goes on as long as its lease clock allows, because the ledger
            // may not have ended the lease.
            if session.isOverdue, session.tellOverdue(true) {
                let left = session.end - .now
                shop.say(.leaseOverdue(worker: session.worker, jobs: board.fences.count, keptFor: left))
            }
            return min(interval, .seconds(1)) * Double.random(in: 0.2...1)
        }
    }

    private func apply(_ reply: BeatReply, to session: Session, _ told: [RunningJob]) {
        shop.take(reply.wish)
        let lost = BeatReply.attempts(of: reply.lost, among: told)
        let cancelled = BeatReply.attempts(of: reply.cancelled, among: told)
        if !lost.isEmpty { shop.drop(.lost) { $0.session === session && lost.contains($0.fence) } }
        if !cancelled.isEmpty {
            let waiting = shop.board.stop(.cancelled) { $0.session === session && cancelled.contains($0.fence) }
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
