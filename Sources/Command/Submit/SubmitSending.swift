import Conversion
import FoundationEssentials
import Ledger
import Storage

/// What came of a submission.
struct SubmitOutcome: Sendable {
    let survey: SubmitSurvey
    /// How many things were asked for.
    let asked: Int
    /// What was added, or found under a key that was given; `nil` if there was nothing to submit.
    var receipt: SubmissionReceipt?
    var key: String?
    /// The newest batch of those that did the work before, where nothing was added.
    var standing: BatchSummary?

    /// Whether all that was asked for is one earlier batch.
    var isRepetition: Bool {
        receipt?.isRepetition ?? (survey.batches.count == 1 && standing?.jobs.total == asked)
    }

    /// Batches with jobs of this submission that may not have ended.
    var batchesToWaitFor: [Int64] {
        var batches = survey.batchesUnderWay
        if let receipt { batches.insert(receipt.batch) }
        return batches.sorted()
    }

    /// Whether something that was asked for is not there, and nothing that is waited for will change that.
    var isWanting: Bool {
        let isRefused = receipt?.isRepetition == true && !survey.chosen.isEmpty
        return survey.failed.count > 0 || survey.cancelled > 0 || isRefused
    }
}

/// Asks the ledger what was done of a plan, and submits the rest.
struct SubmitSending: Sendable {
    let plan: SubmitPlan
    let roots: PathRoots
    let page: SubmitPage

    private var invocation: Invocation { page.invocation }
    private let reading = Latest(SubmitLook.Reading())
    private var look: SubmitLook {
        SubmitLook(plan: plan, roots: roots, readsOutputs: invocation[SubmitOptions.check], reading: reading)
    }

    init(plan: SubmitPlan, roots: PathRoots, page: SubmitPage) {
        (self.plan, self.roots, self.page) = (plan, roots, page)
    }

    /// Work with the ledger, and a bar while outputs are read.
    private func run<Value: Sendable>(
        reachTimeout: Duration? = nil,
        _ body: @escaping @Sendable (JobLedger) async throws -> Value
    ) throws -> Value {
        var bar: CountBar?
        defer { bar?.clear() }
        return try LedgerWork.run(
            invocation,
            reachTimeout: reachTimeout,
            onTick: {
                let reading = reading.value
                guard reading.total > 0, invocation[ProgressOption.option] != .none else { return }
                let shown = bar ?? CountBar(of: reading.total, "output", outlet: page.console.talk)
                bar = shown
                shown.show(reading.done)
            },
            body
        )
    }

    // MARK: - Submitting

    /// Hands the jobs over that are left to do. Throws a `Refusal` if something stands in their way.
    func send() throws -> SubmitOutcome {
        try run { ledger in
            if let key = invocation[SubmitOptions.key], let standing = try await ledger.receipt(forKey: key) {
                return try await repeated(key, standing, ledger)
            }
            var outcome = try await sendOnce(ledger)
            // Another process submitted the same at the same time, and its batch is visible now. It may be gone again.
            if outcome.key != nil, invocation[SubmitOptions.key] == nil, outcome.receipt?.isRepetition == true {
                outcome = try await sendOnce(ledger)
            }
            return outcome
        }
    }

    private func sendOnce(_ ledger: JobLedger) async throws -> SubmitOutcome {
        let survey = try await survey(ledger)
        if let refusal = page.refusal(of: survey) { throw refusal }
        let wishes = SubmitOptions.wishes(invocation)
        guard !survey.chosen.isEmpty else {
            let newest = survey.batches.max()
            let standing: BatchSummary? = if let newest { try await ledger.batch(newest) } else { nil }
            return SubmitOutcome(survey: survey, asked: plan.items.count, standing: standing)
        }
        let key =
            try invocation[SubmitOptions.key]
            ?? (invocation[SubmitOptions.again] ? nil : plan.key(survey.chosen, wishes))
        let submission = SubmitOptions.submission(
            invocation,
            key: key,
            // A key of our own stands for these jobs, whatever else was asked for.
            request: invocation[SubmitOptions.key] == nil ? nil : try plan.digest(wishes),
            now: try await ledger.time()
        )
        let receipt = try await ledger.submit(submission, plan.requests(survey.chosen))
        if let given = invocation[SubmitOptions.key] { try refuse(receipt, given) }
        return SubmitOutcome(survey: survey, asked: plan.items.count, receipt: receipt, key: key)
    }

    /// What a key that was given stands for: nothing is added, whatever has become of its outputs.
    private func repeated(
        _ key: String,
        _ standing: SubmissionReceipt,
        _ ledger: JobLedger
    ) async throws -> SubmitOutcome {
        let submission = SubmitOptions.submission(
            invocation,
            key: key,
            request: try plan.digest(SubmitOptions.wishes(invocation)),
            now: try await ledger.time()
        )
        // Finds the batch by its key before it looks at jobs, and says whether it was the same request.
        let receipt = try await ledger.submit(submission, [JobRequest]())
        try refuse(receipt, key)
        return SubmitOutcome(
            survey: try await survey(ledger),
            asked: plan.items.count,
            receipt: receipt,
            key: key
        )
    }

    private func refuse(_ receipt: SubmissionReceipt, _ key: String) throws {
        guard !receipt.isSameRequest else { return }
        throw Refusal(
            message: "the key \(key) stands for another request, batch \(receipt.batch); nothing was submitted",
            hint: "choose another key, or look at \"sluice batches \(receipt.batch)\""
        )
    }

    private func survey(_ ledger: JobLedger) async throws -> SubmitSurvey {
        guard !invocation[SubmitOptions.again] else { return try look.survey([]) }
        let earlier = try await ledger.earlierJobs(
            at: plan.items.map(\.destination.description),
            withDigests: look.readsOutputs
        )
        // The threads that read outputs belong to no task.
        let stopped = Latest(false)
        let survey = try await withTaskCancellationHandler {
            try look.survey(earlier) { !stopped.value }
        } onCancel: {
            stopped.value = true
        }
        try Task.checkCancellation()
        return survey
    }

    // MARK: - Rehearsing

    /// What would be submitted. A ledger that does not answer is no obstacle: then it is not known what was done before.
    func rehearse() throws -> SubmitSurvey {
        guard !invocation[SubmitOptions.again], try LedgerOptions.mayHoldJobs(invocation) else {
            return try look.survey([])
        }
        do {
            return try run(reachTimeout: .seconds(2)) { try await survey($0) }
        } catch let error as LedgerError {
            page.console.warn("what was done before is not known: \(error.detail)".printable)
            return try look.survey([])
        }
    }
}
