import API
import Console
import Conversion
import FoundationEssentials
import Ledger
import LedgerClient
import Storage
import System

/// The result of a submission.
struct SubmitOutcome: Sendable {
    let survey: SubmitSurvey
    /// How many items the user asked to submit.
    let asked: Int
    /// The batch that was added, or that the user's key already had; `nil` if there was nothing to submit.
    var receipt: SubmissionReceipt?
    var key: String?
    /// If nothing was added: the newest of the batches that did the work before.
    var standing: BatchSummary?
    /// What the new jobs need and no running worker can do.
    var gaps = SubmitGaps()
    /// The files that were sent; `nil` if there was none to send.
    var uploads: UploadRun.Summary?

    /// Whether one earlier batch covers the whole request.
    var isRepetition: Bool {
        receipt?.isRepetition ?? (survey.batches.count == 1 && standing?.jobs.total == asked)
    }

    /// Batches with jobs of this submission that may not have ended.
    var batchesToWaitFor: [Int64] {
        var batches = survey.batchesUnderWay
        if let receipt { batches.insert(receipt.batch) }
        return batches.sorted()
    }

    /// Whether some requested outputs are missing and no batch in progress will make them.
    var isWanting: Bool {
        let isRefused = receipt?.isRepetition == true && !survey.chosen.isEmpty
        return survey.failed.count > 0 || survey.cancelled > 0 || isRefused
    }
}

/// Asks the ledger which jobs of a plan are done, and submits the rest.
struct SubmitSending: Sendable {
    let plan: SubmitPlan
    let roots: PathRoots
    let page: SubmitPage

    private var invocation: Invocation { page.invocation }
    private let reading = Latest(SubmitProgress.Count())
    private let compared = Latest(SubmitProgress.Count())
    private let uploading = Latest(TransferTally())
    private let sent = Latest(SubmitProgress.Count())
    private var look: SubmitLook {
        SubmitLook(
            plan: plan,
            roots: roots,
            readsOutputs: invocation[SubmitOptions.check],
            reading: reading,
            compared: compared
        )
    }

    init(plan: SubmitPlan, roots: PathRoots, page: SubmitPage) {
        (self.plan, self.roots, self.page) = (plan, roots, page)
    }

    /// Runs `body` on the ledger, and shows a bar while outputs are read, and files and jobs are sent.
    private func run<Value: Sendable>(
        reachTimeout: Duration? = nil,
        _ body: @escaping @Sendable (any CommandLedger) async throws -> Value
    ) throws -> Value {
        var bar: CountBar?
        let display = ProgressWriter(invocation[ProgressStyle.option], outlet: page.console.talk)
        let progress = SubmitProgress(invocation, page.console)
        var start: ContinuousClock.Instant?
        defer {
            bar?.clear()
            progress.clear()
            if start != nil { display.clear() }
        }
        let value = try LedgerWork.run(
            invocation,
            reachTimeout: reachTimeout,
            onTick: {
                let (uploading, reading, sent) = (uploading.value, reading.value, sent.value)
                if uploading.files > 0, sent.done == 0 {
                    bar?.clear()
                    let began = start ?? .now
                    start = began
                    return display.show(TransferProgress(tally: uploading, word: "sent", passed: .now - began))
                }
                guard sent.done == 0, reading.total > 0, reading.done < reading.total else {
                    return progress.show(compared: compared.value, sent: sent)
                }
                guard invocation[ProgressStyle.option] != .none else { return }
                let shown = bar ?? CountBar(of: reading.total, "output", outlet: page.console.talk)
                bar = shown
                shown.show(reading.done)
            },
            body
        )
        if uploading.value.files > 0 {
            let passed = start.map { ContinuousClock.now - $0 } ?? .zero
            display.finish(TransferProgress(tally: uploading.value, word: "sent", passed: passed))
        }
        return value
    }

    // MARK: - Submitting

    /// Submits the jobs that are left to do. Throws a `Refusal` if something prevents that.
    func send() throws -> SubmitOutcome {
        try run { ledger in
            if let key = invocation[SubmitOptions.key], let standing = try await ledger.receipt(forKey: key) {
                return try await repeated(key, standing, ledger)
            }
            var outcome = try await sendOnce(ledger)
            // Another process submitted the same jobs at the same time. Look again: its batch is visible now, or has
            // already been removed.
            if outcome.key != nil, invocation[SubmitOptions.key] == nil, outcome.receipt?.isRepetition == true {
                outcome = try await sendOnce(ledger)
            }
            return outcome
        }
    }

