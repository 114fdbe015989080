public import Conversion
import FoundationEssentials

extension JobLedger {
    /// Puts a batch of jobs into the ledger: all of them or none, answered after the commit.
    ///
    /// Jobs are taken from the sequence as they are sent, and memory holds a few. The sequence is walked once for each try,
    /// so it must give the same jobs every time. Throws `refused` if it is empty.
    public func submit(
        _ submission: Submission = Submission(),
        _ jobs: some Sequence<JobRequest> & Sendable,
        within limit: Duration? = nil
    ) async throws -> SubmissionReceipt {
        let call = try SubmissionCall(submission, schema)
        return try await settle("submit jobs", within: limit ?? Self.submissionLimit) { connection, _ in
            // What an earlier try may have done is found by the key. If its transaction is still open, ours waits for it.
            let receipt = try connection.submit(jobs.lazy.map { .success($0) }, call)
            if submission.wakesWorkers, !receipt.isRepetition { tellWorkers(on: connection) }
            return receipt
        }
    }

    /// The same with jobs that come by and by, while those before them are being sent.
    ///
    /// They come once, so there is one try. Whether it came through has a definite answer all the same. What the sequence
    /// throws is thrown on, and then nothing was submitted.
    public func submit<Jobs: AsyncSequence & Sendable>(
        _ submission: Submission = Submission(),
        streaming jobs: Jobs,
        within limit: Duration? = nil
    ) async throws -> SubmissionReceipt where Jobs.Element == JobRequest {
        let limit = limit ?? Self.submissionLimit
        let call = try SubmissionCall(submission, schema)
        let feed = JobFeed(until: .now + limit)
        let filling = Task { await feed.fill(from: jobs) }
        return try await withTaskCancellationHandler {
            defer {
                filling.cancel()
                feed.stop()
            }
            do {
                return try await source.run("submit jobs", within: limit) { connection in
                    let receipt = try connection.submit(feed, call)
                    if submission.wakesWorkers { tellWorkers(on: connection) }
                    return receipt
                }
            } catch let error as LedgerError where error.mayHaveHappened {
                let outcome = try await settle("submit jobs") { connection, _ in try connection.outcome(of: call) }
                if let outcome { return outcome }
                var error = error
                error.mayHaveHappened = false
                throw error
            }
        } onCancel: {
            filling.cancel()
            feed.stop()
        }
    }

    /// Tells workers of jobs that have been committed, unless another submission of this ledger is about to.
    private func tellWorkers(on connection: isolated Connection) {
        guard news.begin() else { return }
        // The jobs are in the ledger. Workers that are not told find them at their next look.
        _ = try? connection.execute("select \(schema).tell_workers()")
        if news.end() { Task { await tellWorkersAgain() } }
    }

    /// For submissions that were committed while workers were told.
    private func tellWorkersAgain() async {
        repeat {
            _ = try? await source.run("tell workers") { try $0.execute("select \(schema).tell_workers()") }
        } while news.end()
    }

    /// Submits recipes that differ in nothing but themselves.
    public func submit(_ submission: Submission = Submission(), recipes: [Recipe]) async throws -> SubmissionReceipt {
        try await submit(submission, recipes.lazy.map { JobRequest($0) })
    }

    /// A million jobs take their time.
    static let submissionLimit: Duration = .seconds(900)

    /// What stands under a key; `nil` if nothing does. The receipt is that of a repetition.
    public func receipt(forKey key: String) async throws -> SubmissionReceipt? {
        try await settle("look up a submission") { connection, _ in try connection.findBatch(key, schema)?.receipt }
    }

    /// The numbers of a batch's jobs in the order of their submission, from behind `job` on; 1000 or `limit` at most.
    public func jobs(ofBatch batch: Int64, after job: Int64 = 0, limit: Int32 = 1_000) async throws -> [Int64] {
        try await settle("list the jobs of a batch") { connection, _ in
            try connection.rows("select job from \(schema).batch_jobs(\(batch), \(job), \(limit))") { try $0[0] }
        }
    }
}

