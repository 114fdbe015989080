import Console
import Conversion

/// The options that say which part of a source to use, and how to handle damage.
enum SourceOptions {
    static let from = Option<MediaTime>(
        "from",
        .time,
        "start at this time: 90, 1:30, 1:02:03.5, 44100/44100",
        in: .source
    )
    static let to = Option<MediaTime>("to", .time, "end at this time of the source", in: .source)
    static let track = Option<Int>(
        "track",
        .whole(in: 0...255),
        "the number of the track, as probe shows it (default: the main track)",
        in: .source
    )
    static let onDamage = SettledOption<DamageMode>(
        "on-damage",
        .choice("MODE") { $0.summary },
        fallback: "strict",
        "what to do about damage in the source",
        environment: "SLUICE_ON_DAMAGE",
        in: .source
    )
    static let concealLimit = Option<Int>(
        "conceal-limit",
        .whole(in: Recipe.Limits.concealChoices),
        "seconds of silence that conceal may add (default: 600, or 4 times the sound)",
        in: .source
    )
    static let rawInput = Option<Recipe.RawDescription>(
        "raw-input",
        .rawDescription,
        "read headerless PCM with this coding, rate and channels, as in s16le:48000:2",
        in: .source
    )

    static let concealLimitAlone = UsageError("--conceal-limit needs --on-damage conceal")

    static let forms: [OptionForm] = [from.form, to.form, track.form, onDamage.form, concealLimit.form, rawInput.form]

    /// `ending` is the option for the end: where `--to` names a destination, commands use another option.
    static func source(
        at location: String,
        ending: Option<MediaTime> = to,
        _ invocation: Invocation
    ) throws(UsageError) -> Recipe.Source {
        Recipe.Source(
            location: location,
            track: invocation[track],
            ranges: try ranges(ending, invocation),
            raw: invocation[rawInput]
        )
    }

    /// Sets the damage options in `recipe`, which a preset may have set.
    static func settleDamage(of recipe: inout Recipe, _ invocation: Invocation) throws(UsageError) {
        if invocation.origin(of: onDamage.form) != .fallback {
            recipe.damage = invocation[onDamage]
            if recipe.damage != .conceal { recipe.limits?.concealSeconds = nil }
            if recipe.limits == Recipe.Limits() { recipe.limits = nil }
        }
        guard let limit = invocation[concealLimit] else { return }
        guard recipe.damage == .conceal else {
            throw concealLimitAlone
        }
        var limits = recipe.limits ?? Recipe.Limits()
        limits.concealSeconds = limit
        recipe.limits = limits
    }

    private static func ranges(
        _ ending: Option<MediaTime>,
        _ invocation: Invocation
    ) throws(UsageError) -> [MediaTimeRange] {
        let (start, end) = (invocation[from], invocation[ending])
        guard start != nil || end != nil else { return [] }
        do throws(MediaTimeRange.RangeError) {
            return [try MediaTimeRange(start: start ?? .zero, end: end ?? .positiveInfinity)]
        } catch {
            throw UsageError("--from and \(ending.form.word): \(error.detail)")
        }
    }
}

extension DamageMode {
    var summary: String {
        switch self {
        case .strict: "fail at the first damage"
        case .conceal: "keep the length and fill the damage with silence"
        case .skip: "leave out the damage"
        case .trustPackets: "take all that decodes, whatever the container says of it"
        }
    }
}

extension ValueType where Value == Recipe.RawDescription {
    /// `s16le:48000:2`
    static let rawDescription = ValueType(
        placeholder: "SHAPE",
        completion: .suggestions(
            ["s16le:44100:2", "s16le:48000:2", "f32le:48000:2", "ulaw:8000:1"].map { .init(word: $0) }
        )
    ) { text throws(Misfit) in
        let hint = "as in s16le:48000:2, f32le:44100:1, u8:8000:1 or ulaw:8000:1"
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 3, let rate = Decimals.read(parts[1], shiftedBy: 0),
            let channels = Decimals.read(parts[2], shiftedBy: 0), rate > 0, channels > 0
        else {
            throw Misfit(why: "must be CODING:RATE:CHANNELS", hint: hint)
        }
        if let law = Codec(rawValue: String(parts[0])), law == .ulaw || law == .alaw {
            return .init(codec: law, sampleRateHz: rate, channelCount: channels)
        }
        if parts[0] == "u8" { return .init(sampleRateHz: rate, channelCount: channels, bitDepth: 8) }
        for kind in SampleKind.allCases {
            for order in Endianness.allCases {
                for bits in kind == .float ? [32, 64] : [16, 24, 32] {
                    let name = (kind == .float ? "f" : "s") + "\(bits)" + (order == .big ? "be" : "le")
                    guard parts[0] == name else { continue }
                    return .init(
                        sampleRateHz: rate,
                        channelCount: channels,
                        bitDepth: bits,
                        sampleKind: kind,
                        endianness: order
                    )
                }
            }
        }
        throw Misfit(why: "unknown coding \"\(parts[0])\"", hint: hint)
    }
}
