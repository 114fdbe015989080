import Conversion
import Media

// What a room says is believed only where it can be true. Everything here is asked by the slot.

extension ConversionProgress {
    /// Whether it can follow `last`.
    func isCredible(after last: ConversionProgress?) -> Bool {
        position.isNumeric && position >= .zero && frames >= last?.frames ?? 0 && totalFrames ?? 0 >= 0
            && verifiedFrames ?? 0 >= last?.verifiedFrames ?? 0
    }
}

extension ConversionReport {
    /// Whether it can be the report of a conversion that succeeded.
    var isCredible: Bool {
        let counts = [
            source.frames, plannedFrames, writtenFrames, decodedFrames, bytes, damage.frames, Int64(source.track),
            Int64(damage.stretchCount),
        ]
        let shapes = [source.sampleRateHz, source.channelCount, format.sampleRateHz, format.channelCount]
        return plannedFrames == writtenFrames && counts.allSatisfy { $0 >= 0 } && shapes.allSatisfy { $0 > 0 }
            && damage.stretches.count <= damage.stretchCount
            && damage.stretches.allSatisfy { $0.start >= 0 && $0.frames >= 0 }
            && remarks.allSatisfy { $0.count ?? 0 >= 0 }
    }
}

extension SourceReport {
    /// Whether it can be what a file is.
    var isCredible: Bool {
        tracks.allSatisfy { track in
            track.sampleRateHz >= 0 && track.channelCount >= 0 && (track.frames ?? 0) >= 0 && (track.bitRate ?? 0) >= 0
        } && (scan?.frames ?? 0) >= 0 && (cover.map { $0.bytes >= 0 && $0.width >= 0 && $0.height >= 0 } ?? true)
            && (presets ?? []).allSatisfy { ($0.frames ?? 0) >= 0 && ($0.estimatedBytes ?? 0) >= 0 }
    }
}

extension Failure {
    /// The failure with the class that its code has, whatever the room said of it; `nil` if no conversion fails like that.
    var credible: Failure? {
        guard MediaError.Stage(rawValue: stage) != nil, position?.isNumeric ?? true else { return nil }
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
