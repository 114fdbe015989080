extension Recipe: Codable {
    enum Field: String, CodingKey, CaseIterable {
        case version, sources, outputs, damage, verify, strictLoss, dropTags, chapters, markSources, tags, limits
        case timeline, scan, copyPackets
    }

    /// Decodes strictly: throws on a newer version, an unknown field or a wrong type.
    public init(from decoder: any Decoder) throws {
        // The version comes first: fields of a newer version, which this code does not know, are not errors.
        let container = try decoder.container(keyedBy: Field.self)
        guard let version = try container.strictlyDecode(Int.self, at: .version) else {
            throw DecodingError.keyNotFound(
                Field.version,
                .init(codingPath: decoder.codingPath, debugDescription: "missing")
            )
        }
        guard Self.knownVersions.contains(version) else {
            let known = Self.knownVersions.map { String($0) }.joined(separator: ", ")
            let reason = "unsupported version \(version); supported: \(known)"
            throw DecodingError.dataCorrupted(
                .init(
                    codingPath: decoder.codingPath + [Field.version],
                    debugDescription: reason,
                    underlyingError: RecipeError(.unsupportedVersion, at: "", reason)
                )
            )
        }
        let fields = try StrictFields(decoder, Field.self)
        sources = try fields.required(.sources)
        scan = try fields.optional(.scan)
        outputs = try scan == nil ? fields.required(.outputs) : fields.optional(.outputs) ?? []
        damage = try fields.word(.damage) ?? .strict
        verify = try fields.optional(.verify) ?? false
        strictLoss = try fields.optional(.strictLoss) ?? false
        dropTags = try fields.optional(.dropTags) ?? false
        chapters = try fields.optional(.chapters) ?? []
        markSources = try fields.optional(.markSources) ?? false
        copyPackets = try fields.optional(.copyPackets) ?? false
        tags = try fields.optional(.tags) ?? [:]
        limits = try fields.optional(.limits)
        timeline = try fields.optional(.timeline)
        for (needed, field) in [(2, fieldOfVersion2), (3, fieldOfVersion3), (4, fieldOfVersion4)] {
            guard version < needed, let field else { continue }
            throw DecodingError.dataCorrupted(
                .init(
                    codingPath: decoder.codingPath + field,
                    debugDescription: "needs version \(needed) of recipes, and this one says version \(version)"
                )
            )
        }
    }

    /// The first field that version 1 does not have; `nil` if none is set.
    var fieldOfVersion2: [any CodingKey]? {
        if timeline != nil { return [Field.timeline] }
        if let index = sources.firstIndex(where: { $0.name != nil }) {
            return [Field.sources, Index(intValue: index), Source.Field.name]
        }
        if outputs.count > 1 { return [Field.outputs, Index(intValue: 1)] }
        for (index, output) in outputs.enumerated() {
            if let field = output.fieldOfVersion2 { return [Field.outputs, Index(intValue: index)] + field }
        }
        return nil
    }

    /// The first field that version 2 does not have; `nil` if none is set.
    var fieldOfVersion3: [any CodingKey]? {
        for (index, output) in outputs.enumerated() {
            if let field = output.fieldOfVersion3 { return [Field.outputs, Index(intValue: index), field] }
        }
        return nil
    }

    /// The first field that version 3 does not have, or whose value it does not know; `nil` if none is set.
    var fieldOfVersion4: [any CodingKey]? {
        if scan != nil { return [Field.scan] }
        if dropTags { return [Field.dropTags] }
        if !chapters.isEmpty { return [Field.chapters] }
        if markSources { return [Field.markSources] }
        if copyPackets { return [Field.copyPackets] }
        if damage == .trustPackets { return [Field.damage] }
        if let index = sources.firstIndex(where: { $0.use != .sound }) {
            return [Field.sources, Index(intValue: index), Source.Field.use]
        }
        let tagged = placeOfSeveralValues
        if tagged.isSet {
            guard let index = tagged.output else { return [Field.tags] }
            return [Field.outputs, Index(intValue: index), Output.Field.tags]
        }
        for (index, output) in outputs.enumerated() {
            if let field = output.fieldOfVersion4 { return [Field.outputs, Index(intValue: index), field] }
            // Version 3 knows passthrough of one source only. `try?`: what is no format is refused elsewhere.
            if timeline != nil, (try? output.codec) == .copy { return [Field.outputs, Index(intValue: index)] }
        }
        return nil
    }

    /// The place of an element in a list.
    private struct Index: CodingKey {
        let number: Int
        var intValue: Int? { number }
        var stringValue: String { "Index \(number)" }

        init(intValue: Int) { number = intValue }
        init?(stringValue: String) { nil }
    }

    /// Leaves out fields that are empty or false, except the damage mode and `verify`. A recipe that needs no newer
    /// version is written as version 1, with the same bytes as ever.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Field.self)
        try container.encode(version, forKey: .version)
        try container.encode(sources, forKey: .sources)
        try container.encode(outputs, forKey: .outputs)
        try container.encode(damage, forKey: .damage)
        try container.encode(verify, forKey: .verify)
        if strictLoss { try container.encode(strictLoss, forKey: .strictLoss) }
        if dropTags { try container.encode(dropTags, forKey: .dropTags) }
        if !chapters.isEmpty { try container.encode(chapters, forKey: .chapters) }
        if markSources { try container.encode(markSources, forKey: .markSources) }
        if copyPackets { try container.encode(copyPackets, forKey: .copyPackets) }
        if !tags.isEmpty { try container.encode(tags, forKey: .tags) }
        try container.encodeIfPresent(limits, forKey: .limits)
        try container.encodeIfPresent(timeline, forKey: .timeline)
        try container.encodeIfPresent(scan, forKey: .scan)
    }
}

