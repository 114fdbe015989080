import Conversion
package import FoundationEssentials
package import Ledger

/// The facts about the ledger that `status` shows.
package struct StatusFacts: Sendable {
    /// The name of the context that selected the ledger, if one did.
    package var context: String?
    /// Where the ledger is.
    package var place: String
    /// PostgreSQL's version; `nil` leaves it out of the output.
    package var server: String?
    package var status: LedgerStatus
    package var workers: WorkerCensus
    package var unable: [UnableLane]
    package var chores: [ChoreRecord]
    /// What keeps workers from some or all of their work, as they report it.
    package var troubles: [WorkerTrouble] = []
    /// Tenants whose jobs wait, because they have used up what they may use in a day.
    package var holds: [TenantHold] = []
    /// Queues that are paused, with jobs that wait in them.
    package var paused: [QueueSummary] = []
    /// Whether the reader has no right to resume a queue, which operators have.
    package var mayNotResumeQueues = false
    /// Deliveries to webhooks that no coordinator sends.
    package var unsent: UnsentDeliveries?
    /// Failures that ended jobs in the last hour, and workers lost in it.
    package var failedLately: [FailureGroup] = []
    package var lostLately: [WorkerSummary] = []
    /// The version of the ledger beside that of the program that asked its database: this one, or the coordinator.
    package var version: LedgerVersion?
    package var isOfCoordinator = false
    /// The build of this program; `nil`: it is not compared. And the names of the running workers by their builds.
    package var build: String?
    package var workerBuilds: [String: [String]] = [:]

    package init(
        context: String? = nil,
        place: String,
        server: String? = nil,
        status: LedgerStatus,
        workers: WorkerCensus,
        unable: [UnableLane],
        chores: [ChoreRecord],
        troubles: [WorkerTrouble] = [],
        holds: [TenantHold] = [],
        unsent: UnsentDeliveries? = nil
    ) {
        (self.context, self.place, self.server, self.status) = (context, place, server, status)
        (self.workers, self.unable, self.chores, self.troubles) = (workers, unable, chores, troubles)
        (self.holds, self.unsent) = (holds, unsent)
    }

    /// Reads the facts from the ledger. A tenant, for whom the ledger acts, learns how many workers there are, but not
    /// which, nor where the ledger is.
    package static func look(at ledger: JobLedger, context: String? = nil, tenant: String? = nil) async throws
        -> StatusFacts
    {
        if let tenant {
            let status = try await ledger.status()
            var facts = StatusFacts(
                place: "tenant \(tenant)",
                status: status,
                workers: WorkerCensus(status),
                unable: try await ledger.unableLanes(),
                chores: [],
                holds: try await ledger.holds()
            )
            facts.mayNotResumeQueues = true
            facts.paused = try await ledger.queues().pausedWithJobs
            facts.failedLately = try await ledger.failures(since: facts.anHourAgo)
            return facts
        }
        let overview = try await ledger.overview()
        let time = overview.status.time
        var facts = StatusFacts(
            context: context,
            place: ledger.configuration.description,
            server: overview.server,
            status: overview.status,
            workers: WorkerCensus(overview.workers, at: time),
            unable: overview.unable,
            chores: overview.chores,
            troubles: overview.workers.troubles(at: time),
            holds: overview.holds,
            unsent: overview.unsent
        )
        (facts.version, facts.mayNotResumeQueues) = (overview.version, !overview.mayResumeQueues)
        facts.paused = try await ledger.queues().pausedWithJobs
        facts.workerBuilds = overview.workers.namesByBuild
        facts.failedLately = try await ledger.failures(since: facts.anHourAgo)
        facts.lostLately = try await ledger.workers(endedSince: facts.anHourAgo).filter { $0.ending == .lost }
        return facts
    }

    /// Since when failures and losses are told of.
    package var anHourAgo: Date { status.time.addingTimeInterval(-3_600) }

    private var news: [StatusNote] {
        var notes: [StatusNote] = []
        let failed = failedLately.reduce(0) { $0 + $1.jobs }
        if failed > 0, let most = failedLately.max(by: { $0.jobs < $1.jobs }) {
            let whole = "\(Figures.count(failed, "job")) \(Plural.have(failed)) failed for good in the last hour"
            let part = most.jobs == failed ? "" : ", \(Figures.grouped(most.jobs)) of them"
            let text = "\(whole)\(part) with \(most.code)"
            notes.append(StatusNote(.failures, text, command: "sluice errors --since 1h"))
        }
        for worker in lostLately {
            let ago = TimeWords.ago(worker.endedAt ?? worker.beatAt, at: status.time)
            notes.append(
                StatusNote(.losses, "worker \(worker.name) (\(worker.host)) was lost \(ago): its jobs went to others")
            )
        }
        return notes
    }

    /// What differs in version from this program.
    private var versions: [StatusNote] {
        var notes: [StatusNote] = []
        if let version, !version.isKnown {
            let whose = isOfCoordinator ? "the coordinator" : "this command"
            let place = "the ledger is at version \(version.version), and \(whose)"
            let text =
                if version.hasOtherFunctions {
                    "the ledger has the functions of another build than \(whose): \"sluice migrate\" of the installed "
                        + "release replaces them"
                } else if version.version > version.known {
                    "\(place) knows \(version.known): install the release that has migrated it"
                } else {
                    "\(place) needs \(version.known): sluice migrate"
                }
            notes.append(StatusNote(.versions, text))
        }
        let others = workerBuilds.filter { $0.key != build }.sorted { $0.key < $1.key }
        guard build == nil ? others.count > 1 : !others.isEmpty else { return notes }
        let parts = others.map { found, names in
            "\(found) on \(names.prefix(3).joined(separator: ", "))\(names.count > 3 ? ", ..." : "")"
        }
        let what = build.map { "workers run another build than this command (\($0))" } ?? "workers run several builds"
        let text = "\(what): \(parts.joined(separator: "; ")); \"sluice workers\" lists them: install one release"
        notes.append(StatusNote(.versions, text))
        return notes
    }

    /// How many paused queues have a note of their own.
    private static let mostPaused = 5

    /// A note for each paused queue, those with the most jobs first.
    private var pausedQueues: [StatusNote] {
        let queues = paused.sorted { ($1.heldBack, $0.name) < ($0.heldBack, $1.name) }
        var notes = queues.prefix(Self.mostPaused).map { queue in
            let count = queue.heldBack
            let verb = count == 1 ? "waits" : "wait"
            let what = "\(Figures.count(count, "job")) \(verb) in queue \(queue.name), which is paused"
            if mayNotResumeQueues { return StatusNote(.paused, "\(what): ask an operator to resume it") }
            return StatusNote(.paused, what, command: "sluice queues resume \(queue.name)")
        }
        if queues.count > Self.mostPaused {
            let others = Figures.count(queues.count - Self.mostPaused, "more queue")
            notes.append(StatusNote(.paused, "jobs wait in \(others), paused too", command: "sluice queues"))
        }
        return notes
    }

    /// What needs an operator's attention.
    package var notes: [StatusNote] {
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
        notes += versions
        notes += troubles.map { StatusNote(.trouble, $0.note) }
        notes += news
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
        notes += pausedQueues
        notes += holds.map { StatusNote(.held, $0.note(at: status.time)) }
        if let unsent { notes.append(StatusNote(.webhooks, unsent.note(at: status.time))) }
        for chore in chores {
            if let error = chore.error {
                notes.append(StatusNote(.housekeeping, "housekeeping: \(chore.name) failed: \(error)"))
            }
        }
        return notes
    }
}

