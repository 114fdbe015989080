import Console
import Conversion

/// `sluice tags`: shows what files say about themselves, and changes it without touching their sound.
enum TagsCommand {
    private static let files = Argument(
        name: "FILE",
        summary: "the file; - is standard input, which can only be shown",
        count: .oneOrMore
    )
    private static let set = Option<TagWish>(
        "set",
        .tag,
        "set a tag, or several values; NAME= removes it; {dir}, {stem}: the file's",
        isRepeatable: true,
        in: .edit
    )
    private static let remove = Option<String>(
        "remove",
        .text.named("NAME"),
        "remove this tag",
        isRepeatable: true,
        in: .edit
    )
    private static let from = Option<String>(
        "from",
        .file,
        "take the tags, pictures and chapters of this file, in place of FILE's",
        in: .edit
    )
    private static let allowLoss = Switch(
        "allow-loss",
        "change FILE even if it loses parts that Sluice does not keep",
        in: .edit
    )
    private static let json = Switch("json", "print one JSON line per file", in: .output)

    static let value: Subcommand = Subcommand(
        name: "tags",
        summary: "show the tags of files, or change them and keep the sound as it is",
        discussion: [
            "Names are the same for all formats: \"artist\", \"albumartist\", \"tracknumber\". Other tags "
                + "keep the names that they have in the file.",
            "A change makes a new file with the same packets of sound, which takes the place of FILE once it is complete. A file "
                + "that would lose a part that Sluice knows stays as it is, and so does one that has the tags already.",
        ],
        arguments: [files],
        options: [set.form, remove.form, from.form, TagFileOption.option.form, CoverOption.option.form]
            + [ChapterOption.option.form, allowLoss.form, ProgressStyle.option.form, json.form],
        examples: [
            Example(line: "sluice tags song.flac", purpose: "the tags of a file"),
            Example(line: "sluice tags --json *.mp3", purpose: "those of many files, for programs"),
            Example(line: "sluice tags --set artist=Ada --set artist=Bob song.flac", purpose: "two artists"),
            Example(line: "sluice tags --set 'title={stem}' --remove comment *.mp3", purpose: "change many files"),
            Example(line: "sluice tags --from song.flac song.mp3", purpose: "those of another file"),
            Example(line: "sluice tags --cover front.jpg song.flac", purpose: "a cover"),
            Example(line: "sluice tags --chapters times.txt book.m4b", purpose: "new chapters"),
        ],
        run: run
    )

    @Sendable private static func run(_ invocation: Invocation, _ console: CommandOutput) throws -> ExitCode {
        let changes = try TagChanges(
            invocation,
            set: invocation.all(set),
            remove: invocation.all(remove),
            from: invocation[from]
        )
        if changes == nil, invocation[allowLoss] {
            throw UsageError("\(allowLoss.form.word) needs a change, as by --set")
        }
        let names = invocation.words(files)
        if changes != nil, names.contains("-") { throw UsageError("standard input cannot be changed") }
        return try ForegroundRoom.lend { room in
            defer { if let warning = room.warning { console.warn(warning) } }
            guard let changes else { return try show(names, in: room, invocation, console) }
            return try change(names, changes, in: room, invocation, console)
        }
    }

    // MARK: Showing

    private static func show(
        _ names: [String],
        in room: ForegroundRoom,
        _ invocation: Invocation,
        _ console: CommandOutput
    ) throws -> ExitCode {
        var failures: [Failure] = []
        for (index, name) in names.enumerated() {
            let inspection = SourceInspection(of: name, raw: nil)
            let result = inspection.run(in: room, invocation[ProgressStyle.option], console)
            if let signal = result.signal { return signal }
            switch result.value {
            case .success(let facts):
                let page = TagsPage(name: name, report: facts.report)
                if invocation[json] {
                    try console.print(JSONText.line(page.record))
                } else {
                    if page.isEmpty { console.warn("\(name.printable) has no tags") }
                    let lines = page.lines(for: console.data, named: names.count > 1)
                    if index > 0, !lines.isEmpty { try console.print("") }
                    if !lines.isEmpty { try console.print(lines.joined(separator: "\n")) }
                    if let note = page.note { console.warn(note) }
                }
            case .failure(let failure):
                try tell(failure, of: name, invocation, console)
                failures.append(failure)
            }
        }
        return code(failures, of: names.count)
    }

    // MARK: Changing

    private static func change(
        _ names: [String],
        _ changes: TagChanges,
        in room: ForegroundRoom,
        _ invocation: Invocation,
        _ console: CommandOutput
    ) throws -> ExitCode {
        var failures: [Failure] = []
        for name in names {
            let change = TagChange(path: name, changes: changes, allowsLoss: invocation[allowLoss])
            let display = ProgressDisplay(invocation[ProgressStyle.option], title: name, outlet: console.talk)
            switch change.run(in: room, showing: display) {
            case .changed(let report):
                if invocation[json] {
                    try console.print(JSONText.line(Record(source: name, state: "completed", conversion: report)))
                } else {
                    let size = Figures.bytes(report.bytes)
                    try console.print("\(console.data.paint(name.printable, .strong))  changed  \(size)")
                }
                for remark in report.remarks { console.warn(remark.detail.printable) }
            case .unchanged:
                if invocation[json] {
                    try console.print(JSONText.line(Record(source: name, state: "unchanged")))
                } else {
                    try console.print("\(console.data.paint(name.printable, .strong))  unchanged")
                }
            case .failed(let failure):
                try tell(failure, of: name, invocation, console)
                failures.append(failure)
            case .stopped(let signal): return signal
            }
        }
        return code(failures, of: names.count)
    }

    private static func tell(
        _ failure: Failure,
        of name: String,
        _ invocation: Invocation,
        _ console: CommandOutput
    ) throws {
        if invocation[json] {
            try console.print(JSONText.line(Record(source: name, state: "failed", failure: failure)))
        }
        FailurePage(failure, source: name, invocation: invocation).show(on: console)
    }

    private static func code(_ failures: [Failure], of count: Int) -> ExitCode {
        guard let first = failures.first else { return .success }
        return count > 1 && failures.count < count ? .someFailed : first.exitCode
    }

    private struct Record: Encodable {
        let source: String
        let state: String
        var conversion: ConversionReport?
        var failure: Failure?
    }
}
