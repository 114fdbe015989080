extension Recipe {
    /// Checks everything that can be checked without opening the source.
    public func validate() throws(RecipeError) { try validate(sourceLengths: [:]) }

    /// Checks also what depends on the lengths of the sources, by name, as far as they are known: ranges and fades
    /// must not be longer.
    public func validate(sourceLengths: [String: MediaTime]) throws(RecipeError) {
        if scan != nil { return try checkScan() }
        for (list, count) in [("sources", sources.count), ("outputs", outputs.count)] where count == 0 {
            throw RecipeError(.missingField, at: "recipe.\(list)", "must have at least one entry")
        }
        try checkSourcesTogether()
        for (index, source) in sources.enumerated() { try source.validate(at: "recipe.sources[\(index)]") }
        for (index, output) in outputs.enumerated() {
            try check(output, at: "recipe.outputs[\(index)]")
        }
        try checkPieces()
        try checkOutputsTogether()
        try checkWaveformsTogether()
        let lists = [("recipe.tags", tags)] + outputs.enumerated().map { ("recipe.outputs[\($0)].tags", $1.tags) }
        for (path, tags) in lists where tags.keys.contains("") {
            throw RecipeError(.valueNotAllowed, at: path, "a tag must have a name")
        }
        try checkChapters()
        try checkCopying()
        try limits?.validate()
        if let timeline { try check(timeline, sourceLengths) }
    }

    /// Checks how many sources there are, and their order.
    private func checkSourcesTogether() throws(RecipeError) {
        let sounds = soundSources.count
        guard timeline != nil || sounds == 1 else {
            let reason = "must have exactly one entry without a timeline, not \(sounds)"
            throw RecipeError(.valueNotAllowed, at: "recipe.sources", reason)
        }
        if sounds == 0 { throw RecipeError(.missingField, at: "recipe.sources", "no entry has sound") }
        var uses: Set<Source.Use> = []
        for (index, source) in sources.enumerated() {
            guard source.use != .sound else {
                guard index < sounds else {
                    let reason = "a source with sound must stand before the others"
                    throw RecipeError(.valueNotAllowed, at: "recipe.sources[\(index)]", reason)
                }
                continue
            }
            guard uses.insert(source.use).inserted else {
                let reason = "\(source.use.rawValue); another source already has this use"
                throw RecipeError(.valueNotAllowed, at: "recipe.sources[\(index)].use", reason)
            }
            guard source == Source(location: source.location, use: source.use) else {
                let reason = "a source without sound has a location and its use, and nothing else"
                throw RecipeError(.valueNotAllowed, at: "recipe.sources[\(index)]", reason)
            }
        }
        if dropTags, uses.contains(.tags) {
            let reason = "cannot be combined with a source whose use is tags"
            throw RecipeError(.valueNotAllowed, at: "recipe.dropTags", reason)
        }
    }

    /// Checks what holds for several outputs of one decode.
    private func checkOutputsTogether() throws(RecipeError) {
        guard outputs.count > 1 else { return }
        let most = isSplit ? Recipe.maximumPieces : Recipe.maximumOutputs
        guard outputs.count <= most else {
            throw RecipeError(.valueNotAllowed, at: "recipe.outputs", "\(outputs.count); allowed: up to \(most)")
        }
        var places: [String: Int] = [:]
        for (index, output) in outputs.enumerated() {
            let path = "recipe.outputs[\(index)]"
            if let other = places.updateValue(index, forKey: output.location) {
                throw RecipeError(.valueNotAllowed, at: "\(path).location", "is also recipe.outputs[\(other)].location")
            }
            if output.waveform != nil { continue }
            guard index == 0 || outputs[index - 1].waveform == nil else {
                throw RecipeError(.valueNotAllowed, at: path, "an output with sound must stand before all waveforms")
            }
            guard try output.audioFormat(at: path).codec != .copy else {
                let reason = "passthrough decodes nothing, so no other output can be made of it; convert once for each"
                throw RecipeError(.valueNotAllowed, at: "\(path).format.codec", reason)
            }
            guard output.loudness == outputs[0].loudness else {
                let reason = "differs from that of the first output; all outputs get the same loudness"
                throw RecipeError(.valueNotAllowed, at: "\(path).loudness", reason)
            }
            guard output.replayGain == outputs[0].replayGain else {
                let reason = "differs from that of the first output; the loudness is measured for all or for none"
                throw RecipeError(.valueNotAllowed, at: "\(path).replayGain", reason)
            }
        }
    }

    /// Checks the timeline together with the sources that it uses.
    private func check(_ timeline: Timeline, _ sourceLengths: [String: MediaTime]) throws(RecipeError) {
        let sources = soundSources
        guard sources.count <= Timeline.maximumSources else {
            let allowed = "allowed: up to \(Timeline.maximumSources)"
            throw RecipeError(.valueNotAllowed, at: "recipe.sources", "\(sources.count); \(allowed)")
        }
        var names: Set<String> = []
        for (index, source) in sources.enumerated() {
            let path = "recipe.sources[\(index)]"
            guard let name = source.name else {
                throw RecipeError(.missingField, at: "\(path).name", "a source of a timeline must have a name")
            }
            guard names.insert(name).inserted else {
                let reason = "\"\(name.plain)\" is also the name of another source"
                throw RecipeError(.valueNotAllowed, at: "\(path).name", reason)
            }
            guard source.ranges.isEmpty else {
                let reason = "with a timeline, its pieces say which ranges are heard"
                throw RecipeError(.valueNotAllowed, at: "\(path).ranges", reason)
            }
        }
        try TimelineRules(timeline, sourceNames: names, sourceLengths: sourceLengths).check()
        let used = timeline.namesOfUsedSources
        if let index = sources.firstIndex(where: { $0.name.map { !used.contains($0) } ?? false }) {
            let reason = "no piece of the timeline uses this source"
            throw RecipeError(.valueNotAllowed, at: "recipe.sources[\(index)].name", reason)
        }
    }

    private func check(_ output: Output, at path: String) throws(RecipeError) {
        guard !output.location.isEmpty else {
            throw RecipeError(.valueNotAllowed, at: "\(path).location", "is empty")
        }
        guard !sources.contains(where: { $0.location == output.location }) else {
            throw RecipeError(
                .valueNotAllowed,
                at: "\(path).location",
                "is the source; sluice never writes to a source"
            )
        }
        if let waveform = output.waveform { return try check(waveform, of: output, at: path) }
        let format = try output.audioFormat(at: path)
        if format.codec == .copy, output.loudness != nil {
            throw RecipeError(
                .valueNotAllowed,
                at: "\(path).loudness",
                "passthrough copies packets, whose loudness cannot change; choose a codec"
            )
        }
        if format.codec == .copy, output.replayGain != nil {
            let reason = "passthrough copies packets, whose loudness is not measured; choose a codec"
            throw RecipeError(.valueNotAllowed, at: "\(path).replayGain", reason)
        }
        try output.loudness?.validate(at: "\(path).loudness")
        if output.replayGain == .album, output.loudness?.scope == .track {
            let reason = "album; every output gets the same loudness, so an album has no levels of its own"
            throw RecipeError(.valueNotAllowed, at: "\(path).replayGain", reason)
        }
        if format.codec == .copy, sources.contains(where: { !$0.ranges.isEmpty }) {
            throw RecipeError(
                .valueNotAllowed,
                at: "recipe.sources[0].ranges",
                "passthrough copies whole tracks; choose a codec to convert a part"
            )
        }
        if format.codec == .copy, let reason = timeline?.reasonAgainstCopying {
            let advice = "passthrough joins whole sources; choose a codec to edit them"
            throw RecipeError(.valueNotAllowed, at: "recipe.timeline", "\(reason); \(advice)")
        }
    }
}

