import Console
import FoundationEssentials
import Ledger
import Records

/// `sluice status`: a summary of the ledger in a few lines, with what needs attention.
enum StatusCommand {
    static let value = Subcommand(
        name: "status",
        summary: "show the state of the ledger, its workers and its jobs",
        options: LedgerOptions.forms + [allContexts.form, ListOptions.json.form],
        examples: [
            Example(line: "sluice status", purpose: "the current ledger"),
            Example(line: "sluice status --all-contexts", purpose: "the ledgers of all contexts"),
        ],
        run: run
    )

    static let allContexts = Switch(
        "all-contexts",
        "show one line for each context",
        in: .ledger
    )

    @Sendable private static func run(_ invocation: Invocation, _ console: CommandOutput) throws -> ExitCode {
        if invocation[allContexts] { return try ContextsStatus.run(invocation, console) }
        let context = try LedgerOptions.contextInUse(invocation)
        let facts = try LedgerWork.run(invocation) { try await $0.facts(context: context?.name) }
        if invocation[ListOptions.json] {
            try console.print(JSONText.line(StatusRecord(facts)))
        } else {
            try console.print(
                StatusPage(facts: facts, context: context, console: console).lines.joined(separator: "\n")
            )
            for note in facts.notes { console.warn(note.text.printable) }
        }
        return .success
    }
}

/// The output of `sluice status` for people.
private struct StatusPage {
    let facts: StatusFacts
    let context: LedgerContext?
    let console: CommandOutput

    private var status: LedgerStatus { facts.status }

    var lines: [String] {
        let verdict =
            facts.notes.isEmpty ? console.data.paint("all well", .good) : console.data.paint("see below", .careful)
        let server = facts.server.map { "postgres \($0.printable) at " } ?? ""
        let jobs = status.jobs
        let oldest = status.oldestWaiting.map {
            "   oldest \(TimeWords.span(seconds: status.time.timeIntervalSince($0)))"
        }
        let context = context.map { row("context", console.data.paint($0.name, $0.ink)) }
        return [context].compactMap(\.self) + [
            row("ledger", "\(server)\(facts.place.printable), \(verdict)"),
            row("workers", workers),
            row(
                "waiting",
                "\(Figures.grouped(jobs.waiting))\(oldest ?? "")   delayed \(Figures.grouped(jobs.delayed))   "
                    + "running \(Figures.grouped(jobs.running))   publishing \(Figures.grouped(jobs.publishing))"
            ),
            row(
                "finished",
                "\(Figures.grouped(jobs.completed)) completed, " + skipped(jobs)
                    + "\(Figures.grouped(jobs.failed)) failed, "
                    + "\(Figures.grouped(jobs.cancelled)) cancelled" + throughput
            ),
        ]
    }

    private func row(_ label: String, _ text: String) -> String {
        console.data.paint(label.padded(to: 11), .faint) + text
    }

    /// Empty if no job was skipped.
    private func skipped(_ jobs: JobCounts) -> String {
        jobs.skipped > 0 ? "\(Figures.grouped(jobs.skipped)) skipped, " : ""
    }

    private var workers: String {
        let mercy = status.quietUntil.map { until in
            "; after an outage, no worker counts as lost before \(TimeWords.clock(until, at: status.time))"
        }
        return facts.workers.words + (mercy ?? "")
    }

    /// `   last hour 9.4 files/s, 214x real time`
    private var throughput: String {
        guard let span = status.paceSpan, span > .zero, status.completedLately > 0 else { return "" }
        let rate = Double(status.completedLately) / span.seconds
        let speed = Figures.speed(status.audioLately / span)
        return "   last hour \(Figures.decimals(rate, rate < 10 ? 1 : 0)) files/s, \(speed) real time"
    }
}
