public import Conversion

extension Converter {
    /// Converts the timeline of the request. `sources` has a descriptor for each of its inputs.
    ///
    /// A request without a timeline has one source. Throws a `MediaError`, or a `RecipeError` for a piece that its
    /// source cannot give, and leaves unusable bytes in `destination` on failure.
    public func run(
        from sources: [Int32],
        to destination: Int32,
        report: Pump.Report? = nil
    ) throws -> Outcome {
        try run(from: sources, to: [destination], report: report)[0]
    }

    /// The same for several outputs: a descriptor and an outcome for `format`, then for each of `furtherFormats` and of
    /// `waveforms`.
    public func run(
        from sources: [Int32],
        to destinations: [Int32],
        report: Pump.Report? = nil
    ) throws -> [Outcome] {
        guard let timeline = request.timeline else {
            guard sources.count == 1 else {
                throw MediaError(.recipeRefused, at: .open, "several sources need a timeline")
            }
            return try convert(sources[0], to: destinations, report)
        }
        guard sources.count == request.inputs.count, !sources.isEmpty else {
            throw MediaError(
                .recipeRefused,
                at: .open,
                "\(sources.count) descriptors for \(request.inputs.count) sources"
            )
        }
        if let plain = plainRequest { return try plain.run(from: sources, to: destinations, report: report) }
        guard request.outputRanges.isEmpty else {
            throw MediaError(.recipeRefused, at: .open, "with a timeline, every output holds all of it")
        }
        try refuseVerifiedStream()
        try refuseUnknownAlbum()
        let cpuAtStart = BudgetWatch.now()
        let trims = timeline.trims
        let passes = EarlyPasses((trims > 0 ? 1 : 0) + measuringPasses, report: report)
        let composition = try composition(timeline, sources, trims, passes, cpuAtStart)
        return try convert(composition, into: destinations, cpuAtStart, passes, report)
    }

    /// Measures how loud the outputs would be without a gain, for a job whose album is not known yet. Writes nothing.
    public func measure(from sources: [Int32], report: Pump.Report? = nil) throws -> TrackMeasure {
        guard let timeline = request.timeline else { return try measureTrack(sources[0], report) }
        if let plain = plainRequest { return try plain.measure(from: sources, report: report) }
        let cpuAtStart = BudgetWatch.now()
        let trims = timeline.trims
        let passes = EarlyPasses((trims > 0 ? 1 : 0) + 1, report: report)
        let composition = try composition(timeline, sources, trims, passes, cpuAtStart)
        let formats = try resolved(for: composition.shape, stream: nil)
        return try trackMeasure(as: formats.finest, passes, sound(composition, formats.finest, cpuAtStart))
    }

    private func composition(
        _ timeline: Timeline,
        _ sources: [Int32],
        _ trims: Int,
        _ passes: EarlyPasses,
        _ cpuAtStart: Duration
    ) throws -> CompositionReader {
        let search = SearchProgress(pieces: trims, passes) { budgetWatch($0, cpuAtStart) }
        let composition = try CompositionReader(
            timeline,
            inputs: zip(request.inputs, sources).map { input(for: $0, $1) },
            rate: request.format.sampleRateHz,
            watch: { try search.advance(to: $0, of: $1, rate: $2) }
        )
        search.finish()
        return composition
    }

    private func sound(
        _ composition: CompositionReader,
        _ format: ResolvedFormat,
        _ cpuAtStart: Duration
    ) -> OpenedSound {
        {
            let output = try composition.samples(format.resamplerPrecision, outputRate: format.sampleRateHz)
            return (output, budgetWatch(output.clockRateHz, cpuAtStart))
        }
    }

    /// The same conversion without a timeline, if its pieces are nothing but ranges of one source.
    private var plainRequest: Converter? {
        guard let timeline = request.timeline, let input = request.inputs.first, request.inputs.count == 1,
            !request.copiesPackets,
            let ranges = timeline.plainRanges,
            // Packets of a source that is heard twice are joined, not cut.
            ranges.isEmpty || request.format.codec != .copy
        else { return nil }
        var plain = request
        (plain.timeline, plain.inputs) = (nil, [])
        (plain.track, plain.nameHint, plain.raw, plain.ranges) = (input.track, input.nameHint, input.raw, ranges)
        return Converter(plain, stop: stop)
    }
}

