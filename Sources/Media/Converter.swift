public import Conversion

/// A whole conversion between two open descriptors: reader, writer and pump, combined as most callers need them.
public struct Converter: Sendable {
    /// What to convert, and how.
    public struct Request: Sendable {
        public var format: AudioFormat
        /// The formats of further outputs, which are made of the same decoded samples.
        public var furtherFormats: [AudioFormat] = []
        /// The audio track's stream number; `nil` for the main track.
        public var track: Int?
        /// The time ranges to convert, in order; the whole track if empty.
        public var ranges: [MediaTimeRange]
        public var damage: DamageMode
        /// The most seconds of silence that may replace missing sound; `nil` for the limit of `ConcealLimit`.
        public var concealSeconds: Int?
        /// Whether to decode the output again and compare it, and to check a FLAC source against its own MD5.
        public var verifies: Bool
        /// Tags that override the source's, by name; one without a value removes a tag.
        public var tags: [String: Recipe.TagValues]
        public var nameHint: String?
        public var raw: RawShape?
        /// Whether the destination is a pipe or another stream; see
        /// `Writer.Options.streams`. Streams cannot be verified.
        public var streams = false

        /// Whether outputs lack the tags, pictures and chapters of the source, which then are no loss.
        public var dropsTags = false

        /// A file whose tags, pictures and chapters outputs have in place of those of the source; `nil` for the source's.
        public var tagged: SourceDescription?
        /// What that file has beside what its description says, and so gives to no output.
        package var taggedLoss: ReaderLoss?

        /// The cover of outputs, in place of that of the source; `nil` for the source's.
        public var cover: Picture?

        /// The chapters of the output, in place of those of the source; empty for those. One without a known end ends at
        /// infinity. Those that begin behind the end of the output are left out.
        public var chapters: [Chapter] = []

        /// Whether the sources of the timeline are parts of a book: each one without chapters is a chapter, unless `chapters`
        /// has some, and the output has the tags that all sources agree on.
        public var marksSources = false

        /// Whether the packets of the timeline's sources are copied, if they can be joined so that only sound is heard, and the
        /// sound is encoded otherwise.
        public var copiesPackets = false

        /// Whether losing anything from the source is a failure.
        public var refusesLoss = false

        /// What of several sources is heard, and when; `nil` to convert one source.
        public var timeline: Timeline?
        /// The sources of the timeline, in the order of their descriptors.
        public var inputs: [Input] = []

        /// The loudness to bring every output to; `nil` keeps the source's.
        public var loudness: LoudnessGoal?

        /// For how much sound tags state the loudness of the output; `nil` to write none.
        public var replayGain: ReplayGainScope?

        /// How loud the album is, for a goal or tags that refer to it.
        public var album: AlbumLoudness?

        /// The part of the source that each output holds, in order and without overlap; empty if each holds all of it.
        public var outputRanges: [MediaTimeRange] = []
        /// For each output, tags that override `tags`; empty if none has its own.
        public var outputTags: [[String: Recipe.TagValues]] = []

        /// Outputs that show the sound, made of the same decoded samples. Their destinations come last.
        public var waveforms: [WaveformRequest] = []
        /// Whether only the waveforms are written. They show what outputs in `format` and `furtherFormats` would hold; without
        /// a loudness and a timeline the formats do not matter.
        public var drawsOnly = false

        /// The resources that the conversion may use.
        public var budget = Budget()

        public init(
            format: AudioFormat,
            track: Int? = nil,
            ranges: [MediaTimeRange] = [],
            damage: DamageMode = .strict,
            verifies: Bool = false,
            tags: [String: Recipe.TagValues] = [:],
            nameHint: String? = nil,
            raw: RawShape? = nil
        ) {
            self.format = format
            self.track = track
            self.ranges = ranges
            self.damage = damage
            self.verifies = verifies
            self.tags = tags
            self.nameHint = nameHint
            self.raw = raw
        }
    }

    /// What is known of one source of a timeline before it is opened.
    public struct Input: Sendable {
        /// By which the timeline's pieces refer to it.
        public var name: String
        /// The audio track's stream number; `nil` for the main track.
        public var track: Int?
        public var nameHint: String?
        public var raw: RawShape?

