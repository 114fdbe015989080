import API
import Console
import Conversion
import FoundationEssentials
import Ledger
import LedgerClient

/// `sluice status`: a summary of the ledger in a few lines, with what needs attention.
enum StatusCommand {
    static let value: Subcommand = Subcommand(
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
        let place = try LedgerOptions.place(invocation)
        let context = place.contextInUse
        var facts = try LedgerWork.run(invocation) { try await $0.facts(context: context?.name) }
        facts.build = Version.number
        if invocation[ListOptions.json] {
            try console.print(JSONText.line(JSONRecord(facts)))
        } else {
            try console.print(
                StatusPage(facts: facts, place: place, console: console).lines.joined(separator: "\n")
            )
            for note in facts.notes { console.warn(note.line.printable) }
        }
        return .success
    }
}

/// The output of `sluice status` for people.
private struct StatusPage {
    let facts: StatusFacts
    /// What the command line, the environment and the configuration select.
    let place: LedgerPlace
    let console: CommandOutput

    private var status: LedgerStatus { facts.status }

    var lines: [String] {
        let verdict =
            facts.notes.isEmpty ? console.data.paint("all well", .good) : console.data.paint("see below", .careful)
        let jobs = status.jobs
        let oldest = status.oldestWaiting.map {
            "   oldest \(TimeWords.span(seconds: status.time.timeIntervalSince($0)))"
        }
        let context = place.contextInUse.map { row("context", console.data.paint($0.name, $0.ink)) }
        return [context].compactMap(\.self) + [
            row("ledger", "\(address), \(verdict)"),
            row("workers", workers),
            row(
                "waiting",
                "\(Figures.grouped(jobs.waiting))\(oldest ?? "")   delayed \(Figures.grouped(jobs.delayed))   "
                    + "\(running)   publishing \(Figures.grouped(jobs.publishing))"
            ),
            row("finished", finished),
        ] + (pace.isEmpty ? [] : [row("pace", pace)])
    }

    /// Where the ledger is, and what selected it.
    private var address: String {
        let server = facts.server.map { "postgres \($0.printable)" }
        if place == .cluster { return ["your private cluster", server].compactMap(\.self).joined(separator: ", ") }
        let coordinator: CoordinatorURL? =
            if case .coordinator(let url, _) = place { url } else { place.contextInUse?.coordinator?.url }
        let url = coordinator.map { "at \($0)" }
        // A coordinator does not say where its database is.
        let parts = [
            server.map { url == nil ? "\($0) at \(facts.place)" : "\($0), \(facts.place)" } ?? facts.place, url,
        ]
        return parts.compactMap(\.self).joined(separator: ", ").printable
            + (place.reason.map { ", from \($0.printable)" } ?? "")
    }

    private func row(_ label: String, _ text: String) -> String {
        console.data.paint(label.padded(to: 11), .faint) + text
    }

    /// `3,851 completed, 1 skipped, 2 failed, 5 accepted, 0 cancelled`: without those that are often 0.
    private var finished: String {
        let jobs = status.jobs
        var parts = ["\(Figures.grouped(jobs.completed)) completed"]
        if jobs.skipped > 0 { parts.append("\(Figures.grouped(jobs.skipped)) skipped") }
        parts.append("\(Figures.grouped(jobs.failed)) failed")
        if jobs.accepted > 0 { parts.append("\(Figures.grouped(jobs.accepted)) accepted") }
        parts.append("\(Figures.grouped(jobs.cancelled)) cancelled")
        return parts.joined(separator: ", ")
    }

    private var workers: String {
        let mercy = status.quietUntil.map { until in
            "; housekeeping has just begun, and no worker counts as lost before \(TimeWords.clock(until, at: status.time))"
        }
        return facts.workers.words + (mercy ?? "")
    }

    /// `running 8   claimed 32`: jobs that workers have claimed ahead do not run yet.
    private var running: String {
        let claimed = min(facts.workers.claimed ?? 0, status.jobs.running)
        let running = "running \(Figures.grouped(status.jobs.running - claimed))"
        return claimed > 0 ? "\(running)   claimed \(Figures.grouped(claimed))" : running
    }

    /// `last minute 12 files/s, 250x real time; last hour 9.4 files/s, 214x real time`; empty without either.
    private var pace: String {
        [
            pace("last minute", status.completedLastMinute, status.audioLastMinute, status.lastMinuteSpan),
            pace("last hour", status.completedLately, status.audioLately, status.paceSpan),
        ].compactMap(\.self).joined(separator: "; ")
    }

    private func pace(_ when: String, _ completed: Int?, _ audio: Duration?, _ span: Duration?) -> String? {
        guard let completed, completed > 0, let audio, let span, span > .zero else { return nil }
        let rate = Double(completed) / span.seconds
        return "\(when) \(Figures.decimals(rate, rate < 10 ? 1 : 0)) files/s, \(Figures.speed(audio / span)) real time"
    }
}
