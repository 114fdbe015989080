package import Conversion
import Ledger

/// Jobs with a result that waits for the publisher, in the order in which they came.
struct ReadyJobs: Sendable {
    private var entries: [(fence: Fence, result: JobResult)] = []

    var isEmpty: Bool { entries.isEmpty }

    mutating func add(_ result: JobResult, of fence: Fence) { entries.append((fence, result)) }

    mutating func take(upTo limit: Int) -> [(fence: Fence, result: JobResult)] {
        defer { entries.removeFirst(min(limit, entries.count)) }
        return Array(entries.prefix(limit))
    }
}

/// What the publisher does with one group of jobs, step by step. A group is everything that was ready when the last
/// group was done, so a lone job waits for no other, and many share two calls and one flush.
struct PublishingTurn: Sendable {
    /// Outputs to link.
    var outputs: [Fence] = []
    /// Jobs without a file to link.
    var existing: [Fence] = []
    var failures: [AttemptFailure] = []
    var handedBack: [HandBack: [Fence]] = [:]
    /// The next group to hand back; the dictionary's order is not the same in each run.
    var reasons: [HandBack] = []

    mutating func add(_ result: JobResult, of fence: Fence) {
        switch result {
        case .output: outputs.append(fence)
        case .existing: existing.append(fence)
        case .failed(let report): failures.append(report)
        case .handedBack(let reason):
            if handedBack[reason] == nil { reasons.append(reason) }
            handedBack[reason, default: []].append(fence)
        case .stopped: preconditionFailure("a stopped job is handed back or reported")
        }
    }
}

extension WorkerState {
    // MARK: - A turn, step by step

    mutating func takePublishingTurn(at now: Moment) {
        while turn == nil, !ready.isEmpty {
            var turn = PublishingTurn()
            for (fence, result) in ready.take(upTo: settings.groupLimit) {
                guard let job = jobs[fence] else { continue }
                guard isOurs(job, at: now) else {
                    if result.isOutput { actions.append(.discard([fence])) }
                    close(job, Closing(outcome: .lost))
                    continue
                }
                if result.isOutput, job.stop == .cancelled {
                    actions.append(.discard([fence]))
                    turn.add(.failed(job.cancelledReport), of: fence)
                } else {
                    turn.add(result, of: fence)
                }
            }
            self.turn = turn
            if turn.outputs.isEmpty { publish([], at: now) } else { actions.append(.publisher(.link(turn.outputs))) }
        }
    }

    mutating func hearLinked(_ linked: [Fence], _ others: [Fence: Setback], at now: Moment) {
        for (fence, setback) in others.sorted(by: { $0.key.job < $1.key.job }) where jobs[fence] != nil {
            turn?.add(JobResult(setback), of: fence)
        }
        publish(linked, at: now)
    }

    /// Publishes what may still be published. If the process was suspended before this, the lease may have ended.
    private mutating func publish(_ linked: [Fence], at now: Moment) {
        var begun: [Fence] = []
        for fence in linked {
            guard let job = jobs[fence] else { continue }
            if !isOurs(job, at: now) {
                actions.append(.discard([fence]))
                close(job, Closing(outcome: .lost))
            } else if job.stop == .cancelled {
                actions.append(.discard([fence]))
                turn?.failures.append(job.cancelledReport)
            } else {
                begun.append(fence)
            }
        }
        for fence in turn?.existing ?? [] {
            guard let job = jobs[fence] else { continue }
            if !isOurs(job, at: now) {
                close(job, Closing(outcome: .lost))
            } else if job.stop == .cancelled {
                turn?.failures.append(job.cancelledReport)
            } else {
                begun.append(fence)
            }
        }
        guard !begun.isEmpty else { return reportFailures(at: now) }
        for fence in begun { jobs[fence]?.phase = .publishing }
        actions.append(.publisher(.publish(begun)))
    }

    mutating func hearPublished(_ answers: [Fence: JobAnswer?], at now: Moment) {
        var due: [Fence] = []
        for (fence, answer) in answers.inOrder {
            guard let job = jobs[fence] else { continue }
            // Without an answer the file stays: if the ledger received the publication after all, the process that
            // is given the order carries it out.
            guard let answer else { close(job, Closing(outcome: .lost)); continue }
            guard !answer.stands else { due.append(fence); continue }
            actions.append(.discard([fence]))
            close(job, Closing(outcome: answer == .cancelled ? .cancelled : .lost))
        }
        if due.isEmpty { reportFailures(at: now) } else { actions.append(.publisher(.complete(due))) }
    }

    mutating func hearCompleted(_ results: [Fence: Completion], at now: Moment) {
        for (fence, result) in results.inOrder {
            guard let job = jobs[fence] else { continue }
            // Failing to give an output its name may also show a problem of the storage.
            noteHealth(of: job, result.failure, at: now)
            close(job, Closing(outcome: result.outcome, failure: result.failure))
        }
        reportFailures(at: now)
    }

    private mutating func reportFailures(at now: Moment) {
        guard let failures = turn?.failures, !failures.isEmpty else { return handBackNext() }
        turn?.failures = []
        actions.append(.publisher(.reportFailures(failures)))
    }

    mutating func hearFailures(_ reports: [AttemptFailure], _ answers: [JobAnswer?], at now: Moment) {
        for (place, report) in reports.enumerated() {
            guard let job = jobs[report.fence] else { continue }
            var closing = Closing(outcome: .lost, failure: report.failure, frames: report.facts.framesIn)
            switch answers[place] {
            case .done, .repeated:
                noteHealth(of: job, report.failure, at: now)
                closing.outcome = .failed
            case .cancelled: closing.outcome = .cancelled
            case .lost, .publishing, nil: break
            }
            close(job, closing)
        }
        handBackNext()
    }

    private mutating func handBackNext() {
        guard let reason = turn?.reasons.first, let fences = turn?.handedBack[reason] else { return turn = nil }
        turn?.reasons.removeFirst()
        actions.append(.publisher(.handBack(fences, reason)))
    }

    mutating func hearHandedBack(_ fences: [Fence], _ reason: HandBack, _ answers: [JobAnswer?]) {
        for (place, fence) in fences.enumerated() {
            guard let job = jobs[fence] else { continue }
            let outcome: Closing.Outcome =
                switch answers[place] {
                case .cancelled: .cancelled
                // Its publication was committed after all; the process that takes up unfinished publications
                // completes it.
                case .publishing: .publishing
                case .done, .repeated, .lost: .released
                case nil: .lost
                }
            let words = reason.need ?? reason.message ?? reason.reason.rawValue
            close(job, Closing(outcome: outcome, reason: words))
        }
        handBackNext()
    }

    /// What came of an order to publish.
    package struct Completion: Sendable {
        /// `completed`, `failed`, or `publishing`, if another process will complete it.
        package var outcome: Closing.Outcome
        package var failure: Failure?

        package init(_ outcome: Closing.Outcome, failure: Failure? = nil) {
            self.outcome = outcome
            self.failure = failure
        }
    }
}

extension Dictionary where Key == Fence {
    /// In an order that is the same in each run.
    fileprivate var inOrder: [(key: Fence, value: Value)] { sorted { $0.key.job < $1.key.job } }
}
