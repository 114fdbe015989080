import Conversion

/// The input of a writer for samples or packets. `append` takes them at once or throws; it never drops any.
public final class WriterInput {
    /// The writer, which keeps the failure state and owns this input; an input that outlives it cannot write.
    private weak var writer: Writer?
    private let options: Writer.Options
    private let muxer: Muxer
    /// The writer's format; for a copy, with the actual codec.
    private let format: ResolvedFormat
    /// What is special about its container.
    private let rules: any OutputRules
    private let source: (any PacketSource)?
    private var samples: SampleInput?
    private var copy: PacketCopy?
    /// That of the source, for copied packets.
    private var seekTable: FLACSeekTable?
    private var lostTags: [String] = []
    /// The pictures that the output has room for.
    private var pictures: [Picture] = []
    /// The remarks so far, about losses and mixes.
    private var remarks: [Remark] = []
    /// The shape whose channels were last reported.
    private var told: SampleShape?
    /// The frames that fit a container with 32-bit lengths; `nil` for others.
    private let frameLimit: Int64?

    init(_ writer: Writer, _ muxer: Muxer, _ format: ResolvedFormat, source: (any PacketSource)?) {
        self.writer = writer
        options = writer.options
        self.muxer = muxer
        self.format = format
        rules = format.rules
        self.source = source
        let limit = FormatTable.rule(format.container, format.codec)?.maximumBytes
        frameLimit = limit.flatMap { bytes in
            format.bytesPerFrame.map { (bytes - format.headerBytes(floats: LibAV.floatHeader)) / Int64($0) }
        }
        guard let source else { return }
        let digests = source.hasParts && options.digestsSamples
        // This object owns the copy, which therefore calls nothing after it.
        copy = PacketCopy(of: source, as: format, into: muxer, digests: digests) { [unowned self] copy in
            try beginCopying(source.described, copy)
        }
    }

    /// Takes the samples of `block`; the caller keeps its memory. Throws once the writer has failed.
    public func append(_ block: inout SampleBlock) throws {
        try liveWriter(at: .encode).failing(at: .encode) {
            guard source == nil else {
                throw MediaError(.passthroughRefused, at: .encode, "this input takes packets, not samples")
            }
            guard let shape = block.shape, block.frameCount > 0 else { return }
            if samples == nil { try begin(shape) }
            if let limit = frameLimit, samples!.plannedFrames(with: block, rate: shape.sampleRateHz) > limit {
                throw MediaError(
                    .outputTooLarge,
                    at: .write,
                    "\(format.container.title) cannot hold more than \(Plural.count(limit, "frame")) of this format",
                    hint: "use WAV (RF64), W64 or CAF"
                )
            }
            try tellChannels(of: shape)
            try samples!.append(&block)
        }
    }

    /// Takes the content of `packet`, unchanged from the packet output that this input is for.
    /// Throws once the writer has failed.
    public func append(_ packet: inout Packet) throws {
        try liveWriter(at: .write).failing(at: .write) {
            guard let copy else {
                throw MediaError(.passthroughRefused, at: .write, "this input takes samples, not packets")
            }
            try copy.append(&packet)
        }
    }

    /// The frames that the output must have for the input so far.
    public var plannedFrames: Int64 { samples?.plannedFrames ?? source?.deliveredFrames ?? 0 }

    /// The bytes of the output that have left the buffer.
    var writtenBytes: Int64 { writer?.sink.size ?? 0 }

    private func liveWriter(at stage: Failure.Stage) throws -> Writer {
        guard let writer else {
            throw MediaError(.writerFailed, at: stage, "the writer of this input no longer exists")
        }
        return writer
    }

    // MARK: Beginning

    private func begin(_ shape: SampleShape) throws {
        let encoder = try Encoder.open(format, source: shape, globalHeader: muxer.wantsGlobalHeader)
        try muxer.addAudio(encoder)
        let sink = PacketSink(muxer, marking: try rules.marking(format, encoder))
        let leadIn = rules.leadInFrames(format, encoder)
        samples = try SampleInput(
            encoder,
            to: sink,
            dither: format.dither ?? .tpdf,
            precision: format.resamplerPrecision,
            leadInFrames: leadIn,
            digests: options.digestsSamples
        )
        try tellChannels(of: shape)
        try writeHeader(rules.muxerOptions(format))
    }

    private func beginCopying(_ source: PacketOutput, _ copy: PacketCopy) throws {
        do {
            try muxer.addAudio(
                copying: source.demuxer.streams[source.track.index],
                format,
                priming: copy.priming,
                packetFrames: copy.packetFrames
            )
            if let configuration = copy.configuration { try muxer.setExtradata(configuration) }
            let track = source.track
            if let layout = ChannelLayout(mask: track.channelMask), layout.channelCount == track.channelCount {
                remarks += SampleRemarks.lostLayout(layout, in: format)
            }
            seekTable = options.streams ? nil : rules.seekTable(of: source.demuxer.source)
            let further = rules.copyOptions(priming: copy.priming) + (seekTable?.muxerOptions ?? [])
            try writeHeader(rules.muxerOptions(format) + further)
        } catch let error as LibAVError where muxer.sink.failure == nil {
            throw MediaError(
                error,
                .passthroughRefused,
                at: .open,
                "this \(source.track.codecName) stream cannot be copied into \(format.container.title)",
                stream: source.track.index
            )
        }
    }

