public import Conversion
import Dispatch
import System

/// Writes one output for Swift tasks: `append` waits until the writer is ready, and throws as
/// soon as the writer has failed.
///
/// libav runs on this writer's own serial executor. At most `capacity` blocks wait between the appending tasks and
/// the encoder, so that decoding and encoding overlap while memory stays constant. Once the writer has failed,
/// every waiting and every later append throws that failure unchanged, and so does `finish()`: a failed writer
/// never looks like one that is not ready.
///
/// The output is an open, empty, seekable descriptor owned by the caller. The writer duplicates it, so the
/// caller may close its own as soon as `finish()` has returned or the writer is dropped. Before `finish()`
/// the bytes are not a valid output.
///
/// Cancelling a task that waits for the writer raises `stop`, and the writer writes nothing more: a recording with
/// a hole would be useless. The task throws `CancellationError`, later calls throw `FailureCode.cancelled`.
public final class AsyncWriter: Sendable {
    public let format: ResolvedFormat
    let actor: WriterActor
    let queue: BlockQueue
    private let stop: StopSignal

    /// Prepares an output of `format`. Writes nothing before the first samples arrive.
    ///
    /// `capacity` is the number of blocks that may wait for the encoder, at least one.
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

    /// The caller dropped the writer, so discard the blocks that still wait.
    deinit { queue.fail(MediaError(.cancelled, at: .encode, "the writer was dropped before it was finished")) }

    /// Waits until the writer is ready, then takes `block`. Throws the writer's failure if it has failed.
    public func append(_ block: PCMBlock) async throws {
        try await endingWhenCancelled {
            if try await queue.append(block) { actor.wake() }
        }
    }

    /// Takes `block` if the writer is ready for it now. `false` means only that the queue
    /// is full: a failed writer throws.
    public func appendImmediately(_ block: PCMBlock) throws -> Bool {
        guard case .taken(let wakesWriter) = try queue.offer(block) else { return false }
        if wakesWriter { actor.wake() }
        return true
    }

    /// Writes all appended blocks, completes the headers, and checks that every planned frame was written.
    ///
    /// Call it once. It takes the appends that are still waiting; later appends throw.
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

/// The actor that owns and runs the libav objects of an `AsyncWriter`.
actor WriterActor {
    nonisolated let executor = QueueExecutor("Media.AsyncWriter")
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// A duplicate, because the writer goes on after the call that made it has returned: by then the caller's number
    /// may refer to another file.
    private let copy: SharedDescriptor
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
        do throws(SystemError) {
            copy = try SharedDescriptor(copying: descriptor)
        } catch {
            let why = systemText(error.number)
            throw MediaError(.destinationIO, at: .open, "the output's descriptor is not usable: \(why)")
        }
        writer = try Writer(descriptor: copy.number, format: format, options: options)
        input = try writer.samples()
        block = try SampleBlock()
        self.queue = queue
        self.stop = stop
    }

    /// Starts writing the queued blocks; returns at once.
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
