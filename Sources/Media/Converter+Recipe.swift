public import Conversion

extension Converter.Request {
    /// The request that `recipe` describes. The caller opens the recipe's locations; only their
    /// file extensions are used here.
    ///
    /// Throws a `RecipeError` for an inconsistent recipe.
    public init(_ recipe: Recipe) throws {
        try recipe.validate()
        let (source, output) = (recipe.sources[0], recipe.outputs[0])
        let formats = try recipe.soundOutputs.map { output throws(RecipeError) in try output.audioFormat() }
        self.init(
            format: formats.first ?? AudioFormat(container: .raw),
            track: source.track,
            ranges: source.ranges,
            damage: recipe.damage,
            verifies: recipe.verify,
            tags: recipe.tags,
            nameHint: source.location,
            raw: source.raw.map(RawShape.init)
        )
        furtherFormats = Array(formats.dropFirst())
        drawsOnly = formats.isEmpty
        waveforms = recipe.outputs.compactMap { output in
            guard let settings = output.waveform, let kind = Recipe.Waveform.Kind(ofLocation: output.location) else {
                return nil
            }
            return WaveformRequest(kind, settings)
        }
        outputRanges = recipe.outputs.compactMap(\.range)
        if recipe.outputs.contains(where: { !$0.tags.isEmpty }) { outputTags = recipe.outputs.map(\.tags) }
        refusesLoss = recipe.strictLoss
        dropsTags = recipe.dropTags
        marksSources = recipe.markSources
        copiesPackets = recipe.copyPackets
        let starts = recipe.chapters.map(\.at)
        chapters = recipe.chapters.enumerated().map { index, chapter in
            let end = index + 1 < starts.count ? starts[index + 1] : MediaTime.positiveInfinity
            return Chapter(start: chapter.at, end: end, title: chapter.title)
        }
        timeline = recipe.timeline
        if timeline != nil {
            inputs = recipe.soundSources.map { source in
                .init(
                    name: source.name ?? "",
                    track: source.track,
                    nameHint: source.location,
                    raw: source.raw.map(RawShape.init)
                )
            }
        }
        loudness = output.loudness
        replayGain = output.replayGain
        concealSeconds = recipe.limits?.concealSeconds
        // The parent process limits the elapsed time, which passes even when nothing moves.
        budget = Budget(
            outputBytes: recipe.limits?.outputBytes,
            decodedSeconds: recipe.limits?.decodedSeconds,
            expansionRatio: recipe.limits?.expansionRatio,
            cpuSeconds: recipe.limits?.cpuSeconds,
            openSeconds: recipe.limits?.openSeconds
        )
    }
}

extension RawShape {
    /// The shape of headerless PCM that a recipe describes.
    public init(_ description: Recipe.RawDescription) {
        let name =
            switch description.codec {
            case .ulaw: "mulaw"
            case .alaw: "alaw"
            default:
                if description.bitDepth == 8 {
                    "u8"
                } else {
                    (description.sampleKind == .float ? "f" : "s") + "\(description.bitDepth)"
                        + (description.endianness == .big ? "be" : "le")
                }
            }
        self.init(
            demuxerName: name,
            sampleRateHz: description.sampleRateHz,
            channelCount: description.channelCount
        )
    }
}
