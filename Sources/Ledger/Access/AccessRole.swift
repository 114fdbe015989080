/// What a token permits. Each is a role of the database, and no more than that.
public enum AccessRole: String, Sendable, Hashable, Codable, CaseIterable {
    /// Lists.
    case viewer
    /// Submits and lists; retries, cancels and prioritises the jobs of its own batches.
    case submitter
    /// Lists; retries, cancels and prioritises all jobs; steers queues and workers.
    case `operator`

    /// The role of the database.
    var databaseRole: String { "sluice_\(rawValue)" }
}
