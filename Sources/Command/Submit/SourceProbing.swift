import Console
import Dispatch
import Glibc
import Synchronization

/// Has pump rooms look at the sources of a submission, one per processor at a time.
enum SourceProbing {
    /// The answers for all sources, in their order. `look` gets the place of a source and a room. Throws
    /// `StoppedBySignal` if a signal interrupts it.
    static func run<Answer: Sendable>(
        _ count: Int,
        _ invocation: Invocation,
        _ console: CommandOutput,
        _ look: @escaping @Sendable (_ place: Int, ForegroundRoom) -> Answer
    ) throws -> [Answer] {
        let rooms = (0..<min(count, max(1, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN)))))).map { _ in ForegroundRoom() }
        let bar = CountBar(of: count, "file", outlet: console.talk)
        let isShown = invocation[ProgressStyle.option] != .none
        let counters = Counters(count)
        let result = ForegroundWork.run(
            onTick: { if isShown { bar.show(counters.done) } },
            onSignal: {
                counters.stop()
                for room in rooms { room.stop() }
            },
            onSurrender: { _ in
                bar.clear()
                for room in rooms { room.dismiss() }
                for room in rooms { room.kill() }
            },
            { () -> [Answer] in
                defer {
                    for room in rooms { room.dismiss() }
                    for room in rooms { room.end() }
                }
                let answers = Mutex([(place: Int, answer: Answer)]())
                DispatchQueue.concurrentPerform(iterations: rooms.count) { number in
                    while let place = counters.take() {
                        let answer = look(place, rooms[number])
                        answers.withLock { $0.append((place, answer)) }
                        counters.finish()
                    }
                }
                // Restore the order of the sources: rooms finish in any order.
                return answers.withLock { $0.sorted { $0.place < $1.place }.map(\.answer) }
            }
        )
        bar.clear()
        if let signal = result.signal { throw StoppedBySignal(exitCode: signal) }
        if let warning = rooms.lazy.compactMap(\.warning).first { console.warn(warning) }
        return result.value
    }
}

/// The next source and the number of finished ones, shared by the threads that probe.
private final class Counters: Sendable {
    private struct State {
        var next = 0
        var done = 0
        var isStopped = false
    }

    private let count: Int
    private let state = Mutex(State())

    init(_ count: Int) { self.count = count }

    var done: Int { state.withLock { $0.done } }

    func take() -> Int? {
        state.withLock { state in
            guard state.next < count, !state.isStopped else { return nil }
            defer { state.next += 1 }
            return state.next
        }
    }

    func finish() { state.withLock { $0.done += 1 } }
    func stop() { state.withLock { $0.isStopped = true } }
}
