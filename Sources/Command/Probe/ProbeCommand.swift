import Console
import Conversion

/// `sluice probe`: describes files without converting them.
enum ProbeCommand {
    private static let files = Argument(
        name: "FILE",
        summary: "the file; - is standard input",
        count: .oneOrMore
    )
    private static let scan = Switch("scan", "decode the whole file and list the damage", in: .source)
    private static let loudness = Switch(
        "loudness",
        "decode the whole file and measure its loudness and peaks (EBU R 128)",
        in: .source
    )
    private static let spec = Option<AudioSpec>(
        "spec",
        .choice("SPEC") { $0.summary },
        "decode the whole file and compare it with what a publisher accepts",
        in: .source
    )
    private static let points = Switch(
        "points",
        "decode the whole file and list where something changes in it",
        in: .source
    )
    private static let pointForm = SettledOption<PointForm>(
        "points-format",
        .choice("FORM") { $0.summary },
        fallback: "table",
        "with --points: how to print them",
        in: .output
    )
    private static let silence = Option<SilenceTrim>(
        "points-silence",
        .silenceTrim,
        "with --points: the level and length of silence (default: -60dB/0.5s)",
        in: .source
    )
    private static let before = Option<MediaTime>(
        "point-before",
        .time,
        "with --points: only the last place before this time",
        in: .source
    )
    private static let after = Option<MediaTime>(
        "point-after",
        .time,
        "with --points: only the next place after this time",
        in: .source
    )
    private static let picture = Switch(
        "picture",
        "decode the whole file and draw its waveform and its loudness over time",
        in: .output
    )
    private static let json = Switch("json", "print one JSON line per file", in: .output)

    static let value: Subcommand = Subcommand(
        name: "probe",
        summary: "show the container, tracks, length and tags of files",
        discussion: [
            "A length is \"exact\" if the file states it to the frame, and \"estimated\" if only decoding can find it (--scan).",
            "--loudness, --points and --picture imply --scan. A mono file counts once: over two speakers, it is 3 LU louder than "
                + "its figure.",
            "--points finds chapters, cue points, loops, parts of edit lists, changes of format, damage, silence, clipping, "
                + "dropouts, channels that are silent or equal, and DC offset. All are exact to the frame.",
            "--picture draws in the width of the terminal, with --points also where they begin; with --json, the figures are "
                + "in outline.",
            "--spec prints a line for each limit: what was measured, what is allowed, and where to listen.",
            "The exit code is 3 if --scan found damage, if a file breaks a limit of --spec, or if some of the files could not be "
                + "read.",
        ],
        arguments: [files],
        options: [
            scan.form, loudness.form, spec.form, points.form, silence.form, before.form, after.form,
            SourceOptions.rawInput.form, pointForm.form, ProgressStyle.option.form, picture.form, json.form,
        ],
        examples: [
            Example(line: "sluice probe talk.m4a", purpose: "the contents of a file"),
            Example(line: "sluice probe --scan --json *.mp3", purpose: "find damage, for programs"),
            Example(line: "sluice probe --loudness talk.wav", purpose: "how loud a file is"),
            Example(line: "sluice probe --spec acx chapter.mp3", purpose: "whether ACX accepts a file"),
            Example(line: "sluice probe --points talk.wav", purpose: "where something changes in it"),
            Example(
                line: "sluice probe --points --points-format audacity talk.wav",
                purpose: "the same as labels for Audacity"
            ),
            Example(line: "sluice probe --picture talk.wav", purpose: "what a file looks like"),
        ],
        run: run
    )

    @Sendable private static func run(_ invocation: Invocation, _ console: CommandOutput) throws -> ExitCode {
        try checkOptions(invocation)
        return try ForegroundRoom.lend { room in
            defer { if let warning = room.warning { console.warn(warning) } }
            return try probe(invocation.words(files), in: room, invocation, console)
        }
    }

    private static func checkOptions(_ invocation: Invocation) throws(UsageError) {
        let needing = [pointForm.form, silence.form, before.form, after.form]
        let given = needing.filter { invocation.origin(of: $0) == .commandLine }
        if let option = given.first, !invocation[points] { throw UsageError("\(option.word) needs --points") }
        if let silence = invocation[silence], silence.ends != .both || silence.shortest <= .zero {
            throw UsageError(
                "\(Self.silence.form.word) needs a level and a length above 0",
                hint: "as in -50dB/1s; points are found at both ends and between them"
            )
        }
        let form = invocation[pointForm]
        guard form != .table else { return }
        if invocation[json] { throw UsageError("--json and \(pointForm.form.word) exclude each other") }
        if invocation[spec] != nil {
            throw UsageError("\(spec.form.word) and \(pointForm.form.word) \(form.rawValue) exclude each other")
        }
        if invocation[picture] {
            throw UsageError("--picture and \(pointForm.form.word) \(form.rawValue) exclude each other")
        }
        if let option = given.first(where: { [before.form.name, after.form.name].contains($0.name) }) {
            throw UsageError("\(option.word) and \(pointForm.form.word) \(form.rawValue) exclude each other")
        }
        if form == .audacity, invocation.words(files).count > 1 {
            throw UsageError("--points-format audacity takes one file: labels do not name theirs")
        }
    }

