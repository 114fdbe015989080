import Conversion
import Synchronization
import System

/// One conversion for Swift tasks. It runs on its own executor and publishes its state and progress.
///
/// The caller owns both descriptors and keeps them open until `run()` has returned.
public final class AsyncConversion: Sendable {
    /// The state of a conversion. It only moves forward, and ends in one of the last three.
    public enum State: Sendable, Hashable {
        case waiting, converting, completed
        case failed(MediaError)
        case cancelled
    }

    /// Progress reports: a waiting task gets only the newest one, a final one at
    /// completion, then the end of the stream.
    ///
    /// At most one task can wait for them; none has to.
    public let progress: AsyncStream<Pump.Progress>

    private let converter: Converter
    private let source: Int32
    private let destination: Int32
    private let reports: AsyncStream<Pump.Progress>.Continuation
    private let present = Mutex(State.waiting)

    /// Opens and writes nothing before `run()`.
    public init(
        _ request: Converter.Request,
        from source: Int32,
        to destination: Int32,
        stop: StopSignal = StopSignal()
    ) {
        converter = Converter(request, stop: stop)
        self.source = source
        self.destination = destination
        (progress, reports) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    deinit { reports.finish() }

    public var state: State { present.withLock { $0 } }

    /// Stops the conversion within 50 ms; `run()` throws `FailureCode.cancelled`. It cannot be undone.
    public func cancel() { converter.stop.stop() }

    /// Converts, once. Cancelling the task raises the stop signal and throws `CancellationError`.
    public func run() async throws -> Converter.Outcome {
        try present.withLock { state in
            guard state == .waiting else {
                throw MediaError(.alreadyFinished, at: .open, "this conversion has already been started")
            }
            state = .converting
        }
        defer { reports.finish() }
        do {
            let (actor, converter, source, destination, reports) = (
                ConverterActor(), converter, source, destination, reports
            )
            let outcome = try await converter.stop.raisedByCancellation {
                try await actor.run(converter, from: source, to: destination) { reports.yield($0) }
            }
            reports.yield(outcome.lastProgress)
            present.withLock { $0 = .completed }
            return outcome
        } catch {
            present.withLock { $0 = State(endingWith: error) }
            throw error
        }
    }
}

extension AsyncConversion.State {
    fileprivate init(endingWith error: any Error) {
        switch error {
        case let error as MediaError where error.code != .cancelled: self = .failed(error)
        default: self = .cancelled
        }
    }
}

extension Converter.Outcome {
    /// The progress of a completed conversion.
    fileprivate var lastProgress: Pump.Progress {
        Pump.Progress(
            position: MediaTime(frames: sourceFrames, rate: source.sampleRateHz),
            frames: sourceFrames,
            totalFrames: sourceFrames
        )
    }
}

extension Pump.Progress {
    /// Between 0 and 1; `nil` if the source does not state its length.
    public var fraction: Double? {
        guard let totalFrames, totalFrames > 0 else { return nil }
        return min(1, Double(frames) / Double(totalFrames))
    }
}

/// The actor that owns and runs the libav objects of an `AsyncConversion`.
actor ConverterActor {
    private let executor = QueueExecutor("Media.AsyncConversion")
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    func run(
        _ converter: Converter,
        from source: Int32,
        to destination: Int32,
        report: @escaping @Sendable (Pump.Progress) -> Void
    ) throws -> Converter.Outcome {
        try converter.stop.check(at: .open)
        return try converter.run(from: source, to: destination, report: report)
    }
}
