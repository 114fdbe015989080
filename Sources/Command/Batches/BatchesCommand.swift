import API
import Console
import Conversion
import FoundationEssentials
import Ledger
import LedgerClient

/// `sluice batches`: lists submissions with their progress, newest first.
enum BatchesCommand {
    private static let numbers = Argument(
        name: "BATCH",
        summary: "numbers or labels of batches, or \"last\"; without one, the latest are listed",
        count: .any,
        completion: .ledger(.batches)
    )
    private static let limit = SettledOption<Int>(
        "limit",
        .whole(in: 1...10_000),
        fallback: "20",
        "list at most N batches",
        in: .output
    )
    private static let all = Switch("all", "list all batches", in: .output)
    private static let before = Option<Int64>("before", .id, "list batches older than this one", in: .output)

    static let value: Subcommand = Subcommand(
        name: "batches",
        summary: "list batches and their progress",
        discussion: [
            "SKIPPED counts sources whose outputs were there already, or had been edited: those that the submission left "
                + "out, and those that workers skipped. ACCEPTED counts failures that \"sluice accept\" has accepted.",
            "WARNINGS counts the completed jobs with warnings, such as concealed damage, lost tags or clipped samples; "
                + "\"sluice jobs --batch BATCH --remarks\" lists them.",
        ],
        arguments: [numbers],
        options: LedgerOptions.forms
            + [limit.form, all.form, before.form, ListOptions.json.form, ListOptions.quiet.form],
        examples: [
            Example(line: "sluice batches", purpose: "the latest twenty"),
            Example(line: "sluice batches 17 --json", purpose: "one batch, for programs"),
        ],
        run: run
    )

    @Sendable private static func run(_ invocation: Invocation, _ console: CommandOutput) throws -> ExitCode {
        let wanted = try invocation.batches(numbers)
        let (now, batches, hasMore) = try LedgerWork.run(invocation) { ledger in
            let now = try await ledger.time()
            if !wanted.isEmpty {
                var found: [BatchSummary] = []
                for name in wanted {
                    let id = try await name.id(on: ledger)
                    guard let batch = try await ledger.batch(id) else { throw Refusal.missing("batch \(id)") }
                    found.append(batch)
                }
                return (now, found, false)
            }
            let isWhole = invocation[all]
            let limit = isWhole ? 1_000 : invocation[limit]
            var found: [BatchSummary] = []
            var before = invocation[before]
            while true {
                // One row more than the limit shows whether there are others.
                let page = try await ledger.batches(before: before, limit: Int32(limit + 1))
                found += isWhole ? page : Array(page.prefix(limit))
                before = page.last?.batch
                if page.count <= limit || !isWhole { return (now, found, page.count > limit) }
            }
        }
        let listing = Listing(invocation, console)
        try listing.print(batches, ids: { "\($0.batch)" }, empty: "no batches; \"sluice submit\" creates one") {
            table(batches, now, console).lines(for: console.data)
        }
        if hasMore, let last = batches.last { listing.sayMore("sluice batches --before \(last.batch), or --all") }
        return .success
    }

    private static func table(_ batches: [BatchSummary], _ now: Date, _ console: CommandOutput) -> TextTable {
        let hasSkipped = batches.contains { $0.skipped > 0 }
        let hasCancelled = batches.contains { $0.jobs.cancelled > 0 }
        let hasAccepted = batches.contains { $0.jobs.accepted > 0 }
        let hasRemarks = batches.contains { $0.jobsWithRemarks > 0 }
        var columns: [TextTable.Column] = [
            .init(title: "ID", isNumber: true), .init(title: "NAME", isElastic: true),
            .init(title: "QUEUE", mayGo: true),
            .init(title: "JOBS", isNumber: true, mayGo: true), .init(title: "DONE", isNumber: true),
        ]
        if hasSkipped { columns.append(.init(title: "SKIPPED", isNumber: true)) }
        if hasCancelled { columns.append(.init(title: "CANCELLED", isNumber: true)) }
        columns.append(.init(title: "FAILED", isNumber: true))
        if hasAccepted { columns.append(.init(title: "ACCEPTED", isNumber: true)) }
        columns.append(.init(title: "OPEN", isNumber: true, mayGo: true))
        if hasRemarks { columns.append(.init(title: "WARNINGS", isNumber: true)) }
        columns.append(.init(title: "SUBMITTED", mayGo: true))
        var table = TextTable(columns)
        for batch in batches {
            let jobs = batch.jobs
            var cells: [TextTable.Cell] = [
                .init("\(batch.batch)"), .init(batch.name ?? ""), .init(batch.queue),
                .init(Figures.grouped(jobs.total)),
                // Rounded down, so that only a whole batch is 100 % done.
                .init(
                    "\(jobs.total == 0 ? 100 : jobs.done * 100 / jobs.total)%",
                    jobs.done == jobs.total ? .good : nil
                ),
            ]
            if hasSkipped { cells.append(.init(Figures.grouped(batch.skipped))) }
            if hasCancelled {
                cells.append(.init(Figures.grouped(jobs.cancelled), jobs.cancelled > 0 ? .careful : nil))
            }
            cells.append(.init(Figures.grouped(jobs.failed), jobs.failed > 0 ? .bad : nil))
            if hasAccepted { cells.append(.init(Figures.grouped(jobs.accepted))) }
            cells.append(.init(Figures.grouped(jobs.open)))
            if hasRemarks {
                cells.append(.init(Figures.grouped(batch.jobsWithRemarks), batch.jobsWithRemarks > 0 ? .careful : nil))
            }
            cells.append(.init(TimeWords.ago(batch.createdAt, at: now)))
            table.add(cells)
        }
        return table
    }
}

extension BatchSummary {
    /// Sources whose outputs were there already, or had been edited: the submission left them out, or workers skipped them.
    fileprivate var skipped: Int { sourcesSkipped + jobs.skipped }
}
