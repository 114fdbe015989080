package import API
package import Conversion
package import FoundationEssentials
package import Ledger

/// What commands ask of a ledger: of its database, or of a coordinator over HTTP.
///
/// All calls throw a `LedgerError`.
package protocol CommandLedger: Sendable {
    // MARK: - Reading

    func time() async throws -> Date
    func status() async throws -> LedgerStatus
    /// The summary, and where the ledger is.
    func overview() async throws -> (status: LedgerStatus, place: String)
    func facts(context: String?) async throws -> StatusFacts
    func jobs(matching filter: JobFilter, after cursor: JobCursor?, limit: Int32) async throws -> JobPage
    func count(matching filter: JobFilter) async throws -> Int
    func story(of job: Int64) async throws -> JobStory?
    /// Up to `limit` jobs of a batch in the order of their submission, from the one behind `job` on; at most 400. `isBrief`
    /// permits to leave out all but the summaries.
    func page(ofBatch batch: Int64, after job: Int64?, limit: Int32, isBrief: Bool) async throws -> BatchPage
    /// The outputs of a page of completed jobs.
    func outputs(matching filter: JobFilter, after cursor: JobCursor?, limit: Int32) async throws
        -> (outputs: [RecordedOutput], next: JobCursor?)
    /// For each output, the jobs that made the file at its destination or may still make it.
    func makers(of outputs: [RecordedOutput]) async throws -> [[OutputMaker]]
    func batch(_ batch: Int64) async throws -> BatchSummary?
    func batches(before batch: Int64?, limit: Int32) async throws -> [BatchSummary]
    func batches(labelled label: String) async throws -> [Int64]
    func lastBatch() async throws -> Int64?
    func failures(since: Date?, queue: String?, batch: Int64?) async throws -> [FailureGroup]
    func queues() async throws -> [QueueSummary]
    func workers(endedSince: Date?) async throws -> [WorkerSummary]
    func unableLanes() async throws -> [UnableLane]
    func paces(since: Date) async throws -> [MinuteThroughput]
    /// The tenant for which the user acts, and what it may submit; `nil` if there is none.
    func ownLimits() async throws -> (tenant: String, limits: TenantLimits)?

    // MARK: - Listening

    /// Calls `onChange`, in any thread, when something may have changed, until the listener is stopped. `nil` if the
    /// ledger tells nothing by itself.
    func listen(to wishes: ChangeWishes, onChange: @escaping @Sendable () -> Void) -> (any ChangeListening)?

    // MARK: - Steering

    /// How many jobs a change would apply to, and how many of the matching ones are publishing.
    func prospect(of change: JobChange, matching filter: JobFilter) async throws -> (jobs: Int, publishing: Int)
    func apply(_ change: JobChange, to filter: JobFilter, report: @escaping @Sendable (ChangeTally) -> Void)
        async throws -> ChangeTally
    func setPaused(_ isPaused: Bool, queue: String) async throws
    func setRunningLimit(_ limit: Int32?, queue: String) async throws
    func setWeight(_ weight: Int32, queue: String, submitter: String?) async throws
    func wish(_ wish: WorkerWish, of worker: Int64) async throws -> Bool

    // MARK: - Bulk changes

    func bulkChanges(before: Int64?, limit: Int32) async throws -> [BulkChange]
    func bulkChange(_ number: Int64) async throws -> BulkChange?
    func wish(_ wish: BulkChange.Wish, of number: Int64) async throws -> BulkChange?

    // MARK: - Submitting

    /// The latest job of each destination, all from one moment.
    func earlierJobs(at destinations: some RandomAccessCollection<String> & Sendable, digests: Bool) async throws
        -> EarlierJobList
    func earlierScans(of sources: [String]) async throws -> [EarlierScan?]
    func receipt(forKey key: String) async throws -> SubmissionReceipt?
    /// How many jobs a submission would add. Throws if the ledger would refuse it. Without jobs, it asks only whether the
    /// user may submit with these settings.
    func preview(_ submission: Submission, all jobs: some Sequence<JobRequest> & Sendable) async throws -> Int
    /// Submits all jobs or none. With a key that is in use, none are needed.
    func submit(_ submission: Submission, all jobs: some Sequence<JobRequest> & Sendable) async throws
        -> SubmissionReceipt

    // MARK: - Presets

    /// The presets of the ledger that the user may use, or that a tenant may.
    func presets(ofTenant tenant: String?) async throws -> [NamedPreset]
    /// A preset of the ledger with its recipe; `nil` if there is none.
    func preset(_ wanted: PresetReference, ofTenant tenant: String?) async throws -> NamedPreset?
    /// Returns the number of the version.
    func put(_ preset: OwnPreset, ofTenant tenant: String?) async throws -> Int32
    /// False if there is none.
    func removePreset(_ name: String, ofTenant tenant: String?) async throws -> Bool

    // MARK: - Webhooks

    func webhooks() async throws -> [Webhook]
    func createWebhook(_ wanted: NewWebhook) async throws -> CreatedWebhook
    func removeWebhook(_ id: Int32) async throws
    func testWebhook(_ id: Int32) async throws -> Int64
    func deliveries(to webhook: Int32?, in state: WebhookDelivery.State?, before: Int64?, limit: Int32)
        async throws -> [WebhookDelivery]
    func retryDeliveries(to webhook: Int32, _ delivery: Int64?, progress: @escaping @Sendable (Int) -> Void)
        async throws -> Int

    func close() async
}

/// Some jobs of a batch. Jobs that retention has deleted meanwhile are missing.
package struct BatchPage: Sendable {
    package let jobs: [JobSummary]
    /// The same jobs; empty if only the summaries were wanted.
    package let stories: [JobStory]
    /// The job after which the next page begins; `nil` on the last page.
    package let next: Int64?

    init(jobs: [JobSummary], stories: [JobStory] = [], next: Int64?) {
        (self.jobs, self.stories, self.next) = (jobs, stories, next)
    }
}
