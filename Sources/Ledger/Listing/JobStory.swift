public import Conversion
public import FoundationEssentials

/// A job with its recipe, every attempt at it, and why it has not ended.
public struct JobStory: Sendable, Hashable {
    public var summary: JobSummary
    /// As JSON. `Recipe(json:)` reads it if this build knows its version.
    public var recipe = ""
    public var batchName: String?
    public var submitter = ""
    public var submittedAt = Date.distantPast
    public var runAt: Date?
    public var cost = 0
    /// What a worker must be able to do.
    public var needs: [String] = []
    /// The entries of `needs` that no running worker has, if the job waits for that reason. Empty if each is
    /// covered by some worker, but no single worker covers all.
    public var missing: [String] = []
    public var labels: [String: String] = [:]
    public var batchLabels: [String: String] = [:]
    /// Why a delayed or waiting job does not run.
    public var waitingFor: WaitingFor?
    /// Oldest first. A running attempt comes last.
    public var attempts: [AttemptRecord] = []
    /// The earlier versions of the recipe, oldest first.
    public var amendments: [RecipeAmendment] = []

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

/// A row of `show_jobs`, and a job of the API with all that the ledger knows of it.
extension JobStory: LedgerRecord, ListedRecord {
    package static let listName = "jobs"
    package static var blank: JobStory { JobStory(summary: .blank) }

    package static let fields: [RecordField<JobStory>] =
        JobSummary.fields.map { $0.of(\.summary) } + [
            .maybe("batchName", \.batchName, .text, "the batch's name"),
            .always("submitter", \.submitter, .text, "who submitted it"),
            .always("submittedAt", \.submittedAt, .moment, "when it was submitted"),
            .maybe("runAt", \.runAt, .moment, "its earliest start"),
            .always("cost", \.cost, .count, "its share of the queue's turns"),
            .always("needs", \.needs, .texts, "its requirements: what a worker must be able to do"),
            .special(
                "missing",
                .list(.text),
                "requirements that no running worker meets",
                encode: { job, encoder, key in
                    if job.waitingFor == .unable { try encoder.encode(job.missing, forKey: key) }
                },
                decode: { job, decoder, key in
                    job.missing = try decoder.decodeIfPresent([String].self, forKey: key) ?? []
                }
            ),
            .always("labels", \.labels, .labels, "its own labels"),
            .always("batchLabels", \.batchLabels, .labels, "the labels of its batch"),
            .maybe("waitingFor", \.waitingFor, .choice, "why it does not run", column: "why"),
            .special(
                "recipe",
                .anything,
                isRequired: true,
                "what it converts, as docs/recipe.md describes",
                read: { job, row in job.recipe = try (row["recipe"] as JSON).text },
                encode: { job, encoder, key in try encoder.encode(JSONValue(text: job.recipe), forKey: key) },
                decode: { job, decoder, key in
                    job.recipe = try JSONText.line(try decoder.decode(JSONValue.self, forKey: key))
                }
            ),
            .special(
                "attemptRecords",
                .list(.record("Attempt", AttemptRecord.descriptions)),
                isRequired: true,
                "every attempt, oldest first",
                encode: { job, encoder, key in try encoder.encode(job.attempts.map(JSONRecord.init), forKey: key) },
                decode: { job, decoder, key in
                    job.attempts = try decoder.decode([JSONRecord<AttemptRecord>].self, forKey: key).map(\.record)
                }
            ),
            .special(
                "amendments",
                .list(.anything),
                "what retries have changed in the recipe",
                encode: { job, encoder, key in
                    if !job.amendments.isEmpty { try encoder.encode(job.amendments, forKey: key) }
                },
                decode: { job, decoder, key in
                    job.amendments = try decoder.decodeIfPresent([RecipeAmendment].self, forKey: key) ?? []
                }
            ),
        ]
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
    public var epoch: Int32 = 0
    /// `nil` while it is under way.
    public var outcome: AttemptOutcome?
    public var startedAt = Date.distantPast
    public var endedAt: Date?
    /// The worker's number. The next four describe the worker, for as long as the ledger keeps them.
    public var worker: Int64 = 0
    public var workerName: String?
    public var host: String?
    public var build: String?
    /// The libraries with which the worker converts. Other versions may make other bytes.
    public var libraries: String?
    /// The failure as the worker reported it; for other unsuccessful attempts, the ledger's own description.
    public var failure: Failure?
    public var lastWords: String?
    public var facts = AttemptFacts()
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

/// A row of `list_attempts`, and an attempt in the API.
extension AttemptRecord: LedgerRecord {
    package static var blank: AttemptRecord { AttemptRecord() }

