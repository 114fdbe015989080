import Console
import Conversion

/// The options that change what is heard: levels, fades, repetitions, and files before and after.
enum EditOptions {
    static let gain = Option<Gain>("gain", .gain, "change the level, as in -3dB", in: .edit)
    static let ramp = Option<Ramp>(
        "ramp",
        .ramp,
        "change the level over time, as in 0:10-0:15=0dB..-12dB; the last level stays",
        isRepeatable: true,
        in: .edit
    )
    static let fadeIn = Option<Fade>("fade-in", .fade, "fade in at the start of the output", in: .edit)
    static let fadeOut = Option<Fade>("fade-out", .fade, "fade out at the end of the output", in: .edit)
    static let channelMap = Option<ChannelPick>(
        "channel-map",
        .channelPick,
        "channels of the source: left, right, swap, sum (to mono), or numbers, as in 3,4",
        in: .edit
    )
    static let trimSilence = Option<SilenceTrim>(
        "trim-silence",
        .silenceTrim,
        "leave out silence at both ends, as in -60dB/0.5s; /start or /end: only there",
        in: .edit
    )
    static let reverse = Switch("reverse", "play the source from its end to its start", in: .edit)
    static let loop = Option<Int>(
        "loop",
        .whole(in: 1...Timeline.maximumRepeats),
        "play the source this often, without a gap",
        in: .edit
    )
    static let loopUntil = Option<MediaTime>(
        "loop-until",
        .time,
        "repeat the source until the output has this length",
        in: .edit
    )
    static let padTo = Option<MediaTime>(
        "pad-to",
        .time,
        "add silence at the end up to this length",
        in: .edit
    )
    static let limit = Option<Gain>(
        "limit",
        .peakLimit,
        "limit true peaks of the edited sound to this level, as in -1dBTP",
        in: .edit
    )
    static let intro = Option<String>(
        "intro",
        .text.named("FILE").offering(.files),
        "a file to play before the source",
        in: .edit
    )
    static let outro = Option<String>(
        "outro",
        .text.named("FILE").offering(.files),
        "a file to play after the source",
        in: .edit
    )
    static let crossfade = Option<Fade>(
        "crossfade",
        .fade,
        "let files that follow each other overlap this long",
        in: .edit
    )

    static let forms: [OptionForm] = [
        gain.form, ramp.form, fadeIn.form, fadeOut.form, channelMap.form, trimSilence.form, reverse.form, loop.form,
        loopUntil.form,
        padTo.form, limit.form, intro.form, outro.form, crossfade.form,
    ]

    /// Adds to `recipe`, which has one source, what the options ask for.
    static func apply(to recipe: inout Recipe, _ invocation: Invocation) throws(UsageError) {
        guard forms.contains(where: { invocation.origin(of: $0) != nil }) else { return }
        var pieces = [try mainPiece(recipe.sources[0], invocation)]
        recipe.sources[0].name = mainName
        recipe.sources[0].ranges = []
        let crossfade = invocation[crossfade].map { Fade($0.length, curve: .equalPower) }
        if let path = invocation[intro] {
            recipe.sources.append(.init(location: path, name: "intro"))
            pieces[0].crossfade = crossfade
            pieces.insert(Piece(.source("intro")), at: 0)
        }
        if let path = invocation[outro] {
            recipe.sources.append(.init(location: path, name: "outro"))
            pieces.append(Piece(.source("outro"), crossfade: crossfade))
        }
        if crossfade != nil, pieces.count == 1 {
            throw UsageError("--crossfade needs --intro or --outro", hint: "\"sluice join\" joins any files")
        }
        pieces[0].fadeIn = invocation[fadeIn]
        pieces[pieces.count - 1].fadeOut = invocation[fadeOut]
        recipe.timeline = Timeline(
            tracks: [.init(ramps: invocation.all(ramp), pieces: pieces)],
            padTo: invocation[padTo],
            limit: try peakLimit(invocation)
        )
    }

    /// The highest true peak of what a command makes; `nil` if none is set.
    static func peakLimit(_ invocation: Invocation) throws(UsageError) -> Gain? {
        guard let limit = invocation[limit] else { return nil }
        guard invocation[LoudnessOptions.loudness] == nil else {
            throw UsageError(
                "--limit and --loudness exclude each other",
                hint: "with --loudness, --true-peak limits the peaks"
            )
        }
        return limit
    }

    /// The name of the source that a command converts.
    static let mainName = "source"

    private static func mainPiece(_ source: Recipe.Source, _ invocation: Invocation) throws(UsageError) -> Piece {
        var piece = Piece(.source(mainName, source.ranges.first ?? .whole))
        piece.channels = invocation[channelMap]
        piece.trimSilence = invocation[trimSilence]
        piece.isReversed = invocation[reverse]
        piece.gain = invocation[gain] ?? .unity
        switch (invocation[loop], invocation[loopUntil]) {
        case (nil, nil): break
        case (let times?, nil): piece.repeats = .times(times)
        case (nil, let length?): piece.repeats = .until(length)
        case (_?, _?): throw UsageError("--loop and --loop-until exclude each other")
        }
        return piece
    }
}