extension Recipe.Source {
    func validate(at path: String) throws(RecipeError) {
        guard !location.isEmpty else { throw RecipeError(.valueNotAllowed, at: "\(path).location", "is empty") }
        if let track, track < 0 {
            throw RecipeError(.valueNotAllowed, at: "\(path).track", "\(track); track numbers start at 0")
        }
        for (index, range) in ranges.enumerated() {
            let place = "\(path).ranges[\(index)]"
            guard range.start >= .zero else {
                throw RecipeError(
                    .valueNotAllowed,
                    at: "\(place).from",
                    "\(range.start) is before the start of the source"
                )
            }
            guard !range.isEmpty else {
                throw RecipeError(
                    .valueNotAllowed,
                    at: "\(place).to",
                    "the range is empty: it also starts at \(range.end)"
                )
            }
        }
        try raw?.validate(at: "\(path).raw")
        if let name, let mistake = Timeline.mistake(inName: name) {
            throw RecipeError(.valueNotAllowed, at: "\(path).name", mistake)
        }
    }
}

extension Recipe.RawDescription {
    fileprivate func validate(at path: String) throws(RecipeError) {
        guard let rule = FormatTable.rule(.raw, codec) else {
            throw RecipeError(.valueNotAllowed, at: "\(path).codec", "\(codec.rawValue); allowed: pcm, ulaw, alaw")
        }
        guard rule.rates.contains(sampleRateHz) else {
            let allowed = rule.rates.title
            throw RecipeError(.valueNotAllowed, at: "\(path).sampleRateHz", "\(sampleRateHz); allowed: \(allowed)")
        }
        guard rule.channels.contains(channelCount) else {
            let allowed = "\(rule.channels.lowerBound) to \(rule.channels.upperBound)"
            throw RecipeError(.valueNotAllowed, at: "\(path).channelCount", "\(channelCount); allowed: \(allowed)")
        }
        guard rule.depths.contains(where: { $0.bits == bitDepth && $0.kind == sampleKind }) else {
            let allowed = rule.depths.map(\.title).joined(separator: ", ")
            throw RecipeError(
                .valueNotAllowed,
                at: "\(path).bitDepth",
                "\(bitDepth)-bit \(sampleKind.rawValue); allowed: \(allowed)"
            )
        }
    }
}

