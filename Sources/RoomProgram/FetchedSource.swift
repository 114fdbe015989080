import Dispatch
import Glibc
import Media
import PumpRoom
import Synchronization
import System

/// A source that the slot fetches for the room: asks over the wire, and finds the answers in memory that both share.
///
/// One thread reads it, and another one receives the answers.
final class FetchedSource: SourceWindow {
    private struct State {
        /// Of the question that is open.
        var asked: Int64?
        /// What the slot has answered to it; the inner `nil` if the bytes cannot be had.
        var answer: Int??
        /// What of the source the memory holds.
        var held: Range<Int64> = 0..<0
        /// Whether a stop has ended a wait for bytes.
        var isGivenUp = false
    }

    let byteCount: Int64
    private let place: Int
    /// The descriptor of the shared memory, which the job owns.
    private let memory: Int32
    private let ask: @Sendable (WindowQuestion) -> Void
    private let state = Mutex(State())
    private let isAnswered = DispatchSemaphore(value: 0)
    private static let numbers = Atomic<Int64>(0)

    init(_ facts: WindowFacts, memory: Int32, ask: @escaping @Sendable (WindowQuestion) -> Void) {
        (place, byteCount, self.memory, self.ask) = (facts.source, facts.byteCount, memory, ask)
    }

    func read(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer, stop: StopSignal) -> Int {
        guard offset >= 0, offset < byteCount, !buffer.isEmpty else { return 0 }
        if !state.withLock({ $0.held.contains(offset) }) {
            let problem = fetch(offset, stop)
            guard problem == 0 else { return -Int(problem) }
        }
        let held = state.withLock { $0.held }
        let count = Int(min(Int64(buffer.count), held.upperBound - offset))
        let got = retryingInterrupts { pread(memory, buffer.baseAddress, count, off_t(offset - held.lowerBound)) }
        return got < 0 ? -Int(errno) : got
    }

    /// Has the memory filled from `offset` on. Returns zero, or why it is not.
    private func fetch(_ offset: Int64, _ stop: StopSignal) -> Int32 {
        // The slot takes a second question while one is open for a lie.
        guard !stop.isStopped else { return giveUp() }
        let question = WindowQuestion(
            number: Self.numbers.add(1, ordering: .relaxed).newValue,
            source: place,
            offset: offset,
            count: Int(min(Int64(WindowFacts.memoryBytes), byteCount - offset))
        )
        state.withLock { $0 = State(asked: question.number) }
        ask(question)
        while !stop.isStopped {
            // In slices, because nothing else tells this thread of a stop.
            guard isAnswered.wait(timeout: .now() + .milliseconds(20)) == .success else { continue }
            let answer = state.withLock { state -> Int?? in
                guard case .some(let count) = state.answer else { return .none }
                if let count, (1...question.count).contains(count) { state.held = offset..<(offset + Int64(count)) }
                return .some(count)
            }
            guard case .some(let count) = answer else { continue }
            return count == nil ? EIO : state.withLock { $0.held.isEmpty } ? EPROTO : 0
        }
        return giveUp()
    }

    private func giveUp() -> Int32 {
        state.withLock { $0.isGivenUp = true }
        return EINTR
    }

    /// Whether bytes are missing because of a stop. What a reader makes of the others says nothing about the source.
    var isGivenUp: Bool { state.withLock { $0.isGivenUp } }

    /// Takes the slot's answer to the question `number`: the number of bytes, or `nil` if they cannot be had. Ignores answers
    /// to other questions.
    func take(_ number: Int64, _ count: Int?) {
        let isMeant = state.withLock { state in
            guard state.asked == number else { return false }
            (state.asked, state.answer) = (nil, .some(count))
            return true
        }
        if isMeant { isAnswered.signal() }
    }
}

/// The sources of a room's jobs that the slot fetches.
final class FetchedSources: Sendable {
    private struct State {
        /// Of the job that the slot sends next.
        var announced: (job: Int64, facts: [WindowFacts])?
        /// With their descriptors.
        var open: [Int64: [(memory: Int32, source: FetchedSource)]] = [:]
    }

    private let state = Mutex(State())

    /// Remembers which sources of a job are fetched, until the job arrives.
    func announce(_ job: Int64, _ facts: [WindowFacts]) { state.withLock { $0.announced = (job, facts) } }

    /// Makes the descriptors of an announced job stand for its sources. Call it when the job arrives. Returns false if the
    /// job lacks a descriptor.
    func open(_ job: Int64, _ descriptors: [Int32], ask: @escaping @Sendable (WindowQuestion) -> Void) -> Bool {
        state.withLock { state in
            guard let announced = state.announced, announced.job == job else { return true }
            state.announced = nil
            guard announced.facts.allSatisfy({ descriptors.indices.contains($0.source) }) else { return false }
            state.open[job] = announced.facts.map { facts in
                let memory = descriptors[facts.source]
                let source = FetchedSource(facts, memory: memory, ask: ask)
                SourceWindows.set(source, for: memory)
                return (memory, source)
            }
            return true
        }
    }

    /// Forgets the sources of a job. Call it before its descriptors are closed, because their numbers are given out again.
    /// Returns whether bytes of one are missing because of a stop.
    @discardableResult
    func close(_ job: Int64) -> Bool {
        state.withLock { state in
            let windows = state.open.removeValue(forKey: job) ?? []
            for window in windows { SourceWindows.set(nil, for: window.memory) }
            return windows.contains { $0.source.isGivenUp }
        }
    }

    /// Takes an answer of the slot. A job that has ended needs none.
    func take(_ job: Int64, _ number: Int64, _ count: Int?) {
        let windows = state.withLock { $0.open[job] ?? [] }
        for window in windows { window.source.take(number, count) }
    }
}
