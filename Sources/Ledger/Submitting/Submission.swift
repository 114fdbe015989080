public import FoundationEssentials

/// What a submission says of all its jobs.
public struct Submission: Sendable, Hashable {
    /// The queue's name; made if need be.
    public var queue = "default"
    /// The batch's name, for people.
    public var label: String?
    /// The same key answers the same batch and adds nothing, for as long as the batch is kept. Does not begin with `~`.
    public var key: String?
    /// All that was asked for, where the jobs are only what is left to do of it: tells a repetition from another request under
    /// `key`. `nil` takes the jobs and what is said here of all of them.
    public var request: String?
    /// -100 to 100; higher goes first.
    public var priority: Int32 = 0
    /// The batch's share beside others, 1 to 10000.
    public var weight: Int32 = 100
    /// How many attempts a job has that does not say so itself; `nil` leaves it to the ledger.
    public var maxAttempts: Int?
    /// When jobs may be begun that do not say so themselves; `nil` is at once.
    public var runAt: Date?
    /// Of the batch, for whatever its submitter likes.
    public var labels: [String: String] = [:]
    /// Whether workers are told at once.
    public var wakesWorkers = true

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
