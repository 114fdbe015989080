public import Conversion
import Media

/// One recipe carried out between two open descriptors: values in, values out, and libav nowhere to be seen.
public struct RecipeConversion: Sendable {
    private let recipe: Recipe
    private let signal = StopSignal()

    public init(_ recipe: Recipe) { self.recipe = recipe }

    /// Seconds of processor time after which its room ends where the source is still not open; `nil` for none.
    var openSeconds: Int? { recipe.limits?.openSeconds }
    var hasOpened: Bool { signal.hasOpened }

    /// Ends the conversion from another thread, within 50 ms, as a failure with the code `cancelled`.
    public func stop() { signal.stop() }

    /// Converts what is behind `source` into `destination`, which must be a new file. After a failure the bytes there are
    /// worth nothing. With `streaming` it may be a pipe, for headerless PCM and WAV.
    public func run(
        from source: Int32,
        to destination: Int32,
        streaming: Bool = false,
        report: @escaping (ConversionProgress) -> Void = { _ in }
    ) throws(Failure) -> ConversionReport {
        do {
            var request = try Converter.Request(recipe)
            request.streams = streaming
            let outcome = try Converter(request, stop: signal).run(from: source, to: destination) { progress in
                report(
                    ConversionProgress(
                        position: progress.position,
                        frames: progress.frames,
                        totalFrames: progress.totalFrames,
                        verifiedFrames: progress.verifiedFrames
                    )
                )
            }
            return ConversionReport(outcome)
        } catch {
            throw Failure(error)
        }
    }
}

extension ConversionReport {
    fileprivate init(_ outcome: Converter.Outcome) {
        self.init(
            source: Source(
                track: outcome.source.index,
                codec: outcome.source.codecName,
                sampleRateHz: outcome.source.sampleRateHz,
                channelCount: outcome.source.channelCount,
                frames: outcome.sourceFrames
            ),
            format: outcome.format,
            plannedFrames: outcome.summary.plannedFrames,
            writtenFrames: outcome.summary.writtenFrames,
            decodedFrames: outcome.summary.decodedFrames,
            bytes: outcome.summary.bytes,
            damage: DamageReport(outcome.damage),
            isVerified: outcome.verified != nil,
            digest: outcome.summary.digest?.hex,
            lostTags: outcome.summary.lostTags,
            remarks: outcome.remarks
        )
    }
}

extension DamageReport {
    init(_ account: DamageAccount) {
        self.init(
            frames: account.frames,
            stretchCount: account.stretchCount,
            stretches: account.stretches.map {
                Stretch(start: $0.start, frames: $0.frames, code: $0.code.rawValue)
            }
        )
    }
}
