import Conversion
import FoundationEssentials
public import Ledger
import Synchronization
import System
import WebClient

/// Sends what is due to webhooks. Any number may run: each takes deliveries under a lease, and records the results.
///
/// A sender that dies between an answer and its record leaves the delivery to the others, which send it again with the
/// same message id. Each request has its own thread, so neither a slow receiver nor a slow resolver holds up anything
/// else.
public final class WebhookSender: Sendable {
    private let ledger: JobLedger
    private let addresses: AddressRule
    private let onEvent: @Sendable (CoordinatorEvent) -> Void
    private let threads = BlockingThreads("webhooks")
    /// The requests on their way.
    private let busy = Mutex((healthy: 0, failing: 0))

    /// The most requests at a time to webhooks that took the last one, and to others, so that those that hang take no
    /// place from the rest.
    private static let most = (healthy: 12, failing: 4)
    /// For a whole exchange.
    private static let timeLimit: Duration = .seconds(15)
    /// Longer than an exchange and the record of its result, so that others rarely send it as well.
    private static let lease: Duration = .seconds(60)
    /// Between two looks for webhooks.
    private static let longRest: Duration = .seconds(8)
    /// Nothing of an answer counts but its status. What is longer than this is not read to its end.
    private static let answerLimit = 64 << 10

    /// Addresses to which requests may go, although they are not of the public internet.
    public struct Block: Sendable, Hashable {
        fileprivate let block: AddressBlock

        /// Reads `10.0.0.0/8`, `fd00::/8` or one address. `nil` for anything else.
        public init?(_ text: String) {
            guard let block = AddressBlock(text) else { return nil }
            self.block = block
        }
    }

    /// Opens no connection yet. Requests go to addresses of the public internet, and to those of `blocks`.
    public init(
        _ configuration: LedgerConfiguration,
        alsoTo blocks: [Block],
        onEvent: @escaping @Sendable (CoordinatorEvent) -> Void
    ) throws {
        var configuration = configuration
        configuration.connectionLimit = min(configuration.connectionLimit, 2)
        ledger = try JobLedger(configuration)
        addresses = .publicOnly(others: blocks.map(\.block))
        self.onEvent = onEvent
    }

    /// Runs until it is cancelled. What is on its way then is left to other coordinators.
    ///
    /// Looks every second for deliveries. While there is no webhook, it looks more rarely and when `notifications` is given.
    func run(notifications: WakeSignal) async {
        await withDiscardingTaskGroup { group in
            var isForbidden = false
            var wait: Duration = .zero
            var seen = notifications.count
            var hasWebhooks = true
            var lookedAt = ContinuousClock.now - Self.longRest
            while !Task.isCancelled {
                if hasWebhooks {
                    _ = await Self.rest(wait)
                } else {
                    await notifications.wait(since: seen, until: .now + Self.longRest)
                    // Notifications may come in floods.
                    _ = await Self.rest(.seconds(1))
                }
                guard !Task.isCancelled else { break }
                seen = notifications.count
                // Jitter: coordinators that started together must not stay in step.
                wait = .seconds(Double.random(in: 0.9...1.3))
                let free = busy.withLock { (Self.most.healthy - $0.healthy, Self.most.failing - $0.failing) }
                guard free.0 > 0 || free.1 > 0 else {
                    wait = .milliseconds(100)
                    continue
                }
                do {
                    let now = ContinuousClock.now
                    if !hasWebhooks || now - lookedAt >= Self.longRest {
                        hasWebhooks = try await ledger.hasWebhooks(within: .seconds(5))
                        lookedAt = now
                    }
                    guard hasWebhooks else { continue }
                    let taken = try await ledger.takeDeliveries(
                        healthy: free.0,
                        failing: free.1,
                        lease: Self.lease,
                        within: .seconds(5)
                    )
                    for delivery in taken {
                        count(1, delivery)
                        group.addTask { await self.deliver(delivery) }
                    }
                    // There may be more.
                    if !taken.isEmpty { wait = .milliseconds(100) }
                    isForbidden = false
                } catch let error as LedgerError where error.code == .ledgerPermissionDenied {
                    if !isForbidden { onEvent(.sendsNoWebhooks(error.failure)) }
                    isForbidden = true
                    wait = .seconds(60)
                } catch {
                    // The housekeeping reports that the ledger is unreachable.
                    if let error = error as? LedgerError, error.failure.kind != .infrastructure, !Task.isCancelled {
                        onEvent(.trouble(error.failure))
                    }
                    wait = .seconds(Double.random(in: 1...3))
                }
            }
        }
        await ledger.close()
    }

