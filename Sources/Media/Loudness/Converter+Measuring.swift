import Conversion

extension Converter {
    /// What the passes before a conversion have found.
    struct Measurements {
        /// The loudness without the gain; `nil` if the request asks for none.
        var loudness: Measurement?
        /// How loud what will be written is; `nil` if no tags are to state it.
        var written: LoudnessReport?
    }

    /// How many passes measure.
    var measuringPasses: Int { (request.loudness == nil ? 0 : 1) + (request.replayGain == nil ? 0 : 1) }

    /// Opens anew what would be encoded, for each pass that measures it.
    typealias OpenedSound = () throws -> (any SampleOutput, BudgetWatch)

    /// The requested part of a source that is not a timeline. The result throws if the source cannot be read twice.
    func sound(
        _ source: Int32,
        like first: Reader,
        _ formats: [ResolvedFormat],
        _ cpuAtStart: Duration
    ) -> OpenedSound {
        {
            let track = try first.track(request.track)
            try refuseMeasuring(first, track, formats.finest.codec)
            let reader = try open(source, checksDigest: false)
            let output = try reader.samples(of: try reader.track(request.track), ranges: request.ranges)
            let budget = BudgetWatch(
                Budget(
                    decodedSeconds: request.budget.decodedSeconds,
                    expansionRatio: request.budget.expansionRatio,
                    cpuSeconds: request.budget.cpuSeconds
                ),
                track: track,
                sourceBytes: reader.sourceBytes,
                since: cpuAtStart,
                outputs: OutputSound(ofAll: [formats.finest])
            )
            return (output, budget)
        }
    }

    private func refuseMeasuring(_ reader: Reader, _ track: Track, _ codec: Codec) throws {
        guard codec != .copy else {
            throw MediaError(
                .passthroughRefused,
                at: .open,
                request.loudness == nil
                    ? "the loudness of copied packets is not measured" : "the loudness of copied packets cannot change",
                stream: track.index,
                hint: "choose a codec"
            )
        }
        guard reader.isSeekable else {
            throw MediaError(
                .sourceNotSeekable,
                at: .open,
                "its loudness is measured first, so the source is read twice, and a pipe can be read only once",
                hint: "store the source in a file"
            )
        }
    }

    /// Measures what would be encoded of the sound that `open` opens anew for each pass.
    ///
    /// The second pass is left out if the first one tells what the gain makes of the sound. A pass whose result the
    /// request has already is left out, too.
    func measurements(as format: ResolvedFormat, _ passes: EarlyPasses, _ open: OpenedSound) throws -> Measurements {
        var result = Measurements()
        if let goal = request.loudness {
            let report = try measuredBefore(passes) ?? measure(as: format, clips: false, passes, open).report
            let level = goal.level(channelCount: format.channelCount)
            let album = goal.scope == .album ? request.album?.measure.integratedLUFS : nil
            result.loudness = Measurement(goal: goal, level: level, report: report, albumLUFS: album)
        }
        guard request.replayGain != nil else { return result }
        if let loudness = result.loudness, !loudness.mayExceedCeiling {
            result.written = loudness.report.raised(by: loudness.gain)
            passes.skip()
            return result
        }
        if let loudness = result.loudness {
            let (output, budget) = try open()
            let converted = try ConvertedOutput(output, for: format) { _ in }
            let limiter = try Limiter(converted, ceiling: loudness.goal.truePeak.decibels, gain: loudness.gain)
            result.written = try meter(limiter, converted.shape, clips: false, within: budget, passes).finish()
        } else {
            result.written =
                try measuredBefore(passes) ?? measure(as: format, clips: format.clips, passes, open).report
        }
        return result
    }

    /// Measures what would be encoded, without a gain, for a job whose album is not known yet.
    func trackMeasure(as format: ResolvedFormat, _ passes: EarlyPasses, _ open: OpenedSound) throws -> TrackMeasure {
        try measure(as: format, clips: request.loudness == nil && format.clips, passes, open)
    }

    private func measuredBefore(_ passes: EarlyPasses) -> LoudnessReport? {
        guard let report = request.album?.track else { return nil }
        passes.skip()
        return report
    }

