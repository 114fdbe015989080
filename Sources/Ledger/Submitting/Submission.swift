public import FoundationEssentials

/// The settings of a submission that apply to all its jobs.
public struct Submission: Sendable, Hashable {
    /// The queue's name. The ledger creates the queue if needed.
    public var queue = "default"
    /// The batch's name, for people.
    public var label: String?
    /// Idempotency key: another submission with the same key returns the same batch and adds nothing, as long as
    /// the batch is kept. Must not begin with `~`.
    public var key: String?
    /// The whole request, where the jobs are only the part of it still to do. It distinguishes a repetition from
    /// another request under `key`. `nil` uses the jobs and these settings.
    public var request: String?
    /// Chosen at random by a submitter that may have to send the same submission again, because it lost the answer:
    /// all with the same one are one submission, and the answer is the same. `nil` if it is sent once.
    public var attempt: UUID?
    /// -100 to 100; higher goes first.
    public var priority: Int32 = 0
    /// The batch's share relative to other batches, 1 to 10000.
    public var weight: Int32 = 100
    /// The number of attempts of a job that sets none; `nil` uses the ledger's default.
    public var maxAttempts: Int?
    /// The earliest start of jobs that set none; `nil` means at once.
    public var runAt: Date?
    /// The webhooks that are told when the batch ends or too many of its jobs fail, by name or id: up to 10.
    public var notify: [String] = []
    /// How many sources are left out because their outputs are there already, or have been edited. The batch keeps the
    /// number. It does not tell one submission from another.
    public var sourcesSkipped = 0
    /// Labels of the batch, for the submitter's own use.
    public var labels: [String: String] = [:]
    /// Whether to notify workers at once.
    public var wakesWorkers = true
    /// Whether everything is only checked: nothing is added, and the receipt names no batch.
    public var isPreview = false

    public init(
        queue: String = "default",
        label: String? = nil,
        key: String? = nil,
        request: String? = nil,
        priority: Int32 = 0,
        weight: Int32 = 100,
        maxAttempts: Int? = nil,
        runAt: Date? = nil,
        labels: [String: String] = [:],
        wakesWorkers: Bool = true
    ) {
        self.queue = queue
        self.label = label
        self.key = key
        self.request = request
        self.priority = priority
        self.weight = weight
        self.maxAttempts = maxAttempts
        self.runAt = runAt
        self.labels = labels
        self.wakesWorkers = wakesWorkers
    }
}