extension UsageError {
    /// An error in the timeline of a recipe that options have made; `nil` if `error` concerns something else.
    init?(ofEdit error: RecipeError) {
        guard error.path.hasPrefix("recipe.timeline") else { return nil }
        let field = error.path.split(separator: ".").last.map { String($0.prefix { $0 != "[" }) } ?? ""
        let words = [
            "fadeIn": "--fade-in", "fadeOut": "--fade-out", "gain": "--gain", "ramps": "--ramp",
            "channels": "--channel-map", "repeat": "--loop", "repeatUntil": "--loop-until", "padTo": "--pad-to",
            "crossfade": "--crossfade", "limit": "--limit", "trimSilence": "--trim-silence",
        ]
        self.init("\(words[field] ?? error.path): \(error.reason)")
    }
}

// MARK: - Values

extension ValueType where Value == Gain {
    /// `-3dB`
    static let gain = ValueType(placeholder: "GAIN") { text throws(Misfit) in try Gain(word: text) }
}

extension ValueType where Value == Gain {
    /// `-1dBTP`
    static let peakLimit = ValueType(
        placeholder: "LEVEL",
        completion: .suggestions(["-1dBTP", "-2dBTP", "-3dBTP"].map { .init(word: $0) })
    ) { text throws(Misfit) in
        let lowered = text.lowercased()
        let digits =
            lowered.hasSuffix("dbtp")
            ? lowered.dropLast(4) : lowered.hasSuffix("db") ? lowered.dropLast(2) : lowered[...]
        // `try?`: the message below says what is allowed.
        guard let limit = try? Gain(parsing: digits + "db"), !limit.isSilence, limit.decibels <= 0 else {
            throw Misfit(why: "is not a true peak; allowed: -144dBTP to 0dBTP")
        }
        return limit
    }
}

extension ValueType where Value == ChannelPick {
    /// `left`, `3,4`
    static let channelPick = ValueType(
        placeholder: "CHANNELS",
        completion: .words(["left", "right", "swap", "sum"].map { Completion.Candidate(word: $0) })
    ) { text throws(Misfit) in
        do throws(EditTextError) {
            return try ChannelPick(parsing: text)
        } catch {
            throw Misfit(why: "is \(error.detail)")
        }
    }
}

extension ValueType where Value == SilenceTrim {
    /// `-60dB/0.5s`
    static let silenceTrim = ValueType(
        placeholder: "SILENCE",
        completion: .suggestions(
            ["-60dB/0.5s", "-50dB/1s", "-60dB/0.5s/start", "-60dB/0.5s/end"].map { .init(word: $0) }
        )
    ) { text throws(Misfit) in
        do throws(EditTextError) {
            return try SilenceTrim(parsing: text)
        } catch {
            throw Misfit(why: "is \(error.detail)")
        }
    }
}

extension ValueType where Value == Fade {
    /// `2s`
    static let fade = ValueType(placeholder: "TIME") { text throws(Misfit) in
        let length = try ValueType<MediaTime>.time.read(text)
        guard length > .zero else { throw Misfit(why: "must be longer than nothing") }
        return Fade(length)
    }
}

extension ValueType where Value == Ramp {
    /// `0:10-0:15=0dB..-12dB`
    static let ramp = ValueType(placeholder: "RAMP") { text throws(Misfit) in
        let sides = text.split(separator: "=", omittingEmptySubsequences: false)
        let times = sides[0].split(separator: "-", omittingEmptySubsequences: false)
        guard sides.count == 2, times.count == 2, let dots = sides[1].firstRange(of: "..") else {
            throw Misfit(why: "must be FROM-TO=GAIN..GAIN", hint: "as in 0:10-0:15=0dB..-12dB")
        }
        let (start, end) = (
            try ValueType<MediaTime>.time.read(String(times[0])), try ValueType<MediaTime>.time.read(String(times[1]))
        )
        // `try?`: ordered times always make a range.
        guard start < end, let range = try? MediaTimeRange(start: start, end: end) else {
            throw Misfit(why: "must end after it starts")
        }
        let (from, to) = (
            try Gain(word: String(sides[1][..<dots.lowerBound])), try Gain(word: String(sides[1][dots.upperBound...]))
        )
        // In decibels, a ramp sounds even; but there is no way in decibels from or to silence.
        return Ramp(range, from: from, to: to, curve: from.isSilence || to.isSilence ? .linear : .decibel)
    }
}

extension Gain {
    fileprivate init(word: String) throws(Misfit) {
        do throws(EditTextError) {
            self = try Gain(parsing: word)
        } catch {
            throw Misfit(why: "is \(error.detail)")
        }
    }
}