extension Timeline {
    /// The number of pieces whose silence is left out.
    fileprivate var trims: Int { tracks.reduce(0) { $0 + $1.pieces.count { $0.trimSilence != nil } } }

    /// The ranges that are heard one after another, if there is only one source and nothing is changed; else `nil`.
    fileprivate var plainRanges: [MediaTimeRange]? {
        guard sampleRateHz == nil, layout == nil, padTo == nil, limit == nil, tracks.count == 1,
            let track = tracks.first,
            track.start == .zero, track.gain == .unity, track.pan == .centre, track.ramps.isEmpty
        else { return nil }
        var ranges: [MediaTimeRange] = []
        for piece in track.pieces {
            guard case .source(let name, let range) = piece.material, piece == Piece(.source(name, range)) else {
                return nil
            }
            ranges.append(range)
        }
        return ranges == [.whole] ? [] : ranges
    }
}

extension Converter {
    fileprivate func input(for input: Input, _ descriptor: Int32) -> CompositionReader.Input {
        CompositionReader.Input(
            name: input.name,
            descriptor: descriptor,
            track: input.track,
            options: .init(
                nameHint: input.nameHint,
                raw: input.raw,
                damage: request.damage,
                concealSeconds: request.concealSeconds,
                openSeconds: request.budget.openSeconds,
                stop: stop
            )
        )
    }

    private func convert(
        _ composition: CompositionReader,
        into all: [Int32],
        _ cpuAtStart: Duration,
        _ passes: EarlyPasses,
        _ report: Pump.Report?
    ) throws -> [Outcome] {
        let joining = try joining(composition)
        if let copied = joining.copied { return [try join(composition, copied, into: all, cpuAtStart, report)] }
        let (destinations, drawn) = split(all)
        let formats = try resolved(for: composition.shape, stream: nil)
        let finest = formats.finest
        let chapters = chapters(of: composition)
        let lostByUs = formats.map { remarks(ofSources: composition, chapters, as: $0) }
        if request.refusesLoss, !request.drawsOnly { for lost in lostByUs { try lost.refuseLoss(at: .open) } }
        let measurements = try measurements(as: finest, passes, sound(composition, finest, cpuAtStart))
        let output = try composition.samples(finest.resamplerPrecision, outputRate: finest.sampleRateHz)
        let main = description(of: composition.description(ofBook: request.marksSources))
        let written = request.drawsOnly ? [] : formats
        let outputs = try outputs(written, destinations) { index, format in
            let stated = statement(of: measurements, in: format).tags
            // The depth of mixed samples is that of floats, and says nothing about the sources.
            let isLossless = composition.shape.isLossless && output is SequenceOutput
            return writerOptions(
                main,
                stating: stated,
                ofOutput: index,
                sourceIsLossless: isLossless,
                chapters: chapters.chapters
            )
        }
        let (inputs, budget) = (
            try outputs.map { try $0.writer.samples() },
            budgetWatch(output.clockRateHz, cpuAtStart, OutputSound(ofAll: formats))
        )
        let waveforms = try waveforms(drawn, usual: composition.shape)
        var change: LoudnessChange?
        if let measurement = measurements.loudness {
            change = try carry(output, to: inputs, waveforms, as: finest, measurement, within: budget, passes.following)
        } else {
            try Pump(from: output, to: receivers(inputs, waveforms)).run(within: budget, report: passes.following)
        }
        guard output.deliveredFrames == composition.frames else {
            throw MediaError(
                .frameCountMismatch,
                at: .decode,
                "the timeline has \(Plural.count(composition.frames, "frame")), but \(output.deliveredFrames) were made"
            )
        }
        let summaries = try summaries(of: outputs)
        let depths = try written.map { format -> [Remark] in
            guard !(output is SequenceOutput), let depth = composition.lostDepth(in: format) else { return [] }
            if request.refusesLoss { try [depth].refuseLoss(at: .finish) }
            return [depth]
        }
        let (track, rate) = (composition.main.track, output.clockRateHz)
        let sourceFrames = MediaTime(frames: composition.frames, rate: rate).frames(atRate: track.sampleRateHz)?.frames
        let findings = try findings(summaries, written, destinations, cpuAtStart) { verified, whole in
            report?(
                Pump.Progress(
                    position: MediaTime(frames: composition.frames, rate: rate),
                    frames: composition.frames,
                    totalFrames: composition.frames,
                    verifiedFrames: composition.frames.scaled(verified, of: whole)
                )
            )
        }
        let shown = try outcomes(
            of: waveforms,
            after: outputs.count,
            from: track,
            frames: sourceFrames ?? composition.frames,
            composition.damage
        )
        let heard: [Outcome] = outputs.indices.map { index in
            let told = change?.encoded(findings[index])
            let own =
                summaries[index].remarks + lostByUs[index] + composition.remarks + depths[index] + joining.remarks
                + composition.oneBitRemarks(in: formats[index])
            return Outcome(
                source: track,
                format: formats[index],
                sourceFrames: sourceFrames ?? composition.frames,
                summary: summaries[index],
                damage: composition.damage,
                verified: verified(findings[index]),
                remarks: remarks(own, told, measurements, formats[index]),
                loudness: told
            )
        }
        return heard + shown
    }

