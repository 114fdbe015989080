public import Conversion
public import FoundationEssentials

/// Selects the jobs that match every field. A `nil` field matches all.
public struct JobFilter: Sendable, Hashable, Codable {
    public var ids: [Int64]?
    public var states: [JobState]?
    public var batch: Int64?
    public var queue: String?
    /// The codes of the failure that ended the job, or after which it waits for another try.
    public var codes: [String]?
    public var classes: [Failure.Kind]?
    public var stages: [String]?
    /// A prefix of the first source's location.
    public var sourcePrefix: String?
    /// Text that the first source's location contains. Case matters.
    public var sourceContains: String?
    /// `true`: only jobs that were completed with remarks.
    public var hasRemarks: Bool?
    public var submittedFrom: Date?
    public var submittedBefore: Date?
    public var endedFrom: Date?
    public var endedBefore: Date?

    public init(
        ids: [Int64]? = nil,
        states: [JobState]? = nil,
        batch: Int64? = nil,
        queue: String? = nil,
        codes: [String]? = nil,
        classes: [Failure.Kind]? = nil,
        stages: [String]? = nil,
        sourcePrefix: String? = nil,
        sourceContains: String? = nil,
        hasRemarks: Bool? = nil,
        submittedFrom: Date? = nil,
        submittedBefore: Date? = nil,
        endedFrom: Date? = nil,
        endedBefore: Date? = nil
    ) {
        self.ids = ids
        self.states = states
        self.batch = batch
        self.queue = queue
        self.codes = codes
        self.classes = classes
        self.stages = stages
        self.sourcePrefix = sourcePrefix
        self.sourceContains = sourceContains
        self.hasRemarks = hasRemarks
        self.submittedFrom = submittedFrom
        self.submittedBefore = submittedBefore
        self.endedFrom = endedFrom
        self.endedBefore = endedBefore
    }

    // The keys are the ledger's.
    private enum CodingKeys: String, CodingKey {
        case ids, states, batch, queue, codes, classes, stages
        case sourcePrefix = "source_prefix", sourceContains = "source_contains", hasRemarks = "remarks"
        case submittedFrom = "submitted_from", submittedBefore = "submitted_before"
        case endedFrom = "ended_from", endedBefore = "ended_before"
    }

    /// The same filter, limited to the states in `allowed`.
    func narrowed(to allowed: [JobState]) -> JobFilter {
        var narrow = self
        narrow.states = states.map { states in allowed.filter { states.contains($0) } } ?? allowed
        return narrow
    }

    /// Whether no field narrows the selection.
    public var isEmpty: Bool { self == JobFilter() }
}
