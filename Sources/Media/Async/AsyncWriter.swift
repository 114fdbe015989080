public import Conversion
import Dispatch

/// Writes one output for tasks: `append` waits until the writer is ready, and throws as soon as it has failed.
///
/// libav runs on a serial executor that this writer has to itself. Between it and those who append lie at most
/// `capacity` blocks, so that decoding and encoding overlap and memory stays the same. A failure of the writer is
/// thrown, as it is, by every append that waits, by every later one, and by `finish()`: a failed writer never looks
/// like one that is not ready.
///
/// The output is an open, empty, seekable descriptor that stays the caller's. The writer works on a copy of it, so that
/// it may be closed as soon as `finish()` has returned or the writer is dropped. Until then there is no output, only
/// bytes.
///
/// Cancelling a task that waits for the writer raises `stop`, and nothing more is written: a recording with a hole
/// would be no recording. The task gets `CancellationError`, later calls `MediaError.Code.cancelled`.
public final class AsyncWriter: Sendable {
    public let format: ResolvedFormat
    let actor: WriterActor
    let queue: BlockQueue
    private let stop: StopSignal

    /// Prepares an output of `format` behind `descriptor`. Nothing is written before the first samples are there.
    ///
    /// `capacity` is how many blocks may wait for the encoder, at least one.
    public init(
        descriptor: Int32,
        format: ResolvedFormat,
        options: Writer.Options = .init(),
        capacity: Int = 4,
        stop: StopSignal = StopSignal()
    ) throws {
        self.format = format
        self.stop = stop
        queue = BlockQueue(capacity: max(1, capacity))
        actor = try WriterActor(descriptor, format, options, queue, stop)
    }

    /// No caller can ask for this output any more: what still waits is not written.
    deinit { queue.fail(MediaError(.cancelled, at: .encode, "the writer was dropped before it was finished")) }

    /// Waits until the writer is ready, then takes `block`. Throws what has made the writer fail.
    public func append(_ block: PCMBlock) async throws {
        try await endingWhenCancelled {
            if try await queue.append(block) { actor.wake() }
        }
    }

    /// Takes `block` if the writer is ready for it now. `false` means full and nothing else: a writer that has failed
    /// throws.
    public func appendImmediately(_ block: PCMBlock) throws -> Bool {
        guard case .taken(let wakesWriter) = try queue.offer(block) else { return false }
        if wakesWriter { actor.wake() }
        return true
    }

    /// Writes what was appended, completes the headers, and checks that every planned frame is there.
    ///
    /// Comes once; appends that still wait are taken first, later ones throw.
    @discardableResult
    public func finish() async throws -> Writer.Summary {
        try queue.close()
        let actor = actor
        return try await endingWhenCancelled { try await actor.finish() }
    }

    private func endingWhenCancelled<Result>(_ work: () async throws -> Result) async throws -> Result {
        do {
            return try await stop.raisedByCancellation {
                try Task.checkCancellation()
                return try await work()
            }
        } catch let error as CancellationError {
            queue.fail(MediaError(.cancelled, at: .encode, "a task was cancelled while it waited for the writer"))
            throw error
        }
    }
}

/// The one place where the libav objects of an `AsyncWriter` live and run.
actor WriterActor {
    nonisolated let executor = QueueExecutor("Media.AsyncWriter")
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    private let copy: DescriptorCopy
    private let writer: Writer
    private let input: WriterInput
    private let queue: BlockQueue
    private let stop: StopSignal
    private var block: SampleBlock

    init(
        _ descriptor: Int32,
        _ format: ResolvedFormat,
        _ options: Writer.Options,
        _ queue: BlockQueue,
        _ stop: StopSignal
    ) throws {
        copy = try DescriptorCopy(of: descriptor)
        writer = try Writer(descriptor: copy.descriptor, format: format, options: options)
        input = try writer.samples()
        block = try SampleBlock()
        self.queue = queue
        self.stop = stop
    }

    /// Starts writing what is queued; returns at once.
    nonisolated func wake() { executor.queue.async { self.assumeIsolated { $0.drain() } } }

    func finish() throws -> Writer.Summary {
        drain()
        if let failure = queue.failure { throw failure }
        do {
            try stop.check(at: .finish)
            return try writer.finish()
        } catch {
            queue.fail(error as? MediaError ?? MediaError(.writerFailed, at: .finish, "\(error)"))
            throw queue.failure ?? error
        }
    }

    private func drain() {
        do {
            while let next = queue.take() {
                try stop.check(at: .encode)
                if next.frameCount == 0 { continue }
                try block.fill(from: next)
                try input.append(&block)
            }
        } catch {
            queue.fail(error as? MediaError ?? MediaError(.writerFailed, at: .encode, "\(error)"))
        }
    }
}
