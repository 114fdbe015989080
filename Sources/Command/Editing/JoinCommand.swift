import Console
import Conversion
import Storage

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
            "With --mark-files, a CUE sheet or a list beside a file names its chapters, as 1.cue or 1.chapters.txt beside 1.mp3. If "
                + "the first file of a folder has no cover, the picture cover, folder or front (.jpg, .png) in the folder "
                + "becomes it.",
            "A folder stands for the audio files in it and below it. Their order is that of their discs and tracks, if the tags "
                + "of all have a track number, and otherwise that of their names, where 2 comes before 10. --order "
                + "chooses another; a list is a playlist, or a file with a name in each line, and only what it names is heard. "
                + "Doubts, such as numbers that are missing or occur twice, are noted, and --strict makes them a failure. "
                + "--dry-run shows the order, the chapters and the doubts.",
            "With --copy-packets, the packets of AAC files of one kind are copied and not encoded again, if OUT is M4A, M4B or "
                + "MP4; others are encoded, and a remark says why. Players that obey all of the edit list of OUT play every file "
                + "to the frame. Others play up to about 0.1 s of what the encoders added at each join. --codec copy does the "
                + "same, and refuses files that cannot be joined so.",
        ],
        arguments: [sources, TimelineRun.output],
        options: FormatOptions.forms + [
            EditOptions.crossfade.form, gap.form, EditOptions.fadeIn.form, EditOptions.fadeOut.form,
            EditOptions.limit.form, markFiles.form, BookOptions.order.form, BookOptions.strict.form,
            BookOptions.copyPackets.form,
        ] + TimelineRun.forms + [Question.dryRun.form],
        examples: [
            Example(line: "sluice join one.flac two.flac three.flac all.flac", purpose: "one after another"),
            Example(line: "sluice join one.wav two.wav both.mp3 --crossfade 2s", purpose: "with a cross-fade"),
            Example(line: "sluice join 1.mp3 2.mp3 book.m4b --mark-files", purpose: "a book, a chapter a file"),
            Example(line: "sluice join harbour harbour.m4b --mark-files", purpose: "a book of all files in a folder"),
            Example(
                line: "sluice join harbour harbour.m4b --mark-files --dry-run",
                purpose: "its chapters, and what is missing"
            ),
            Example(line: "sluice join 1.m4b 2.m4b all.m4b --copy-packets", purpose: "AAC, without encoding again"),
            Example(
                line: "sluice join one.wav two.wav both.mp3 --loudness podcast",
                purpose: "as loud as podcasts are"
            ),
        ],
        run: run
    )

    @Sendable private static func run(_ invocation: Invocation, _ console: CommandOutput) throws -> ExitCode {
        if invocation[EditOptions.crossfade] != nil, invocation[gap] != nil {
            throw UsageError("--crossfade and --gap exclude each other")
        }
        var book = try book(invocation, console)
        if invocation[markFiles], !invocation[ConvertCommand.noTags] { try takeBeside(&book, invocation, console) }
        let work = try work(book, invocation)
        if invocation[Question.dryRun] { return try rehearse(book, work, invocation, console) }
        if invocation[BookOptions.strict], !book.doubts.isEmpty {
            throw Refusal(
                message: "there \(Plural.be(book.doubts.count)) \(Figures.count(book.doubts.count, "doubt")); "
                    + "nothing was written",
                details: book.doubts.map(\.printable),
                hint: "without \(BookOptions.strict.form.word), they are noted"
            )
        }
        for doubt in book.doubts { console.warn(doubt.printable) }
        return try work.run(invocation, console)
    }

    /// The files of a book one after another, as the options say.
    private static func work(_ book: Book, _ invocation: Invocation) throws -> TimelineRun {
        let paths = book.files.map(\.place)
        return TimelineRun(
            sources: paths.enumerated().map { Recipe.Source(location: $1, name: name(ofFile: $0)) },
            timeline: try timeline(of: paths.count, invocation),
            marksSources: invocation[markFiles],
            copiesPackets: invocation[BookOptions.copyPackets],
            chapters: book.chapters,
            cover: book.cover
        )
    }

    private static func name(ofFile index: Int) -> String { "file \(index + 1)" }

    /// So many files, one after another.
    private static func timeline(of count: Int, _ invocation: Invocation) throws -> Timeline {
        let crossfade = invocation[EditOptions.crossfade].map { Fade($0.length, curve: .equalPower) }
        var pieces: [Piece] = []
        for index in 0..<count {
            if index > 0, let gap = invocation[gap] { pieces.append(Piece(.silence(gap))) }
            pieces.append(Piece(.source(name(ofFile: index)), crossfade: index > 0 ? crossfade : nil))
        }
        pieces[0].fadeIn = invocation[EditOptions.fadeIn]
        pieces[pieces.count - 1].fadeOut = invocation[EditOptions.fadeOut]
        return Timeline(tracks: [.init(pieces: pieces)], limit: try EditOptions.peakLimit(invocation))
    }

    /// Whether the packets can be copied, as far as the command and the headers of the files tell; `nil` if that is not asked
    /// for.
    private static func copying(_ book: Book, _ invocation: Invocation) throws -> BookPage.Copying? {
        let isPreset = invocation[FormatOptions.preset]?.name == "passthrough"
        let copiesOnly = invocation[FormatOptions.codec] == .copy || isPreset
        guard copiesOnly || invocation[BookOptions.copyPackets] else { return nil }
        let reason =
            try timeline(of: book.files.count, invocation).reasonAgainstCopying
            ?? BookPackets.reasonAgainstCopying(book.files)
        return BookPage.Copying(unless: reason, encodes: !copiesOnly)
    }

    /// The files of all arguments, with the doubts about the order in folders.
    private static func book(_ invocation: Invocation, _ console: CommandOutput) throws -> Book {
        let (words, order) = (invocation.words(sources), invocation[BookOptions.order])
        let outputs = [invocation.word(TimelineRun.output)] + invocation.all(FormatOptions.also).map(\.location)
        let parts = try words.map { (word: $0, folder: try JoinedFolder($0, besides: outputs)) }
        let folders = parts.count { $0.folder != nil }
        if order != nil, folders == 0 {
            throw UsageError("\(BookOptions.order.form.word) orders the files of a folder, and none is given")
        }
        if case .list = order, folders > 1 {
            throw UsageError("\(BookOptions.order.form.word): a list orders one folder, and \(folders) are given")
        }
        var (files, doubts): ([Book.File], [String]) = ([], [])
        for (word, folder) in parts {
            guard let folder else {
                files.append(Book.File(place: word, name: word))
                continue
            }
            let book = try folder.book(order, invocation, console)
            files += book.files
            doubts += book.doubts
        }
        var book = Book(inOrder: files)
        book.doubts = doubts
        return book
    }

    /// The silence between two files; less than zero if they overlap.
    private static func space(_ invocation: Invocation) -> MediaTime {
        invocation[gap] ?? invocation[EditOptions.crossfade].map { -$0.length } ?? .zero
    }

    /// `nil` for standard input, which can be read once.
    @Sendable private static func path(of file: Book.File) -> String? { file.place == "-" ? nil : file.place }

    /// Has rooms look at the files that none has looked at yet. One that cannot be read is a doubt.
    private static func probe(
        _ book: inout Book,
        _ invocation: Invocation,
        _ console: CommandOutput
    ) throws {
        let files = try BookProbing.look(into: book.files, invocation, console) { file in
            file.facts != nil || file.problem != nil ? nil : path(of: file)
        }
        for (before, file) in zip(book.files, files) where before.problem == nil {
            if let problem = file.problem { book.doubts.append("\(file.place): \(problem)") }
        }
        book.files = files
    }

    /// Takes the chapters in lists beside the files, and the cover beside them if the first file has none. Rooms look at the
    /// files if that depends on them.
    private static func takeBeside(
        _ book: inout Book,
        _ invocation: Invocation,
        _ console: CommandOutput
    ) throws {
        let hasCover = invocation[CoverOption.option] != nil
        let cover = hasCover ? BesideBook.Cover() : BesideBook.cover(in: book.files[0].folders)
        let takesLists = invocation[ChapterOption.option] == nil
        let lists = takesLists && BesideBook.hasLists(beside: book.files.compactMap(path(of:)))
        guard cover != BesideBook.Cover() || lists else { return }
        try probe(&book, invocation, console)
        if book.files[0].facts?.cover == nil {
            book.cover = cover.path
            book.doubts += cover.doubts
        }
        if lists { book.takeMarks(gap: space(invocation), path: path(of:)) }
    }

    /// Shows what would be joined, and refuses what `work` would refuse.
    private static func rehearse(
        _ book: Book,
        _ work: TimelineRun,
        _ invocation: Invocation,
        _ console: CommandOutput
    ) throws -> ExitCode {
        let output = invocation.word(TimelineRun.output)
        let words = work.sources.map(\.location)
        let job = try ConvertCommand.job(try work.recipe(invocation), words: words, to: output, invocation)
        try job.check()
        var book = book
        try probe(&book, invocation, console)
        let page = BookPage(
            output: output,
            files: book.files,
            doubts: book.doubts,
            marks: invocation[markFiles] && invocation[ChapterOption.option] == nil
                && !invocation[ConvertCommand.noTags],
            gap: space(invocation),
            cover: (invocation[CoverOption.option] ?? book.cover)?.lastPathName,
            copying: try copying(book, invocation)
        )
        if invocation[ConvertCommand.json] {
            try console.print(JSONText.line(page.record))
        } else {
            for line in page.lines(for: console.data) { try console.print(line) }
            try console.print("nothing was written (--dry-run)")
        }
        if let obstacle = job.obstacle() {
            FailurePage(obstacle, source: nil, destination: nil, invocation: invocation).show(on: console)
            return obstacle.exitCode
        }
        // The doubts name these files.
        if book.files.contains(where: { $0.problem != nil }) { return .failure }
        return invocation[BookOptions.strict] && !page.doubts.isEmpty ? .failure : .success
    }
}