    private func sendOnce(_ ledger: any CommandLedger) async throws -> SubmitOutcome {
        // A submission that was a repetition is compared once more.
        (compared.value, sent.value) = (SubmitProgress.Count(), SubmitProgress.Count())
        let survey = try await survey(ledger)
        if let refusal = page.refusal(of: survey) { throw refusal }
        guard !survey.chosen.isEmpty else {
            let newest = survey.batches.max()
            let standing: BatchSummary? = if let newest { try await ledger.batch(newest) } else { nil }
            return SubmitOutcome(survey: survey, asked: plan.items.count, standing: standing)
        }
        let submission = try await submission(survey, ledger)
        let uploads = try await upload(survey, submission, ledger)
        let jobs = CountedRequests(base: plan.requests(survey.chosen), count: survey.chosen.count, progress: sent)
        let receipt = try await ledger.submit(submission, all: jobs)
        if let given = invocation[SubmitOptions.key] { try refuse(receipt, given) }
        var outcome = SubmitOutcome(survey: survey, asked: plan.items.count, receipt: receipt, key: submission.key)
        outcome.uploads = uploads
        if !receipt.isRepetition { outcome.gaps = await gaps(survey, ledger) }
        return outcome
    }

    /// The settings of the submission of the jobs that are left to do.
    private func submission(_ survey: SubmitSurvey, _ ledger: any CommandLedger) async throws -> Submission {
        let wishes = SubmitOptions.wishes(invocation)
        let given = invocation[SubmitOptions.key]
        var submission = SubmitOptions.submission(
            invocation,
            key: try given ?? (invocation[SubmitOptions.again] ? nil : plan.key(survey.chosen, wishes)),
            // A generated key identifies these jobs, whatever else the user asked for.
            request: given == nil ? nil : try plan.digest(wishes),
            now: try await ledger.time()
        )
        submission.sourcesSkipped = survey.withOutputs
        return submission
    }

    /// The batch that was submitted before with the user's key. Adds nothing, even if outputs are missing by now.
    private func repeated(
        _ key: String,
        _ standing: SubmissionReceipt,
        _ ledger: any CommandLedger
    ) async throws -> SubmitOutcome {
        let submission = SubmitOptions.submission(
            invocation,
            key: key,
            request: try plan.digest(SubmitOptions.wishes(invocation)),
            now: try await ledger.time()
        )
        // The ledger finds the batch by its key before it looks at jobs, and reports whether the request was the
        // same.
        let receipt = try await ledger.submit(submission, all: [JobRequest]())
        try refuse(receipt, key)
        return SubmitOutcome(
            survey: try await survey(ledger),
            asked: plan.items.count,
            receipt: receipt,
            key: key
        )
    }

    /// Sends the sources that lie on this machine only. Returns `nil` if there are none.
    private func upload(
        _ survey: SubmitSurvey,
        _ submission: Submission,
        _ ledger: any CommandLedger
    ) async throws -> UploadRun.Summary? {
        guard let places = roots.uploads, let coordinator = try LedgerOptions.coordinator(invocation) else {
            return nil
        }
        let run = UploadRun(places, coordinator)
        let files = try run.files(among: plan.sources(survey.chosen))
        guard !files.isEmpty else { return nil }
        // Checks the jobs before the upload, which may take hours.
        _ = try await ledger.preview(submission, all: plan.requests(survey.chosen))
        return try await run.send(files, uploading)
    }

    /// Never fails: what the ledger does not tell at this moment, `status` tells later.
    private func gaps(_ survey: SubmitSurvey, _ ledger: any CommandLedger) async -> SubmitGaps {
        // `try?`: whether the ledger is the private cluster is known, as the ledger has just answered.
        let cluster = try? LedgerOptions.clusterRoots(invocation)
        // `try?`: the jobs are added, and a note that is missing must not make the command fail.
        let gaps = try? await SubmitGaps(plan.needs(survey.chosen), in: invocation[SubmitOptions.queue], on: ledger)
        guard var gaps, !(cluster != nil && gaps.lacksWorkers) else { return SubmitGaps() }
        gaps.clusterRoots = cluster
        let servers: [(String, String)] =
            roots.buckets.map { ($0.name, $0.text) } + roots.webServers.map { ($0.name, $0.text) }
        gaps.servers = Dictionary(servers) { first, _ in first }
        return gaps
    }

    private func refuse(_ receipt: SubmissionReceipt, _ key: String) throws {
        guard !receipt.isSameRequest else { return }
        throw Refusal(
            message:
                "the key \(key) was used for a different submission, batch \(receipt.batch); nothing was submitted",
            hint: "use another key, or see \"sluice batches \(receipt.batch)\""
        )
    }

    private func survey(_ ledger: any CommandLedger) async throws -> SubmitSurvey {
        guard !invocation[SubmitOptions.again] else { return try look.survey(EarlierJobList()) }
        let earlier = try await ledger.earlierJobs(
            at: plan.items.firstDestinations,
            // The coordinator names the digest of what it has compared.
            digests: look.readsOutputs || roots.uploads != nil
        )
        // The threads that read outputs belong to no task, so a flag passes the cancellation on.
        let stopped = Latest(false)
        let books = roots.uploads.map { SentBooks(plan: plan, uploads: $0) }
        let moved = try await books?.earlierSources(earlier, ledger) ?? [:]
        let remote = try await remoteOutputs(earlier, moved)
        let survey = try await withTaskCancellationHandler {
            try look.survey(earlier, moved: moved, remote: remote) { !stopped.value }
        } onCancel: {
            stopped.value = true
        }
        try Task.checkCancellation()
        return survey
    }