extension QueueSummary {
    /// The jobs that have not started.
    fileprivate var heldBack: Int { jobs.waiting + jobs.delayed }
}

extension [QueueSummary] {
    /// Those that are paused while jobs wait in them.
    package var pausedWithJobs: [QueueSummary] { filter { $0.isPaused && $0.heldBack > 0 } }
}

extension [WorkerSummary] {
    /// The names of the workers that have not ended, by their builds.
    package var namesByBuild: [String: [String]] {
        Dictionary(grouping: filter { $0.endedAt == nil }, by: \.build).mapValues { $0.map(\.name) }
    }
}

extension TenantHold {
    /// `jobs of tenant radio wait: it has used up its CPU time of 24 hours; they continue in 3 h`
    package func note(at now: Date) -> String {
        let what =
            switch allowance {
            case .cpuMinutes: "CPU time"
            case .outputBytes: "bytes of outputs"
            }
        let time = TimeWords.ahead(until, at: now)
        return "jobs of tenant \(tenant.plain) wait: it has used up its \(what) of 24 hours; they continue \(time)"
    }
}

extension UnsentDeliveries {
    /// `3 webhook deliveries wait, the oldest for 5 min, and no coordinator sends any: start one with "sluice coordinator"`
    package func note(at now: Date) -> String {
        let span = TimeWords.span(seconds: now.timeIntervalSince(since))
        let what =
            count == 1 ? "a webhook delivery waits" : "\(Figures.grouped(count)) webhook deliveries wait, the oldest"
        return "\(what) for \(span), and no coordinator sends any: start one with \"sluice coordinator\""
    }
}

extension UnableLane {
    /// `jobs in queue default wait, such as 12: no running worker has codec:mp3`
    package var note: String {
        let who = missing.isEmpty ? "no running worker has all of" : "no running worker has"
        let what = (missing.isEmpty ? needs : missing).joined(separator: ", ")
        return "jobs in queue \(queue) wait, such as \(example): \(who) \(what)"
    }
}
