import API
import Console
import Conversion
import Ledger

/// `sluice explain`: what a failure code means, what causes it and what to do about it.
enum ExplainCommand {
    private static let codes = Argument(
        name: "CODE",
        summary: "the codes to explain; without one, all codes are listed",
        count: .any,
        completion: ValueType<FailureCode>.failureCode.completion
    )
    private static let json = Switch("json", "print one JSON line per code", in: .output)

    static let value: Subcommand = Subcommand(
        name: "explain",
        summary: "explain failure codes: meaning, usual cause, what to do",
        discussion: [
            "The class says whether a retry can help. Permanent: the same request fails again, on any machine. "
                + "Transient: another attempt may succeed. Infrastructure: nothing is wrong with the job."
        ],
        arguments: [codes],
        options: [json.form],
        examples: [
            Example(line: "sluice explain truncated", purpose: "one code"),
            Example(line: "sluice explain", purpose: "the list of all codes"),
        ],
        run: run
    )

    @Sendable private static func run(_ invocation: Invocation, _ console: CommandOutput) throws -> ExitCode {
        var wanted: [FailureCode] = []
        for word in invocation.words(codes) {
            guard let code = FailureCode(rawValue: word.lowercased()) else {
                console.complain("unknown failure code \(word.printable)", hint: hint(for: word))
                return .notFound
            }
            wanted.append(code)
        }
        if invocation[json] {
            let chosen = wanted.isEmpty ? FailureSection.all.flatMap(\.entries).map(\.code) : wanted
            for code in chosen { try console.print(JSONText.line(JSONRecord(FailureCodeRecord(code)))) }
        } else if wanted.isEmpty {
            try console.print(list(for: console))
        } else {
            try console.print(wanted.map { page($0, for: console) }.joined(separator: "\n\n"))
        }
        return .success
    }

    /// What to try instead of `word`, which is not a code.
    static func hint(for word: String) -> String {
        let near = EditDistance.nearest(to: word.lowercased(), among: FailureCode.allCases.map(\.rawValue))
        return near.map { "did you mean \"\($0)\"?" } ?? "\"sluice explain\" lists all codes"
    }

    private static func list(for console: CommandOutput) -> String {
        var table = TextTable([
            .init(title: "CODE"), .init(title: "CLASS", mayGo: true), .init(title: "MEANING", isElastic: true),
        ])
        for (code, entry) in FailureSection.all.flatMap(\.entries) {
            table.add([.init(code.rawValue), .init(entry.kind.rawValue), .init(entry.meaning.unmarked)])
        }
        return table.lines(for: console.data).joined(separator: "\n")
    }

    /// `truncated   permanent, at stage decode`, then meaning, cause and advice under their titles.
    private static func page(_ code: FailureCode, for console: CommandOutput) -> String {
        let entry = code.entry
        let stages = entry.stages.map(\.rawValue).joined(separator: ", ")
        var lines = ["\(code.rawValue)   \(entry.kind.rawValue), at stage \(stages)"]
        for (title, text) in [
            ("meaning", entry.meaning), ("cause", entry.cause), ("advice", entry.advice ?? "nothing"),
        ] {
            let width = console.data.hasWidth ? max(20, console.data.width - 11) : Int.max
            let folded = text.unmarked.wrapped(to: width)
            lines += folded.enumerated().map { "  " + ($0.offset == 0 ? title : "").padded(to: 9) + $0.element }
        }
        return lines.joined(separator: "\n")
    }
}

extension ValueType where Value == FailureCode {
    /// A code of the catalogue.
    static let failureCode = ValueType(
        placeholder: "CODE",
        completion: .words(
            FailureSection.all.flatMap(\.entries).map {
                .init(word: $0.code.rawValue, summary: $0.entry.meaning.unmarked)
            }
        )
    ) { text throws(Misfit) in
        guard let code = FailureCode(rawValue: text.lowercased()) else {
            throw Misfit(why: "is not a failure code", hint: ExplainCommand.hint(for: text))
        }
        return code
    }
}

extension ExitCode {
    /// The exit code of a command that ends with a failure of this code.
    init(_ code: FailureCode) { self = ExitCode(rawValue: code.entry.exitCode) ?? .failure }
}
