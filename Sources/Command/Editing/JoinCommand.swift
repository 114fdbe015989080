import Console
import Conversion

/// `sluice join`: plays files one after another into one output.
enum JoinCommand {
    private static let sources = Argument(
        name: "IN",
        summary: "the files, or folders of files, in the order in which they are heard",
        count: .oneOrMore
    )
    private static let gap = Option<MediaTime>("gap", .time, "silence between the files", in: .edit)
    private static let markFiles = Switch(
        "mark-files",
        "make a chapter of each file without chapters, by its title or name",
        in: .edit
    )

    static let value: Subcommand = Subcommand(
        name: "join",
        summary: "join audio files into one",
        discussion: [
            "Files with the same sample rate and channels keep every bit, whatever their formats are. Others are "
                + "brought to the highest rate, and to the layout with the most channels. OUT gets the tags of the "
                + "first file, or with --mark-files those that all files agree on.",
            "A folder stands for the audio files in it and below it, in the order of their names, where 2 comes before 10. "
                + "Numbers that are missing or occur twice are noted.",
        ],
        arguments: [sources, TimelineRun.output],
        options: FormatOptions.forms + [
            EditOptions.crossfade.form, gap.form, EditOptions.fadeIn.form, EditOptions.fadeOut.form,
            EditOptions.limit.form, markFiles.form,
        ] + TimelineRun.forms,
        examples: [
            Example(line: "sluice join one.flac two.flac three.flac all.flac", purpose: "one after another"),
            Example(line: "sluice join one.wav two.wav both.mp3 --crossfade 2s", purpose: "with a cross-fade"),
            Example(line: "sluice join 1.mp3 2.mp3 book.m4b --mark-files", purpose: "a book, a chapter a file"),
            Example(line: "sluice join harbour harbour.m4b --mark-files", purpose: "a book of all files in a folder"),
            Example(
                line: "sluice join one.wav two.wav both.mp3 --loudness podcast",
                purpose: "as loud as podcasts are"
            ),
        ],
        run: run
    )

    @Sendable private static func run(_ invocation: Invocation, _ console: CommandOutput) throws -> ExitCode {
        let crossfade = invocation[EditOptions.crossfade].map { Fade($0.length, curve: .equalPower) }
        if crossfade != nil, invocation[gap] != nil {
            throw UsageError("--crossfade and --gap exclude each other")
        }
        var paths: [String] = []
        for word in invocation.words(sources) {
            let folder = try JoinedFolder(word, besides: invocation.word(TimelineRun.output))
            for doubt in folder?.doubts ?? [] { console.warn(doubt) }
            paths += folder?.files ?? [word]
        }
        let names = paths.indices.map { "file \($0 + 1)" }
        var pieces: [Piece] = []
        for (index, name) in names.enumerated() {
            if index > 0, let gap = invocation[gap] { pieces.append(Piece(.silence(gap))) }
            pieces.append(Piece(.source(name), crossfade: index > 0 ? crossfade : nil))
        }
        pieces[0].fadeIn = invocation[EditOptions.fadeIn]
        pieces[pieces.count - 1].fadeOut = invocation[EditOptions.fadeOut]
        return try TimelineRun(
            sources: zip(paths, names).map { Recipe.Source(location: $0, name: $1) },
            timeline: Timeline(tracks: [.init(pieces: pieces)], limit: try EditOptions.peakLimit(invocation)),
            marksSources: invocation[markFiles]
        ).run(invocation, console)
    }
}
