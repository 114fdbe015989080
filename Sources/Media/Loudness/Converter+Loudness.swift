import Conversion

extension Converter {
    /// The source's loudness as the output would have it, measured in a first pass.
    struct Measurement {
        let goal: LoudnessGoal
        let level: LoudnessGoal.Level
        let report: LoudnessReport
        /// In decibels; 0 if the loudness could not be measured.
        var gain: Double { report.integratedLUFS.map { level.decibels - $0 } ?? 0 }

        /// Whether the limiter may have work to do. Its filters may find peaks that are somewhat higher than measured.
        var mayExceedCeiling: Bool {
            report.truePeakDBTP.map { $0 + gain > goal.truePeak.decibels - 3 } ?? true
        }
    }

    /// Decodes the requested part of the source and measures what would be encoded; `nil` if no loudness is asked for.
    func measure(
        _ source: Int32,
        like first: Reader,
        as format: ResolvedFormat,
        _ cpuAtStart: Duration,
        _ passes: EarlyPasses
    ) throws -> Measurement? {
        guard let goal = request.loudness else { return nil }
        let track = try first.track(request.track)
        guard format.codec != .copy else {
            throw MediaError(
                .passthroughRefused,
                at: .open,
                "the loudness of copied packets cannot change",
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
        return try measure(output, goal, as: format, within: budget, passes)
    }

    /// Measures what would be encoded of `output`.
    func measure(
        _ output: some SampleOutput,
        _ goal: LoudnessGoal,
        as format: ResolvedFormat,
        within budget: BudgetWatch,
        _ passes: EarlyPasses
    ) throws -> Measurement {
        let converted = try ConvertedOutput(output, for: format) { _ in }
        let meter = try LoudnessMeter(shape: converted.shape)
        let rate = output.clockRateHz
        var block = try SampleBlock()
        while try converted.next(into: &block) {
            try meter.add(&block)
            try budget.check(frames: output.deliveredFrames, rate: rate)
            passes.advance(to: output.deliveredFrames, of: output.promisedFrames, rate: rate)
        }
        passes.finish(output.deliveredFrames)
        return Measurement(
            goal: goal,
            level: goal.level(channelCount: format.channelCount),
            report: try meter.finish()
        )
    }

    /// Carries the samples of `output` to all `inputs` with the gain that `measurement` gives, and says what was done.
    func carry(
        _ output: some SampleOutput,
        to inputs: [WriterInput],
        as format: ResolvedFormat,
        _ measurement: Measurement,
        within budget: BudgetWatch,
        _ report: Pump.Report?
    ) throws -> LoudnessChange {
        let converted = try ConvertedOutput(output, for: format) { shape in
            for input in inputs { try input.tellChannels(of: shape) }
        }
        let limiter = try Limiter(converted, ceiling: measurement.goal.truePeak.decibels, gain: measurement.gain)
        var meter: LoudnessMeter?
        if measurement.mayExceedCeiling {
            let used = try LoudnessMeter(shape: converted.shape)
            meter = used
            try Pump(from: MeteredOutput(limiter, used), to: inputs).run(within: budget, report: report)
        } else {
            try Pump(from: limiter, to: inputs).run(within: budget, report: report)
        }
        for input in inputs { input.noteSourceDepth(converted.sourceDepth) }
        let measured = measurement.report
        var reached = measured.integratedLUFS.map { $0 + measurement.gain }
        if limiter.limitedFrames > 0, let meter { reached = try meter.finish().integratedLUFS }
        return LoudnessChange(
            targetLUFS: measurement.level.decibels,
            ceilingDBTP: measurement.goal.truePeak.decibels,
            measured: measured,
            gainDB: measurement.gain,
            limitedFrames: limiter.limitedFrames,
            largestReductionDB: limiter.largestReductionDB,
            reachedLUFS: reached
        ).rounded
    }
}

extension Tag {
    /// Whether it states how loud the source's samples are, which is wrong once they have changed. iTunNORM is missing
    /// here because it is technical and never copied.
    var statesLoudness: Bool {
        let name = key.lowercased()
        return name.hasPrefix("replaygain_") || ["r128_track_gain", "r128_album_gain"].contains(name)
    }
}

extension LoudnessChange {
    /// What the user should know: that the target was missed, and why.
    var remarks: [Remark] {
        guard measured.integratedLUFS != nil else {
            let detail = "the sound is too quiet or too short to measure its loudness: its level was kept"
            return [Remark(.loudnessUnmeasured, detail)]
        }
        guard let reachedLUFS, abs(reachedLUFS - targetLUFS) > Self.tolerance else { return [] }
        let detail =
            "limiting true peaks to \(ceilingDBTP.inTenths) dBTP left \(reachedLUFS.inTenths) LUFS of "
            + "\(targetLUFS.inTenths) LUFS"
        return [Remark(.loudnessMissed, detail, count: limitedFrames)]
    }
}

extension Double {
    /// With one decimal: `-14.0`.
    var inTenths: String {
        let tenths = Int((self * 10).rounded())
        return "\(tenths < 0 ? "-" : "")\(abs(tenths) / 10).\(abs(tenths) % 10)"
    }
}
