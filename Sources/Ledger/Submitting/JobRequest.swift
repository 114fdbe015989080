public import Conversion
public import FoundationEssentials

/// A job to submit: its recipe, and what differs from the defaults of its submission.
public struct JobRequest: Sendable, Hashable {
    public var recipe: Recipe
    /// An estimate, in any unit that all submitters share; `nil` means 1000. After a costly job, more jobs of
    /// others go first.
    public var cost: Int32?
    /// What a worker must be able to do besides reading the recipe, in the strings of `AbilityWord`.
    public var needs: [String] = []
    /// The number of attempts; `nil` uses the submission's.
    public var maxAttempts: Int16?
    /// The earliest start; `nil` uses the submission's.
    public var runAt: Date?
    public var labels: [String: String] = [:]
    /// The stamp of the recipe's first source, to detect later changes; `nil` if the submitter cannot reach the source.
    public var stamp: SourceStamp?
    /// The number of the requested work, from `WorkNumbers`; `nil` computes it from the recipe.
    public var work: Int64?

    public init(
        _ recipe: Recipe,
        cost: Int32? = nil,
        needs: [String] = [],
        maxAttempts: Int16? = nil,
        runAt: Date? = nil,
        labels: [String: String] = [:],
        stamp: SourceStamp? = nil,
        work: Int64? = nil
    ) {
        self.recipe = recipe
        self.cost = cost
        self.needs = needs
        self.maxAttempts = maxAttempts
        self.runAt = runAt
        self.labels = labels
        self.stamp = stamp
        self.work = work
    }
}

/// The state of a source at some time. A source whose stamp differs has changed.
public struct SourceStamp: Sendable, Hashable {
    public var bytes: Int64
    /// The modification time in nanoseconds since 1970, by the clock of its file system.
    public var modified: Int64

    public init(bytes: Int64, modified: Int64) {
        self.bytes = bytes
        self.modified = modified
    }
}

extension SourceStamp: LedgerRecord {
    package static var blank: SourceStamp { SourceStamp(bytes: 0, modified: 0) }

    package static let fields: [RecordField<SourceStamp>] = [
        .always("bytes", \.bytes, .whole, "the length of the file"),
        .always("modified", \.modified, .whole, "when it was changed, in nanoseconds since 1970"),
    ]
}