    private static func rest(_ duration: Duration) async -> Bool {
        do {
            try await Task.sleep(for: duration, clock: .continuous)
            return true
        } catch {
            return false
        }
    }

    private func count(_ change: Int, _ delivery: TakenDelivery) {
        busy.withLock { busy in
            if delivery.fails { busy.failing += change } else { busy.healthy += change }
        }
    }

    private func deliver(_ delivery: TakenDelivery) async {
        defer { count(-1, delivery) }
        let result = await send(delivery)
        if case .failure(let error) = result, error.kind == .stopped { return }
        let (status, problem) = Self.facts(of: result, isOfTenant: delivery.isOfTenant)
        do {
            let state = try await ledger.record(delivery, status: status, error: problem)
            if state == .dead { onEvent(.undeliverable(webhook: delivery.webhook, delivery: delivery.id)) }
        } catch {
            // Another coordinator sends it again after the lease.
            if let error = error as? LedgerError, error.failure.kind != .infrastructure, !Task.isCancelled {
                onEvent(.trouble(error.failure))
            }
        }
    }

    /// Sends the request on a separate thread. Stops within about a second after the task was cancelled.
    private func send(_ delivery: TakenDelivery) async -> Result<WebAnswer, WebError> {
        let isStopped = StopFlag()
        // What operators permit is for this installation, and not for its tenants.
        let addresses = delivery.isOfTenant ? .publicOnly() : addresses
        let request = Self.request(for: delivery, at: Date(), to: addresses)
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                threads.run {
                    do throws(WebError) {
                        let answer = try WebConnection().send(request, isStopped: { isStopped.isSet })
                        continuation.resume(returning: .success(answer))
                    } catch {
                        continuation.resume(returning: .failure(error))
                    }
                }
            }
        } onCancel: {
            isStopped.set()
        }
    }

    private final class StopFlag: Sendable {
        private let state = Atomic(false)
        var isSet: Bool { state.load(ordering: .relaxed) }
        func set() { state.store(true, ordering: .relaxed) }
    }

    /// As Standard Webhooks says.
    static func request(for delivery: TakenDelivery, at now: Date, to addresses: AddressRule) -> WebRequest {
        let seconds = Int64(now.timeIntervalSince1970)
        let signature = delivery.secret.signature(ofMessage: delivery.message, sentAt: seconds, body: delivery.body)
        var request = WebRequest("POST", url: delivery.url)
        request.headers = [
            .init("content-type", "application/json"), .init("user-agent", "Sluice-Webhooks"),
            .init("webhook-id", delivery.message), .init("webhook-timestamp", "\(seconds)"),
            .init("webhook-signature", signature),
        ]
        request.body = .bytes(Array(delivery.body.utf8))
        request.timeLimit = timeLimit
        request.answerLimit = answerLimit
        request.takesCutAnswers = true
        request.addresses = addresses
        return request
    }

    /// What the ledger records of a result. It has nothing of what a receiver said, and no address that a name has:
    /// owners of webhooks read it. A tenant does not even learn which names have an address inside.
    static func facts(
        of result: Result<WebAnswer, WebError>,
        isOfTenant: Bool
    ) -> (status: Int?, problem: String?) {
        switch result {
        case .success(let answer):
            switch answer.status {
            case 200...299: (answer.status, nil)
            case 300...399: (answer.status, "the answer is a redirect, which is not followed")
            default: (answer.status, "the answer has the status \(answer.status)")
            }
        case .failure(let error) where isOfTenant && [.forbiddenAddress, .cannotResolve].contains(error.kind):
            (nil, "this host has no address to which webhooks may go")
        case .failure(let error) where error.kind == .forbiddenAddress:
            (nil, "webhooks may not go to the address of this host")
        case .failure(let error): (nil, error.message)
        }
    }
}
