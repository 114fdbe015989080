import API
import Console
import Conversion
import FoundationEssentials
import Ledger
import LedgerClient

/// `sluice queues`: lists queues with their settings, and changes the settings.
enum QueuesCommand {
    private static let names = Argument(
        name: "NAME",
        summary: "the queue's name",
        count: .oneOrMore,
        completion: .ledger(.queues)
    )
    private static let one = Argument(name: "NAME", summary: "the queue's name", completion: .ledger(.queues))
    private static let limit = Argument(
        name: "N",
        summary: "maximum number of running jobs; none removes the limit",
        completion: .suggestions([.init(word: "none")])
    )
    private static let weight = Argument(name: "N", summary: "1 to 10000; the default is 100", completion: .nothing)

    private static let submitter = Option<String>(
        "submitter",
        .text(LedgerRules.submitterLengths).named("LOGIN"),
        "change only the share of this submitter (a login of the ledger)",
        in: .work
    )

    static let value: Subcommand = Subcommand(
        name: "queues",
        summary: "list queues; pause, resume, limit and weight them",
        discussion: ["The first submission to a queue creates it."],
        options: ListOptions.forms,
        examples: [Example(line: "sluice queues", purpose: "all queues")],
        children: [
            Subcommand(
                name: "pause",
                summary: "stop handing out jobs of a queue; running jobs continue",
                arguments: [names],
                examples: [Example(line: "sluice queues pause nightly", purpose: "pause the queue nightly")],
                run: { try steer($0, $1) { ledger, name in try await ledger.setPaused(true, queue: name) } }
            ),
            Subcommand(
                name: "resume",
                summary: "resume a paused queue",
                arguments: [names],
                examples: [Example(line: "sluice queues resume nightly", purpose: "resume the queue nightly")],
                run: { try steer($0, $1) { ledger, name in try await ledger.setPaused(false, queue: name) } }
            ),
            Subcommand(
                name: "limit",
                summary: "limit how many jobs of a queue run at once",
                arguments: [one, limit],
                examples: [
                    Example(line: "sluice queues limit nightly 2", purpose: "at most two at once"),
                    Example(line: "sluice queues limit nightly none", purpose: "remove the limit"),
                ],
                run: { invocation, console in
                    let text = invocation.word(limit)
                    let number = text == "none" ? nil : try whole(text, in: LedgerRules.runningLimits, or: "none")
                    return try steer(invocation, console) { ledger, name in
                        try await ledger.setRunningLimit(number, queue: name)
                    }
                }
            ),
            Subcommand(
                name: "weight",
                summary: "change the share of a queue, or of a submitter within it",
                arguments: [one, weight],
                options: [submitter.form],
                examples: [
                    Example(line: "sluice queues weight urgent 400", purpose: "four times the default share"),
                    Example(
                        line: "sluice queues weight urgent 50 --submitter intern",
                        purpose: "half the share of other submitters"
                    ),
                ],
                run: { invocation, console in
                    let number = try whole(invocation.word(weight), in: LedgerRules.weights)
                    let whose = invocation[submitter]
                    return try steer(invocation, console) { ledger, name in
                        try await ledger.setWeight(number, queue: name, submitter: whose)
                    }
                }
            ),
        ],
        standsAlone: true,
        run: list
    )

    private static func whole(_ text: String, in range: ClosedRange<Int>, or word: String? = nil) throws -> Int32 {
        if let number = Int32(text), range.contains(Int(number)) { return number }
        let others = word.map { ", or \($0)" } ?? ""
        throw UsageError("N \(text): must be a whole number from \(range.lowerBound) to \(range.upperBound)\(others)")
    }

    @Sendable private static func list(_ invocation: Invocation, _ console: CommandOutput) throws -> ExitCode {
        let queues = try LedgerWork.run(invocation) { try await $0.queues() }
        try show(queues, invocation, console)
        return .success
    }

    /// Applies `change` to each named queue and prints the queues. Throws, before any change, if one does not
    /// exist.
    @Sendable private static func steer(
        _ invocation: Invocation,
        _ console: CommandOutput,
        _ change: @escaping @Sendable (any CommandLedger, String) async throws -> Void
    ) throws -> ExitCode {
        let wanted = invocation.words(names)
        let queues = try LedgerWork.run(invocation) { ledger in
            let known = Set(try await ledger.queues().map(\.name))
            if let missing = wanted.first(where: { !known.contains($0) }) {
                throw Refusal(
                    message: "no such queue \"\(missing)\"",
                    hint: "\"sluice queues\" lists them",
                    exitCode: .notFound
                )
            }
            for name in wanted { try await change(ledger, name) }
            return try await ledger.queues().filter { wanted.contains($0.name) }
        }
        try show(queues, invocation, console)
        return .success
    }

    private static func show(_ queues: [QueueSummary], _ invocation: Invocation, _ console: CommandOutput) throws {
        try Listing(invocation, console).print(queues, ids: \.name) { table(queues).lines(for: console.data) }
    }

    static func table(_ queues: [QueueSummary]) -> TextTable {
        let hasAccepted = queues.contains { $0.jobs.accepted > 0 }
        let hasSkipped = queues.contains { $0.jobs.skipped > 0 }
        var columns: [TextTable.Column] = [
            .init(title: "QUEUE", isElastic: true), .init(title: "STATE"), .init(title: "WAITING", isNumber: true),
            .init(title: "DELAYED", isNumber: true, mayGo: true), .init(title: "RUNNING", isNumber: true),
            .init(title: "LIMIT", isNumber: true, mayGo: true), .init(title: "WEIGHT", isNumber: true, mayGo: true),
            .init(title: "COMPLETED", isNumber: true, mayGo: true),
            .init(title: "FAILED", isNumber: true, mayGo: true),
        ]
        if hasAccepted { columns.append(.init(title: "ACCEPTED", isNumber: true, mayGo: true)) }
        if hasSkipped { columns.append(.init(title: "SKIPPED", isNumber: true, mayGo: true)) }
        var table = TextTable(columns)
        for queue in queues {
            let jobs = queue.jobs
            var cells: [TextTable.Cell] = [
                .init(queue.name), queue.isPaused ? .init("paused", .careful) : .init("open"),
                .init(Figures.grouped(jobs.waiting)), .init(Figures.grouped(jobs.delayed)),
                .init(Figures.grouped(jobs.running + jobs.publishing)),
                .init(queue.runningLimit.map { "\($0)" } ?? "-"),
                .init("\(queue.weight)"), .init(Figures.grouped(jobs.completed)),
                .init(Figures.grouped(jobs.failed), jobs.failed > 0 ? .bad : nil),
            ]
            if hasAccepted { cells.append(.init(Figures.grouped(jobs.accepted))) }
            if hasSkipped { cells.append(.init(Figures.grouped(jobs.skipped))) }
            table.add(cells)
        }
        return table
    }
}