    package static let fields: [RecordField<AttemptRecord>] = [
        .always("epoch", \.epoch, .epoch, "the number of its claim"),
        .maybe("outcome", \.outcome, .choice, "missing while it is under way"),
        .always("startedAt", \.startedAt, .moment, "when it began"),
        .maybe("endedAt", \.endedAt, .moment, "when it ended"),
        .always("worker", \.worker, .id, "the worker's number"),
        .maybe("workerName", \.workerName, .text, "the worker's name"),
        .maybe("host", \.host, .text, "the worker's machine"),
        .maybe("build", \.build, .text, "the worker's version of Sluice"),
        .maybe("libraries", \.libraries, .text, "with which the worker converts"),
        .maybe("slot", \.facts.slot, .slot, "the worker's slot"),
        .special(
            "failure",
            .anything,
            "code, class, stage, message, position, hint, contradiction",
            read: { attempt, row in
                let report: AttemptReport? = try (row["report"] as JSON?)?.decoded(during: row.operation)
                attempt.failure = try Failure(row, report)
                (attempt.facts.report, attempt.facts.further) = (report?.conversion, report?.further ?? [])
                attempt.facts.outputNumbers = report?.outputNumbers ?? []
                attempt.facts.scan = report?.scan
            },
            encode: { attempt, encoder, key in try encoder.encodeIfPresent(attempt.failure, forKey: key) },
            decode: { attempt, decoder, key in
                attempt.failure = try decoder.decodeIfPresent(Failure.self, forKey: key)
            }
        ),
        .maybe("lastWords", \.lastWords, .text, "what the library said last"),
        .maybe("framesIn", \.facts.framesIn, .size, "frames that were read"),
        .maybe("framesOut", \.facts.framesOut, .size, "frames that were written"),
        .maybe("audioSeconds", \.facts.audio, .seconds, "the length of the output", column: "audio_ms"),
        .maybe("cpuSeconds", \.facts.cpu, .seconds, "CPU time", column: "cpu_ms"),
        .maybe("peakBytes", \.facts.peakBytes, .size, "the most memory that its room had"),
        .special(
            "conversion",
            .anything,
            "the report of the conversion",
            encode: { attempt, encoder, key in try encoder.encodeIfPresent(attempt.facts.report, forKey: key) },
            decode: { attempt, decoder, key in
                attempt.facts.report = try decoder.decodeIfPresent(ConversionReport.self, forKey: key)
            }
        ),
        .special(
            "furtherOutputs",
            .list(.anything),
            "the reports of the other outputs",
            encode: { attempt, encoder, key in
                if !attempt.facts.further.isEmpty { try encoder.encode(attempt.facts.further, forKey: key) }
            },
            decode: { attempt, decoder, key in
                attempt.facts.further = try decoder.decodeIfPresent([ConversionReport].self, forKey: key) ?? []
            }
        ),
        .special(
            "outputNumbers",
            .list(.whole),
            "which outputs of the recipe the reports are on, if these are not all",
            encode: { attempt, encoder, key in
                if !attempt.facts.outputNumbers.isEmpty {
                    try encoder.encode(attempt.facts.outputNumbers, forKey: key)
                }
            },
            decode: { attempt, decoder, key in
                attempt.facts.outputNumbers = try decoder.decodeIfPresent([Int].self, forKey: key) ?? []
            }
        ),
        .special(
            "scan",
            .anything,
            "what a scan has found: damage with its places, frames, the digest of the sound, the loudness",
            encode: { attempt, encoder, key in try encoder.encodeIfPresent(attempt.facts.scan, forKey: key) },
            decode: { attempt, decoder, key in
                attempt.facts.scan = try decoder.decodeIfPresent(ScanReport.self, forKey: key)
            }
        ),
    ]
}

extension Failure {
    /// Reads an attempt's columns; `nil` if it has no code.
    fileprivate init?(_ row: Row, _ report: AttemptReport?) throws {
        guard let code: String = try row["code"], let kind: Failure.Kind = try row.valueIfPresent("class"),
            let stage: String = try row["stage"]
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
            refusals: report?.refusals
        )
        contradiction = report?.contradiction
    }
}
