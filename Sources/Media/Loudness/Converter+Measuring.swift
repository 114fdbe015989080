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

    /// Decodes the requested part of the source and measures what would be encoded, if the request needs that.
    func measure(
        _ source: Int32,
        like first: Reader,
        as format: ResolvedFormat,
        _ cpuAtStart: Duration,
        _ passes: EarlyPasses
    ) throws -> Measurements {
        guard measuringPasses > 0 else { return Measurements() }
        let track = try first.track(request.track)
        guard format.codec != .copy else {
            throw MediaError(
                .passthroughRefused,
                at: .open,
                request.loudness == nil
                    ? "the loudness of copied packets is not measured" : "the loudness of copied packets cannot change",
                stream: track.index,
                hint: "choose a codec"
            )
        }
        guard first.isSeekable else {
            throw MediaError(
                .sourceNotSeekable,
                at: .open,
                "its loudness is measured first, so the source is read twice, and a pipe can be read only once",
                hint: "store the source in a file"
            )
        }
        return try measurements(as: format, passes) {
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
                since: cpuAtStart
            )
            return (output, budget)
        }
    }

    /// Measures what would be encoded of the output that `open` opens anew for each pass.
    ///
    /// The second pass is left out if the first one tells what the gain makes of the sound.
    func measurements(
        as format: ResolvedFormat,
        _ passes: EarlyPasses,
        _ open: () throws -> (any SampleOutput, BudgetWatch)
    ) throws -> Measurements {
        var result = Measurements()
        if let goal = request.loudness {
            let (output, budget) = try open()
            let converted = try ConvertedOutput(output, for: format) { _ in }
            let report = try meter(converted, converted.shape, clips: false, within: budget, passes)
            let level = goal.level(channelCount: format.channelCount)
            result.loudness = Measurement(goal: goal, level: level, report: report)
        }
        guard request.replayGain != nil else { return result }
        if let loudness = result.loudness, !loudness.mayExceedCeiling {
            result.written = loudness.report.raised(by: loudness.gain)
            passes.skip()
            return result
        }
        let (output, budget) = try open()
        let converted = try ConvertedOutput(output, for: format) { _ in }
        if let loudness = result.loudness {
            let limiter = try Limiter(converted, ceiling: loudness.goal.truePeak.decibels, gain: loudness.gain)
            result.written = try meter(limiter, converted.shape, clips: false, within: budget, passes)
        } else {
            // Integers are clipped at full scale, which changes how loud they are.
            let clips = format.isLossless && format.sampleKind == .integer
            result.written = try meter(converted, converted.shape, clips: clips, within: budget, passes)
        }
        return result
    }

    /// Measures all of `output`. With `clips`, samples beyond full scale count as full scale.
    private func meter(
        _ output: some SampleOutput,
        _ shape: SampleShape,
        clips: Bool,
        within budget: BudgetWatch,
        _ passes: EarlyPasses
    ) throws -> LoudnessReport {
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
        return try meter.finish()
    }

    /// The tags that state how loud the output is, and what to remark if it could not be measured.
    func statement(of measurements: Measurements, in format: ResolvedFormat) -> (tags: [Tag], remarks: [Remark]) {
        guard let written = measurements.written else { return ([], []) }
        let tags = [Tag].replayGain(written, in: format.codec)
        guard tags.isEmpty else { return (tags, []) }
        let detail = "the sound is too quiet or too short to measure its loudness: no tags state it"
        return ([], [Remark(.loudnessUnmeasured, detail)])
    }
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
