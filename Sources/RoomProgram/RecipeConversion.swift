public import Conversion
import Media

/// Carries out one recipe between open descriptors. No type of libav is visible to the caller.
public struct RecipeConversion: Sendable {
    private let recipe: Recipe
    private let album: AlbumLoudness?
    private let signal = StopSignal()

    /// `album` is how loud the album is that the recipe refers to.
    public init(_ recipe: Recipe, album: AlbumLoudness? = nil) { (self.recipe, self.album) = (recipe, album) }

    /// Seconds of processor time for opening the source; if they are exceeded, the room ends. `nil` for no limit.
    var openSeconds: Int? { recipe.limits?.openSeconds }
    var hasOpened: Bool { signal.hasOpened }

    /// Ends the conversion from another thread within 50 ms, with a failure with the code `cancelled`.
    public func stop() { signal.stop() }

    /// Converts `source` into `destination`, which must be a new, empty file. After a failure its contents are
    /// invalid. With `streaming` it may be a pipe, for headerless PCM and WAV.
    public func run(
        from source: Int32,
        to destination: Int32,
        streaming: Bool = false,
        report: @escaping (ConversionProgress) -> Void = { _ in }
    ) throws(Failure) -> ConversionReport {
        try run(from: [source], to: [destination], streaming: streaming, report: report)[0]
    }

    /// The same for a recipe with several sources or outputs, whose descriptors are in its order. If there are only enough
    /// destinations for its waveforms, the other outputs are not written. Returns a report for each output that is.
    public func run(
        from sources: [Int32],
        to destinations: [Int32],
        streaming: Bool = false,
        report: @escaping (ConversionProgress) -> Void = { _ in }
    ) throws(Failure) -> [ConversionReport] {
        do {
            var request = try Converter.Request(recipe)
            request.streams = streaming
            request.album = album
            if destinations.count < recipe.outputs.count {
                // Waveforms have no tags, for which the loudness would be measured.
                (request.drawsOnly, request.replayGain) = (true, nil)
            }
            let judgement = try OutputJudgement(
                recipe,
                destinations,
                within: request.budget,
                streaming: streaming,
                stop: signal
            )
            try takeExtras(of: sources, into: &request)
            let sound = sound(sources)
            var last: ConversionProgress?
            let outcomes = try Converter(request, stop: signal).run(from: sound, to: destinations) { progress in
                let progress = ConversionProgress(progress)
                last = progress
                report(progress)
            }
            let reports = outcomes.map { ConversionReport($0) }
            return try judgement.run(on: reports, after: last, report: report)
        } catch {
            throw Failure(error)
        }
    }

    /// The descriptors of the sources with sound.
    private func sound(_ sources: [Int32]) -> [Int32] {
        zip(recipe.sources, sources).filter { $0.0.use == .sound }.map { $0.1 }
    }

    /// Reads the sources without sound.
    private func takeExtras(of sources: [Int32], into request: inout Converter.Request) throws {
        if let place = recipe.place(ofSource: .cover), place < sources.count {
            request.cover = try Picture(descriptor: sources[place], stop: signal)
        }
        guard let place = recipe.place(ofSource: .tags), place < sources.count else { return }
        let options = Reader.Options(
            nameHint: recipe.sources[place].location,
            openSeconds: request.budget.openSeconds,
            stop: signal
        )
        let reader = try Reader(descriptor: sources[place], options: options)
        (request.tagged, request.taggedLoss) = (reader.description, reader.loss)
    }

    /// Measures what the conversion would encode, for the recipe's album.
    public func measure(
        _ sources: [Int32],
        report: @escaping (ConversionProgress) -> Void = { _ in }
    ) throws(Failure) -> TrackMeasure {
        do {
            return try Converter(Converter.Request(recipe), stop: signal).measure(from: sound(sources)) { progress in
                report(ConversionProgress(progress))
            }
        } catch {
            throw Failure(error)
        }
    }
}

extension ConversionProgress {
    fileprivate init(_ progress: Pump.Progress) {
        self.init(
            position: progress.position,
            frames: progress.frames,
            totalFrames: progress.totalFrames,
            verifiedFrames: progress.verifiedFrames,
            measuredFrames: progress.measuredFrames
        )
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
            remarks: outcome.remarks,
            loudness: outcome.loudness,
            waveform: outcome.waveform
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
