public import Conversion
public import FoundationEssentials

/// A job, what was asked, every attempt at it, and why it is not yet done.
public struct JobStory: Sendable, Hashable {
    public var summary: JobSummary
    /// As JSON; `Recipe(json:)` reads it, if it is of a version known here.
    public var recipe: String
    public var batchName: String?
    public var submitter: String
    public var submittedAt: Date
    public var runAt: Date?
    public var cost: Int
    /// What a worker must be able to do.
    public var needs: [String]
    /// Of `needs`, those that no living worker has, where that is why it waits; empty if each is had by some worker, and all by none.
    public var missing: [String] = []
    public var labels: [String: String]
    public var batchLabels: [String: String]
    /// Why a delayed or waiting job does not run.
    public var waitingFor: WaitingFor?
    /// Oldest first; one that is under way comes last.
    public var attempts: [AttemptRecord]
    /// What the recipe said before each change, oldest first.
    public var amendments: [RecipeAmendment]

    /// What stands between a job and its turn.
    public enum WaitingFor: String, Sendable, Hashable, Codable, CaseIterable {
        /// Its queue is paused.
        case paused
        /// No living worker can do all that it needs.
        case unable
        /// Its queue may have no more running.
        case limit
        /// The time that its submitter named.
        case runAt = "run_at"
        /// The pause before another try.
        case backOff = "back_off"
        /// Others are before it.
        case line
    }
}

/// What a recipe said until it was changed by a retry.
public struct RecipeAmendment: Sendable, Hashable, Codable {
    /// The last attempt that was made by it.
    public var untilEpoch: Int32
    public var damage: DamageMode
    /// The limit on silence that the recipe named itself.
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
    /// The number of its claim, and its place among the job's attempts.
    public var epoch: Int32
    /// `nil` while it is under way.
    public var outcome: AttemptOutcome?
    public var startedAt: Date
    public var endedAt: Date?
    /// The worker's number, and, as long as it is remembered, who it was.
    public var worker: Int64
    public var workerName: String?
    public var host: String?
    public var build: String?
    /// What was reported of one that failed, word for word; for others that came to nothing, what the ledger says.
    public var failure: Failure?
    public var lastWords: String?
    public var facts: AttemptFacts
}

/// How an attempt ended.
public enum AttemptOutcome: String, Sendable, Hashable, Codable, CaseIterable {
    case completed
    case failed
    /// With its worker. Does not count.
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
        lastWords = try row["last_words"]
        failure = try Failure(row, refusals: report?.refusals)
        facts = AttemptFacts(
            slot: try row["slot"],
            framesIn: try row["frames_in"],
            framesOut: try row["frames_out"],
            audio: try (row["audio_ms"] as Int64?).map { .milliseconds($0) },
            cpu: try (row["cpu_ms"] as Int64?).map { .milliseconds($0) },
            peakBytes: try row["peak_bytes"],
            report: report?.conversion
        )
    }
}

extension Failure {
    /// Out of an attempt's columns; `nil` if it has no code.
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
                    throw LedgerError(.unexpectedAnswer, during: row.operation, "\"\(text)\" is no time: \(error)")
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
