public import Conversion
public import FoundationEssentials

/// Failures of one code, class and stage.
public struct FailureGroup: Sendable, Hashable {
    public var code: String
    public var kind: Failure.Kind
    public var stage: String
    /// The jobs that ended with this failure.
    public var jobs: Int
    /// The attempts, including those that were retried; `nil` where only jobs were counted.
    public var attempts: Int?
    public var lastAt: Date
    /// One of the jobs. The next field is its source, for as long as the ledger keeps it.
    public var example: Int64
    public var exampleSource: String?

    init(_ row: Row) throws {
        code = try row["code"]
        kind = try row.value("class")
        stage = try row["stage"]
        jobs = try row["jobs"]
        attempts = try row["attempts"]
        lastAt = try row["last_at"]
        example = try row["example"]
        exampleSource = try row["example_source"]
    }
}
