import Console
import Conversion
import Storage

/// `sluice split`: cuts one file into several.
enum SplitCommand {
    private static let input = Argument(name: "IN", summary: "the source")
    private static let at = Option<SplitPoints>(
        "at",
        .splitPoints,
        "where to cut: chapters, cue, silence, every 10min, or times, as in 1:00,2:30",
        in: .edit
    )
    private static let to = Option<PieceNames>(
        "to",
        .pieceNames,
        "names of the pieces, with {stem}, {n} (number) and {title} (of the chapter)",
        in: .destination
    )

    static let value: Subcommand = Subcommand(
        name: "split",
        summary: "cut an audio file into several",
        discussion: [
            "Pieces follow each other to the frame: lossless pieces, joined, are the source again. Each has the source's "
                + "tags and a track number; a chapter also has its title.",
            "--at silence cuts in the middle of each silence between sounds: half a second or more in which no sample "
                + "exceeds -60 dB. --at 'silence -50dB/1s' takes another level and length.",
            "--at cue takes the tracks of the CUE sheet beside the file, as disc.cue beside disc.flac, or of the one in its tag "
                + "CUESHEET. Pieces have the titles, performers and ISRCs of the sheet. A file without a sheet is cut at its "
                + "chapters.",
            "One decode makes up to 200 pieces, which appear together once all are complete. If some exist, the same "
                + "command with --on-conflict skip makes the others.",
        ],
        arguments: [input],
        options: [at.form, to.form] + FormatOptions.forms + [
            SourceOptions.track.form, SourceOptions.onDamage.form, SourceOptions.concealLimit.form,
            SourceOptions.rawInput.form,
        ] + ConvertCommand.destinationForms + [ProgressStyle.option.form, ConvertCommand.json.form],
        examples: [
            Example(line: "sluice split book.m4b --at chapters --to '{n} {title}.mp3'", purpose: "a file a chapter"),
            Example(line: "sluice split disc.flac --at cue --to '{n} {title}.flac'", purpose: "a file a track"),
            Example(line: "sluice split side.flac --at 3:21,7:02 --to 'side-{n}.flac'", purpose: "at these times"),
            Example(line: "sluice split tape.wav --at silence --to '{stem}-{n}.flac'", purpose: "between songs"),
            Example(line: "sluice split day.wav --at 'every 1h' --to '{stem}-{n}.flac'", purpose: "hour by hour"),
        ],
        run: run
    )

    @Sendable private static func run(_ invocation: Invocation, _ console: CommandOutput) throws -> ExitCode {
        let input = invocation.word(input)
        guard input != "-", FileFacts.of(path: input, followingLinks: true)?.kind != .pipe else {
            let name = input == "-" ? "standard input" : input
            throw UsageError("\(name) cannot be split: a pipe can be read only once", hint: "store it in a file")
        }
        guard let points = invocation[at] else { throw UsageError("--at is missing", hint: "as in --at chapters") }
        guard let template = invocation[to] else {
            throw UsageError("--to is missing", hint: "as in --to '{stem}-{n}.flac'")
        }
        return try ForegroundRoom.lend { room in
            defer { if let warning = room.warning { console.warn(warning) } }
            return try split(input, points, template, in: room, invocation, console)
        }
    }

    private static func split(
        _ input: String,
        _ points: SplitPoints,
        _ template: PieceNames,
        in room: ForegroundRoom,
        _ invocation: Invocation,
        _ console: CommandOutput
    ) throws -> ExitCode {
        let pieces: [SplitPoints.Piece]
        switch try look(at: input, for: points, in: room, invocation, console) {
        case .found(let found): pieces = found
        case .ended(let code): return code
        }
        let names = try template.names(for: pieces, of: input)
        // Each recipe is one decode. After damage that is left out, cuts of the same decode would come too early.
        let most = invocation[SourceOptions.onDamage].movesSound ? 1 : Recipe.maximumPieces
        let groups = stride(from: 0, to: pieces.count, by: most).map { $0..<min($0 + most, pieces.count) }
        let recipes = try groups.map { try recipe(of: pieces, $0, input, names, invocation) }
        if invocation[ConvertCommand.onConflict] == .fail { try refuseExisting(names) }
        for (group, recipe) in zip(groups, recipes) {
            let page = ConvertPage(
                input: input,
                outputs: Array(names[group]),
                recipe: recipe,
                invocation: invocation,
                console: console
            )
            let ending = convert(recipe, from: pieces[group.lowerBound].range.start, page, in: room)
            let code = try page.show(ending, asJSON: invocation[ConvertCommand.json])
            guard code == .success else {
                if groups.count > 1 {
                    console.say("\(group.lowerBound) of \(Figures.count(names.count, "piece")) were written")
                }
                return code
            }
        }
        return .success
    }

