import Conversion

// The slot uses these checks on everything a room reports, and rejects what cannot be true.

extension ConversionProgress {
    /// Whether this progress can follow `last` in a job with these bounds.
    func isCredible(after last: ConversionProgress?, within bounds: JobBounds) -> Bool {
        FigureBound.holds(position) && position >= .zero && frames >= last?.frames ?? 0 && bounds.holds(frames: frames)
            && FigureBound.holds(frames: totalFrames ?? 0)
            && verifiedFrames ?? 0 >= last?.verifiedFrames ?? 0 && FigureBound.holds(frames: verifiedFrames ?? 0)
            && bounds.holds(frames: measuredFrames ?? 0)
            && measuredFrames ?? .max >= last?.measuredFrames ?? 0
    }
}

extension ConversionReport {
    /// Whether a conversion that succeeded in a job with these bounds can have this report.
    func isCredible(within bounds: JobBounds) -> Bool {
        guard plannedFrames == writtenFrames, format.isCredible, source.isCredible(within: bounds) else { return false }
        return bounds.holds(frames: writtenFrames, at: format.sampleRateHz)
            && bounds.holds(frames: decodedFrames, at: format.sampleRateHz)
            && (0...bounds.outputBytes).contains(bytes) && damage.isCredible
            && remarks.allSatisfy { (0...FigureBound.count).contains($0.count ?? 0) }
            && (loudness?.isCredible ?? true) && (waveform?.isCredible(within: bounds) ?? true)
            && (spec?.isCredible ?? true)
    }
}

extension SpecReport {
    /// Whether a conversion that succeeded can have it: a known spec accepts the output, and there is a value for each rule.
    fileprivate var isCredible: Bool {
        guard passes, let rules = AudioSpec(rawValue: spec)?.rules, rules.count == measured.count else { return false }
        return zip(rules, measured).allSatisfy { rule, measured in
            guard measured.rule == rule.quantity.rawValue, measured.unit == rule.quantity.unit else { return false }
            if !rule.words.isEmpty { return measured.value == nil && measured.word.map(rule.words.contains) ?? false }
            return measured.word == nil && (measured.value ?? .nan).magnitude <= Double(FigureBound.count)
        }
    }
}

extension WaveformReport {
    fileprivate func isCredible(within bounds: JobBounds) -> Bool {
        (1...FigureBound.channels).contains(channelCount) && bounds.holds(frames: length ?? 0)
            && Recipe.Waveform.zooms.contains(samplesPerPixel ?? Recipe.Waveform.usualZoom)
            && [8, 16].contains(bits ?? 8) && Recipe.Waveform.widths.contains(width ?? Recipe.Waveform.usualWidth)
            && Recipe.Waveform.heights.contains(height ?? Recipe.Waveform.usualHeight)
    }
}

extension ConversionReport.Source {
    fileprivate func isCredible(within bounds: JobBounds) -> Bool {
        (0...FigureBound.stream).contains(track) && (1...FigureBound.sampleRateHz).contains(sampleRateHz)
            && (1...FigureBound.channels).contains(channelCount)
            && bounds.holds(frames: frames) && bounds.holds(frames: frames, at: sampleRateHz)
    }
}

extension SourceReport {
    /// Whether a real file can have this report, in a job with these bounds.
    func isCredible(within bounds: JobBounds) -> Bool {
        guard (0...FigureBound.stream).contains(otherStreams ?? 0) else { return false }
        return tracks.allSatisfy(\.isCredible) && (scan?.isCredible(within: bounds) ?? true)
            && (loudness?.isCredible ?? true)
            && (levels?.isCredible(within: bounds) ?? true)
            && (outline?.isCredible ?? true) && (silences ?? []).allSatisfy { FigureBound.holds(frames: $0) && $0 > 0 }
            && zip(silences ?? [], (silences ?? []).dropFirst()).allSatisfy(<)
            && (points?.isCredible(within: bounds) ?? true)
            && (cover?.isCredible ?? true) && (pictures ?? []).allSatisfy(\.isCredible)
            && (presets ?? []).allSatisfy { fit in
                FigureBound.holds(frames: fit.frames ?? 0) && (0...FigureBound.bytes).contains(fit.estimatedBytes ?? 0)
                    && (fit.format?.isCredible ?? true)
            }
    }

    /// Whether it has what was asked for, and nothing that was not. Sound that is protected cannot be decoded. A loudness
    /// that cannot be measured is an empty report.
    func answers(_ options: ProbeOptions) -> Bool {
        (presets != nil) == options.fitsPresets && (options.digestsSound || scan?.sound == nil)
            && (!options.digestsSound || isProtected || scan != nil)
            && (loudness != nil) == (options.measuresLoudness && !isProtected)
            && (points != nil) == (options.points != nil && !isProtected)
            && (outline != nil) == (options.outlinesSound && !isProtected)
            && (levels != nil) == (options.surveysLevels && !isProtected)
    }
}

extension CoverReport {
    fileprivate var isCredible: Bool {
        [bytes, width, height].allSatisfy { (0...Int(Int32.max)).contains($0) }
    }
}