    /// What counts as a point, if the user wants any.
    private static func rules(_ invocation: Invocation) -> PointRules? {
        guard invocation[points] else { return nil }
        return PointRules(silence: invocation[silence] ?? PointRules.usualSilence)
    }

    private static func probe(
        _ names: [String],
        in room: ForegroundRoom,
        _ invocation: Invocation,
        _ console: CommandOutput
    ) throws -> ExitCode {
        var failures: [Failure] = []
        var foundDamage = false
        var brokeLimits = false
        let form = invocation[pointForm]
        if form == .csv { try console.print(PointForm.header) }
        for (index, name) in names.enumerated() {
            let inspection = SourceInspection(
                of: name,
                raw: invocation[SourceOptions.rawInput],
                scans: invocation[scan],
                measuresLoudness: invocation[loudness] || invocation[spec] != nil || form == .liquidsoap,
                outlinesSound: invocation[picture],
                surveysLevels: invocation[spec] != nil,
                points: rules(invocation)
            )
            let result = inspection.run(in: room, invocation[ProgressStyle.option], console)
            if let signal = result.signal { return signal }
            switch result.value {
            case .success(let facts):
                if facts.report.scan?.damage.isEmpty == false { foundDamage = true }
                let verdict = invocation[spec]?.verdict(on: facts.report)
                if verdict?.passes == false { brokeLimits = true }
                let answers = facts.report.points.flatMap {
                    PointAnswers($0, before: invocation[before], after: invocation[after])
                }
                if invocation[json] {
                    var record = Record(source: name, bytes: facts.bytes, description: facts.report)
                    (record.verdict, record.places) = (verdict, answers)
                    try console.print(JSONText.line(record))
                } else if form == .table {
                    if index > 0 { try console.print("") }
                    let page = ProbePage(name: name, bytes: facts.bytes, report: facts.report)
                    try console.print(page.lines(for: console.data).joined(separator: "\n"))
                    if let verdict {
                        let lines = [""] + SpecPage(verdict: verdict).lines(for: console.data)
                        try console.print(lines.joined(separator: "\n"))
                    }
                    guard let points = facts.report.points else { continue }
                    let list = PointPage(report: points, answers: answers)
                    try console.print(([""] + list.lines(for: console.data)).joined(separator: "\n"))
                } else {
                    try show(facts.report, of: name, as: form, console)
                }
            case .failure(let failure):
                if invocation[json] { try console.print(JSONText.line(Record(source: name, failure: failure))) }
                FailurePage(failure, source: name, invocation: invocation).show(on: console)
                failures.append(failure)
            }
        }
        guard let first = failures.first else { return foundDamage || brokeLimits ? .someFailed : .success }
        return names.count > 1 && failures.count < names.count ? .someFailed : first.exitCode
    }

    /// Prints the points of a file for other programs.
    private static func show(
        _ report: SourceReport,
        of name: String,
        as form: PointForm,
        _ console: CommandOutput
    ) throws {
        guard let points = report.points else {
            console.warn("\(name.printable) is protected: it has no points")
            return
        }
        var lines: [String] = []
        switch form {
        case .table: return
        case .csv: lines = PointForm.columns(points, source: name)
        case .audacity: lines = PointForm.labels(points)
        case .liquidsoap:
            guard !name.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) else {
                console.warn("\(name.printable): Liquidsoap reads no names with control characters")
                return
            }
            guard let values = AutoDJValues(points, report.loudness) else {
                console.warn("\(name.printable) is silent: an AutoDJ has nothing to play")
                return
            }
            lines = [values.annotation(of: name)]
        }
        let listsPoints = form != .liquidsoap
        if listsPoints, !points.found.isEmpty { console.warn("\(name.printable) has more points than are listed") }
        if !lines.isEmpty { try console.print(lines.joined(separator: "\n")) }
    }

    private struct Record: Encodable {
        let source: String
        var bytes: Int64?
        var description: SourceReport?
        /// What the spec says that was asked for.
        var verdict: SpecVerdict?
        /// What lies next to the times that were asked for.
        var places: PointAnswers?
        var failure: Failure?
    }
}
