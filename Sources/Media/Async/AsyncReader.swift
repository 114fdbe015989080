public import Conversion
import System

/// Reads one source for Swift tasks: describes it, and returns the blocks of a track as an `AsyncSequence`.
///
/// libav runs on this reader's own serial executor, never on the cooperative thread pool that Swift tasks share.
/// The caller owns the source's descriptor and keeps it open until the reader and the sequence are gone.
///
/// Cancelling a task that waits for the reader raises `Reader.Options.stop`, which ends everything that shares the
/// signal; the task throws `CancellationError`. If other code raised the signal, the task throws
/// `FailureCode.cancelled`.
public struct AsyncReader: Sendable {
    public let description: SourceDescription
    let actor: ReaderActor
    private let stop: StopSignal

    /// Opens the source behind `descriptor` and describes it.
    public init(descriptor: Int32, options: Reader.Options = .init()) async throws {
        let actor = try ReaderActor()
        description = try await options.stop.raisedByCancellation { try await actor.open(descriptor, options) }
        self.actor = actor
        stop = options.stop
    }

    /// The decoded samples of a track, whole or in ranges; the main track if `track` is `nil`. A reader has one
    /// output in its lifetime.
    ///
    /// Every block has `framesPerBlock` frames (at least one), except at the end, before a jump to the next range
    /// and before a change of the source's shape.
    public func blocks(
        of track: Track? = nil,
        ranges: [MediaTimeRange] = [],
        framesPerBlock: Int = 4096
    ) async throws -> PCMBlocks {
        let actor = actor
        let begun = try await stop.raisedByCancellation {
            try await actor.begin(track, ranges, framesPerBlock: max(1, framesPerBlock))
        }
        return PCMBlocks(track: begun, actor: actor, stop: stop)
    }
}

/// The actor that owns and runs the libav objects of an `AsyncReader`.
actor ReaderActor {
    nonisolated let executor = QueueExecutor("Media.AsyncReader")
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    private var reader: Reader?
    private var output: TrackOutput?
    private var framesPerBlock = 1
    private var block: SampleBlock
    /// Frames of `block` that were already returned.
    private var usedFrames = 0
    private var end: End?

    private enum End { case complete, failed(MediaError) }

    init() throws { block = try SampleBlock() }

    func open(_ descriptor: Int32, _ options: Reader.Options) throws -> SourceDescription {
        try options.stop.check(at: .open)
        let reader = try Reader(descriptor: descriptor, options: options)
        self.reader = reader
        return reader.description
    }

    func begin(_ wanted: Track?, _ ranges: [MediaTimeRange], framesPerBlock: Int) throws -> Track {
        guard let reader else { preconditionFailure("a reader is opened before it is handed out") }
        try reader.options.stop.check(at: .open)
        let track = try wanted ?? reader.track()
        output = try reader.samples(of: track, ranges: ranges)
        self.framesPerBlock = framesPerBlock
        return track
    }

    /// The damage so far, with its frames.
    var damage: DamageAccount { output?.damage ?? DamageAccount() }

    /// Frames decoded so far; the actor holds back less than one decoded block of them.
    var decodedFrames: Int64 { output?.deliveredFrames ?? 0 }

    /// The next block; `nil` only at the end of a complete track. Once it has thrown, every
    /// later call throws the same error.
    func next() throws -> PCMBlock? {
        switch end {
        case .complete: return nil
        case .failed(let error): throw error
        case nil: break
        }
        guard let reader, let output else { preconditionFailure("a sequence is begun before it is handed out") }
        var gathered = BlockGatherer(frames: framesPerBlock)
        do {
            try reader.options.stop.check(at: .decode)
            try gather(from: output, into: &gathered)
        } catch {
            let error = error as? MediaError ?? MediaError(.corruptStream, at: .decode, "\(error)")
            end = .failed(error)
            // The samples decoded before the damage are good, so return them first, unless the caller asked to stop.
            if error.code == .cancelled || gathered.frameCount == 0 { throw error }
        }
        return gathered.finished()
    }

    private func gather(from output: TrackOutput, into gathered: inout BlockGatherer) throws {
        while !gathered.isFull {
            if usedFrames >= block.frameCount {
                usedFrames = 0
                guard try output.next(into: &block) else {
                    end = .complete
                    block.clear()
                    return
                }
            }
            let taken = gathered.take(block, from: usedFrames, clockRate: output.track.sampleRateHz)
            if taken == 0 { return }
            usedFrames += taken
        }
    }
}