extension Recipe.Scan: Decodable {
    private enum Field: String, CodingKey, CaseIterable { case loudness }

    /// Decodes strictly.
    public init(from decoder: any Decoder) throws {
        let fields = try StrictFields(decoder, Field.self)
        loudness = try fields.optional(.loudness) ?? false
    }
}

// MARK: - Source

extension Recipe.Source: Codable {
    fileprivate enum Field: String, CodingKey, CaseIterable {
        case location, track, ranges, raw, name, use
    }

    /// Decodes strictly.
    public init(from decoder: any Decoder) throws {
        let fields = try StrictFields(decoder, Field.self)
        location = try fields.required(.location)
        track = try fields.optional(.track)
        ranges = try fields.optional(.ranges, as: [RangeField].self)?.map(\.range) ?? []
        raw = try fields.optional(.raw)
        name = try fields.optional(.name)
        use = try fields.word(.use) ?? .sound
    }

    /// Writes times as a user would, where that loses nothing.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Field.self)
        try container.encode(location, forKey: .location)
        try container.encodeIfPresent(track, forKey: .track)
        if !ranges.isEmpty { try container.encode(ranges.map(RangeField.init), forKey: .ranges) }
        try container.encodeIfPresent(raw, forKey: .raw)
        try container.encodeIfPresent(name, forKey: .name)
        if use != .sound { try container.encode(use, forKey: .use) }
    }
}

/// A range as recipes write it: `{"from": "0:10", "to": "1:00"}`. Either field may be missing.
private struct RangeField: Codable {
    let range: MediaTimeRange

    private enum Field: String, CodingKey, CaseIterable {
        case from, to
    }

    init(_ range: MediaTimeRange) { self.range = range }

    init(from decoder: any Decoder) throws {
        let fields = try StrictFields(decoder, Field.self)
        range = try fields.range(from: .from, to: .to)
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Field.self)
        try container.encode(range.start.textInRecipes, forKey: .from)
        if !range.isOpenEnded { try container.encode(range.end.textInRecipes, forKey: .to) }
    }
}

extension Recipe.RawDescription: Decodable {
    private enum Field: String, CodingKey, CaseIterable {
        case codec, sampleRateHz, channelCount, bitDepth, sampleKind, endianness
    }

    /// Decodes strictly; only the rate and the channels are required.
    public init(from decoder: any Decoder) throws {
        let fields = try StrictFields(decoder, Field.self)
        self.init(
            codec: try fields.word(.codec) ?? .pcm,
            sampleRateHz: try fields.required(.sampleRateHz),
            channelCount: try fields.required(.channelCount),
            bitDepth: try fields.optional(.bitDepth),
            sampleKind: try fields.word(.sampleKind) ?? .integer,
            endianness: try fields.word(.endianness) ?? .little
        )
    }
}

// MARK: - Output

extension Recipe.Output: Codable {
    fileprivate enum Field: String, CodingKey, CaseIterable {
        case location, preset, format, onConflict, loudness, replayGain, range, tags, ownPreset, waveform, spec
    }

    /// The first field that version 3 does not have, or whose value it does not know; `nil` if none is set. Tags are looked
    /// at elsewhere.
    fileprivate var fieldOfVersion4: (any CodingKey)? {
        if let name = preset?.lowercased(), Preset.all.contains(where: { $0.name == name && $0.recipeVersion > 3 }) {
            return Field.preset
        }
        if spec != nil { return Field.spec }
        return waveform == nil ? nil : Field.waveform
    }

