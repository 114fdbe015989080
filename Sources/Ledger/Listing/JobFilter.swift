public import Conversion
public import FoundationEssentials

/// Which jobs are meant: all that every field allows. `nil` allows everything.
public struct JobFilter: Sendable, Hashable, Codable {
    public var ids: [Int64]?
    public var states: [JobState]?
    public var batch: Int64?
    public var queue: String?
    /// Of the failure that ended the job, or that it waits to try again after.
    public var codes: [String]?
    public var classes: [Failure.Kind]?
    public var stages: [String]?
    /// What the first source's location begins with.
    public var sourcePrefix: String?
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
        self.submittedFrom = submittedFrom
        self.submittedBefore = submittedBefore
        self.endedFrom = endedFrom
        self.endedBefore = endedBefore
    }

    /// The names are the ledger's.
    private enum CodingKeys: String, CodingKey {
        case ids, states, batch, queue, codes, classes, stages
        case sourcePrefix = "source_prefix"
        case submittedFrom = "submitted_from", submittedBefore = "submitted_before"
        case endedFrom = "ended_from", endedBefore = "ended_before"
    }

    /// Those of them that are in one of `allowed`.
    func narrowed(to allowed: [JobState]) -> JobFilter {
        var narrow = self
        narrow.states = states.map { states in allowed.filter { states.contains($0) } } ?? allowed
        return narrow
    }

    /// Whether any field says something.
    public var isEmpty: Bool { self == JobFilter() }
}
