public import Conversion
import FoundationEssentials
import System

extension JobLedger {
    /// Submits a batch of jobs: all of them or none. Returns after the commit.
    ///
    /// The sequence is read as jobs are sent, so memory holds only a few. Each try reads it again, so it must
    /// return the same jobs every time. Throws `refused` if it is empty. Where many callers submit one job each, without
    /// keys and limits, some share a call and a commit. Each job still gets a separate batch.
    public func submit(
        _ submission: Submission = Submission(),
        _ jobs: some Sequence<JobRequest> & Sendable,
        within limit: Duration? = nil
    ) async throws -> SubmissionReceipt {
        let call = try SubmissionCall(submission, schema)
        let isPlain = submission.notify.isEmpty && submission.sourcesSkipped == 0 && !submission.isPreview
        if submission.key == nil, isPlain, limit == nil, let only = jobs.only {
            return try await submit(SingleSubmission(call, only, until: .now + Self.submissionLimit))
        }
        return try await settle("submit jobs", within: limit ?? Self.submissionLimit) { connection, _ in
            // The key finds what an earlier try may have done. If that try's transaction is still open, this one
            // waits for it.
            let receipt = try connection.submit(jobs, call)
            if submission.wakesWorkers, !submission.isPreview, !receipt.isRepetition { notifyWorkers(on: connection) }
            return receipt
        }
    }

    /// Submits jobs that arrive over time: all of them or none.
    ///
    /// They are checked and kept while they arrive, within the caller's share (`SpoolSpace`), and a connection is taken
    /// only when the last one is there. An error of the sequence is rethrown, and nothing is submitted then. `limit` is
    /// for the arrival, and again for the rest.
    public func submit<Jobs: AsyncSequence & Sendable>(
        _ submission: Submission = Submission(),
        streaming jobs: Jobs,
        within limit: Duration? = nil
    ) async throws -> SubmissionReceipt where Jobs.Element == JobRequest {
        let limit = limit ?? Self.submissionLimit
        let call = try SubmissionCall(submission, schema)
        let spooled = try await receive(jobs, call, within: limit)
        return try await settle("submit jobs", within: limit) { connection, _ in
            let receipt = try connection.submit(spooled, call)
            if submission.wakesWorkers, !submission.isPreview, !receipt.isRepetition { notifyWorkers(on: connection) }
            return receipt
        }
    }

    /// Reads all jobs. Throws `timedOut` if they take longer than `limit`.
    private func receive<Jobs: AsyncSequence & Sendable>(
        _ jobs: Jobs,
        _ call: SubmissionCall,
        within limit: Duration
    ) async throws -> SpooledRequests where Jobs.Element == JobRequest {
        let place = try spoolSpace.place(of: principal?.submitter ?? "")
        let folder = configuration.spoolFolder
        do {
            return try await withThrowingTaskGroup(of: SpooledRequests?.self) { group in
                defer { group.cancelAll() }
                group.addTask {
                    var spool = RequestSpool(call.submission, in: place, folder: folder)
                    for try await job in jobs { try spool.add(job) }
                    // A sequence may end when its task is cancelled.
                    try Task.checkCancellation()
                    return try spool.end()
                }
                group.addTask {
                    try await Task.sleep(for: limit, clock: .continuous)
                    return nil
                }
                guard let spooled = try await group.next() ?? nil else {
                    throw LedgerError(.ledgerTimedOut, during: "submit jobs", "the jobs did not arrive in time")
                }
                return spooled
            }
        } catch is CancellationError {
            throw LedgerError(.cancelled, during: "submit jobs", "the task was cancelled")
        }
    }

    /// Notifies workers of committed jobs, unless a concurrent submission of this ledger will do so.
    func notifyWorkers(on connection: isolated Connection) {
        guard jobNotifier.begin() else { return }
        // The jobs are committed. Workers that miss the notification find them at their next look.
        _ = try? connection.execute("select \(schema).tell_workers()")
        if jobNotifier.end() { Task { await notifyWorkersAgain() } }
    }