        public init(name: String, track: Int? = nil, nameHint: String? = nil, raw: RawShape? = nil) {
            self.name = name
            self.track = track
            self.nameHint = nameHint
            self.raw = raw
        }
    }

    /// The result of a conversion.
    public struct Outcome: Sendable, Hashable {
        /// The track that was converted; of a timeline, the track of its first source.
        public let source: Track
        /// The output's format, with every field resolved.
        public let format: ResolvedFormat
        /// Frames taken from the source, on its clock; of a timeline, its length on the clock of its first source.
        public let sourceFrames: Int64
        /// Planned and written lengths, which agree.
        public let summary: Writer.Summary
        /// Empty unless the damage mode tolerated damage.
        public let damage: DamageAccount
        /// The verifier's result; `nil` if the request did not ask for it.
        public let verified: Verifier.Finding?
        /// Further remarks, losses first.
        public let remarks: [Remark]
        /// What was done to the loudness; `nil` if the request did not ask for it.
        public let loudness: LoudnessChange?
        /// What an output shows that is a waveform.
        public var waveform: WaveformReport?
    }

    public let request: Request
    public let stop: StopSignal

    public init(_ request: Request, stop: StopSignal = StopSignal()) {
        self.request = request
        self.stop = stop
    }

    /// Converts `source` into `destination`. Throws a `MediaError` and leaves unusable
    /// bytes in `destination` on failure.
    public func run(
        from source: Int32,
        to destination: Int32,
        report: Pump.Report? = nil
    ) throws -> Outcome {
        try convert(source, to: [destination], report)[0]
    }

    /// Converts a source that is not a timeline into a destination for each format, and for each waveform.
    func convert(_ source: Int32, to all: [Int32], _ report: Pump.Report?) throws -> [Outcome] {
        if request.drawsOnly, request.loudness == nil { return try draw(source, to: all, report) }
        let (destinations, drawn) = split(all)
        let cpuAtStart = BudgetWatch.now()
        try refuseUnknownAlbum()
        let (reader, track, formats) = try opened(source)
        try refuseVerifiedStream()
        let lostByUs = formats.indices.map { remarks(ofSource: reader, track, as: formats[$0], ofOutput: $0) }
        if request.refusesLoss, !request.drawsOnly {
            for (index, lost) in lostByUs.enumerated() {
                // Outputs that hold all of the source lose the same of it.
                try MediaError.ofOutput(index, of: request.outputRanges.count) { try lost.refuseLoss(at: .open) }
            }
        }
        if !request.outputRanges.isEmpty {
            try refuseWaveforms("outputs with ranges have no waveforms")
            return try cut(track, reader, formats, into: destinations, lostByUs, cpuAtStart, report)
        }
        let passes = EarlyPasses(measuringPasses, report: report)
        let measurements = try measurements(
            as: formats.finest,
            passes,
            sound(source, like: reader, formats, cpuAtStart)
        )
        let written = request.drawsOnly ? [] : formats
        let outputs = try outputs(written, destinations) { index, format in
            let stated = statement(of: measurements, in: format).tags
            return writerOptions(reader, track, as: format, stating: stated, ofOutput: index)
        }
        if formats[0].codec == .copy {
            try refuseWaveforms("copied packets are not decoded, so no waveform can be made of them")
            return [try copy(track, reader, outputs[0], lostByUs[0], cpuAtStart, report)]
        }

        let output = try reader.samples(of: track, ranges: request.ranges)
        let budget = BudgetWatch(
            request.budget,
            track: track,
            sourceBytes: reader.sourceBytes,
            since: cpuAtStart,
            outputs: OutputSound(ofAll: formats)
        )
        let inputs = try outputs.map { try $0.writer.samples() }
        let waveforms = try waveforms(drawn, usual: track.shape)
        var change: LoudnessChange?
        if let measurement = measurements.loudness {
            change = try carry(
                output,
                to: inputs,
                waveforms,
                as: formats.finest,
                measurement,
                within: budget,
                passes.following
            )
        } else {
            try Pump(from: output, to: receivers(inputs, waveforms)).run(within: budget, report: report)
        }
        let summaries = try summaries(of: outputs)
        let findings = try findings(summaries, written, destinations, cpuAtStart) { verified, whole in
            let frames = output.deliveredFrames
            report?(.verifying(frames.scaled(verified, of: whole), after: frames, on: track))
        }
        let shown = try outcomes(
            of: waveforms,
            after: outputs.count,
            from: track,
            frames: output.deliveredFrames,
            output.damage
        )
        let heard: [Outcome] = outputs.indices.map { index in
            let told = change?.encoded(findings[index])
            return Outcome(
                source: track,
                format: formats[index],
                sourceFrames: output.deliveredFrames,
                summary: summaries[index],
                damage: output.damage,
                verified: verified(findings[index]),
                remarks: remarks(
                    summaries[index].remarks + lostByUs[index] + output.remarks
                        + SampleRemarks.oneBit(track, in: formats[index]),
                    told,
                    measurements,
                    formats[index]
                ),
                loudness: told
            )
        }
        return heard + shown
    }

