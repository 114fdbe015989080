package import Conversion
package import FoundationEssentials
package import Ledger

/// The JSON form of a group of failures.
package struct FailureGroupRecord: Encodable {
    package let code: String
    package let kind: Failure.Kind
    package let stage: String
    package let jobs: Int
    package let attempts: Int?
    package let lastAt: Date
    package let example: Int64
    package let exampleSource: String?
    package let hint: String?

    package init(_ group: FailureGroup) {
        (code, kind, stage) = (group.code, group.kind, group.stage)
        (jobs, attempts, lastAt) = (group.jobs, group.attempts, group.lastAt)
        (example, exampleSource) = (group.example, group.exampleSource)
        hint = FailureCode(rawValue: group.code)?.advice
    }

    private enum CodingKeys: String, CodingKey {
        case code, kind = "class", stage, jobs, attempts, lastAt, example, exampleSource, hint
    }
}