    /// Notifies workers of submissions that were committed during the last notification.
    private func notifyWorkersAgain() async {
        repeat {
            // As above: without the notification, workers find the jobs at their next look.
            _ = try? await source.run("notify workers", opening: opening) {
                try $0.execute("select \(schema).tell_workers()")
            }
        } while jobNotifier.end()
    }

    /// Submits recipes with default settings for each job.
    public func submit(_ submission: Submission = Submission(), recipes: [Recipe]) async throws -> SubmissionReceipt {
        try await submit(submission, recipes.lazy.map { JobRequest($0) })
    }

    // A million jobs take a while.
    static let submissionLimit: Duration = .seconds(900)

    /// The receipt of the batch with a key, marked as a repetition; `nil` if there is no such batch.
    public func receipt(forKey key: String) async throws -> SubmissionReceipt? {
        try await look("look up a submission") { connection in try connection.findBatch(key, schema)?.receipt }
    }

    /// The numbers of a batch's jobs after `job`, in the order of submission. At most 1000, or `limit` if that is less.
    public func jobs(ofBatch batch: Int64, after job: Int64 = 0, limit: Int32 = 1_000) async throws -> [Int64] {
        try await look("list the jobs of a batch") { connection in
            try connection.rows("select job from \(schema).batch_jobs(\(batch), \(job), \(limit))") { try $0[0] }
        }
    }
}

/// One call of `submit`. All its tries share it.
struct SubmissionCall: Sendable {
    let submission: Submission
    let schema: SchemaName
    /// The submitter's key, or a generated one. The key finds the batch again if an answer is lost.
    let key: String
    /// Distinguishes the batch of this call from one that another call made under the same key.
    let token: UUID

    /// The prefix of generated keys.
    private static let ownPrefix = "~"

    init(_ submission: Submission, _ schema: SchemaName) throws {
        if let key = submission.key, key.hasPrefix(Self.ownPrefix) {
            throw LedgerError(.ledgerRefused, during: "submit jobs", "a key must not begin with ~: \"\(key)\"")
        }
        self.submission = submission
        self.schema = schema
        token = submission.attempt ?? UUID()
        key = submission.key ?? Self.ownPrefix + token.uuidString
    }

    /// The submitter's key; `nil` for a generated one.
    static func givenKey(_ key: String?) -> String? { key?.hasPrefix(ownPrefix) == true ? nil : key }

    /// Stored with the batch: the digest, then the token of the call.
    func mark(_ digest: RequestDigest) -> Data { digest.bytes + tokenBytes }

    var tokenBytes: Data { withUnsafeBytes(of: token.uuid) { Data($0) } }
}

/// A batch in the ledger, and the mark of the call that submitted it.
struct StandingBatch {
    var receipt: SubmissionReceipt
    var mark: Data?

    /// The receipt for a call that found this batch. Pass no digest if the call may have submitted it itself.
    func receipt(for call: SubmissionCall, _ digest: RequestDigest?) -> SubmissionReceipt {
        var receipt = receipt
        receipt.isRepetition = mark?.dropFirst(16) != call.tokenBytes
        receipt.isSameRequest = !receipt.isRepetition || digest.map { mark?.prefix(16) == $0.bytes } ?? false
        return receipt
    }
}

extension Connection {
    fileprivate func findBatch(_ key: String, _ schema: SchemaName) throws -> StandingBatch? {
        try first("select * from \(schema).find_batch(\(key))") { row in
            StandingBatch(
                receipt: SubmissionReceipt(
                    batch: try row["batch"],
                    firstJob: try row["first_job"],
                    lastJob: try row["last_job"],
                    jobCount: try row["job_count"],
                    isRepetition: true,
                    isSameRequest: true
                ),
                mark: try row["request_digest"]
            )
        }
    }