    /// What the coordinator says of the outputs of sent files that have changed since: as they were written, they may be
    /// replaced. `moved` has the earlier sources of books of which a file has changed.
    private func remoteOutputs(
        _ earlier: EarlierJobList,
        _ moved: [Int: [Location]]
    ) async throws -> [Int: [SubmitSurvey.Presence]] {
        guard let uploads = roots.uploads, let coordinator = try LedgerOptions.coordinator(invocation) else {
            return [:]
        }
        var (places, owners): ([OutputCheck.RecordedPlace], [(item: Int, output: Int)]) = ([], [])
        var found: [Int: [SubmitSurvey.Presence]] = [:]
        for (index, job) in earlier.enumerated() {
            let item = plan.items[index]
            guard let job, job.state == .completed, let stamp = job.stamp,
                moved[index] != nil || uploads.file(at: item.source).map({ $0.stamp != stamp }) ?? false,
                item.destinations.allSatisfy({ roots.path(of: $0) == nil })
            else { continue }
            for (output, record) in job.outputs.enumerated() where output < item.destinations.count {
                guard let record else { continue }
                let destination = item.destinations[output].description
                places.append(.init(job: job.job, destination: destination, bytes: record.bytes, digest: record.digest))
                owners.append((index, output))
            }
            found[index] = [SubmitSurvey.Presence](repeating: .unseen, count: item.destinations.count)
        }
        guard !places.isEmpty else { return [:] }
        let looks = try await RemoteOutputCheck(coordinator: coordinator).look(at: places)
        for ((place, owner), look) in zip(zip(places, owners), looks) {
            let presence: SubmitSurvey.Presence =
                switch look {
                case .fine: .known(.init(isFile: true, bytes: place.bytes, modified: 0, hasDigest: true))
                case .damaged(.missing, _): .absent
                case .damaged: .there
                case .unseen, .unwanted: .unseen
                }
            found[owner.item]?[owner.output] = presence
        }
        return found
    }

    // MARK: - Dry runs

    /// What would be submitted, and the batch that the user's key already has. Throws if the ledger would refuse it. If
    /// the ledger does not answer, this prints a note and ignores earlier jobs.
    func rehearse() throws -> Rehearsal {
        guard try LedgerOptions.mayHoldJobs(invocation) else {
            return Rehearsal(survey: try look.survey(EarlierJobList()))
        }
        do {
            return try run(reachTimeout: .seconds(2)) { ledger in
                if let key = invocation[SubmitOptions.key], let standing = try await ledger.receipt(forKey: key) {
                    let outcome = try await repeated(key, standing, ledger)
                    return Rehearsal(survey: outcome.survey, standing: outcome.receipt)
                }
                let survey = try await survey(ledger)
                if !plan.isForbidden, !survey.isForbidden {
                    // Without jobs, the ledger checks the names and settings alone.
                    let submission = try await submission(survey, ledger)
                    _ = try await ledger.preview(submission, all: plan.requests(survey.chosen))
                }
                let gaps = await gaps(survey, ledger)
                // Until the submission, workers may be started.
                var rehearsal = Rehearsal(survey: survey, gaps: gaps.lacksWorkers ? SubmitGaps() : gaps)
                rehearsal.uploads = try prospect(survey)
                return rehearsal
            }
        } catch let error as LedgerError where !error.isRefusal {
            page.console.warn("cannot check for earlier jobs: \(error.detail)".printable)
            return Rehearsal(survey: try look.survey(EarlierJobList()))
        }
    }

    /// What a dry run finds.
    struct Rehearsal: Sendable {
        let survey: SubmitSurvey
        /// The batch that the user's key already has.
        var standing: SubmissionReceipt?
        var gaps = SubmitGaps()
        /// `nil` if no file would be sent.
        var uploads: PlannedUpload?
    }

    /// What would be sent.
    private func prospect(_ survey: SubmitSurvey) throws -> PlannedUpload? {
        guard let places = roots.uploads, let coordinator = try LedgerOptions.coordinator(invocation) else {
            return nil
        }
        let files = try UploadRun(places, coordinator).files(among: plan.sources(survey.chosen))
        guard !files.isEmpty else { return nil }
        let bytes = files.reduce(0) { $0 + $1.file.stamp.bytes }
        return PlannedUpload(to: places.base, files: files.count, bytes: bytes)
    }
}

extension LedgerError {
    /// Whether the ledger was asked, and does not want it.
    fileprivate var isRefusal: Bool {
        [.ledgerRefused, .ledgerPermissionDenied, .ledgerQuotaExceeded, .ledgerConflict].contains(code)
    }
}
