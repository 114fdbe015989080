public import Conversion

/// Writes one output: samples or packets in, a complete file out; or an error, and an output that is not valid.
///
/// The output is an open, empty, seekable descriptor owned by the caller; the writer neither syncs nor closes it.
/// Until `finish()` has returned, the bytes are not a valid output. A writer is not `Sendable`: use each on one
/// thread, or use `AsyncWriter`.
public final class Writer {
    /// Options of an output, and what it contains besides the audio.
    public struct Options: Sendable {
        public var tags: [Tag]
        public var cover: Picture?
        /// Pictures beside the cover.
        public var furtherPictures: [Picture]
        /// The chapters, in their order.
        public var chapters: [Chapter]
        /// The chunks of a WAV source that WAV has as they are.
        var broadcast: [FurtherChunks.Chunk] = []
        /// The items of an MP4 source that a copy in MP4 has as they are.
        var items: [UInt8] = []
        /// Whether to compute the digest of the PCM that is encoded; it costs a little time.
        public var digestsSamples: Bool
        /// Whether to write strictly in order, so that the output can be a pipe. Only headerless PCM and WAV
        /// support it; WAV's header then states that the lengths are unknown.
        public var streams: Bool
        /// Whether losing anything from the input is a failure, `loss_refused`.
        public var refusesLoss: Bool
        /// Whether the input comes from a lossless source: samples from a lossy codec have no bit depth to lose.
        public var sourceIsLossless: Bool

        public init(
            tags: [Tag] = [],
            cover: Picture? = nil,
            furtherPictures: [Picture] = [],
            digestsSamples: Bool = false,
            streams: Bool = false,
            refusesLoss: Bool = false,
            sourceIsLossless: Bool = true,
            chapters: [Chapter] = []
        ) {
            self.tags = tags
            self.cover = cover
            self.furtherPictures = furtherPictures
            self.chapters = chapters
            self.digestsSamples = digestsSamples
            self.streams = streams
            self.refusesLoss = refusesLoss
            self.sourceIsLossless = sourceIsLossless
        }

        /// The cover and the other pictures.
        var pictures: [Picture] { (cover.map { [$0] } ?? []) + furtherPictures }
    }

    public let format: ResolvedFormat
    let options: Options
    let sink: ByteSink
    private var input: WriterInput?
    private var state = State.waiting

    private enum State { case waiting, writing, finished, failed(MediaError) }

    /// Prepares an output of `format`. Writes nothing before the first samples arrive.
    ///
    /// Unless `options.streams` is set, `descriptor` must be a regular file, open for reading and writing without
    /// `O_APPEND`. Its old contents are gone after `finish()`.
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

    /// The single input of this writer, for samples of any shape.
    public func samples() throws -> WriterInput {
        guard format.codec != .copy else {
            throw MediaError(.passthroughRefused, at: .open, "passthrough takes packets, not samples")
        }
        return try take(WriterInput(self, try muxer(for: format), format, source: nil))
    }

    /// The single input of this writer, for copying the packets of `output` unchanged.
    public func packets(of output: PacketOutput) throws -> WriterInput { try packets(from: output) }

    /// The same for packets of one source or several.
    func packets(from source: any PacketSource) throws -> WriterInput {
        let output = source.described
        guard format.codec == .copy, let native = format.native(to: output.track),
            !source.hasParts || native.rules.playsParts
        else {
            throw MediaError(
                .passthroughRefused,
                at: .open,
                "\(output.track.codecName) cannot be copied into \(format.container.title)",
                stream: output.track.index
            )
        }
        return try take(WriterInput(self, try muxer(for: native), native, source: source))
    }

    private func take(_ input: WriterInput) throws -> WriterInput {
        if self.input != nil { throw MediaError(.writerFailed, at: .open, "this writer already has an input") }
        self.input = input
        return input
    }

    private func muxer(for format: ResolvedFormat) throws -> Muxer {
        do {
            return try Muxer(sink, format)
        } catch let error as LibAVError {
            throw MediaError(error, .formatRefused, at: .open, "\(format.container.title) cannot be written")
        }
    }

    /// What `finish()` counted in the output.
    public struct Summary: Sendable, Hashable {
        /// The frames that the output must have for its input.
        public let plannedFrames: Int64
        /// The frames of sound in the packets that were written.
        public let writtenFrames: Int64
        /// The frames that the output decodes to, at the format's rate and with its padding.
        public let decodedFrames: Int64
        public let bytes: Int64
        /// The digest of the PCM that was encoded; `nil` unless the options asked for it.
        public let digest: PCMDigest.Value?
        /// The tags that this container cannot carry.
        public let lostTags: [String]
        /// What the output lost of its input.
        public let remarks: [Remark]
        /// The format of the digested samples.
        let digestedFormat: SampleFormat?
        /// The parts of copied packets that are played, in frames of all packets, if there are several; else empty.
        var parts: [Range<Int64>] = []
        /// The digest of the bytes of joined packets; `nil` unless the options asked for one.
        var packetDigest: String?
    }

    /// Drains the resampler, the queue and the encoder, completes the headers, and checks that
    /// every planned frame was written.
    public func finish() throws -> Summary {
        switch state {
        case .finished: throw MediaError(.alreadyFinished, at: .finish, "the output is already finished")
        case .failed(let error): throw failedBefore(error)
        case .waiting, .writing: break
        }
        guard let input else { throw MediaError(.writerFailed, at: .finish, "the writer has no input") }
        let summary = try failing(at: .finish) { try input.complete() }
        state = .finished
        return summary
    }

    // MARK: State

    /// Runs one step. After a failure, the writer stays failed, and every later call throws.
    func failing<Result>(at stage: Failure.Stage, _ step: () throws -> Result) throws -> Result {
        switch state {
        case .failed(let error): throw failedBefore(error)
        case .finished: throw MediaError(.alreadyFinished, at: stage, "the output is already finished")
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
            "the writer has already failed: \(cause.code.rawValue), \(cause.detail)"
        )
    }

    private func translated(_ error: any Error, at stage: Failure.Stage) -> MediaError {
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
    /// Whether the format needs no header fields completed at the end.
    var canStream: Bool {
        switch codec {
        case .pcm, .ulaw, .alaw: rules.canStream
        default: false
        }
    }
}
