public import Conversion
public import FoundationEssentials

/// A job with its recipe, every attempt at it, and why it has not ended.
public struct JobStory: Sendable, Hashable {
    public var summary: JobSummary
    /// As JSON. `Recipe(json:)` reads it if this build knows its version.
    public var recipe: String
    public var batchName: String?
    public var submitter: String
    public var submittedAt: Date
    public var runAt: Date?
    public var cost: Int
    /// What a worker must be able to do.
    public var needs: [String]
    /// The entries of `needs` that no running worker has, if the job waits for that reason. Empty if each is
    /// covered by some worker, but no single worker covers all.
    public var missing: [String] = []
    public var labels: [String: String]
    public var batchLabels: [String: String]
    /// Why a delayed or waiting job does not run.
    public var waitingFor: WaitingFor?
    /// Oldest first. A running attempt comes last.
    public var attempts: [AttemptRecord]
    /// The earlier versions of the recipe, oldest first.
    public var amendments: [RecipeAmendment]

    /// What keeps a job from running.
    public enum WaitingFor: String, Sendable, Hashable, Codable, CaseIterable {
        /// Its queue is paused.
        case paused
        /// No running worker meets all its needs.
        case unable
        /// Its queue has reached its running limit.
        case limit
        /// Its tenant has used up the processor time of its day.
        case cpuMinutes = "cpu_minutes"
        /// Its tenant has used up the bytes of outputs of its day.
        case outputBytes = "output_bytes"
        /// The start time that its submitter set.
        case runAt = "run_at"
        /// The back-off before another try.
        case backOff = "back_off"
        /// The other jobs of its batch have not all measured their loudness.
        case album
        /// Other jobs are ahead of it.
        case line
    }
}

/// What a recipe said before a retry changed it.
public struct RecipeAmendment: Sendable, Hashable, Codable {
    /// The last attempt that used it.
    public var untilEpoch: Int32
    public var damage: DamageMode
    /// The limit on concealed silence, if the recipe set one.
    public var concealSeconds: Int32?
    public var changedAt: Date
    public var changedBy: String

    /// A row of `list_amendments`.
    init(_ row: Row) throws {
        untilEpoch = try row["until_epoch"]
        damage = try row.value("damage")
        concealSeconds = try row["conceal_seconds"]
        changedAt = try row["at"]
        changedBy = try row["by"]
    }
}

/// One try at a job.
public struct AttemptRecord: Sendable, Hashable {
    /// The number of its claim. Attempts are ordered by it.
    public var epoch: Int32
    /// `nil` while it is under way.
    public var outcome: AttemptOutcome?
    public var startedAt: Date
    public var endedAt: Date?
    /// The worker's number. The next four describe the worker, for as long as the ledger keeps them.
    public var worker: Int64
    public var workerName: String?
    public var host: String?
    public var build: String?
    /// The libraries with which the worker converts. Other versions may make other bytes.
    public var libraries: String?
    /// The failure as the worker reported it; for other unsuccessful attempts, the ledger's own description.
    public var failure: Failure?
    public var lastWords: String?
    public var facts: AttemptFacts
}

/// How an attempt ended.
public enum AttemptOutcome: String, Sendable, Hashable, Codable, CaseIterable {
    case completed
    case failed
    /// Lost with its worker. Does not count.
    case lost
    /// Handed back by its worker. Does not count.
    case released
    case cancelled
}

extension AttemptRecord {
    /// A row of `list_attempts`.
    init(_ row: Row) throws {
        let report: AttemptReport? = try (row["report"] as JSON?)?.decoded(during: row.operation)
        let name: String? = try row["outcome"]
        epoch = try row["epoch"]
        outcome = name == nil ? nil : try row.value("outcome")
        startedAt = try row["started_at"]
        endedAt = try row["ended_at"]
        worker = try row["worker"]
        workerName = try row["worker_name"]
        host = try row["host"]
        build = try row["build"]
        libraries = try row["libraries"]
        lastWords = try row["last_words"]
        failure = try Failure(row, refusals: report?.refusals)
        facts = AttemptFacts(
            slot: try row["slot"],
            framesIn: try row["frames_in"],
            framesOut: try row["frames_out"],
            audio: try (row["audio_ms"] as Int64?).map { .milliseconds($0) },
            cpu: try (row["cpu_ms"] as Int64?).map { .milliseconds($0) },
            peakBytes: try row["peak_bytes"],
            report: report?.conversion,
            further: report?.further ?? []
        )
    }
}

extension Failure {
    /// Reads an attempt's columns; `nil` if it has no code.
    fileprivate init?(_ row: Row, refusals: [FormatRefusal.Reason]?) throws {
        guard let code: String = try row["code"], let kind = try row.kind("class"), let stage: String = try row["stage"]
        else { return nil }
        let position: String? = try row["position"]
        self.init(
            code: code,
            kind: kind,
            stage: stage,
            message: try row["message"] ?? "",
            stream: try row["stream"],
            position: try position.map { text in
                do { return try MediaTime(rationalDescription: text) } catch {
                    throw LedgerError(
                        .ledgerUnexpectedAnswer,
                        during: row.operation,
                        "\"\(text)\" is not a time: \(error)"
                    )
                }
            },
            frame: try row["frame"],
            libavName: try row["libav_name"],
            libavText: try row["libav_text"],
            hint: try row["hint"],
            refusals: refusals
        )
    }
}
