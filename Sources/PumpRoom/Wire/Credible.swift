import Conversion
import Media

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
            && (loudness?.isCredible ?? true)
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
    /// Whether a real file can have this report.
    var isCredible: Bool {
        tracks.allSatisfy(\.isCredible) && FigureBound.holds(frames: scan?.frames ?? 0)
            && (scan?.damage.isCredible ?? true) && (loudness?.isCredible ?? true)
            && (silences ?? []).allSatisfy { FigureBound.holds(frames: $0) && $0 > 0 }
            && zip(silences ?? [], (silences ?? []).dropFirst()).allSatisfy(<)
            && (cover.map { cover in
                [cover.bytes, cover.width, cover.height].allSatisfy { (0...Int(Int32.max)).contains($0) }
            } ?? true)
            && (presets ?? []).allSatisfy { fit in
                FigureBound.holds(frames: fit.frames ?? 0) && (0...FigureBound.bytes).contains(fit.estimatedBytes ?? 0)
                    && (fit.format?.isCredible ?? true)
            }
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
    ).subtracting([.deadlineExceeded, .tooSlow]).union([.unexpected])

    private static let stagesOfConversions: Set<Stage> = [.open, .probe, .decode, .resample, .encode, .write, .finish]
}

extension TrackMeasure {
    /// Whether a job with these bounds can have measured this.
    func isCredible(within bounds: JobBounds) -> Bool {
        report.isCredible && album.isCredible(within: bounds.seconds)
            && (album.truePeakDBTP ?? 0).magnitude <= FigureBound.decibels
    }
}
