extension Piece: Codable {
    private enum Field: String, CodingKey, CaseIterable {
        case source, silence, track, from, to, channels, trimSilence, reverse, `repeat`, repeatUntil, gain, pan, ramps
        case fadeIn, fadeOut, crossfade
    }

    /// Decodes strictly.
    public init(from decoder: any Decoder) throws {
        let fields = try StrictFields(decoder, Field.self)
        self.init(
            try Self.material(fields),
            channels: try fields.optional(.channels),
            trimSilence: try fields.optional(.trimSilence),
            isReversed: try fields.optional(.reverse) ?? false,
            repeats: try Self.repetition(fields),
            gain: try fields.optional(.gain) ?? .unity,
            pan: try fields.optional(.pan) ?? .centre,
            ramps: try fields.optional(.ramps) ?? [],
            fadeIn: try fields.optional(.fadeIn, as: LinearFade.self)?.fade,
            fadeOut: try fields.optional(.fadeOut, as: LinearFade.self)?.fade,
            crossfade: try fields.optional(.crossfade, as: EqualPowerFade.self)?.fade
        )
    }

    private static func material(_ fields: StrictFields<Field>) throws -> Material {
        let source = try fields.optional(.source, as: String.self)
        let silence = try fields.optional(.silence, as: MediaTime.self)
        let track = try fields.optional(.track, as: String.self)
        switch (source, silence, track) {
        case (let name?, nil, nil): return .source(name, try fields.range(from: .from, to: .to))
        case (nil, nil, let name?): return .track(name, try fields.range(from: .from, to: .to))
        case (nil, let length?, nil):
            for field in [Field.from, .to] where try fields.optional(field, as: MediaTime.self) != nil {
                throw fields.refusal(of: field, "silence has a length and no range")
            }
            return .silence(length)
        case (nil, nil, nil): throw fields.refusal(of: .source, "a piece must have source, silence or track")
        default:
            let extra = source == nil || silence == nil ? Field.track : .silence
            throw fields.refusal(of: extra, "a piece can have only one of source, silence and track")
        }
    }

    private static func repetition(_ fields: StrictFields<Field>) throws -> Repetition? {
        let times = try fields.optional(.repeat, as: Int.self)
        let end = try fields.optional(.repeatUntil, as: MediaTime.self)
        if times != nil, end != nil {
            throw fields.refusal(of: .repeatUntil, "a piece can have only one of repeat and repeatUntil")
        }
        return times.map { .times($0) } ?? end.map { .until($0) }
    }

    /// Leaves out everything that changes nothing.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Field.self)
        switch material {
        case .source(let name, _): try container.encode(name, forKey: .source)
        case .silence(let length): try container.encode(length.textInRecipes, forKey: .silence)
        case .track(let name, _): try container.encode(name, forKey: .track)
        }
        if let range {
            if range.start != .zero { try container.encode(range.start.textInRecipes, forKey: .from) }
            if !range.isOpenEnded { try container.encode(range.end.textInRecipes, forKey: .to) }
        }
        try container.encodeIfPresent(channels, forKey: .channels)
        try container.encodeIfPresent(trimSilence, forKey: .trimSilence)
        if isReversed { try container.encode(isReversed, forKey: .reverse) }
        switch repeats {
        case .times(let count): try container.encode(count, forKey: .repeat)
        case .until(let end): try container.encode(end.textInRecipes, forKey: .repeatUntil)
        case nil: break
        }
        if gain != .unity { try container.encode(gain, forKey: .gain) }
        if pan != .centre { try container.encode(pan, forKey: .pan) }
        if !ramps.isEmpty { try container.encode(ramps, forKey: .ramps) }
        try container.encodeIfPresent(fadeIn.map { LinearFade(fade: $0) }, forKey: .fadeIn)
        try container.encodeIfPresent(fadeOut.map { LinearFade(fade: $0) }, forKey: .fadeOut)
        try container.encodeIfPresent(crossfade.map { EqualPowerFade(fade: $0) }, forKey: .crossfade)
    }
}

// MARK: - Fades

/// A fade as recipes write it: a length alone if it has the usual curve, else an object.
private protocol FadeField: Codable {
    static var usualCurve: Curve { get }
    var fade: Fade { get }
    init(fade: Fade)
}

private struct LinearFade: FadeField {
    static let usualCurve = Curve.linear
    let fade: Fade
}

private struct EqualPowerFade: FadeField {
    static let usualCurve = Curve.equalPower
    let fade: Fade
}

private enum FadeFieldName: String, CodingKey, CaseIterable {
    case length, curve
}

extension FadeField {
    init(from decoder: any Decoder) throws {
        // `try?`: what is not a text can still be an object. A text that is not a time is refused by the time.
        guard (try? decoder.singleValueContainer().decode(String.self)) == nil else {
            self.init(fade: Fade(try MediaTime(from: decoder), curve: Self.usualCurve))
            return
        }
        let fields = try StrictFields(decoder, FadeFieldName.self)
        self.init(
            fade: Fade(try fields.required(.length), curve: try fields.word(.curve) ?? Self.usualCurve)
        )
    }

    func encode(to encoder: any Encoder) throws {
        guard fade.curve != Self.usualCurve else {
            var container = encoder.singleValueContainer()
            try container.encode(fade.length.textInRecipes)
            return
        }
        var container = encoder.container(keyedBy: FadeFieldName.self)
        try container.encode(fade.length.textInRecipes, forKey: .length)
        try container.encode(fade.curve, forKey: .curve)
    }
}

// MARK: - Ramps

extension Ramp: Codable {
    private enum Field: String, CodingKey, CaseIterable {
        case from, to, fromGain, toGain, curve
    }

    /// Decodes strictly; only the curve may be missing.
    public init(from decoder: any Decoder) throws {
        let fields = try StrictFields(decoder, Field.self)
        guard try fields.optional(.from, as: MediaTime.self) != nil else { throw fields.missing(.from) }
        guard try fields.optional(.to, as: MediaTime.self) != nil else { throw fields.missing(.to) }
        self.init(
            try fields.range(from: .from, to: .to),
            from: try fields.required(.fromGain),
            to: try fields.required(.toGain),
            curve: try fields.word(.curve) ?? .linear
        )
    }

    /// Leaves out the curve if it is linear.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Field.self)
        try container.encode(range.start.textInRecipes, forKey: .from)
        try container.encode(range.end.textInRecipes, forKey: .to)
        try container.encode(from, forKey: .fromGain)
        try container.encode(to, forKey: .toGain)
        if curve != .linear { try container.encode(curve, forKey: .curve) }
    }
}