extension PointReport {
    /// Whether a track that was decoded to its end in a job with these bounds can have these points: each lies within it,
    /// and none lies before the one that is listed before it.
    fileprivate func isCredible(within bounds: JobBounds) -> Bool {
        guard (1...FigureBound.sampleRateHz).contains(sampleRateHz), bounds.holds(frames: frames),
            (0...FigureBound.count).contains(outside), points.count <= Self.most,
            zip(points, points.dropFirst()).allSatisfy({ $0.frame <= $1.frame })
        else { return false }
        let listed: [String: Int64] = points.reduce(into: [:]) { $0[$1.kind.rawValue, default: 0] += 1 }
        let isMore = { (kind: String, count: Int64) -> Bool in
            SourcePoint.Kind(rawValue: kind) != nil && count > listed[kind, default: 0] && count <= FigureBound.count
        }
        guard listed.values.allSatisfy({ $0 <= Int64(Self.mostOfKind) }) else { return false }
        return found.allSatisfy { isMore($0.key, $0.value) }
            && points.allSatisfy { (0...frames).contains($0.frame) && (0...(frames - $0.frame)).contains($0.frames) }
            && points.allSatisfy(\.isCredible)
    }
}

extension SourcePoint {
    /// Whether the point can be one of some source.
    var isCredible: Bool {
        FigureBound.holds(frames: frame) && FigureBound.holds(frames: frames) && channels.count <= Bound.channels
            && channels.allSatisfy { (1...Bound.channels).contains($0) }
            && (value ?? 0).magnitude <= Double(FigureBound.count)
            && (text.map { $0.utf8.count <= Bound.name && $0 == $0.plain } ?? true)
    }
}

extension SoundOutline {
    /// Whether its lists belong together, and have values that a sound can have.
    fileprivate var isCredible: Bool {
        guard lowest.count <= Self.mostParts, highest.count == lowest.count, momentaryLUFS.count == lowest.count,
            secondsPerPart > 0, secondsPerPart * Double(lowest.count) <= 2 * FigureBound.seconds
        else { return false }
        return zip(lowest, highest).allSatisfy { $0 <= $1 && max(-$0, $1) <= Self.largestSample }
            && momentaryLUFS.allSatisfy { abs($0 ?? 0) <= FigureBound.decibels }
    }
}

extension LevelReport {
    /// Whether sound in a job with these bounds can have these levels, at times that its source can have.
    fileprivate func isCredible(within bounds: JobBounds) -> Bool {
        let levels = [rmsDBFS, loudestSecond?.levelDBFS, noiseFloor?.levelDBFS].compactMap { $0 }
        let places = [loudestSecond?.start, noiseFloor?.start, peakAt]
        let times = (places + [length, toneAtStart, toneAtEnd]).compactMap { $0 }
        return levels.allSatisfy { $0.magnitude <= FigureBound.decibels }
            && times.allSatisfy { FigureBound.holds($0) && $0 >= .zero && $0.seconds <= bounds.seconds }
    }
}

extension ScanReport {
    /// Whether a track that was decoded to its end in a job with these bounds can have this report: no place of damage lies
    /// where its source cannot have sound, each has a code that damage can have, and the digest is one of sound that is no
    /// longer than the job may decode. It depends on the libraries if there is damage, and only then.
    fileprivate func isCredible(within bounds: JobBounds) -> Bool {
        guard bounds.holds(frames: frames), bounds.holds(frames: damage.frames), damage.isCredible, loudness == nil
        else { return false }
        let areInside = damage.stretches.allSatisfy { place in
            bounds.holds(frames: place.start) && bounds.holds(frames: place.frames)
                && FailureCode(rawValue: place.code).map(Self.codesOfDamage.contains) ?? false
        }
        guard areInside, damage.stretches.count <= Bound.stretches else { return false }
        guard let sound else { return true }
        return sound.isCredible && bounds.holds(frames: frames, at: sound.sampleRateHz)
            && (sound.decoder != nil) == !damage.isEmpty
    }

    private static let codesOfDamage = Set(FailureSection.damage.entries.map(\.code))
}

extension SoundDigest {
    fileprivate var isCredible: Bool {
        isWellFormed && [form, decoder ?? ""].allSatisfy { $0.utf8.count <= Bound.name && $0 == $0.plain }
            && (1...FigureBound.sampleRateHz).contains(sampleRateHz)
            && (1...FigureBound.channels).contains(channelCount)
    }
}

extension Failure {
    /// The failure with the kind that belongs to its code; the room's own kind is ignored. `nil` if
    /// no conversion fails like this.
    var credible: Failure? {
        guard let code = known, Self.codesOfConversions.contains(code),
            let stage = Failure.Stage(rawValue: stage), Self.stagesOfConversions.contains(stage),
            position.map(FigureBound.holds) ?? true,
            (0...FigureBound.stream).contains(stream ?? 0), FigureBound.holds(frames: frame ?? 0)
        else { return nil }
        var failure = bounded
        failure.kind = code.kind
        return failure
    }

    /// All codes with which a conversion can fail inside a room.
    private static let codesOfConversions = Set(
        [FailureSection.sources, .damage, .requests, .conversion, .limits].flatMap(\.entries).map(\.code)
    ).subtracting([.deadlineExceeded, .tooSlow]).union([.unexpected, .unable])

    private static let stagesOfConversions: Set<Stage> = [.open, .probe, .decode, .resample, .encode, .write, .finish]
}

extension TrackMeasure {
    /// Whether a job with these bounds can have measured this.
    func isCredible(within bounds: JobBounds) -> Bool {
        let peak = album.truePeakDBTP ?? 0
        return report.isCredible && album.isCredible(within: bounds.seconds)
            && peak >= -FigureBound.decibels && peak <= AlbumMeasure.highestPeakDBTP
    }

    /// The measure, which weighs no more in its album than sound of the source's size can: else one job would decide on
    /// the level of all others by claiming a week of sound.
    func weighed(within bounds: JobBounds) -> TrackMeasure {
        TrackMeasure(report: report, album: album.weighing(atMost: bounds.audibleSeconds))
    }
}
