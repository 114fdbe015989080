import Console
import Conversion
import FoundationEssentials
import Ledger
import Records

/// Tells subscribers what has changed, once a second.
///
/// It asks the ledger once a second for all subscribers with the same rights together, and for batches and jobs only when
/// the counts have changed. Each event holds the whole state of one thing. So a subscriber that comes back, here or at
/// another coordinator, is first sent the state of all that it asks for, and needs no history.
actor EventHub {
    /// What a subscriber wants to know.
    struct Wishes: Sendable {
        var batches: [Int64] = []
        var jobs: [Int64] = []
        var queues = false
    }

    /// The state of one thing, as subscribers get it.
    private struct Event {
        var text: [UInt8]
        /// Equal for the same state; the text also has the time.
        var mark: Int
    }

    private struct Subscriber {
        let channel: EventChannel
        let wishes: Wishes
        /// What it was sent, by the name of the thing.
        var sent: [String: Int] = [:]
    }

    /// Subscribers with the same rights.
    private struct Circle {
        let ledger: JobLedger
        var subscribers: [UInt64: Subscriber] = [:]
        /// What the ledger said last, and the events made of it.
        var counts: [String: JobCounts] = [:]
        var events: [String: Event] = [:]
        /// Whether a subscriber waits for its first events.
        var hasNew = true
    }

    private var circles: [Caller: Circle] = [:]
    private var lastNumber: UInt64 = 0
    private var ticking: Task<Void, Never>?
    private let period: Duration
    private static let most = 4_000
    /// Rounds between signs of life. A connection whose client has gone is noticed only when something is sent.
    private static let roundsBetweenPings = 15
    private var round = 0

    init(period: Duration = .seconds(1)) { self.period = period }

    func subscribe(_ caller: Caller, _ ledger: JobLedger, _ wishes: Wishes) throws(Problem) -> EventChannel {
        guard circles.values.reduce(0, { $0 + $1.subscribers.count }) < Self.most else {
            throw Problem(.overloaded, "there are \(Self.most) event streams already")
        }
        lastNumber += 1
        let number = lastNumber
        let channel = EventChannel { [weak self] in Task { await self?.leave(caller, number) } }
        var circle = circles[caller] ?? Circle(ledger: ledger)
        circle.subscribers[number] = Subscriber(channel: channel, wishes: wishes)
        circle.hasNew = true
        circles[caller] = circle
        if ticking == nil { ticking = Task { await self.tick() } }
        return channel
    }

    private func leave(_ caller: Caller, _ number: UInt64) {
        circles[caller]?.subscribers[number] = nil
        if circles[caller]?.subscribers.isEmpty == true { circles[caller] = nil }
    }

    /// Runs as long as there are subscribers.
    private func tick() async {
        while !circles.isEmpty, !Task.isCancelled {
            round += 1
            for caller in circles.keys { await serve(caller) }
            // Cancelled when the face stops.
            try? await Task.sleep(for: period)
        }
        ticking = nil
    }

    func stop() {
        ticking?.cancel()
        for circle in circles.values { for subscriber in circle.subscribers.values { subscriber.channel.end() } }
    }

    private func serve(_ caller: Caller) async {
        guard let circle = circles[caller] else { return }
        var (events, counts) = (circle.events, circle.counts)
        do {
            counts = try await circle.ledger.counts()
            if circle.hasNew || counts != circle.counts {
                // Before the look, during which others may subscribe.
                circles[caller]?.hasNew = false
                events = try await look(circle)
            } else {
                // Progress changes no count.
                for (name, event) in try await jobs(circle) { events[name] = event }
            }
        } catch {
            // The ledger is away, which its health says. The next round looks at everything again.
            circles[caller]?.hasNew = true
        }
        circles[caller]?.events = events
        circles[caller]?.counts = counts
        let ping = round % Self.roundsBetweenPings == 0
        for (number, subscriber) in circles[caller]?.subscribers ?? [:] {
            var (sent, text) = (subscriber.sent, [UInt8]())
            for name in subscriber.wishes.names {
                guard let event = events[name], sent[name] != event.mark else { continue }
                sent[name] = event.mark
                text += event.text
            }
            if text.isEmpty, ping { text = Array(": ping\n\n".utf8) }
            // What did not fit is sent again in the next round.
            if !text.isEmpty, !subscriber.channel.send(text) { sent = [:] }
            circles[caller]?.subscribers[number]?.sent = sent
        }
    }

    // MARK: - Asking the ledger

    private func look(_ circle: Circle) async throws -> [String: Event] {
        var events = try await jobs(circle)
        if circle.subscribers.values.contains(where: \.wishes.queues) {
            let queues = try await circle.ledger.queues().map { try Self.event("queue", QueueRecord($0)) }
            events["queues"] = Event(text: queues.flatMap(\.text), mark: queues.map(\.mark).hashValue)
        }
        for id in Set(circle.subscribers.values.flatMap(\.wishes.batches)) {
            guard let batch = try await circle.ledger.batch(id) else { continue }
            events["batch \(id)"] = try Self.event("batch", BatchRecord(batch))
        }
        return events
    }

    private func jobs(_ circle: Circle) async throws -> [String: Event] {
        let ids = Set(circle.subscribers.values.flatMap(\.wishes.jobs))
        guard !ids.isEmpty else { return [:] }
        var (events, cursor): ([String: Event], JobCursor?) = ([:], nil)
        repeat {
            let page = try await circle.ledger.jobs(
                matching: JobFilter(ids: ids.sorted()),
                after: cursor,
                limit: 1_000
            )
            for job in page.jobs { events["job \(job.job)"] = try Self.event("job", JobRecord(job)) }
            cursor = page.next
        } while cursor != nil
        return events
    }

    private static func event(_ name: String, _ value: some Encodable) throws -> Event {
        let number = UInt64(max(0, Date().timeIntervalSince1970 * 1_000))
        let state = try JSONText.line(value)
        return Event(text: Array("event: \(name)\nid: \(number)\ndata: \(state)\n\n".utf8), mark: state.hashValue)
    }
}

extension EventHub.Wishes {
    /// The names of the things.
    fileprivate var names: [String] {
        (queues ? ["queues"] : []) + batches.map { "batch \($0)" } + jobs.map { "job \($0)" }
    }
}
