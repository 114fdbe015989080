import API
import Console
import Conversion
import FoundationEssentials
import Ledger
import LedgerClient

/// `sluice errors`: groups failures, with a hint for each group.
enum ErrorsCommand {
    private static let batch = JobFilterOptions.batch
    private static let queue = Option<String>(
        "queue",
        .queueName,
        "only failures in this queue",
        in: .jobs
    )
    private static let since = Option<Moment>(
        "since",
        .moment,
        "only failures since then, rounded down to the hour",
        in: .jobs
    )

    static let value: Subcommand = Subcommand(
        name: "errors",
        summary: "group failures by code, class and stage",
        discussion: [
            "JOBS counts the jobs that ended with the failure, without those that \"sluice accept\" has accepted: they "
                + "are in ACCEPTED. TRIES also counts retried attempts; it is not available with --batch."
        ],
        options: [batch.form, queue.form, since.form] + ListOptions.forms,
        examples: [
            Example(line: "sluice errors", purpose: "all failures"),
            Example(line: "sluice errors --batch 17", purpose: "the failures of a batch"),
        ],
        run: run
    )

    @Sendable private static func run(_ invocation: Invocation, _ console: CommandOutput) throws -> ExitCode {
        let (now, groups) = try LedgerWork.run(invocation) { ledger in
            let now = try await ledger.time()
            let batch = try await JobFilterOptions.batch(invocation, on: ledger)
            return (
                now,
                try await ledger.failures(
                    since: invocation[since].map { $0.past(from: now) },
                    queue: invocation[queue],
                    batch: batch
                )
            )
        }
        let listing = Listing(invocation, console)
        try listing.print(groups, ids: \.code, empty: "no failures") { table(groups, now).lines(for: console.data) }
        guard listing.isForPeople, !groups.isEmpty else { return .success }
        for line in hints(groups, console) { try console.print(line) }
        if let failed = groups.first(where: { $0.jobs > 0 }) {
            let place = invocation[batch].map { " --batch \(ShellWord.quoted($0.word))" } ?? ""
            let mode = FailureCode(rawValue: failed.code)?.damageModeThatHelps
            let way = mode.map { " --on-damage \($0.rawValue)" } ?? ""
            console.say("retry a group: sluice retry --code \(failed.code.printable)\(place)\(way)")
        }
        return .success
    }

    private static func table(_ groups: [FailureGroup], _ now: Date) -> TextTable {
        let hasAccepted = groups.contains { $0.accepted > 0 }
        var columns: [TextTable.Column] = [
            .init(title: "CODE"), .init(title: "CLASS", mayGo: true), .init(title: "STAGE", mayGo: true),
            .init(title: "JOBS", isNumber: true),
        ]
        if hasAccepted { columns.append(.init(title: "ACCEPTED", isNumber: true)) }
        columns += [
            .init(title: "TRIES", isNumber: true, mayGo: true), .init(title: "LAST", mayGo: true),
            .init(title: "EXAMPLE", isElastic: true, keepsEnd: true),
        ]
        var table = TextTable(columns)
        for group in groups {
            var cells: [TextTable.Cell] = [
                .init(group.code, group.jobs > 0 ? .bad : nil), .init(group.kind.rawValue), .init(group.stage),
                .init(Figures.grouped(group.jobs)),
            ]
            if hasAccepted { cells.append(.init(Figures.grouped(group.accepted))) }
            let example = [String(group.example), group.exampleSource].compactMap(\.self).joined(separator: " ")
            cells += [
                .init(group.attempts.map { Figures.grouped($0) } ?? "-"), .init(TimeWords.ago(group.lastAt, at: now)),
                .init(example),
            ]
            table.add(cells)
        }
        return table
    }

    private static func hints(_ groups: [FailureGroup], _ console: CommandOutput) -> [String] {
        var hints: [(code: String, hint: String)] = []
        for group in groups {
            guard let hint = group.hint?.printable else { continue }
            let line = (code: group.code.printable, hint: hint)
            if !hints.contains(where: { $0 == line }) { hints.append(line) }
        }
        guard !hints.isEmpty else { return [] }
        let width = hints.reduce(0) { max($0, $1.0.displayWidth) } + 2
        return [""]
            + hints.flatMap { code, hint in
                let lines = console.data.hasWidth ? hint.wrapped(to: max(20, console.data.width - width)) : [hint]
                return lines.enumerated().map { ($0.offset == 0 ? code : "").padded(to: width) + $0.element }
            }
    }
}
