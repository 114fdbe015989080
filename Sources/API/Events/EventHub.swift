import Conversion
import FoundationEssentials
import HTTPServer
import Ledger

/// Tells subscribers what has changed, once a second.
///
/// It asks the ledger once a second for all subscribers with the same rights together, and for batches and jobs only when
/// the counts have changed. Each event holds the whole state of one thing. So a subscriber that comes back, here or at
/// another coordinator, is first sent the state of all that it asks for, and needs no history. One that reads slowly, or
/// asks for more than its channel holds, gets as much as fits, and the rest, as it is by then, when it has read that.
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

    /// The queues in the order in which they have changed. There may be many thousands, so each subscriber keeps one
    /// number instead of what it was sent of each.
    private struct QueueChanges {
        private(set) var events: [(change: UInt64, name: String, event: Event)] = []
        private var states: [QueueSummary] = []
        private var last: UInt64 = 0

        /// `states`: all queues. Only of those that have changed, events are made.
        mutating func take(_ states: [QueueSummary]) throws {
            guard states != self.states else { return }
            let known = Dictionary(self.states.map { ($0.name, $0) }) { $1 }
            let changed = try states.filter { known[$0.name] != $0 }.map { state in
                (name: state.name, event: try EventHub.event("queue", JSONRecord(state)))
            }
            self.states = states
            // Only the last state of each is kept.
            let names = Set(changed.map(\.name))
            events.removeAll { names.contains($0.name) }
            for (name, event) in changed {
                last += 1
                events.append((last, name, event))
            }
        }

        /// Where those begin that have changed since.
        func place(after change: UInt64) -> Int {
            var (low, high) = (0, events.count)
            while low < high {
                let middle = (low + high) / 2
                if events[middle].change <= change { low = middle + 1 } else { high = middle }
            }
            return low
        }
    }

    /// A class, so that what it was sent is not copied when it changes.
    private final class Subscriber {
        let channel: EventChannel
        let wishes: Wishes
        /// The names of its batches and jobs.
        let names: [String]
        /// What it was sent of batches and jobs, by the name of the thing.
        var sent: [String: Int] = [:]
        /// The last change of a queue that it was sent.
        var queueChange: UInt64 = 0
        /// With which of its batches and jobs the next look begins, so that those at the end have their turn.
        var place = 0
        var takesQueuesFirst = true
        /// Pages in this round.
        var pages = 0

        init(channel: EventChannel, wishes: Wishes) {
            (self.channel, self.wishes) = (channel, wishes)
            names = wishes.batches.map { "batch \($0)" } + wishes.jobs.map { "job \($0)" }
        }

        func addQueues(_ changes: QueueChanges, to page: inout Page) {
            guard wishes.queues else { return }
            for (change, _, event) in changes.events[changes.place(after: queueChange)...] {
                guard page.add(event) else { return }
                queueChange = change
            }
        }

        func addThings(_ events: [String: Event], to page: inout Page) {
            for offset in names.indices {
                let next = (place + offset) % names.count
                guard let event = events[names[next]], sent[names[next]] != event.mark else { continue }
                guard page.add(event) else {
                    place = next
                    return
                }
                sent[names[next]] = event.mark
            }
        }
    }

    /// Subscribers with the same rights.
    private struct Circle {
        let ledger: JobLedger
        var subscribers: [UInt64: Subscriber] = [:]
        /// What the ledger said last, and the events made of it.
        var counts: [String: JobCounts] = [:]
        var events: [String: Event] = [:]
        var queues = QueueChanges()
        /// Whether a subscriber waits for its first events.
        var hasNew = true
        var round = 0
    }

    private var circles: [Caller: Circle] = [:]
    private var lastNumber: UInt64 = 0
    /// One for each caller, so that none waits for what another asks of the ledger.
    private var ticking: [Caller: Task<Void, Never>] = [:]
    private let period: Duration
    private static let most = 4_000
    /// Of one caller, so that others get their turn.
    private static let mostOfOne = 1_000
    /// Rounds between signs of life. A connection whose client has gone is noticed only when something is sent.
    private static let roundsBetweenPings = 15

    init(period: Duration = .seconds(1)) { self.period = period }

    func subscribe(_ caller: Caller, _ ledger: JobLedger, _ wishes: Wishes) throws(Problem) -> EventChannel {
        guard circles.values.reduce(0, { $0 + $1.subscribers.count }) < Self.most else {
            throw Problem(.overloaded, "there are \(Self.most) event streams already")
        }
        guard circles[caller]?.subscribers.count ?? 0 < Self.mostOfOne else {
            throw Problem(.overloaded, "you have \(Self.mostOfOne) event streams already")
        }
        lastNumber += 1
        let number = lastNumber
        let channel = EventChannel(
            onEnd: { [weak self] in Task { await self?.leave(caller, number) } },
            onDrain: { [weak self] in Task { await self?.sendChanges(to: caller, number) } }
        )
        var circle = circles[caller] ?? Circle(ledger: ledger)
        circle.subscribers[number] = Subscriber(channel: channel, wishes: wishes)
        circle.hasNew = true
        circles[caller] = circle
        if ticking[caller] == nil { ticking[caller] = Task { await self.tick(caller) } }
        return channel
    }

    private func leave(_ caller: Caller, _ number: UInt64) {
        circles[caller]?.subscribers[number] = nil
        if circles[caller]?.subscribers.isEmpty == true { circles[caller] = nil }
    }

    /// Runs as long as the caller has subscribers.
    private func tick(_ caller: Caller) async {
        while circles[caller] != nil, !Task.isCancelled {
            circles[caller]?.round += 1
            await serve(caller)
            // Cancelled when the server stops.
            try? await Task.sleep(for: period)
        }
        ticking[caller] = nil
    }

    func stop() {
        for task in ticking.values { task.cancel() }
        for circle in circles.values { for subscriber in circle.subscribers.values { subscriber.channel.end() } }
    }

    private func serve(_ caller: Caller) async {
        guard let circle = circles[caller] else { return }
        // Others may subscribe from here on, whom this round does not know.
        circles[caller]?.hasNew = false
        var (events, counts) = (circle.events, circle.counts)
        var queues = circle.queues
        do {
            if circle.subscribers.values.contains(where: \.wishes.queues) {
                // They have the counts. A pause, a limit or a weight changes none.
                let states = try await circle.ledger.queues()
                counts = Dictionary(states.map { ($0.name, $0.jobs) }) { $1 }
                try queues.take(states)
            } else {
                counts = try await circle.ledger.counts()
            }
            if circle.hasNew || counts != circle.counts {
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
        circles[caller]?.queues = queues
        let pings = (circles[caller]?.round ?? 0) % Self.roundsBetweenPings == 0
        for (number, subscriber) in circles[caller]?.subscribers ?? [:] {
            subscriber.pages = 0
            sendChanges(to: caller, number, pings: pings)
        }
    }

    // MARK: - Telling

    private static let ping = Array(": ping\n\n".utf8)
    /// Instead of a state that no channel holds. It is not tried again until it changes.
    private static let resync = Array("event: resync\ndata: {}\n\n".utf8)

    /// What is sent to a subscriber now.
    private struct Page {
        let space: Int
        var text: [UInt8] = []
        /// Whether something did not fit.
        var isFull = false

        init(space: Int) { self.space = space }

        /// Returns false if there is no space for the event.
        mutating func add(_ event: Event) -> Bool {
            let addition = event.text.count <= EventChannel.capacity ? event.text : EventHub.resync
            guard text.count + addition.count <= space else {
                isFull = true
                return false
            }
            text += addition
            return true
        }
    }

    /// Clients take no more than 32 MiB in a minute for a stream of events, so that none can be flooded.
    private static let mostPages = 7

    /// Sends a subscriber what has changed since the last time, as far as there is space.
    private func sendChanges(to caller: Caller, _ number: UInt64, pings: Bool = false) {
        guard let circle = circles[caller], let subscriber = circle.subscribers[number] else { return }
        subscriber.pages += 1
        guard subscriber.pages <= Self.mostPages else { return }
        var page = Page(space: subscriber.channel.space)
        if subscriber.takesQueuesFirst {
            subscriber.addQueues(circle.queues, to: &page)
            subscriber.addThings(circle.events, to: &page)
        } else {
            subscriber.addThings(circle.events, to: &page)
            subscriber.addQueues(circle.queues, to: &page)
        }
        // Whatever changes often does not keep the others back.
        if page.isFull { subscriber.takesQueuesFirst.toggle() }
        if page.text.isEmpty, pings, Self.ping.count <= page.space { page.text = Self.ping }
        subscriber.channel.send(page.text, wantsMore: page.isFull)
    }

    // MARK: - Asking the ledger

    private func look(_ circle: Circle) async throws -> [String: Event] {
        var events = try await jobs(circle)
        for id in Set(circle.subscribers.values.flatMap(\.wishes.batches)) {
            guard let batch = try await circle.ledger.batch(id) else { continue }
            events["batch \(id)"] = try Self.event("batch", JSONRecord(batch))
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
            for job in page.jobs { events["job \(job.job)"] = try Self.event("job", JSONRecord(job)) }
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
