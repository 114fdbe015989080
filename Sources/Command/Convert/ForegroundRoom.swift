import Conversion
import Dispatch
import PumpRoom
import Synchronization

/// A pump room for work that a person waits for: one piece at a time, on the thread that asks.
final class ForegroundRoom: Sendable {
    private struct State {
        var isStopped = false
        var task: Task<Void, Never>?
        /// Opened by the first work: what cannot be opened needs no room.
        var slot: RoomSlot?
        var warning: String?
    }

    private let state = SharedState()

    private final class SharedState: Sendable {
        let value = Mutex(State())
    }

    private var slot: RoomSlot {
        state.value.withLock { [state] locked in
            if let slot = locked.slot { return slot }
            var configuration = RoomConfiguration()
            // One room is enough, mostly.
            configuration.keepsNursery = false
            // The person who waits decides how long. A pipe may have nothing to say for hours.
            configuration.stallLimit = .seconds(10 * 365 * 86_400)
            configuration.slowestPace = nil
            configuration.usualLimits = Recipe.Limits(openSeconds: RoomConfiguration.usualOpenSeconds)
            configuration.highestLimits = Recipe.Limits()
            let slot = RoomSlot(1, configuration: configuration) { [weak state] warning in
                state?.value.withLock { $0.warning = warning }
            }
            locked.slot = slot
            return slot
        }
    }

    /// What people should know of it.
    var warning: String? { state.value.withLock { $0.warning } }

    /// Ends what is under way, and what may come, as a failure with the code `cancelled`.
    func stop() {
        state.value.withLock { state in
            state.isStopped = true
            state.task?.cancel()
        }
    }

    /// Lets the room's process go, which takes some milliseconds, and waits for nothing. No more work may come.
    func dismiss() { state.value.withLock { $0.slot }?.dismiss() }

    /// Blocks until the room's process has ended and been waited for, so that none outlives the command and the processor
    /// time of the conversion is counted as the command's. One that does not end is killed.
    func end() { state.value.withLock { $0.slot }?.end(grace: .seconds(1), limit: .seconds(2)) }

    /// The same without asking, before a signal ends the process in the middle of its work.
    func kill() { state.value.withLock { $0.slot }?.end(grace: .zero, limit: .seconds(1)) }

    func convert(
        _ work: RoomWork,
        report: @escaping @Sendable (ConversionProgress) -> Void
    ) throws(Failure) -> ConversionReport {
        switch wait(for: { [slot] in await slot.run(work, report: report) }) {
        case .converted(let report, _): return report
        case .failed(let failure): throw failure.spoken
        case .handedBack: throw .notBegun
        }
    }

    func describe(
        _ probe: RoomProbe,
        report: @escaping @Sendable (ConversionProgress) -> Void
    ) throws(Failure) -> SourceReport {
        switch wait(for: { [slot] in await slot.describe(probe, report: report) }) {
        case .described(let report, _): return report
        case .failed(let failure): throw failure.spoken
        case .handedBack: throw .notBegun
        }
    }

    private final class Answer<Value: Sendable>: Sendable {
        let box = Mutex<Value?>(nil)
    }

    /// Blocks until `body` has its answer.
    private func wait<Value: Sendable>(for body: @escaping @Sendable () async -> Value) -> Value {
        let (answer, done) = (Answer<Value>(), DispatchSemaphore(value: 0))
        state.value.withLock { state in
            let task = Task {
                let value = await body()
                answer.box.withLock { $0 = value }
                done.signal()
            }
            if state.isStopped { task.cancel() }
            state.task = task
        }
        done.wait()
        // Signalled once it is there.
        return answer.box.withLock { $0! }
    }
}

extension RoomFailure {
    /// The failure, with the room's last words where it has nothing better to add.
    fileprivate var spoken: Failure {
        guard isRoomDeath, failure.hint == nil, let words = lastWords?.split(separator: "\n").last else {
            return failure
        }
        var failure = failure
        failure.hint = "its last words: \(words.prefix(200))"
        return failure
    }
}

extension Failure {
    /// Where three rooms in a row went down before they began.
    fileprivate static var notBegun: Failure {
        Failure(
            code: "room_start",
            kind: .infrastructure,
            stage: "open",
            message: "the pump rooms ended before they began"
        )
    }
}
