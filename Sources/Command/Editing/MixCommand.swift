import Console
import Conversion

/// `sluice mix`: plays files at the same time into one output.
enum MixCommand {
    private static let sources = Argument(
        name: "IN",
        summary: "the files; FILE@-18dB+0:03 is 18 dB quieter and starts after 3 seconds",
        count: .oneOrMore
    )

    static let value: Subcommand = Subcommand(
        name: "mix",
        summary: "mix audio files into one",
        discussion: [
            "OUT is as long as the file that ends last. It has the highest sample rate of the files, and the layout with "
                + "the most channels. Samples that exceed full scale are clipped and counted, unless --limit keeps them below "
                + "a true peak. OUT gets the tags of the first file."
        ],
        arguments: [sources, TimelineRun.output],
        options: FormatOptions.forms
            + [
                EditOptions.fadeIn.form, EditOptions.fadeOut.form, EditOptions.padTo.form, EditOptions.limit.form,
            ] + TimelineRun.forms,
        examples: [
            Example(line: "sluice mix voice.wav music.wav@-18dB+0:03 episode.wav", purpose: "a voice over music"),
            Example(line: "sluice mix drums.wav bass.wav song.wav --limit -1dBTP", purpose: "without clipping"),
        ],
        run: run
    )

    @Sendable private static func run(_ invocation: Invocation, _ console: CommandOutput) throws -> ExitCode {
        var (recipes, tracks): ([Recipe.Source], [Timeline.Track]) = ([], [])
        for (index, word) in invocation.words(sources).enumerated() {
            let voice = try MixedFile(word)
            let name = "file \(index + 1)"
            recipes.append(.init(location: voice.path, name: name))
            let piece = Piece(
                .source(name),
                gain: voice.gain,
                fadeIn: invocation[EditOptions.fadeIn],
                fadeOut: invocation[EditOptions.fadeOut]
            )
            tracks.append(.init(start: voice.start, pieces: [piece]))
        }
        return try TimelineRun(
            sources: recipes,
            timeline: Timeline(
                tracks: tracks,
                padTo: invocation[EditOptions.padTo],
                limit: try EditOptions.peakLimit(invocation)
            )
        ).run(invocation, console)
    }
}

/// A file of a mix, as the user writes it: `music.wav@-18dB+0:03`. Gain and start may be missing.
struct MixedFile: Hashable {
    let path: String
    let gain: Gain
    let start: MediaTime

    /// A name that contains `@` and no gain after it is only a name.
    init(_ word: String) throws(UsageError) {
        let at = word.lastIndex(of: "@")
        let settings = at.map { word[word.index(after: $0)...] } ?? ""
        let isSetting = settings.first.map { "+-0123456789".contains($0) } ?? false
        guard let at, isSetting else {
            (path, gain, start) = (word, .unity, .zero)
            return
        }
        path = String(word[..<at])
        // A gain ends with a letter, as in "dB"; a start follows its own plus sign.
        let split = settings.lastIndex { $0.isLetter }.map { settings.index(after: $0) } ?? settings.startIndex
        let (level, offset) = (settings[..<split], settings[split...])
        do {
            gain = level.isEmpty ? .unity : try Gain(parsing: level)
            start = offset.isEmpty ? .zero : try MediaTime(parsing: offset.dropFirst())
            guard offset.isEmpty || offset.first == "+", start >= .zero else { throw Misfit(why: "no plus sign") }
        } catch {
            throw UsageError(
                "\(word.printable): \(settings) is neither a gain nor a start",
                hint: "as in music.wav@-18dB+0:03, music.wav@-18dB or music.wav@+0:03"
            )
        }
    }
}
