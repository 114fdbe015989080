public import Conversion
public import FoundationEssentials

/// Failures of one code, class and stage.
public struct FailureGroup: Sendable, Hashable {
    public var code = ""
    public var kind = Failure.Kind.permanent
    public var stage = ""
    /// The jobs that ended with this failure, without those whose failure is accepted.
    public var jobs = 0
    public var accepted = 0
    /// The attempts, including those that were retried; `nil` where only jobs were counted.
    public var attempts: Int?
    public var lastAt = Date.distantPast
    /// One of the jobs. The next field is its source, for as long as the ledger keeps it.
    public var example: Int64 = 0
    public var exampleSource: String?
    /// What to do, as the last failed attempt at the example says; for failures without a hint of their own, what the code
    /// says.
    public var hint: String? {
        get { ownHint ?? FailureCode(rawValue: code)?.advice }
        set { ownHint = newValue }
    }
    private var ownHint: String?

    package init() {}
}

extension FailureGroup: LedgerRecord, ListedRecord {
    package static let listName = "failures"
    package static var blank: FailureGroup { FailureGroup() }

    package static let fields: [RecordField<FailureGroup>] = [
        .always("code", \.code, .text, "the code of the failures"),
        .always("class", \.kind, .choice, "whether another attempt can succeed"),
        .always("stage", \.stage, .text, "the part of the work that failed"),
        .always("jobs", \.jobs, .count, "jobs that ended with it, without accepted ones"),
        .always("accepted", \.accepted, .count, "jobs that ended with it, and whose failure is accepted"),
        .maybe(
            "attempts",
            \.attempts,
            .count,
            "attempts that ended with it, retried ones too; not known for one batch"
        ),
        .always("lastAt", \.lastAt, .moment, "when it last happened"),
        .always("example", \.example, .id, "a job that has it"),
        .maybe("exampleSource", \.exampleSource, .text, "the source of that job"),
        .maybe("hint", \.hint, .text, "what to do", column: "example_hint"),
    ]
}

/// The attempts that failed in one hour, with one code, class and stage.
public struct FailureHour: Sendable, Hashable {
    public var code = ""
    public var kind = Failure.Kind.permanent
    public var stage = ""
    public var hour = Date.distantPast
    public var attempts = 0

    package init() {}
}

extension FailureHour: LedgerRecord, ListedRecord {
    package static let listName = "hours"
    package static var blank: FailureHour { FailureHour() }

    package static let fields: [RecordField<FailureHour>] = [
        .always("code", \.code, .text, "the code of the failures"),
        .always("class", \.kind, .choice, "whether another attempt can succeed"),
        .always("stage", \.stage, .text, "the part of the work that failed"),
        .always("hour", \.hour, .moment, "the beginning of the hour"),
        .always("attempts", \.attempts, .count, "attempts that failed so in it, retried ones too"),
    ]
}
