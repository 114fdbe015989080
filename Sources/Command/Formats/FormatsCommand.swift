import API
import Console
import Conversion
import Ledger
import PumpRoom

/// `sluice formats`: lists the formats that can be read and written.
enum FormatsCommand {
    private static let names = Argument(
        name: "NAME",
        summary: "only this container or codec",
        count: .any,
        completion: .words(
            (Container.allCases.map(\.rawValue) + Codec.allCases.map(\.rawValue).filter { $0 != "copy" })
                .reduce(into: []) { if !$0.contains($1) { $0.append($1) } }.map { .init(word: $0) }
        )
    )
    private static let json = Switch("json", "print one JSON line per row", in: .output)

    static let value: Subcommand = Subcommand(
        name: "formats",
        summary: "list containers and codecs, and how exactly they keep the length",
        discussion: [
            "Gapless means that a file decodes to exactly the frames that were encoded. Many more formats can be read than "
                + "written: the last lines list them."
        ],
        arguments: [names],
        options: [json.form],
        examples: [
            Example(line: "sluice formats", purpose: "all formats"),
            Example(line: "sluice formats opus", purpose: "containers for Opus"),
        ],
        run: run
    )

    @Sendable private static func run(_ invocation: Invocation, _ console: CommandOutput) throws -> ExitCode {
        let wanted = invocation.words(names).map { $0.lowercased() }
        let rows = FormatRecord.all.filter { row in wanted.isEmpty || wanted.contains { row.isCalled($0) } }
        guard !rows.isEmpty else {
            let known = FormatRecord.all.flatMap { [$0.container, $0.codec] }
            let near = wanted.lazy.compactMap { EditDistance.nearest(to: $0, among: known) }.first
            console.complain(
                "no format has the name \(wanted.joined(separator: " or ").printable)",
                hint: near.map { "did you mean \"\($0)\"?" } ?? "\"sluice formats\" lists all"
            )
            return .nothingMatched
        }
        if invocation[json] {
            for row in rows { try console.print(JSONText.line(JSONRecord(row))) }
        } else {
            try console.print(table(rows).lines(for: console.data).joined(separator: "\n"))
        }
        return .success
    }

    private static func table(_ rows: [FormatRecord]) -> TextTable {
        var table = TextTable([
            .init(title: "CONTAINER"), .init(title: "EXTENSION", isElastic: true), .init(title: "CODEC"),
            .init(title: "READ"),
            .init(title: "WRITE"), .init(title: "GAPLESS"), .init(title: "LOSSLESS"),
        ])
        func mark(_ is: Bool) -> TextTable.Cell { `is` ? .init("yes", .good) : .init("no", .faint) }
        for row in rows {
            table.add([
                .init(row.container), .init(row.extensions.map { ".\($0)" }.joined(separator: " ")), .init(row.codec),
                mark(row.read), mark(row.write), mark(row.gapless), mark(row.lossless),
            ])
        }
        return table
    }
}
