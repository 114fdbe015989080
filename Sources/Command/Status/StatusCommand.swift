import Console
import FoundationEssentials
import Ledger

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
        let facts = try LedgerWork.run(invocation) { try await StatusFacts.look(at: $0, context) }
        if invocation[ListOptions.json] {
            try console.print(JSONText.line(StatusRecord(facts)))
        } else {
            try console.print(StatusPage(facts: facts, console: console).lines.joined(separator: "\n"))
            for note in facts.notes { console.warn(note.text.printable) }
        }
        return .success
    }
}

/// The facts about the ledger that `status` shows.
struct StatusFacts: Sendable {
    /// The context that selected the ledger, if one did.
    var context: LedgerContext?
    let place: String
    /// PostgreSQL's version; `nil` leaves it out of the output.
    var server: String?
    let status: LedgerStatus
    let workers: WorkerCensus
    let unable: [UnableLane]
    let chores: [ChoreRecord]
    /// What keeps workers from some or all of their work, as they report it.
    var troubles: [WorkerTrouble] = []

    /// Reads the facts from the ledger.
    static func look(at ledger: JobLedger, _ context: LedgerContext?) async throws -> StatusFacts {
        let (status, workers) = (try await ledger.status(), try await ledger.workers())
        return StatusFacts(
            context: context,
            place: ledger.configuration.description,
            server: try await ledger.serverVersion(),
            status: status,
            workers: WorkerCensus(workers, at: status.time),
            unable: try await ledger.unableLanes(),
            chores: try await ledger.chores(),
            troubles: workers.troubles(at: status.time)
        )
    }

    /// What needs an operator's attention.
    var notes: [StatusNote] {
        var notes: [StatusNote] = []
        if workers.alive == 0, status.jobs.open > 0 {
            notes.append(StatusNote(.noWorkers, "no workers are running; start one with \"sluice worker\""))
        }
        if let kept = status.keptHouseAt {
            let age = status.time.timeIntervalSince(kept)
            if age > 60 {
                let span = TimeWords.span(seconds: age)
                notes.append(StatusNote(.housekeeping, "housekeeping has not run for \(span): start a coordinator"))
            }
        } else if status.jobs.total > 0 {
            notes.append(StatusNote(.housekeeping, "housekeeping has not run yet: start a coordinator"))
        }
        notes += troubles.map { StatusNote(.trouble, $0.note) }
        var said: Set<String> = []
        for line in unable {
            // Lines also differ by priority, but one new worker serves all priorities, so print each combination
            // once.
            let what = line.missing.isEmpty ? line.needs : line.missing
            guard said.insert("\(line.queue) \(what.joined(separator: ", "))").inserted else { continue }
            // Another worker would not help: the trouble has its own note.
            if troubles.contains(where: { $0.explains(line) }) { continue }
            notes.append(StatusNote(.unable, line.note))
        }
        for chore in chores {
            if let error = chore.error {
                notes.append(StatusNote(.housekeeping, "housekeeping: \(chore.name) failed: \(error)"))
            }
        }
        return notes
    }
}

extension UnableLane {
    /// `jobs in queue default wait, such as 12: no running worker has codec:mp3`
    var note: String {
        let who = missing.isEmpty ? "no running worker has all of" : "no running worker has"
        let what = (missing.isEmpty ? needs : missing).joined(separator: ", ")
        return "jobs in queue \(queue) wait, such as \(example): \(who) \(what)"
    }
}

/// The output of `sluice status` for people.
private struct StatusPage {
    let facts: StatusFacts
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
        let context = facts.context.map { row("context", console.data.paint($0.name, $0.ink)) }
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

struct StatusRecord: Encodable {
    let context: String?
    let ledger: String
    let server: String?
    let jobs: JobCounts
    let oldestWaiting: Date?
    let workers: Int
    let quietWorkers: Int
    let slots: Int
    let busySlots: Int
    /// The number of workers in each state, under the names that `sluice workers` shows.
    let workerStates: [String: Int]
    let completedLately: Int
    let audioSecondsLately: Double
    let paceSeconds: Double?
    let keptHouseAt: Date?
    let quietUntil: Date?
    let time: Date
    let fullFileSystems: [FullRecord]
    let missingFileSystems: [MissingRecord]
    let notes: [String]

    struct FullRecord: Encodable {
        let mountPoint: String
        let freeBytes: Int64
        let since: Date
        let worker: String
        let host: String
    }

    struct MissingRecord: Encodable {
        let mountPoint: String
        let name: String
        let since: Date
        let worker: String
        let host: String
    }

    init(_ facts: StatusFacts) {
        let status = facts.status
        (context, ledger, server) = (facts.context?.name, facts.place, facts.server)
        (jobs, oldestWaiting) = (status.jobs, status.oldestWaiting)
        (workers, quietWorkers) = (facts.workers.alive, facts.workers.quiet)
        (slots, busySlots, workerStates) = (facts.workers.slots, facts.workers.busySlots, facts.workers.byName)
        (completedLately, audioSecondsLately) = (status.completedLately, status.audioLately.seconds)
        paceSeconds = status.paceSpan?.seconds
        (keptHouseAt, quietUntil, time) = (status.keptHouseAt, status.quietUntil, status.time)
        fullFileSystems = facts.troubles.compactMap { trouble in
            guard case .full(let full) = trouble.kind else { return nil }
            return FullRecord(
                mountPoint: full.mountPoint,
                freeBytes: full.freeBytes,
                since: trouble.toldAt.addingTimeInterval(-full.seconds),
                worker: trouble.worker,
                host: trouble.host
            )
        }
        missingFileSystems = facts.troubles.compactMap { trouble in
            guard case .missing(let missing) = trouble.kind else { return nil }
            return MissingRecord(
                mountPoint: missing.mountPoint,
                name: missing.name,
                since: trouble.toldAt.addingTimeInterval(-missing.seconds),
                worker: trouble.worker,
                host: trouble.host
            )
        }
        notes = facts.notes.map(\.text)
    }
}