    private func measure(
        as format: ResolvedFormat,
        clips: Bool,
        _ passes: EarlyPasses,
        _ open: OpenedSound
    ) throws -> TrackMeasure {
        let (output, budget) = try open()
        let converted = try ConvertedOutput(output, for: format) { _ in }
        return try meter(converted, converted.shape, clips: clips, within: budget, passes).finishTrack()
    }

    /// An album exists only in a batch of jobs.
    func refuseUnknownAlbum() throws {
        guard request.album == nil, request.loudness?.scope == .album || request.replayGain == .album else { return }
        throw MediaError(
            .recipeRefused,
            at: .open,
            "the loudness of the album is unknown: only the jobs of a batch have one",
            hint: "submit the recipe, or set its scope to track"
        )
    }

    /// Measures all of `output`. With `clips`, samples beyond full scale count as full scale.
    private func meter(
        _ output: some SampleOutput,
        _ shape: SampleShape,
        clips: Bool,
        within budget: BudgetWatch,
        _ passes: EarlyPasses
    ) throws -> LoudnessMeter {
        let meter = try LoudnessMeter(shape: shape)
        let rate = output.clockRateHz
        var block = try SampleBlock()
        while try output.next(into: &block) {
            if clips { block.clipFloats() }
            try meter.add(&block)
            try budget.check(frames: output.deliveredFrames, rate: rate)
            passes.advance(to: output.deliveredFrames, of: output.promisedFrames, rate: rate)
        }
        passes.finish(output.deliveredFrames)
        return meter
    }

    /// The tags that state how loud the output is, and what to remark if it could not be measured.
    func statement(of measurements: Measurements, in format: ResolvedFormat) -> (tags: [Tag], remarks: [Remark]) {
        guard let written = measurements.written else { return ([], []) }
        var tags = [Tag].replayGain(written, in: format.codec)
        if request.replayGain == .album, let album = albumReport(measurements) {
            tags += [Tag].replayGain(album, ofAlbum: true, in: format.codec)
        }
        guard tags.isEmpty else { return (tags, []) }
        let detail = "the sound is too quiet or too short to measure its loudness: no tags state it"
        return ([], [Remark(.loudnessUnmeasured, detail)])
    }
}

extension Converter {
    /// How loud the album will be.
    private func albumReport(_ measurements: Measurements) -> LoudnessReport? {
        guard let album = request.album?.measure, let loudness = album.integratedLUFS else { return nil }
        let gain = measurements.loudness?.gain ?? 0
        var peak = album.truePeakDBTP.map { $0 + gain }
        if let ceiling = request.loudness?.truePeak.decibels { peak = peak.map { min($0, ceiling) } }
        return LoudnessReport(integratedLUFS: loudness + gain, truePeakDBTP: peak)
    }
}

extension ResolvedFormat {
    /// Integers are clipped at full scale, which changes how loud they are.
    fileprivate var clips: Bool { isLossless && sampleKind == .integer }
}

extension LoudnessReport {
    /// The figures after a gain in decibels that nothing limits.
    fileprivate func raised(by gain: Double) -> LoudnessReport {
        LoudnessReport(
            integratedLUFS: integratedLUFS.map { $0 + gain },
            rangeLU: rangeLU,
            momentaryMaxLUFS: momentaryMaxLUFS.map { $0 + gain },
            shortTermMaxLUFS: shortTermMaxLUFS.map { $0 + gain },
            samplePeakDBFS: samplePeakDBFS.map { $0 + gain },
            truePeakDBTP: truePeakDBTP.map { $0 + gain }
        )
    }
}

extension SampleBlock {
    /// Brings floats beyond full scale to full scale, as an output of integers does.
    fileprivate mutating func clipFloats() {
        guard let format = shape?.format.interleaved else { return }
        for plane in 0..<planeCount {
            withMutablePlane(plane) { bytes in
                if format == .f64 {
                    let samples = bytes.bindMemory(to: Double.self)
                    for index in samples.indices { samples[index] = Swift.min(1, Swift.max(-1, samples[index])) }
                } else if format == .f32 {
                    let samples = bytes.bindMemory(to: Float.self)
                    for index in samples.indices { samples[index] = Swift.min(1, Swift.max(-1, samples[index])) }
                }
            }
        }
    }
}
