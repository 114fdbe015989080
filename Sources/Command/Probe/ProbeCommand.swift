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
    private static let json = Switch("json", "print one JSON line per file", in: .output)

    static let value: Subcommand = Subcommand(
        name: "probe",
        summary: "show the container, tracks, length and tags of files",
        discussion: [
            "A length is \"exact\" if the file states it to the frame, and \"estimated\" if only decoding can find it (--scan).",
            "--loudness implies --scan. A mono file counts once: over two speakers, it is 3 LU louder than its figure.",
            "The exit code is 3 if --scan found damage, or if some of the files could not be read.",
        ],
        arguments: [files],
        options: [scan.form, loudness.form, SourceOptions.rawInput.form, ProgressStyle.option.form, json.form],
        examples: [
            Example(line: "sluice probe talk.m4a", purpose: "the contents of a file"),
            Example(line: "sluice probe --scan --json *.mp3", purpose: "find damage, for programs"),
            Example(line: "sluice probe --loudness talk.wav", purpose: "how loud a file is"),
        ],
        run: run
    )

    @Sendable private static func run(_ invocation: Invocation, _ console: CommandOutput) throws -> ExitCode {
        try ForegroundRoom.lend { room in
            defer { if let warning = room.warning { console.warn(warning) } }
            return try probe(invocation.words(files), in: room, invocation, console)
        }
    }

    private static func probe(
        _ names: [String],
        in room: ForegroundRoom,
        _ invocation: Invocation,
        _ console: CommandOutput
    ) throws -> ExitCode {
        var failures: [Failure] = []
        var foundDamage = false
        for (index, name) in names.enumerated() {
            let inspection = SourceInspection(
                of: name,
                raw: invocation[SourceOptions.rawInput],
                scans: invocation[scan],
                measuresLoudness: invocation[loudness]
            )
            let result = inspection.run(in: room, invocation[ProgressStyle.option], console)
            if let signal = result.signal { return signal }
            switch result.value {
            case .success(let facts):
                if facts.report.scan?.damage.isEmpty == false { foundDamage = true }
                if invocation[json] {
                    try console.print(
                        JSONText.line(Record(source: name, bytes: facts.bytes, description: facts.report))
                    )
                } else {
                    if index > 0 { try console.print("") }
                    let page = ProbePage(name: name, bytes: facts.bytes, report: facts.report)
                    try console.print(page.lines(for: console.data).joined(separator: "\n"))
                }
            case .failure(let failure):
                if invocation[json] { try console.print(JSONText.line(Record(source: name, failure: failure))) }
                FailurePage(failure, source: name, invocation: invocation).show(on: console)
                failures.append(failure)
            }
        }
        guard let first = failures.first else { return foundDamage ? .someFailed : .success }
        return names.count > 1 && failures.count < names.count ? .someFailed : first.exitCode
    }

    private struct Record: Encodable {
        let source: String
        var bytes: Int64?
        var description: SourceReport?
        var failure: Failure?
    }
}
