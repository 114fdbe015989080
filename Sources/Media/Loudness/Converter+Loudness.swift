import Conversion

extension Converter {
    /// The source's loudness as the output would have it, measured in a first pass.
    struct Measurement {
        let goal: LoudnessGoal
        let level: LoudnessGoal.Level
        let report: LoudnessReport
        /// The loudness of the album, for a goal that refers to it.
        let albumLUFS: Double?
        /// In decibels; 0 if the loudness could not be measured.
        var gain: Double {
            (goal.scope == .album ? albumLUFS : report.integratedLUFS).map { level.decibels - $0 } ?? 0
        }

        /// Whether the limiter may have work to do. Its filters may find peaks that are somewhat higher than measured.
        var mayExceedCeiling: Bool {
            report.truePeakDBTP.map { $0 + gain > goal.truePeak.decibels - 3 } ?? true
        }
    }

    /// Carries the samples of `output` to all `inputs` and `waveforms` with the gain that `measurement` gives, and says
    /// what was done.
    func carry(
        _ output: some SampleOutput,
        to inputs: [WriterInput],
        _ waveforms: [WaveformInput],
        as format: ResolvedFormat,
        _ measurement: Measurement,
        within budget: BudgetWatch,
        _ report: Pump.Report?
    ) throws -> LoudnessChange {
        let converted = try ConvertedOutput(output, for: format) { shape in
            for input in inputs { try input.tellChannels(of: shape) }
        }
        let receivers = receivers(inputs, waveforms)
        let limiter = try Limiter(converted, ceiling: measurement.goal.truePeak.decibels, gain: measurement.gain)
        var meter: LoudnessMeter?
        if measurement.mayExceedCeiling {
            let used = try LoudnessMeter(shape: converted.shape)
            meter = used
            try Pump(from: MeteredOutput(limiter, used), to: receivers).run(within: budget, report: report)
        } else {
            try Pump(from: limiter, to: receivers).run(within: budget, report: report)
        }
        for input in inputs { input.noteSourceDepth(converted.sourceDepth) }
        let measured = measurement.report
        var reached = measured.integratedLUFS.map { $0 + measurement.gain }
        if limiter.limitedFrames > 0, let meter { reached = try meter.finish().integratedLUFS }
        return LoudnessChange(
            targetLUFS: measurement.level.decibels,
            ceilingDBTP: measurement.goal.truePeak.decibels,
            measured: measured,
            albumLUFS: measurement.albumLUFS,
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
        guard let loudness = measured.integratedLUFS else {
            // In an album, the others tell how loud a silent track is meant to be.
            guard albumLUFS == nil else { return [] }
            let detail = "the sound is too quiet or too short to measure its loudness: its level was kept"
            return [Remark(.loudnessUnmeasured, detail)]
        }
        let wanted = albumLUFS == nil ? targetLUFS : loudness + gainDB
        guard let reachedLUFS else { return [] }
        var remarks: [Remark] = []
        if abs(reachedLUFS - wanted) > Self.tolerance {
            let detail =
                "limiting true peaks to \(ceilingDBTP.inTenths) dBTP left \(reachedLUFS.inTenths) LUFS of "
                + "\(wanted.inTenths) LUFS"
            remarks.append(Remark(.loudnessMissed, detail, count: limitedFrames))
        }
        if let encodedLUFS, abs(encodedLUFS - reachedLUFS) > Self.encodersTolerance {
            let detail =
                "the output decodes to \(encodedLUFS.inTenths) LUFS, because its encoder changed the sound, which had "
                + "\(reachedLUFS.inTenths) LUFS; a higher bit rate changes less"
            remarks.append(Remark(.loudnessMissed, detail))
        }
        return remarks
    }
}

extension Double {
    /// With one decimal: `-14.0`.
    var inTenths: String {
        let tenths = Int((self * 10).rounded())
        return "\(tenths < 0 ? "-" : "")\(abs(tenths) / 10).\(abs(tenths) % 10)"
    }
}
