public import Conversion

extension Converter.Request {
    /// What `recipe` asks for. Its locations are the caller's to open; only their extensions are looked at here.
    ///
    /// Throws a `RecipeError` for a recipe that does not hold together.
    public init(_ recipe: Recipe) throws {
        try recipe.validate()
        let (source, output) = (recipe.sources[0], recipe.outputs[0])
        self.init(
            format: try output.audioFormat(),
            track: source.track,
            ranges: source.ranges,
            damage: recipe.damage,
            verifies: recipe.verify,
            tags: recipe.tags,
            nameHint: source.location,
            raw: source.raw.map(RawShape.init)
        )
        refusesLoss = recipe.strictLoss
        concealSeconds = recipe.limits?.concealSeconds
        // The process that started this one limits the elapsed time, which passes also where nothing moves.
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
    /// Headerless PCM as a recipe describes it.
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
