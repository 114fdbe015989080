import Console
import Conversion
import Dispatch
import PumpRoom
import Synchronization

/// A pump room for a command in the foreground: one request at a time, on the caller's thread.
final class ForegroundRoom: Sendable {
    private struct State {
        var isStopped = false
        var task: Task<Void, Never>?
        /// Created by the first request, so that a source that cannot be opened starts no room.
        var slot: RoomSlot?
        var warning: String?
    }

    private let state = SharedState()

    private final class SharedState: Sendable {
        let value = Mutex(State())
    }

    /// Runs `body` with a room that has ended before this returns, whatever signals arrive. A signal that would end this
    /// process between two requests waits for the next one, or for the room's end: otherwise it would leave the room
    /// behind, as a zombie in a container whose process 1 reaps nothing.
    static func lend<Value>(_ body: (ForegroundRoom) throws -> Value) rethrows -> Value {
        try SignalHold.during {
            let room = ForegroundRoom()
            defer { room.end() }
            return try body(room)
        }
    }

    /// `nil` if the room was stopped before its first request.
    private var slot: RoomSlot? {
        state.value.withLock { [state] locked in
            if let slot = locked.slot { return slot }
            // A slot that began now would start a process after the last call that ends one.
            guard !locked.isStopped else { return nil }
            var configuration = RoomConfiguration()
            // A command rarely needs a second room, so it keeps no fork server.
            configuration.usesForkServer = false
            // The user decides how long to wait: a pipe may deliver nothing for hours.
            configuration.stallLimit = .seconds(10 * 365 * 86_400)
            configuration.minimumSpeed = nil
            configuration.usualLimits = Recipe.Limits(openSeconds: RoomConfiguration.usualOpenSeconds)
            configuration.highestLimits = Recipe.Limits()
            let slot = RoomSlot(1, configuration: configuration) { [weak state] warning in
                state?.value.withLock { $0.warning = warning }
            }
            locked.slot = slot
            return slot
        }
    }

    /// What users should know about the room.
    var warning: String? { state.value.withLock { $0.warning } }

    /// Cancels the current request and all later ones; they fail with the code `cancelled`.
    func stop() {
        state.value.withLock { state in
            state.isStopped = true
            state.task?.cancel()
        }
    }

    /// Ends the room's process without waiting for it, which takes some milliseconds. Allows no further requests.
    func dismiss() { state.value.withLock { $0.slot }?.dismiss() }

    /// Blocks until the room's process has ended and been reaped. So no room outlives the command, and the
    /// conversion's processor time counts as the command's. Kills a room that does not end within a second.
    func end() { state.value.withLock { $0.slot }?.end(grace: .seconds(1), limit: .seconds(2)) }

    /// Like `end`, but kills the room at once, and allows no further requests; called before a signal ends this process
    /// in the middle of its work.
    func kill() {
        stop()
        state.value.withLock { $0.slot }?.end(grace: .zero, limit: .seconds(1))
    }

    func convert(
        _ work: RoomWork<[ConversionReport]>,
        report: @escaping @Sendable (ConversionProgress) -> Void
    ) throws(Failure) -> [ConversionReport] {
        guard let slot else { throw .stopped }
        switch wait(for: { await slot.run(work, report: report) }) {
        case .done(let reports, _): return reports
        case .failed(let failure): throw failure.spoken
        case .handedBack: throw .notBegun
        }
    }

    func describe(
        _ source: Int32,
        _ options: ProbeOptions = ProbeOptions(),
        report: @escaping @Sendable (ConversionProgress) -> Void
    ) throws(Failure) -> SourceReport {
        guard let slot else { throw .stopped }
        switch wait(for: { await slot.describe(source, options, report: report) }) {
        case .done(let report, _): return report
        case .failed(let failure): throw failure.spoken
        case .handedBack: throw .notBegun
        }
    }

    /// Runs `body` while the user waits: shows the progress that it reports, and stops the room at the first SIGINT,
    /// SIGTERM or SIGHUP. Calls `surrender` before a signal ends the process in the middle of the work.
    func run<Value: Sendable>(
        showing display: ProgressDisplay,
        since start: ContinuousClock.Instant,
        surrender: (ExitCode) -> Void = { _ in },
        _ body: @escaping @Sendable (@escaping @Sendable (ConversionProgress) -> Void) -> Value
    ) -> ForegroundWork.Result<Value> {
        let latest = Progress()
        return ForegroundWork.run(
            onTick: { display.show(latest.value.withLock { $0 }, after: start.secondsAgo) },
            onSignal: { self.stop() },
            onSurrender: { code in
                display.clear()
                self.kill()
                surrender(code)
            },
            { body { now in latest.value.withLock { $0 = now } } }
        )
    }

    private final class Progress: Sendable {
        let value = Mutex<ConversionProgress?>(nil)
    }

    private final class Answer<Value: Sendable>: Sendable {
        let box = Mutex<Value?>(nil)
    }

    /// Blocks until `body` returns.
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
        // The task stores the value before it signals.
        return answer.box.withLock { $0! }
    }
}

extension ContinuousClock.Instant {
    /// How many seconds have passed since then.
    var secondsAgo: Double { (.now - self).seconds }
}

extension RoomFailure {
    /// The failure; if the room died, the last line that the room printed becomes the hint.
    fileprivate var spoken: Failure {
        guard isRoomDeath, let words = lastWords?.split(separator: "\n").last else {
            return failure
        }
        var failure = failure
        failure.hint = "its last words: \(words.prefix(200))"
        return failure
    }
}

extension Failure {
    /// The failure of a request after the user stopped the room.
    fileprivate static var stopped: Failure { Failure(.cancelled, at: .open, "cancelled before it began") }

    /// The failure after four rooms ended before they began the conversion.
    fileprivate static var notBegun: Failure {
        Failure(.roomStart, at: .open, "the pump rooms crashed before they began")
    }
}
