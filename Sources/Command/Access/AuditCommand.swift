import API
import Console
import Conversion
import FoundationEssentials
import Ledger

/// `sluice audit`: who changed what, newest first.
enum AuditCommand {
    private static let since = Option<Moment>("since", .moment, "only changes since then", in: .jobs)
    private static let by = Option<String>(
        "by",
        .text.named("WHO"),
        "only changes by this login, or by token:NAME",
        in: .jobs
    )
    private static let limit = SettledOption<Int>(
        "limit",
        .whole(in: 1...10_000),
        fallback: "50",
        "list at most N changes",
        in: .output
    )
    private static let before = Option<Int64>("before", .id, "list changes older than this one", in: .output)

    static let value: Subcommand = Subcommand(
        name: "audit",
        summary: "list who changed jobs, queues, workers, tokens and tenants",
        discussion: [
            "CHANGED counts jobs, queues, workers, tokens or tenants. An operation on many jobs is one line, "
                + "whatever its size. The ledger keeps a year (setting.keep_audit)."
        ],
        options: [since.form, by.form, limit.form, before.form] + ListOptions.databaseForms,
        examples: [
            Example(line: "sluice audit --since 1d", purpose: "the changes of the last day"),
            Example(line: "sluice audit --by token:ci --json", purpose: "the changes of a token, for programs"),
        ],
        run: run
    )

    @Sendable private static func run(_ invocation: Invocation, _ console: CommandOutput) throws -> ExitCode {
        let limit = invocation[limit]
        let (now, page) = try LedgerWork.runOnDatabase(invocation) { ledger in
            let now = try await ledger.time()
            // One row more than the limit shows whether there are others.
            return (
                now,
                try await ledger.audit(
                    since: invocation[since].map { $0.past(from: now) },
                    by: invocation[by],
                    before: invocation[before],
                    limit: Int32(limit + 1)
                )
            )
        }
        let records = page.prefix(limit)
        let listing = Listing(invocation, console)
        try listing.print(records, ids: { "\($0.id)" }, empty: "no changes") {
            table(records, now).lines(for: console.data)
        }
        if page.count > limit, let last = records.last { listing.sayMore("sluice audit --before \(last.id)") }
        return .success
    }

    private static func table(_ records: ArraySlice<AuditRecord>, _ now: Date) -> TextTable {
        var table = TextTable([
            .init(title: "ID", isNumber: true, mayGo: true), .init(title: "WHEN"), .init(title: "WHO"),
            .init(title: "TENANT", mayGo: true), .init(title: "WHAT"), .init(title: "CHANGED", isNumber: true),
            .init(title: "DETAILS", isElastic: true),
        ])
        for record in records {
            table.add([
                .init("\(record.id)"), .init(TimeWords.ago(record.at, at: now)), .init(record.who),
                .init(record.tenant ?? "-"), .init(record.what), .init(Figures.grouped(record.affected)),
                .init(record.details),
            ])
        }
        return table
    }
}
