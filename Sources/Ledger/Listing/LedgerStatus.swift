import Conversion
public import FoundationEssentials

/// A summary of a ledger.
public struct LedgerStatus: Sendable, Hashable {
    public var jobs = JobCounts()
    /// Since when the oldest waiting job waits.
    public var oldestWaiting: Date?
    /// Running workers, those of them that claim nothing, and the slots of all.
    public var workers = 0
    public var quietWorkers = 0
    public var slots = 0
    /// Figures for the last hour, or for the part of it that had work: `paceSpan`.
    public var completedLately = 0
    public var audioLately = Duration.zero
    public var paceSpan: Duration?
    /// Figures for the last whole minute and the current one, or for the part of them that had work. An older coordinator does
    /// not tell them.
    public var completedLastMinute: Int?
    public var audioLastMinute: Duration?
    public var lastMinuteSpan: Duration?
    /// When housekeeping last ticked; `nil` if it never did.
    public var keptHouseAt: Date?
    /// After an outage, the time before which no worker is declared lost.
    public var quietUntil: Date?
    /// The ledger's clock.
    public var time = Date.distantPast

    package init() {}

    /// A row of `status`.
    init(summary row: Row) throws {
        try self.init(reading: row)
        (workers, quietWorkers, slots) = (try row["workers"], try row["workers_quiet"], try row["slots"])
        if keptHouseAt == .distantPast { keptHouseAt = nil }
        if let date = quietUntil, date <= time { quietUntil = nil }
    }
}

/// What the ledger says about itself. How many workers there are follows from their list, where it may be seen.
extension LedgerStatus: LedgerRecord {
    package static var blank: LedgerStatus { LedgerStatus() }

    package static let fields: [RecordField<LedgerStatus>] = [
        .always("jobs", \.jobs, .counts, "how many jobs are in each state"),
        .maybe("oldestWaiting", \.oldestWaiting, .moment, "since when the oldest waiting job waits"),
        .always("completedLately", \.completedLately, .count, "in the last hour", column: "completed_last_hour"),
        .always(
            "audioSecondsLately",
            \.audioLately,
            .seconds,
            "audio of the jobs completed in the last hour",
            column: "audio_ms_last_hour"
        ),
        .span("paceSeconds", \.paceSpan, column: "pace_seconds"),
        .maybe("completedLastMinute", \.completedLastMinute, .count, "in the last minute"),
        .maybe(
            "audioSecondsLastMinute",
            \.audioLastMinute,
            .seconds,
            "audio of the jobs completed in the last minute",
            column: "audio_ms_last_minute"
        ),
        .span("lastMinuteSeconds", \.lastMinuteSpan, column: "last_minute_seconds"),
        .maybe("keptHouseAt", \.keptHouseAt, .moment, "when housekeeping last ran"),
        .maybe(
            "quietUntil",
            \.quietUntil,
            .moment,
            "until when the ledger declares no worker lost, after an outage"
        ),
        .always("time", \.time, .moment, "the ledger's time", column: "ledger_time"),
    ]
}

extension RecordField<LedgerStatus> {
    /// The time that the two fields before it cover.
    fileprivate static func span(
        _ name: String,
        _ path: any WritableKeyPath<LedgerStatus, Duration?> & Sendable,
        column: String
    ) -> RecordField<LedgerStatus> {
        .special(
            name,
            .number,
            "the time that these two cover",
            read: { status, row in status[keyPath: path] = try (row[column] as Double?).map { .seconds($0) } },
            encode: { status, encoder, key in
                try encoder.encodeIfPresent(status[keyPath: path]?.seconds, forKey: key)
            },
            decode: { status, decoder, key in
                status[keyPath: path] = try decoder.secondsIfPresent(key).map { .seconds($0) }
            }
        )
    }
}

/// What ended in one minute in one queue.
public struct MinuteThroughput: Sendable, Hashable {
    public var minute = Date.distantPast
    public var queue = ""
    public var completed = 0
    public var failed = 0
    public var cancelled = 0
    public var audio = Duration.zero
    /// When the earliest of their attempts started.
    public var began = Date.distantPast

    package init() {}
}

extension MinuteThroughput: LedgerRecord, ListedRecord {
    package static let listName = "throughput"
    package static var blank: MinuteThroughput { MinuteThroughput() }

    package static let fields: [RecordField<MinuteThroughput>] = [
        .always("minute", \.minute, .moment, "the minute in which the jobs ended"),
        .always("queue", \.queue, .text, "their queue"),
        .always("completed", \.completed, .count, "jobs that were completed"),
        .always("failed", \.failed, .count, "jobs that failed"),
        .always("cancelled", \.cancelled, .count, "jobs that were cancelled"),
        .always("audioSeconds", \.audio, .seconds, "the audio of the completed jobs", column: "audio_ms"),
        .always("began", \.began, .moment, "when the first of their attempts began"),
    ]
}