    // MARK: - The pieces

    private enum Look {
        case found([SplitPoints.Piece])
        case ended(ExitCode)
    }

    /// Has the source described, and computes its pieces.
    private static func look(
        at input: String,
        for points: SplitPoints,
        in room: ForegroundRoom,
        _ invocation: Invocation,
        _ console: CommandOutput
    ) throws -> Look {
        var scans = false
        while true {
            let inspection = SourceInspection(
                of: input,
                raw: invocation[SourceOptions.rawInput],
                scans: scans,
                silence: points.wantedSilence
            )
            let result = inspection.run(in: room, invocation[ProgressStyle.option], console)
            if let signal = result.signal { return .ended(signal) }
            let report: SourceReport
            switch result.value {
            case .success(let facts): report = facts.report
            case .failure(let failure):
                FailurePage(failure, source: input, invocation: invocation).show(on: console)
                return .ended(failure.exitCode)
            }
            do throws(SplitProblem) {
                let track = invocation[SourceOptions.track]
                let pieces = try points.pieces(of: report, at: input, track: track, hasScanned: scans)
                if let pieces { return .found(pieces) }
            } catch {
                throw Refusal(message: "\(input): \(error.detail)", hint: error.hint)
            }
            // Only decoding finds the length.
            scans = true
        }
    }

    /// The recipe of the pieces that `group` names among all of them.
    private static func recipe(
        of pieces: [SplitPoints.Piece],
        _ group: Range<Int>,
        _ input: String,
        _ names: [String],
        _ invocation: Invocation
    ) throws -> Recipe {
        let conflicts = invocation[ConvertCommand.onConflict]
        let isAlone = group.count == 1
        let source = Recipe.Source(
            location: input,
            track: invocation[SourceOptions.track],
            ranges: isAlone ? [pieces[group.lowerBound].range] : [],
            raw: invocation[SourceOptions.rawInput]
        )
        let outputs = try group.map { index in
            var output = try FormatOptions.output(at: names[index], onConflict: conflicts, invocation)
            if !isAlone { output.range = pieces[index].range }
            return output
        }
        var recipe = Recipe(sources: [source], outputs: outputs)
        try FormatOptions.settlePreset(of: &recipe, invocation)
        try ConvertCommand.settle(&recipe, invocation)
        for (place, index) in group.enumerated() {
            recipe.outputs[place].tags = pieces[index]
                .tags(pieces.number(index), of: pieces.lastNumber, besides: recipe.tags)
        }
        return recipe
    }

    /// A name that is taken is known before the first piece is written.
    private static func refuseExisting(_ names: [String]) throws(Refusal) {
        for name in names where FileFacts.of(path: name, followingLinks: false) != nil {
            throw Refusal(
                message: "\(name) already exists; nothing was written",
                hint: "--on-conflict replace overwrites it, and --on-conflict skip leaves it",
                exitCode: Failure(.destinationExists, at: .open, "").exitCode
            )
        }
    }

    private static func convert(
        _ recipe: Recipe,
        from start: MediaTime,
        _ page: ConvertPage,
        in room: ForegroundRoom
    ) -> FileConversion.Ending {
        let display = ProgressDisplay(
            page.invocation[ProgressStyle.option],
            title: page.outputs[0],
            from: start,
            outlet: page.console.talk
        )
        let inputs = [page.input] + recipe.sources.dropFirst().map(\.location)
        return FileConversion(recipe: recipe, inputs: inputs, outputs: page.outputs)
            .run(in: room, keepsRoom: true, showing: display, surrender: page.surrender)
    }
}
