import API
import Console
import Conversion
import FoundationEssentials
import Ledger
import LedgerClient

/// `sluice workers`: lists the workers with their state and load, and quiets, drains or resumes them.
enum WorkersCommand {
    private static let ids = Argument(
        name: "ID",
        summary: "a worker's id or name",
        count: .oneOrMore,
        completion: .ledger(.workers)
    )
    private static let endedSince = Option<Moment>(
        "ended-since",
        .moment,
        "include workers that ended since then",
        in: .jobs
    )

    static let value: Subcommand = Subcommand(
        name: "workers",
        summary: "list workers; quiet, drain and resume them",
        discussion: [
            "A request takes effect at the worker's next heartbeat, some seconds later. SEEN is the time of the "
                + "last heartbeat, or of a worker's own end. A worker is unheard when its lease has expired but it has not been declared lost; "
                + "\"sluice status\" does not count it as alive."
        ],
        options: [endedSince.form] + ListOptions.forms,
        examples: [
            Example(line: "sluice workers", purpose: "all running workers"),
            Example(line: "sluice workers --ended-since 1d", purpose: "also those of the last day"),
        ],
        children: [
            Subcommand(
                name: "quiet",
                summary: "stop workers from claiming jobs; running jobs continue",
                arguments: [ids],
                leavesOut: [endedSince.form],
                examples: [Example(line: "sluice workers quiet 4", purpose: "before you check its disk")],
                run: { try wish(.quiet, $0, $1) }
            ),
            Subcommand(
                name: "drain",
                summary: "let workers finish their jobs and then stop",
                arguments: [ids],
                leavesOut: [endedSince.form],
                examples: [Example(line: "sluice workers drain 4", purpose: "before you shut down its machine")],
                run: { try wish(.drain, $0, $1) }
            ),
            Subcommand(
                name: "run",
                summary: "let quiet workers claim jobs again",
                arguments: [ids],
                leavesOut: [endedSince.form],
                examples: [Example(line: "sluice workers run 4", purpose: "after the check")],
                run: { try wish(.run, $0, $1) }
            ),
        ],
        standsAlone: true,
        run: list
    )

    @Sendable private static func list(_ invocation: Invocation, _ console: CommandOutput) throws -> ExitCode {
        let (now, workers) = try LedgerWork.run(invocation) { ledger in
            let now = try await ledger.time()
            return (now, try await ledger.workers(endedSince: invocation[endedSince].map { $0.past(from: now) }))
        }
        let empty = "no workers are running; start one with \"sluice worker\""
        try show(workers, now, invocation, console, empty: empty)
        return .success
    }

    /// Sends a wish to each named worker. Throws, before any change, if one of them is not alive.
    @Sendable private static func wish(_ wish: WorkerWish, _ invocation: Invocation, _ console: CommandOutput) throws
        -> ExitCode
    {
        let words = invocation.words(ids)
        let (now, workers) = try LedgerWork.run(invocation) { ledger in
            let living = try await ledger.workers(endedSince: nil)
            var wanted: [Int64] = []
            for word in words {
                let named = living.filter { "\($0.worker)" == word || $0.name == word }
                guard !named.isEmpty else {
                    throw Refusal(
                        message: "no running worker has the id or name \(word)",
                        hint: "\"sluice workers\" lists them",
                        exitCode: .notFound
                    )
                }
                wanted += named.map(\.worker)
            }
            for worker in wanted where try await !ledger.wish(wish, of: worker) {
                throw Refusal.missing("worker \(worker) any more")
            }
            return (
                try await ledger.time(), try await ledger.workers(endedSince: nil).filter { wanted.contains($0.worker) }
            )
        }
        try show(workers, now, invocation, console)
        return .success
    }

    private static func show(
        _ workers: [WorkerSummary],
        _ now: Date,
        _ invocation: Invocation,
        _ console: CommandOutput,
        empty: String? = nil
    ) throws {
        let listing = Listing(invocation, console)
        try listing.print(
            workers.map { WorkerRecord($0, now) },
            ids: { "\($0.worker.worker)" },
            empty: empty
        ) { table(workers, now).lines(for: console.data) }
        if listing.isForPeople { warn(workers, now, console) }
    }

    /// Warns of what keeps workers from some or all of their work.
    private static func warn(_ workers: [WorkerSummary], _ now: Date, _ console: CommandOutput) {
        for worker in workers {
            guard let why = worker.status.pausedBecause else { continue }
            let name = worker.name.printable
            if let roots = worker.status.pausedRoots {
                let named = "\(Plural.form("root", for: roots.count)) \(roots.joined(separator: ", ").printable)"
                console.warn("\(name) has disabled \(named) until this is resolved: \(why.printable)")
            } else {
                console.warn("\(name) is paused: \(why.printable)")
            }
        }
        for trouble in workers.troubles(at: now) {
            switch trouble.kind {
            case .full, .missing, .denied: console.warn(trouble.note.printable)
            case .roots, .paused: break
            }
        }
        for worker in workers where worker.endedAt == nil {
            guard let sandbox = worker.status.sandbox, sandbox == "off" || sandbox.contains("without ") else {
                continue
            }
            console.warn("pump rooms of \(worker.name.printable) are not fully sandboxed: \(sandbox.printable)")
        }
    }

    static func table(_ workers: [WorkerSummary], _ now: Date) -> TextTable {
        var table = TextTable([
            .init(title: "ID", isNumber: true), .init(title: "NAME", isElastic: true),
            .init(title: "HOST", mayGo: true),
            .init(title: "STATE"), .init(title: "SLOTS", isNumber: true, mayGo: true),
            .init(title: "BUSY", isNumber: true, mayGo: true),
            .init(title: "JOBS", isNumber: true, mayGo: true), .init(title: "SEEN"), .init(title: "BUILD", mayGo: true),
        ])
        for worker in workers {
            table.add([
                .init("\(worker.worker)"), .init(worker.name), .init(worker.host), worker.stateCell(at: now),
                .init("\(worker.slots)"), .init("\(worker.busy)"),
                .init("\(worker.holds)"),
                .init(TimeWords.ago(worker.seenAt, at: now)), .init(worker.build),
            ])
        }
        return table
    }
}

extension WorkerSummary {
    func stateCell(at now: Date) -> TextTable.Cell {
        let state = state(at: now)
        return .init(state.rawValue, state.ink)
    }
}
