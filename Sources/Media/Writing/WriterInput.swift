import Conversion

/// Where samples or packets enter a writer. `append` takes them at once or throws; it never drops any.
public final class WriterInput {
    private unowned let writer: Writer
    private let source: PacketOutput?
    private var samples: SampleInput?
    private var copiedPackets = 0
    private var lostTags: [String] = []
    private var hasHeader = false

    init(_ writer: Writer, source: PacketOutput?) {
        self.writer = writer
        self.source = source
    }

    /// Takes the samples of `block`, whose memory stays the caller's. Throws once the writer has failed.
    public func append(_ block: inout SampleBlock) throws {
        try writer.failing(at: .encode) {
            guard source == nil else {
                throw MediaError(.passthroughRefused, at: .encode, "this input takes packets, not samples")
            }
            guard let shape = block.shape, block.frameCount > 0 else { return }
            if samples == nil { try begin(shape) }
            try samples!.append(&block)
        }
    }

    /// Takes the content of `packet`. Throws once the writer has failed.
    public func append(_ packet: inout Packet) throws {
        try writer.failing(at: .write) {
            try beginCopying()
            copiedPackets += 1
            try writer.muxer.write(&packet)
        }
    }

    /// Frames that the output must have for what was appended so far.
    public var plannedFrames: Int64 { samples?.plannedFrames ?? 0 }

    // MARK: Beginning

    private func begin(_ shape: SampleShape) throws {
        let format = writer.format
        let encoder = try Encoder.open(format, source: shape, globalHeader: writer.muxer.wantsGlobalHeader)
        try writer.muxer.addAudio(encoder)
        let sink = PacketSink(writer.muxer, marking: try ContainerWriting.marking(format, encoder))
        let leadIn = ContainerWriting.leadInFrames(format, encoder)
        samples = try SampleInput(encoder, to: sink, leadInFrames: leadIn, digests: writer.options.digestsSamples)
        try writeHeader()
    }

    private func beginCopying() throws {
        guard !hasHeader else { return }
        guard let source else {
            throw MediaError(.passthroughRefused, at: .write, "this input takes samples, not packets")
        }
        do {
            try writer.muxer.addAudio(copying: source.demuxer.streams[source.track.index])
        } catch let error as LibAVError {
            throw MediaError(
                error,
                .passthroughRefused,
                at: .open,
                "\(writer.format.container.rawValue) does not hold \(source.track.codecName)"
            )
        }
        try writeHeader()
    }

    private func writeHeader() throws {
        let plan = TagPlan(writer.options.tags, cover: writer.options.cover, in: writer.format)
        lostTags = plan.lost
        if let cover = plan.coverStream { try writer.muxer.addCover(cover) }
        writer.muxer.setTags(plan.tags.map { ($0.key, $0.value) }, onStream: plan.belongsToStream)
        try writer.muxer.writeHeader(ContainerWriting.options(writer.format))
        hasHeader = true
    }

    // MARK: Ending

    func complete() throws -> Writer.Summary {
        if source == nil, samples == nil { try begin(emptyShape) }
        try beginCopyingIfEmpty()
        try samples?.finish()
        try writer.muxer.finish()
        let planned = samples?.plannedFrames ?? 0
        let written = samples?.packetFrames ?? 0
        if let samples {
            guard samples.encodedFrames == planned, written == planned else {
                throw MediaError(
                    .frameCountMismatch,
                    at: .finish,
                    "planned \(planned) frames, encoded \(samples.encodedFrames), written \(written)"
                )
            }
            try ContainerPatch.apply(
                to: writer.muxer.sink,
                writer.format,
                .init(frames: planned, delay: samples.delay, tags: writer.options.tags)
            )
        }
        return Writer.Summary(
            plannedFrames: planned,
            writtenFrames: written,
            bytes: writer.muxer.sink.size,
            digest: samples?.digest?.value,
            lostTags: lostTags
        )
    }

    private func beginCopyingIfEmpty() throws {
        if source != nil { try beginCopying() }
    }

    /// What an output without a single frame is made of.
    private var emptyShape: SampleShape {
        SampleShape(
            format: .s16,
            sampleRateHz: writer.format.sampleRateHz,
            channelCount: writer.format.channelCount,
            channelMask: writer.format.layout.mask
        )
    }
}