    private func writeHeader(_ options: [(String, String)]) throws {
        let (tags, streams) = (self.options.tags, self.options.streams)
        let chapters = Array(self.options.chapters.prefix(streams ? 0 : format.container.mostChapters))
        let all = tags + rules.chapterTags(chapters)
        let plan = TagPlan(all, pictures: self.options.pictures, in: format, inStream: streams)
        (lostTags, pictures) = (plan.lost, plan.pictures)
        remarks += plan.remarks
        if self.options.refusesLoss { try remarks.refuseLoss(at: .open) }
        for (index, picture) in plan.pictureStreams.enumerated() { try muxer.addPicture(picture, number: index + 1) }
        var fitting = self.options
        (fitting.cover, fitting.furtherPictures) = (pictures.first, Array(pictures.dropFirst()))
        let front = rules.front(tags.filter { !$0.isTechnical }, fitting)
        if !front.isEmpty { try muxer.sink.append(front) }
        if rules.givesChaptersToLibAV { try muxer.setChapters(chapters) }
        muxer.setTags(plan.tags.map { ($0.key, $0.value) }, onStream: plan.belongsToStream)
        try muxer.writeHeader(options)
    }

    // MARK: Remarks

    /// Adds the remarks about the channels of `shape`, once per shape.
    func tellChannels(of shape: SampleShape) throws {
        guard shape.channelMask != told?.channelMask || shape.channelCount != told?.channelCount else { return }
        told = shape
        let new = SampleRemarks.channels(of: shape, in: format).filter { !remarks.contains($0) }
        remarks += new
        if options.refusesLoss { try new.refuseLoss(at: .resample) }
    }

    /// Says of which depth the source's samples were before something processed them.
    func noteSourceDepth(_ depth: FormatConverter.Depth?) { samples?.sourceDepth = depth }

    // MARK: Ending

    func complete() throws -> Writer.Summary {
        let done = try finishSound()
        try muxer.finish(playing: done.facts.parts)
        guard done.encoded == done.planned, done.written == done.planned else {
            throw MediaError(
                .frameCountMismatch,
                at: .finish,
                "planned \(Plural.count(done.planned, "frame")), encoded \(done.encoded), wrote \(done.written)"
            )
        }
        if let samples {
            let new = SampleRemarks.samples(of: samples, in: format, sourceIsLossless: options.sourceIsLossless)
            remarks += new
            if options.refusesLoss { try new.refuseLoss(at: .finish) }
        }
        if !options.streams { try rules.patch(muxer.sink, format, done.facts) }
        try muxer.sink.cutAtEnd()
        return Writer.Summary(
            plannedFrames: done.planned,
            writtenFrames: done.written,
            decodedFrames: copy == nil ? format.decodedFrames(of: done.planned) : done.planned,
            bytes: muxer.sink.size,
            digest: samples?.digest?.value,
            lostTags: lostTags,
            remarks: remarks,
            digestedFormat: samples?.encoder.value.shape.format.interleaved,
            parts: done.facts.parts,
            packetDigest: copy?.digest?.finishHex()
        )
    }

    private typealias Counts = (planned: Int64, encoded: Int64, written: Int64, facts: WrittenFacts)

    private func finishSound() throws -> Counts {
        let tags = options.tags.filter { rules.takes($0) }
        let chapters = Array(options.chapters.prefix(format.container.mostChapters))
        if let copy, let source {
            try copy.finish()
            let planned = source.plannedFrames
            let facts = WrittenFacts(
                frames: planned,
                delay: Int(copy.priming),
                tags: tags,
                trimmedPacket: copy.trimmedPacket,
                pictures: pictures,
                chapters: chapters,
                broadcast: options.broadcast,
                items: options.items,
                seekTable: seekTable,
                parts: copy.parts.count > 1 ? copy.parts : []
            )
            return (planned, source.deliveredFrames, copy.soundFrames, facts)
        }
        // Resampling a few frames of a high rate may give none.
        if samples == nil || samples?.plannedFrames == 0, !format.mayBeEmpty {
            throw MediaError(
                .emptyOutput,
                at: .finish,
                "there are no frames to write, and \(format.codec.title) in \(format.container.title) needs at least one"
            )
        }
        if samples == nil { try begin(emptyShape) }
        let samples = samples!
        try samples.finish()
        let planned = samples.plannedFrames
        let facts = WrittenFacts(
            frames: planned,
            delay: samples.delay,
            tags: tags,
            pictures: pictures,
            chapters: chapters,
            broadcast: options.broadcast
        )
        return (planned, samples.encodedFrames, samples.packetFrames, facts)
    }

    /// The shape for an output without frames.
    private var emptyShape: SampleShape {
        SampleShape(
            format: .s16,
            sampleRateHz: format.sampleRateHz,
            channelCount: format.channelCount,
            channelMask: format.layout.mask
        )
    }
}

extension ResolvedFormat {
    /// How exactly samples are converted to the format's rate.
    var resamplerPrecision: Resampler.Precision {
        switch resample {
        case .fast: .low
        case .best: .finest
        case .standard, nil: isLossless && bitDepth > 16 ? .fine : .usual
        }
    }

    /// Whether a file without frames is readable: PCM may be empty, but other codecs write no valid file.
    fileprivate var mayBeEmpty: Bool { [.pcm, .ulaw, .alaw].contains(codec) && rules.mayBeEmpty }
}