    private func refuseWaveforms(_ reason: String) throws {
        guard !request.waveforms.isEmpty else { return }
        throw MediaError(.recipeRefused, at: .open, reason, hint: "make the waveforms on their own")
    }

    /// The reader of the source, the track to convert, and the formats of its outputs.
    private func opened(_ source: Int32) throws -> (Reader, Track, [ResolvedFormat]) {
        let reader = try open(source, checksDigest: request.verifies)
        let track = try reader.track(request.track)
        if !request.outputRanges.isEmpty { return (reader, track, try resolvedPieces(of: track)) }
        return (reader, track, try resolved(for: track.shape(in: request.ranges), stream: track.index))
    }

    /// Measures a source that is not a timeline, and writes nothing.
    func measureTrack(_ source: Int32, _ report: Pump.Report?) throws -> TrackMeasure {
        let cpuAtStart = BudgetWatch.now()
        let (reader, _, formats) = try opened(source)
        let passes = EarlyPasses(1, report: report)
        return try trackMeasure(as: formats.finest, passes, sound(source, like: reader, formats, cpuAtStart))
    }

    /// Opens the source as the request describes it.
    func open(_ source: Int32, checksDigest: Bool) throws -> Reader {
        try Reader(
            descriptor: source,
            options: .init(
                nameHint: request.nameHint,
                raw: request.raw,
                damage: request.damage,
                concealSeconds: request.concealSeconds,
                checksDigest: checksDigest,
                openSeconds: request.budget.openSeconds,
                stop: stop
            )
        )
    }

    func refuseVerifiedStream() throws {
        guard request.streams, request.verifies else { return }
        throw MediaError(
            .destinationNotSeekable,
            at: .open,
            "an output stream cannot be verified, because it cannot be read back"
        )
    }

    private func copy(
        _ track: Track,
        _ reader: Reader,
        _ target: Output,
        _ lostByUs: [Remark],
        _ cpuAtStart: Duration,
        _ report: Pump.Report?
    ) throws -> Outcome {
        guard request.ranges.isEmpty else {
            throw packetsCannotBeCut(track)
        }
        let output = try reader.packets(of: track)
        // Nothing is decoded here, and a packet may state any length: only bytes and processor time are limited.
        let budget = BudgetWatch(
            Budget(outputBytes: request.budget.outputBytes, cpuSeconds: request.budget.cpuSeconds),
            track: track,
            sourceBytes: nil,
            since: cpuAtStart
        )
        let writer = target.writer
        try Pump(from: output, to: writer.packets(of: output)).run(within: budget, report: report)
        let summary = try writer.finish()
        return Outcome(
            source: track,
            format: writer.format,
            sourceFrames: output.deliveredFrames,
            summary: summary,
            damage: DamageAccount(),
            verified: try finding(
                summary,
                writer.format.native(to: track) ?? writer.format,
                target.destination,
                cpuAtStart
            ) { verified in report?(.verifying(verified, after: output.deliveredFrames, on: track)) },
            remarks: (summary.remarks + lostByUs + output.remarks).lossesFirst,
            loudness: nil
        )
    }
}
