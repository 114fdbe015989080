package import Conversion
package import FoundationEssentials
package import Ledger

/// The JSON form of a group of failures.
package struct FailureGroupRecord: Codable {
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

    /// Reads a group that another process tells of.
    package init(from decoder: any Decoder) throws {
        let record = try decoder.container(keyedBy: CodingKeys.self)
        code = try record.decode(String.self, forKey: .code)
        kind = try record.decode(Failure.Kind.self, forKey: .kind)
        stage = try record.decode(String.self, forKey: .stage)
        jobs = try record.count(.jobs)
        attempts = try record.countIfPresent(.attempts)
        lastAt = try record.decode(Date.self, forKey: .lastAt)
        example = try record.id(.example)
        exampleSource = try record.decodeIfPresent(String.self, forKey: .exampleSource)
        hint = FailureCode(rawValue: code)?.advice
    }

    /// What it was made of.
    package var group: FailureGroup {
        FailureGroup(
            code: code,
            kind: kind,
            stage: stage,
            jobs: jobs,
            attempts: attempts,
            lastAt: lastAt,
            example: example,
            exampleSource: exampleSource
        )
    }

    private enum CodingKeys: String, CodingKey {
        case code, kind = "class", stage, jobs, attempts, lastAt, example, exampleSource, hint
    }
}
