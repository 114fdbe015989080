import API
import Console
import Conversion
import FoundationEssentials
import Ledger
import LedgerClient

/// `sluice changes`: lists bulk changes, which programs begin over HTTP, and stops or undoes them.
enum ChangesCommand {
    private static let which = Argument(
        name: "CHANGE",
        summary: "numbers of bulk changes",
        count: .oneOrMore,
        completion: .ledger(.changes)
    )
    private static let limit = SettledOption<Int>(
        "limit",
        .whole(in: 1...10_000),
        fallback: "50",
        "list at most N bulk changes",
        in: .output
    )
    private static let before = Option<Int64>("before", .id, "list bulk changes older than this one", in: .output)

    static let value: Subcommand = Subcommand(
        name: "changes",
        summary: "list bulk changes; stop and undo them",
        discussion: [
            "Programs begin bulk changes over HTTP: retry, cancel, prioritize or accept many jobs at once. Coordinators "
                + "carry them out, whether or not the program is still connected."
        ],
        options: ListOptions.forms + [limit.form, before.form],
        examples: [Example(line: "sluice changes", purpose: "the latest fifty, newest first")],
        children: [
            Subcommand(
                name: "show",
                summary: "show bulk changes and their progress",
                arguments: [which],
                leavesOut: [limit.form, before.form],
                examples: [Example(line: "sluice changes show 7 --json", purpose: "one, for programs")],
                run: show
            ),
            Subcommand(
                name: "stop",
                summary: "end bulk changes where they are",
                arguments: [which],
                leavesOut: [limit.form, before.form],
                examples: [Example(line: "sluice changes stop 7", purpose: "the rest of the jobs stays as it is")],
                run: { try wish(.stop, $0, $1) }
            ),
            Subcommand(
                name: "undo",
                summary: "take back what bulk changes did",
                discussion: [
                    "Cancelled jobs return to their queues, waiting jobs get their earlier priorities, retried jobs that "
                        + "have not begun are cancelled, and accepted jobs count as failed ones again."
                ],
                arguments: [which],
                leavesOut: [limit.form, before.form],
                examples: [Example(line: "sluice changes undo 7", purpose: "after a filter that was too wide")],
                run: { try wish(.undo, $0, $1) }
            ),
        ],
        standsAlone: true,
        run: list
    )

    @Sendable private static func list(_ invocation: Invocation, _ console: CommandOutput) throws -> ExitCode {
        let limit = invocation[limit]
        let (now, page) = try LedgerWork.run(invocation) { ledger in
            (
                try await ledger.time(),
                // One more than the limit shows whether there are others.
                try await ledger.bulkChanges(before: invocation[before], limit: Int32(limit + 1))
            )
        }
        let found = Array(page.prefix(limit))
        try print(found, now, invocation, console)
        if page.count > limit, let last = found.last {
            Listing(invocation, console).sayMore("sluice changes --before \(last.number)")
        }
        return .success
    }

    @Sendable private static func show(_ invocation: Invocation, _ console: CommandOutput) throws -> ExitCode {
        let ids = try invocation.ids(which)
        let (now, found) = try LedgerWork.run(invocation) { ledger in
            (try await ledger.time(), try await find(ids, ledger))
        }
        try print(found, now, invocation, console)
        return .success
    }

    private static func wish(
        _ wish: BulkChange.Wish,
        _ invocation: Invocation,
        _ console: CommandOutput
    ) throws -> ExitCode {
        let ids = try invocation.ids(which)
        let (now, found) = try LedgerWork.run(invocation) { ledger in
            // All are looked up first, so that a mistyped one changes nothing.
            _ = try await find(ids, ledger)
            var found: [BulkChange] = []
            for id in ids {
                guard let change = try await ledger.wish(wish, of: id) else {
                    throw Refusal.missing("bulk change \(id)")
                }
                found.append(change)
            }
            return (try await ledger.time(), found)
        }
        try print(found, now, invocation, console)
        return .success
    }

    private static func find(_ ids: [Int64], _ ledger: any CommandLedger) async throws -> [BulkChange] {
        var found: [BulkChange] = []
        for id in ids {
            guard let change = try await ledger.bulkChange(id) else { throw Refusal.missing("bulk change \(id)") }
            found.append(change)
        }
        return found
    }

    // MARK: - Output

    private static func print(
        _ changes: [BulkChange],
        _ now: Date,
        _ invocation: Invocation,
        _ console: CommandOutput
    ) throws {
        try Listing(invocation, console).print(
            changes,
            ids: { "\($0.number)" },
            empty: "no bulk changes; programs begin them over HTTP"
        ) { table(changes, now).lines(for: console.data) }
    }

    private static func table(_ changes: [BulkChange], _ now: Date) -> TextTable {
        var table = TextTable([
            .init(title: "CHANGE", isNumber: true), .init(title: "WHAT"), .init(title: "STATE"),
            .init(title: "SEEN", isNumber: true), .init(title: "OF", isNumber: true),
            .init(title: "CHANGED", isNumber: true), .init(title: "UNDONE", isNumber: true),
            .init(title: "BEGUN"), .init(title: "BY", mayGo: true), .init(title: "PROBLEM", isElastic: true),
        ])
        for change in changes {
            let ink: Ink? =
                switch change.phase {
                case .failed: .bad
                case .running, .undoing: .careful
                case .done, .stopped, .undone: nil
                }
            let what = change.change.title
            table.add([
                .init("\(change.number)"), .init(what.printable), .init(change.phase.rawValue, ink),
                .init(Figures.grouped(change.tally.seen)), .init(Figures.grouped(change.expected)),
                .init(Figures.grouped(change.tally.changed)), .init(Figures.grouped(change.undone)),
                .init(TimeWords.ago(change.createdAt, at: now)), .init(change.token.printable),
                .init(change.error?.printable ?? "-"),
            ])
        }
        return table
    }
}
