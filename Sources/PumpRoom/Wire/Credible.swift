import Conversion
import Media

// What a room says is believed only where it can be true. Everything here is asked by the slot.

extension ConversionProgress {
    /// Whether it can follow `last`, in a job of these bounds.
    func isCredible(after last: ConversionProgress?, within bounds: JobBounds) -> Bool {
        FigureBound.holds(position) && position >= .zero && frames >= last?.frames ?? 0 && bounds.holds(frames: frames)
            && FigureBound.holds(frames: totalFrames ?? 0)
            && verifiedFrames ?? 0 >= last?.verifiedFrames ?? 0 && FigureBound.holds(frames: verifiedFrames ?? 0)
    }
}

extension ConversionReport {
    /// Whether it can be the report of a conversion that succeeded, in a job of these bounds.
    func isCredible(within bounds: JobBounds) -> Bool {
        guard plannedFrames == writtenFrames, format.isCredible, source.isCredible(within: bounds) else { return false }
        return bounds.holds(frames: writtenFrames, at: format.sampleRateHz)
            && bounds.holds(frames: decodedFrames, at: format.sampleRateHz)
            && (0...bounds.outputBytes).contains(bytes) && damage.isCredible
            && remarks.allSatisfy { (0...FigureBound.count).contains($0.count ?? 0) }
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
    /// Whether it can be what a file is.
    var isCredible: Bool {
        tracks.allSatisfy(\.isCredible) && FigureBound.holds(frames: scan?.frames ?? 0)
            && (scan?.damage.isCredible ?? true)
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
    /// The failure with the class that its code has, whatever the room said of it; `nil` if no conversion fails like that.
    var credible: Failure? {
        guard MediaError.Stage(rawValue: stage) != nil, position.map(FigureBound.holds) ?? true,
            (0...FigureBound.stream).contains(stream ?? 0), FigureBound.holds(frames: frame ?? 0)
        else { return nil }
        var failure = bounded
        switch code {
        case "recipe_refused", "unexpected": failure.kind = .permanent
        default:
            guard let code = MediaError.Code(rawValue: code) else { return nil }
            failure.kind = code.kind
        }
        return failure
    }
}