/// One call of `submit`, the same for all its tries.
struct SubmissionCall: Sendable {
    let submission: Submission
    let schema: SchemaName
    /// The submitter's, or one of our own, by which an answer that was lost is found again.
    let key: String
    /// Tells what this call put in from what others did under the same key.
    let token = UUID()

    /// Keys that begin with this are ours.
    private static let ownPrefix = "~"

    init(_ submission: Submission, _ schema: SchemaName) throws {
        if let key = submission.key, key.hasPrefix(Self.ownPrefix) {
            throw LedgerError(.refused, during: "submit jobs", "a key does not begin with ~, as \"\(key)\" does")
        }
        self.submission = submission
        self.schema = schema
        key = submission.key ?? Self.ownPrefix + token.uuidString
    }

    /// The key as a submitter gave it; `nil` for one that was made up here.
    static func givenKey(_ key: String?) -> String? { key?.hasPrefix(ownPrefix) == true ? nil : key }

    /// Stored with the batch: the digest, and whose it is.
    func mark(_ digest: RequestDigest) -> Data { digest.bytes + tokenBytes }

    var tokenBytes: Data { withUnsafeBytes(of: token.uuid) { Data($0) } }
}

/// A batch as the ledger has it, and the mark of the call that put it in.
struct StandingBatch {
    var receipt: SubmissionReceipt
    var mark: Data?

    /// The receipt for a call that found it there; without a digest, for one that may have put it there.
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

    /// One try.
    func submit(_ jobs: some Sequence<Result<JobRequest, any Error>>, _ call: SubmissionCall) throws
        -> SubmissionReceipt
    {
        var writer = RequestWriter(call.submission)
        var jobs = jobs.makeIterator()
        var small: [RequestWriter.Written] = []
        while small.count < RequestWriter.smallCount, let job = jobs.next() {
            small.append(try writer.write(job.get()))
        }
        if small.count < RequestWriter.smallCount {
            // One statement, which looks the key up itself.
            return try enter(JSON(text: RequestWriter.list(small)), call, writer.digest)
        }
        // A million jobs are not sent for nothing.
        if let standing = try findBatch(call.key, call.schema) {
            while let job = jobs.next() { _ = try writer.write(job.get()) }
            return standing.receipt(for: call, writer.digest)
        }
        let staged = StagedRequests(first: small, rest: IteratorSequence(jobs), writer: writer)
        return try transaction {
            try execute("select \(call.schema).stage_jobs()")
            try copy(staged, into: "pg_temp.staged_job", columns: RequestWriter.columns) { written, row in
                try written.get().append(to: &row)
            }
            return try enter(nil, call, staged.writer.digest)
        }
    }

    /// What became of a submission whose answer was lost: `nil` if nothing did, and nothing will.
    ///
    /// Submits nothing under the same key, which waits for a transaction that is still open, and is refused if there is no
    /// batch then.
    fileprivate func outcome(of call: SubmissionCall) throws -> SubmissionReceipt? {
        do {
            return try enter(JSON(text: "[]"), call, nil)
        } catch let error as LedgerError where error.sqlState == "22023" {
            return nil
        }
    }

    /// Calls `submit`, for a list of jobs or for those that are staged.
    private func enter(_ list: JSON?, _ call: SubmissionCall, _ digest: RequestDigest?) throws -> SubmissionReceipt {
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
                batch_labels => \(JSON(text: labels)), wake => false)
            """
        ) { row in
            SubmissionReceipt(
                batch: try row["batch"],
                firstJob: try row["first_job"],
                lastJob: try row["last_job"],
                jobCount: try row["job_count"],
                isRepetition: !(try row["added"]),
                isSameRequest: try row["same_request"]
            )
        }
        guard let entered else { throw failure(.unexpectedAnswer, "the ledger answered nothing to a submission") }
        guard entered.isRepetition else { return entered }
        // Another submission was faster, or an earlier try of ours was committed after all.
        guard let standing = try findBatch(call.key, call.schema) else {
            throw failure(.contention, "the batch of this key went away meanwhile")
        }
        return standing.receipt(for: call, digest)
    }
}
