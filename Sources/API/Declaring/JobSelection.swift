import Conversion
import Ledger

/// How requests select jobs: as parameters of a list, and as the `filter` of a change.
enum JobSelection {
    static let fields: [Schema.Field] = [
        .may("state", .list(.choice(JobState.allCases.map(\.rawValue)), most: 9), "jobs in these states"),
        .may("batch", .id, "jobs of this batch"),
        .may("queue", .queueName, "jobs of this queue"),
        .may(
            "code",
            .list(.text(1...64), most: 50),
            "jobs that failed with these codes, or wait for a retry after them"
        ),
        .may(
            "class",
            .list(.choice(Failure.Kind.allCases.map(\.rawValue)), most: 3),
            "jobs that failed with these classes"
        ),
        .may(
            "stage",
            .list(.choice(Failure.Stage.allCases.map(\.rawValue)), most: 20),
            "jobs that failed at these stages"
        ),
        .may("source", .text(1...4_096), "jobs whose source begins with this, such as archive:2024/"),
        .may("sourceContains", .text(1...200), "jobs whose source contains this; case matters"),
        .may("since", .moment, "jobs submitted since then"),
        .may("until", .moment, "jobs submitted before then"),
        .may("endedSince", .moment, "jobs that ended since then"),
        .may("endedUntil", .moment, "jobs that ended before then"),
        .may("id", .list(.id, most: 1_000), "jobs with these numbers"),
    ]

    static let remarks = Operation.Parameter(
        "remarks",
        .truth,
        "only jobs whose outputs lack something of their sources"
    )

    static var parameters: [Operation.Parameter] {
        fields.map { Operation.Parameter($0.name, $0.schema, $0.meaning) } + [remarks]
    }

    static func filter(_ values: [String: JSONValue]) -> JobFilter {
        func words(_ name: String) -> [String]? { values[name]?.items?.compactMap(\.text) }
        return JobFilter(
            ids: values["id"]?.items?.compactMap(\.whole),
            states: words("state")?.compactMap(JobState.init(rawValue:)),
            batch: values["batch"]?.whole,
            queue: values["queue"]?.text,
            codes: words("code"),
            classes: words("class")?.compactMap(Failure.Kind.init(rawValue:)),
            stages: words("stage"),
            sourcePrefix: values["source"]?.text,
            sourceContains: values["sourceContains"]?.text,
            hasRemarks: values["remarks"]?.truth == true ? true : nil,
            submittedFrom: values["since"]?.text.flatMap(Moments.date),
            submittedBefore: values["until"]?.text.flatMap(Moments.date),
            endedFrom: values["endedSince"]?.text.flatMap(Moments.date),
            endedBefore: values["endedUntil"]?.text.flatMap(Moments.date)
        )
    }
}