    /// The chapters of the output: those that are given, or else those of the sources.
    func chapters(of composition: CompositionReader) -> TimelineChapters {
        let length = MediaTime(frames: composition.frames, rate: composition.shape.sampleRateHz)
        return givenChapters.map { TimelineChapters(set: clamped($0, upTo: length)) }
            ?? composition.chapters(marking: request.marksSources)
    }

    /// What an output lacks of the tags, chapters, pictures and chunks of the sources.
    func remarks(
        ofSources composition: CompositionReader,
        _ chapters: TimelineChapters,
        as format: ResolvedFormat
    ) -> [Remark] {
        let further =
            request.dropsTags ? [] : composition.chunkRemarks(in: format.container, inStream: request.streams)
        if request.dropsTags || request.tagged != nil {
            return further + lossOfSet(chapters.chapters, behindEnd: chapters.behindEnd, as: format, ofOutput: 0)
        }
        return further
            + composition.remarksOfSources(
                chapters,
                as: format,
                settingTags: request.tags,
                inStream: request.streams
            )
    }

    /// A timeline may repeat its sources, so their size sets no bound.
    private func budgetWatch(_ rate: Int, _ cpuAtStart: Duration, _ outputs: OutputSound = .none) -> BudgetWatch {
        BudgetWatch(
            request.budget,
            rateHz: rate,
            frameBytes: 1,
            sourceBytes: nil,
            since: cpuAtStart,
            outputs: outputs
        )
    }
}

/// The budget and the progress of a search for silence in several pieces: each counts for as much of the pass as any other.
private final class SearchProgress {
    private let pieces: Int64
    private let passes: EarlyPasses
    /// The frames of the ranges that are over, and those of the present one.
    private var done: Int64 = 0
    private var current: Int64 = 0

    private let newBudget: (Int) -> BudgetWatch
    /// By the rate of the source.
    private var budgets: [Int: BudgetWatch] = [:]

    init(pieces: Int, _ passes: EarlyPasses, newBudget: @escaping (Int) -> BudgetWatch) {
        (self.pieces, self.passes, self.newBudget) = (Int64(max(1, pieces)), passes, newBudget)
    }

    private var frames: Int64 { (done + current) / pieces }

    func advance(to frames: Int64, of total: Int64, rate: Int) throws {
        let budget = budgets[rate] ?? newBudget(rate)
        budgets[rate] = budget
        try budget.check(frames: frames, rate: rate)
        if frames < current { done += current }
        current = frames
        passes.advance(to: self.frames, of: total, rate: rate)
    }

    func finish() {
        if frames > 0 { passes.finish(frames) }
    }
}
