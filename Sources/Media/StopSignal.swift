import Conversion
import Synchronization

/// Stops a conversion from any thread. It ends within 50 ms with `FailureCode.cancelled`.
public final class StopSignal: Sendable {
    private let flag = Atomic<Bool>(false)

    public init() {}

    /// Takes effect at the next packet, block or wait of all code that holds the signal. It cannot be undone.
    public func stop() { flag.store(true, ordering: .relaxed) }

    public var isStopped: Bool { flag.load(ordering: .relaxed) }

    /// Set once code that holds the signal has opened a source.
    private let opened = Atomic<Bool>(false)

    /// Whether a source is open. A long delay before that may be libav parsing a header, which it does not interrupt.
    package var hasOpened: Bool { opened.load(ordering: .relaxed) }

    func noteOpened() { opened.store(true, ordering: .relaxed) }

    func check(at stage: Failure.Stage) throws {
        if isStopped { throw MediaError(.cancelled, at: stage, "the conversion was cancelled") }
    }
}

extension StopSignal {
    /// Runs `work`, and raises the signal if the task is or becomes cancelled.
    ///
    /// A cancelled task throws `CancellationError`, as usual in Swift. `FailureCode.cancelled` is for tasks
    /// whose signal was raised by other code.
    func raisedByCancellation<Result>(
        isolation: isolated (any Actor)? = #isolation,
        _ work: () async throws -> Result
    ) async throws -> Result {
        do {
            return try await withTaskCancellationHandler(operation: work, onCancel: { stop() }, isolation: isolation)
        } catch let error as MediaError where error.code == .cancelled {
            try Task.checkCancellation()
            throw error
        }
    }
}