extension Recipe.Limits {
    func validate() throws(RecipeError) {
        let fields: [(name: String, value: Double?)] = [
            ("outputBytes", outputBytes.map { Double($0) }), ("decodedSeconds", decodedSeconds.map { Double($0) }),
            ("expansionRatio", expansionRatio), ("cpuSeconds", cpuSeconds.map { Double($0) }),
            ("wallSeconds", wallSeconds.map { Double($0) }), ("stallSeconds", stallSeconds.map { Double($0) }),
            ("concealSeconds", concealSeconds.map { Double($0) }), ("openSeconds", openSeconds.map { Double($0) }),
        ]
        for (name, value) in fields {
            guard let value, !(value > 0 && value.isFinite) else { continue }
            throw RecipeError(.valueNotAllowed, at: "recipe.limits.\(name)", "must be above 0")
        }
    }
}

// MARK: - Which format an output has

extension Recipe.Output {
    /// The format of the preset or of the location's extension, overridden by `format`.
    ///
    /// Throws if the preset is unknown, if nothing names a container, or if the extension implies another container.
    public func audioFormat() throws(RecipeError) -> AudioFormat { try audioFormat(at: "recipe.outputs[0]") }

    func audioFormat(at path: String) throws(RecipeError) -> AudioFormat {
        guard waveform == nil else {
            throw RecipeError(.valueNotAllowed, at: "\(path).waveform", "a waveform has no audio format")
        }
        let base: AudioFormat?
        do throws(RecipeError) {
            base = try Self.base(location: location, preset: preset)
        } catch {
            throw RecipeError(error.code, at: "\(path).preset", error.reason)
        }
        // Defaults from an extension hold only for its own container; defaults from a preset hold for every container.
        let start = preset == nil && format != nil && base?.container != format?.container ? nil : base
        let result: AudioFormat
        switch (start, format) {
        case (let start?, let format?): result = start.overridden(by: format)
        case (let start?, nil): result = start
        case (nil, let format?): result = format
        case (nil, nil):
            let known = Container.allCases.flatMap(\.fileExtensions).joined(separator: ", ")
            throw RecipeError(
                .missingField,
                at: "\(path).format",
                "the location has no known extension; known: \(known)"
            )
        }
        try checkPromise(of: result, at: path)
        return result
    }

    /// Rejects an extension that contradicts the format: no player expects MP3 in a file called `.wav`.
    private func checkPromise(of format: AudioFormat, at path: String) throws(RecipeError) {
        guard let name = Self.fileExtension(of: location), let promised = Container.forFileExtension(name) else {
            return
        }
        let isKept =
            promised.0.family == format.container.family
            && (promised.1 == nil || format.codec == nil || format.codec == .copy || promised.1 == format.codec)
        guard !isKept else { return }
        let written = [format.container.title, format.codec?.title].compactMap { $0 }.joined(separator: " with ")
        throw RecipeError(
            .valueNotAllowed,
            at: "\(path).location",
            "the extension .\(name) means \(promised.1?.title ?? promised.0.title), but the output would be \(written)"
        )
    }

    /// The format that the preset and the location give together; `nil` if neither names one.
    static func base(location: String, preset name: String?) throws(RecipeError) -> AudioFormat? {
        let fileExtension = fileExtension(of: location)
        guard let name else {
            return fileExtension.flatMap { Container.forFileExtension($0) }.map {
                AudioFormat(container: $0.0, codec: $0.1)
            }
        }
        do throws(UnknownPreset) {
            return try Preset.named(name).format(forExtension: fileExtension)
        } catch {
            throw RecipeError(.valueNotAllowed, at: "recipe.outputs[0].preset", error.description)
        }
    }

    /// The extension of the last path component, without the dot; `nil` if it has none or is only a leading dot.
    static func fileExtension(of location: String) -> String? {
        let name = location.split(separator: "/", omittingEmptySubsequences: false).last ?? ""
        guard let point = name.lastIndex(of: "."), point != name.startIndex else { return nil }
        let fileExtension = name[name.index(after: point)...]
        return fileExtension.isEmpty ? nil : String(fileExtension)
    }
}

extension Container {
    /// Containers that commonly share their extensions.
    fileprivate var family: Container {
        switch self {
        case .aifc: .aiff
        case .mp4: .m4a
        default: self
        }
    }
}
