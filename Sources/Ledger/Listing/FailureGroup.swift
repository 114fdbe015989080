public import Conversion
public import FoundationEssentials

/// What failed in the same way.
public struct FailureGroup: Sendable, Hashable {
    public var code: String
    public var kind: Failure.Kind
    public var stage: String
    /// Jobs that ended by it.
    public var jobs: Int
    /// Attempts, those that were tried again included; `nil` where only jobs were counted.
    public var attempts: Int?
    public var lastAt: Date
    /// One of them, and its source, as long as it is remembered.
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
