public import Conversion

/// Writes one output: samples or packets in, a complete file out, or an error and nothing to trust.
///
/// The output is an open, empty, seekable descriptor that stays the caller's; it is neither synced nor closed here.
/// Until `finish()` has returned there is no output, only bytes. It is not `Sendable`; give each its own thread, or
/// use `AsyncWriter`.
public final class Writer {
    /// What goes into the output beside the sound.
    public struct Options: Sendable {
        public var tags: [Tag]
        public var cover: Picture?
        /// Whether to compute the digest of the PCM that goes in; it costs a little time.
        public var digestsSamples: Bool
        /// Whether bytes go out one after the other and are never touched again, so that a pipe can take them. Only
        /// headerless PCM and WAV can be written so; the lengths in WAV's header then say that they are not known.
        public var streams: Bool
        /// Whether an output that lacks anything of what comes in is a failure, `loss_refused`.
        public var refusesLoss: Bool
        /// Whether the samples are those that were once recorded: a lossy codec's have no depth that could be lost.
        public var sourceIsLossless: Bool

        public init(
            tags: [Tag] = [],
            cover: Picture? = nil,
            digestsSamples: Bool = false,
            streams: Bool = false,
            refusesLoss: Bool = false,
            sourceIsLossless: Bool = true
        ) {
            self.tags = tags
            self.cover = cover
            self.digestsSamples = digestsSamples
            self.streams = streams
            self.refusesLoss = refusesLoss
            self.sourceIsLossless = sourceIsLossless
        }
    }

    public let format: ResolvedFormat
    let options: Options
    let sink: ByteSink
    private var input: WriterInput?
    private var state = State.waiting

    private enum State { case waiting, writing, finished, failed(MediaError) }

    /// Prepares an output of `format` behind `descriptor`, which must be a regular file, open for reading and writing at any
    /// place, unless it is to be a stream. Nothing is written before the first samples are there; what it held before is gone at the end.
    public init(descriptor: Int32, format: ResolvedFormat, options: Options = Options()) throws {
        try FormatCheck.check(format)
        self.format = format
        self.options = options
        if options.streams, !format.canStream {
            throw MediaError(
                .destinationNotSeekable,
                at: .open,
                "\(format.container.title) cannot be written to a stream"
            )
        }
        sink = try ByteSink(descriptor: descriptor, isStream: options.streams)
    }

    /// The one input of this writer, for samples of any shape.
    public func samples() throws -> WriterInput {
        guard format.codec != .copy else {
            throw MediaError(.passthroughRefused, at: .open, "passthrough takes packets, not samples")
        }
        return try take(WriterInput(self, try muxer(for: format), format, source: nil))
    }

    /// The one input of this writer, for the packets of `output` as they are.
    public func packets(of output: PacketOutput) throws -> WriterInput {
        guard format.codec == .copy, let native = format.native(to: output.track) else {
            throw MediaError(
                .passthroughRefused,
                at: .open,
                "\(output.track.codecName) cannot be copied into \(format.container.title)",
                stream: output.track.index
            )
        }
        return try take(WriterInput(self, try muxer(for: native), native, source: output))
    }

    private func take(_ input: WriterInput) throws -> WriterInput {
        if self.input != nil { throw MediaError(.writerFailed, at: .open, "this writer has its input already") }
        self.input = input
        return input
    }

    private func muxer(for format: ResolvedFormat) throws -> Muxer {
        do {
            return try Muxer(sink, name: ContainerWriting.muxerName(format))
        } catch let error as LibAVError {
            throw MediaError(error, .formatRefused, at: .open, "\(format.container.title) cannot be written")
        }
    }

    /// What `finish()` found to be in the output.
    public struct Summary: Sendable, Hashable {
        /// Frames that the output had to have for what came in.
        public let plannedFrames: Int64
        /// Frames of sound in the packets that were written.
        public let writtenFrames: Int64
        /// Frames that decoders give of it, at the rate and with the padding of the format.
        public let decodedFrames: Int64
        public let bytes: Int64
        /// Of the PCM that was encoded, where it was asked for.
        public let digest: PCMDigest.Value?
        /// Tags that this container cannot carry.
        public let lostTags: [String]
        /// What the output lacks of what came in.
        public let remarks: [Remark]
        /// How the samples of the digest lay.
        let digestedFormat: SampleFormat?
    }

    /// Drains resampler, queue and encoder, completes the headers, and checks that every planned frame is there.
    public func finish() throws -> Summary {
        switch state {
        case .finished: throw MediaError(.alreadyFinished, at: .finish, "the output is finished already")
        case .failed(let error): throw failedBefore(error)
        case .waiting, .writing: break
        }
        guard let input else { throw MediaError(.writerFailed, at: .finish, "the writer was never given an input") }
        let summary = try failing(at: .finish) { try input.complete() }
        state = .finished
        return summary
    }

    // MARK: State

    /// Runs one step; after a failure the writer is failed for good, and says so at every later call.
    func failing<Result>(at stage: MediaError.Stage, _ step: () throws -> Result) throws -> Result {
        switch state {
        case .failed(let error): throw failedBefore(error)
        case .finished: throw MediaError(.alreadyFinished, at: stage, "the output is finished already")
        case .waiting, .writing: break
        }
        state = .writing
        do {
            return try step()
        } catch {
            let failure = translated(error, at: stage)
            state = .failed(failure)
            throw failure
        }
    }

    private func failedBefore(_ cause: MediaError) -> MediaError {
        MediaError(
            .writerFailed,
            at: cause.stage,
            "the writer has failed before: \(cause.code.rawValue), \(cause.detail)"
        )
    }

    private func translated(_ error: any Error, at stage: MediaError.Stage) -> MediaError {
        if let error = error as? MediaError { return error }
        guard let error = error as? LibAVError else {
            return MediaError(.encodeFailed, at: stage, "\(error)")
        }
        if sink.failure != nil {
            return MediaError(error, .destinationIO, at: .write, "the output cannot be written")
        }
        return MediaError(
            error,
            .encodeFailed,
            at: stage,
            "\(format.codec.rawValue) in \(format.container.rawValue) failed"
        )
    }
}

extension ResolvedFormat {
    /// Whether nothing has to be completed at the start once the end is known.
    var canStream: Bool {
        switch codec {
        case .pcm, .ulaw, .alaw: container == .raw || container == .wav
        default: false
        }
    }
}
