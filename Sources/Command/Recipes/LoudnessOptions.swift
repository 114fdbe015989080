import Console
import Conversion

/// The options that set the loudness of an output, and what it must keep.
enum LoudnessOptions {
    static let loudness = Option<LoudnessGoal.Target>(
        "loudness",
        .loudness,
        "bring the output to this loudness: -16LUFS, or podcast, broadcast, streaming",
        in: .format
    )
    static let truePeak = Option<LoudnessGoal.Level>(
        "true-peak",
        .truePeak,
        "with --loudness: limit true peaks to this level (default: -1dBTP)",
        in: .format
    )

    static let replayGain = Option<ReplayGainScope>(
        "replaygain",
        .choice("SCOPE") { $0.summary },
        "measure the output and state its loudness in tags for players",
        in: .destination
    )

    /// Only `submit` has it: the jobs of a batch are an album.
    static let album = Switch(
        "album",
        "with --loudness: one gain for the whole batch, which keeps its contrasts",
        in: .format
    )

    static let spec = Option<AudioSpec>(
        "spec",
        .choice("SPEC") { $0.summary },
        "fail if the output breaks a limit of what this publisher accepts",
        in: .destination
    )

    static let forms: [OptionForm] = [loudness.form, truePeak.form, replayGain.form, spec.form]

    /// `nil` if the options ask for none.
    static func goal(_ invocation: Invocation) throws(UsageError) -> LoudnessGoal? {
        guard let target = invocation[loudness] else {
            guard invocation[truePeak] == nil else { throw UsageError("--true-peak needs --loudness") }
            guard !takesAlbums(invocation) || !invocation[album] else {
                throw UsageError(
                    "--album needs --loudness",
                    hint: "\"--replaygain album\" states the loudness of the batch in tags"
                )
            }
            return nil
        }
        return LoudnessGoal(
            target: target,
            truePeak: invocation[truePeak] ?? .usualTruePeak,
            scope: takesAlbums(invocation) && invocation[album] ? .album : .track
        )
    }

    /// The scope of the tags for players; `nil` for none.
    static func scope(_ invocation: Invocation) throws(UsageError) -> ReplayGainScope? {
        guard invocation[replayGain] == .album, !takesAlbums(invocation) else { return invocation[replayGain] }
        throw UsageError(
            "--replaygain album: one output is no album",
            hint: "\"sluice submit\" takes the outputs of a batch as one; use \"--replaygain track\" here"
        )
    }

    private static func takesAlbums(_ invocation: Invocation) -> Bool { invocation.path == ["submit"] }
}

extension ValueType where Value == LoudnessGoal.Target {
    /// `-16LUFS`, `podcast`
    static let loudness = ValueType(
        placeholder: "LEVEL",
        completion: .suggestions(
            LoudnessGoal.Purpose.allCases.map { .init(word: $0.rawValue, summary: $0.summary) }
                + ["-14LUFS", "-16LUFS", "-19LUFS", "-23LUFS"].map { .init(word: $0) }
        )
    ) { text throws(Misfit) in
        guard let target = LoudnessGoal.Target(text) else {
            throw Misfit(why: "is not allowed; allowed: \(LoudnessGoal.Target.allowed)")
        }
        return target
    }
}

extension ValueType where Value == LoudnessGoal.Level {
    /// `-1dBTP`
    static let truePeak = ValueType(placeholder: "LEVEL") { text throws(Misfit) in
        guard let level = LoudnessGoal.Level(truePeak: text) else {
            throw Misfit(why: "is not allowed; allowed: \(LoudnessGoal.Level.allowedTruePeaks)")
        }
        return level
    }
}
