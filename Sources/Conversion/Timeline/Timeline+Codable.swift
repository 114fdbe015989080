extension Timeline: Codable {
    private enum Field: String, CodingKey, CaseIterable {
        case sampleRateHz, layout, tracks, padTo, limit
    }

    /// Decodes strictly; only the tracks are required.
    public init(from decoder: any Decoder) throws {
        let fields = try StrictFields(decoder, Field.self)
        self.init(
            sampleRateHz: try fields.count(.sampleRateHz),
            layout: try fields.optional(.layout),
            tracks: try fields.required(.tracks),
            padTo: try fields.optional(.padTo),
            limit: try fields.optional(.limit)
        )
    }

    /// Leaves out everything that is not set.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Field.self)
        try container.encodeIfPresent(sampleRateHz, forKey: .sampleRateHz)
        try container.encodeIfPresent(layout, forKey: .layout)
        try container.encode(tracks, forKey: .tracks)
        try container.encodeIfPresent(padTo?.textInRecipes, forKey: .padTo)
        try container.encodeIfPresent(limit, forKey: .limit)
    }
}

extension Timeline.Track: Codable {
    private enum Field: String, CodingKey, CaseIterable {
        case name, start, gain, pan, ramps, pieces
    }

    /// Decodes strictly; only the pieces are required.
    public init(from decoder: any Decoder) throws {
        let fields = try StrictFields(decoder, Field.self)
        self.init(
            name: try fields.optional(.name),
            start: try fields.optional(.start) ?? .zero,
            gain: try fields.optional(.gain) ?? .unity,
            pan: try fields.optional(.pan) ?? .centre,
            ramps: try fields.optional(.ramps) ?? [],
            pieces: try fields.required(.pieces)
        )
    }

    /// Leaves out everything that changes nothing.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Field.self)
        try container.encodeIfPresent(name, forKey: .name)
        if start != .zero { try container.encode(start.textInRecipes, forKey: .start) }
        if gain != .unity { try container.encode(gain, forKey: .gain) }
        if pan != .centre { try container.encode(pan, forKey: .pan) }
        if !ramps.isEmpty { try container.encode(ramps, forKey: .ramps) }
        try container.encode(pieces, forKey: .pieces)
    }
}
