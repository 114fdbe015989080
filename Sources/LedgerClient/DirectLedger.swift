package import API
package import Ledger

/// The ledger in its database.
extension JobLedger: CommandLedger {
    // MARK: - Reading, steering, submitting

    package func overview() async throws -> (status: LedgerStatus, place: String) {
        (try await status(), configuration.description)
    }

    package func ownLimits() async throws -> (tenant: String, limits: TenantLimits)? {
        try await ownTenant().map { ($0.name, $0.limits) }
    }

    package func page(ofBatch batch: Int64, after job: Int64?, limit: Int32, isBrief: Bool) async throws -> BatchPage {
        let ids = try await jobs(ofBatch: batch, after: job ?? 0, limit: limit)
        guard let last = ids.last else { return BatchPage(jobs: [], next: nil) }
        if isBrief {
            let jobs = try await jobs(matching: JobFilter(ids: ids), limit: limit).jobs.sorted { $0.job < $1.job }
            return BatchPage(jobs: jobs, next: last)
        }
        let stories = try await stories(of: ids)
        return BatchPage(jobs: stories.map(\.summary), stories: stories, next: last)
    }

    package func facts(context: String?) async throws -> StatusFacts {
        try await StatusFacts.look(at: self, context: context)
    }

    package func prospect(of change: JobChange, matching filter: JobFilter) async throws -> (jobs: Int, publishing: Int)
    {
        (try await count(of: change, matching: filter), try await countPublishing(matching: filter))
    }

    package func apply(_ change: JobChange, to filter: JobFilter, report: @escaping @Sendable (ChangeTally) -> Void)
        async throws -> ChangeTally
    { try await apply(change, to: filter, progress: report) }

    package func earlierJobs(at destinations: some RandomAccessCollection<String> & Sendable, digests: Bool)
        async throws
        -> EarlierJobList
    { try await earlierJobList(at: destinations, withDigests: digests) }

    package func earlierScans(of sources: [String]) async throws -> [EarlierScan?] {
        try await earlierScans(of: sources, within: nil)
    }

    package func preview(_ submission: Submission, all jobs: some Sequence<JobRequest> & Sendable) async throws -> Int {
        var submission = submission
        submission.isPreview = true
        let receipt = try await submit(submission, jobs)
        return receipt.isRepetition ? 0 : receipt.jobCount
    }

    package func submit(_ submission: Submission, all jobs: some Sequence<JobRequest> & Sendable) async throws
        -> SubmissionReceipt
    { try await submit(submission, jobs) }

    package func retryDeliveries(to webhook: Int32, _ delivery: Int64?, progress: @escaping @Sendable (Int) -> Void)
        async throws -> Int
    { try await retryDeliveries(to: webhook, delivery, page: 1_000, progress: progress) }

    // MARK: - Listening

    /// PostgreSQL notifies workers of new jobs, and sends no notification when a job ends: see `LookPause`.
    package func listen(to wishes: ChangeWishes, onChange: @escaping @Sendable () -> Void) -> (any ChangeListening)? {
        nil
    }
}