    /// The first field that version 2 does not have; `nil` if none is set.
    fileprivate var fieldOfVersion3: (any CodingKey)? {
        if range != nil { return Field.range }
        if !tags.isEmpty { return Field.tags }
        return ownPreset == nil ? nil : Field.ownPreset
    }

    /// The first field that version 1 does not have; `nil` if none is set.
    var fieldOfVersion2: [any CodingKey]? {
        if loudness != nil { return [Field.loudness] }
        if replayGain != nil { return [Field.replayGain] }
        if format?.resample != nil { return [Field.format, AudioFormat.Field.resample] }
        return format?.dither == .shaped ? [Field.format, AudioFormat.Field.dither] : nil
    }

    /// Decodes strictly. A format without a container takes it from the preset or the location.
    public init(from decoder: any Decoder) throws {
        let fields = try StrictFields(decoder, Field.self)
        let location: String = try fields.required(.location)
        let presetName: String? = try fields.optional(.preset)
        let own = presetName.flatMap { decoder.ownPresets[$0.lowercased()] }
        let base: AudioFormat?
        do throws(RecipeError) {
            if let own {
                base = own.output(at: location).format
            } else {
                base = try Self.base(location: location, preset: presetName)
            }
        } catch {
            throw fields.refusal(of: .preset, error.reason)
        }
        self.init(
            location: location,
            preset: presetName,
            format: try fields.nested(.format, AudioFormat.Field.self).map {
                try AudioFormat($0, container: base?.container)
            },
            onConflict: try fields.word(.onConflict) ?? .fail,
            loudness: try fields.optional(.loudness),
            replayGain: try fields.word(.replayGain),
            range: try fields.optional(.range, as: RangeField.self)?.range,
            tags: try fields.optional(.tags) ?? [:]
        )
        ownPreset = try fields.optional(.ownPreset)
        waveform = try fields.optional(.waveform)
        spec = try fields.word(.spec)
        if ownPreset != nil, presetName != nil {
            throw fields.refusal(of: .ownPreset, "cannot be combined with preset: its format stands in the output")
        }
    }

    /// Leaves out fields that are not set, except the conflict policy.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Field.self)
        try container.encode(location, forKey: .location)
        try container.encodeIfPresent(preset, forKey: .preset)
        try container.encodeIfPresent(format, forKey: .format)
        try container.encode(onConflict, forKey: .onConflict)
        try container.encodeIfPresent(loudness, forKey: .loudness)
        try container.encodeIfPresent(replayGain, forKey: .replayGain)
        try container.encodeIfPresent(range.map(RangeField.init), forKey: .range)
        if !tags.isEmpty { try container.encode(tags, forKey: .tags) }
        try container.encodeIfPresent(ownPreset, forKey: .ownPreset)
        try container.encodeIfPresent(waveform, forKey: .waveform)
        try container.encodeIfPresent(spec?.rawValue, forKey: .spec)
    }
}

extension Recipe.Output {
    /// Replaces the name of a preset by what that says about the output and its tags. What the output says itself stays.
    mutating func take(_ own: OwnPreset) {
        let made = own.output(at: location)
        (preset, ownPreset) = (nil, made.ownPreset)
        let whole = made.format ?? own.format
        format = format.map { whole.overridden(by: $0) } ?? whole
        loudness = loudness ?? made.loudness
        replayGain = replayGain ?? made.replayGain
        spec = spec ?? made.spec
        tags.merge(own.recipe.tags) { own, _ in own }
    }
}

extension Recipe.Limits: Decodable {
    private enum Field: String, CodingKey, CaseIterable {
        case outputBytes, decodedSeconds, expansionRatio, cpuSeconds, wallSeconds, stallSeconds, concealSeconds,
            openSeconds
    }

    /// Decodes strictly.
    public init(from decoder: any Decoder) throws {
        let fields = try StrictFields(decoder, Field.self)
        self.init(
            outputBytes: try fields.optional(.outputBytes),
            decodedSeconds: try fields.optional(.decodedSeconds),
            expansionRatio: try fields.optional(.expansionRatio),
            cpuSeconds: try fields.optional(.cpuSeconds),
            wallSeconds: try fields.optional(.wallSeconds),
            stallSeconds: try fields.optional(.stallSeconds),
            concealSeconds: try fields.optional(.concealSeconds),
            openSeconds: try fields.optional(.openSeconds)
        )
    }
}
