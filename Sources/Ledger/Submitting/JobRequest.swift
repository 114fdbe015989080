public import Conversion
public import FoundationEssentials

/// A job that is to be: its recipe, and what differs from the rest of its submission.
public struct JobRequest: Sendable, Hashable {
    public var recipe: Recipe
    /// Estimated, in any unit that all submitters share; 1000 if nobody knows. Costly jobs let more others pass.
    public var cost: Int32?
    /// What a worker must be able to do besides reading the recipe, in the words of `AbilityWord`.
    public var needs: [String] = []
    /// How many attempts it has; `nil` leaves it to the submission.
    public var maxAttempts: Int16?
    /// When it may be begun; `nil` leaves it to the submission.
    public var runAt: Date?
    public var labels: [String: String] = [:]

    public init(
        _ recipe: Recipe,
        cost: Int32? = nil,
        needs: [String] = [],
        maxAttempts: Int16? = nil,
        runAt: Date? = nil,
        labels: [String: String] = [:]
    ) {
        self.recipe = recipe
        self.cost = cost
        self.needs = needs
        self.maxAttempts = maxAttempts
        self.runAt = runAt
        self.labels = labels
    }
}
