public import Conversion
public import FoundationEssentials

/// A job that is to be: its recipe, and what differs from the rest of its submission.
public struct JobRequest: Sendable, Hashable {
    public var recipe: Recipe
    /// Estimated, in any unit that all submitters share; 1000 if it is not known. Costly jobs let more others pass.
    public var cost: Int32?
    /// What a worker must be able to do besides reading the recipe, in the words of `AbilityWord`.
    public var needs: [String] = []
    /// How many attempts it has; `nil` leaves it to the submission.
    public var maxAttempts: Int16?
    /// When it may be begun; `nil` leaves it to the submission.
    public var runAt: Date?
    public var labels: [String: String] = [:]
    /// Of the recipe's first source, by which a later look finds whether it has changed; `nil` if the submitter cannot reach it.
    public var stamp: SourceStamp?
    /// What it asks for, as `WorkNumbers` counts; `nil` takes it from the recipe.
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

/// What a source was at some time. A source with another stamp has changed.
public struct SourceStamp: Sendable, Hashable {
    public var bytes: Int64
    /// When it last changed, in nanoseconds since 1970, by the clock of its file system.
    public var modified: Int64

    public init(bytes: Int64, modified: Int64) {
        self.bytes = bytes
        self.modified = modified
    }
}