    /// One try of a submission.
    func submit(_ jobs: some Sequence<JobRequest>, _ call: SubmissionCall) throws -> SubmissionReceipt {
        var writer = RequestWriter(call.submission)
        var jobs = jobs.makeIterator()
        var small: [RequestWriter.Written] = []
        while small.count < RequestWriter.smallCount, let job = jobs.next() { small.append(try writer.write(job)) }
        if small.count < RequestWriter.smallCount { return try enterSmall(small, call, writer.digest) }
        // Before sending a million jobs, check whether the key is taken.
        if let standing = try findBatch(call.key, call.schema) {
            while let job = jobs.next() { _ = try writer.write(job) }
            return standing.receipt(for: call, writer.digest)
        }
        let staged = StagedRequests(first: small, rest: IteratorSequence(jobs), writer: writer)
        return try transaction(isKept: !call.submission.isPreview) {
            try execute("select \(call.schema).stage_jobs()")
            try copy(staged, into: "pg_temp.staged_job", columns: RequestWriter.columns) { written, row in
                try written.get().append(to: &row)
            }
            return try enterWithNotices(nil, call, staged.writer.digest)
        }
    }

    /// One try of a submission whose jobs have all been written.
    fileprivate func submit(_ jobs: SpooledRequests, _ call: SubmissionCall) throws -> SubmissionReceipt {
        let rows: Spool
        switch jobs.rows {
        case .few(let written): return try enterSmall(written, call, jobs.digest)
        case .many(let written): rows = written
        }
        if let standing = try findBatch(call.key, call.schema) { return standing.receipt(for: call, jobs.digest) }
        return try transaction(isKept: !call.submission.isPreview) {
            try execute("select \(call.schema).stage_jobs()")
            try copy(rows, into: "pg_temp.staged_job", columns: RequestWriter.columns)
            return try enterWithNotices(nil, call, jobs.digest)
        }
    }

    /// Few jobs, in a statement that looks the key up itself.
    private func enterSmall(_ jobs: [RequestWriter.Written], _ call: SubmissionCall, _ digest: RequestDigest) throws
        -> SubmissionReceipt
    {
        let list = JSON(text: RequestWriter.list(jobs))
        let (hasNotices, isPreview) = (!call.submission.notify.isEmpty, call.submission.isPreview)
        guard hasNotices || isPreview else { return try enter(list, call, digest) }
        return try transaction(isKept: !isPreview) { try enterWithNotices(list, call, digest) }
    }

    /// As `enter`, and has the webhooks that the submission names told about its batch. A repetition adds none.
    private func enterWithNotices(_ list: JSON?, _ call: SubmissionCall, _ digest: RequestDigest?) throws
        -> SubmissionReceipt
    {
        let (receipt, names) = (try enter(list, call, digest), call.submission.notify)
        if !names.isEmpty, !receipt.isRepetition {
            _ = try execute("select \(call.schema).add_notices(\(receipt.batch), \(names))")
        }
        return receipt
    }

    /// Calls `submit` with a list of jobs, or, for `nil`, with the staged ones.
    func enter(_ list: JSON?, _ call: SubmissionCall, _ digest: RequestDigest?) throws -> SubmissionReceipt {
        let submission = call.submission
        var labels = ""
        labels.appendJSON(submission.labels)
        let entered = try first(
            """
            select * from \(call.schema).submit(
                jobs => \(list), queue_name => \(submission.queue), batch_name => \(submission.label),
                batch_key => \(call.key), request_digest => \(digest.map(call.mark)),
                job_priority => \(submission.priority), batch_weight => \(submission.weight),
                max_attempts => \(submission.maxAttempts.map { Int32(clamping: $0) }), run_at => \(submission.runAt),
                batch_labels => \(JSON(text: labels)), wake => false, preview => \(submission.isPreview),
                sources_skipped => \(Int64(submission.sourcesSkipped)))
            """
        ) { try SubmissionReceipt(reading: $0) }
        guard let entered else { throw failure(.ledgerUnexpectedAnswer, "the server did not answer the submission") }
        return try settled(entered, call, digest)
    }

    /// The receipt for a call that received this one from `submit`.
    func settled(_ entered: SubmissionReceipt, _ call: SubmissionCall, _ digest: RequestDigest?) throws
        -> SubmissionReceipt
    {
        guard entered.isRepetition else { return entered }
        // Another submission was faster, or an earlier try of ours was committed after all.
        guard let standing = try findBatch(call.key, call.schema) else {
            throw failure(.ledgerContention, "the batch with this key was removed meanwhile")
        }
        return standing.receipt(for: call, digest)
    }
}
