public import Conversion
public import FoundationEssentials

/// A job in one line.
public struct JobSummary: Sendable, Hashable {
    public var job: Int64 = 0
    public var state = JobState.waiting
    public var batch: Int64 = 0
    public var queue = ""
    public var priority = 0
    /// The location of its first source.
    public var source = ""
    /// When it entered its state.
    public var since = Date.distantPast
    /// Attempts that count, including the one under way.
    public var attempts = 0
    public var maxAttempts = 0
    /// How often it was lost with its worker, or because of the machine it ran on.
    public var losses = 0
    public var roomDeaths = 0
    /// The code of the failure that ended it, or after which it waits for another try.
    public var code: String?
    public var kind: Failure.Kind?
    public var stage: String?
    /// When a delayed job becomes ready; `nil` if that depends on other jobs. In a story also when a job may start whose
    /// tenant has used up its day.
    public var readyAt: Date?
    /// The worker that holds it, or held it last.
    public var worker: String?
    public var slot: Int?
    public var frames: Int64?
    public var totalFrames: Int64?
    /// Whether a cancellation of the running job was requested.
    public var isToBeCancelled = false
    /// SHA-256 of the first output in hexadecimal, and its length; `nil` if it was left alone. Of a scan, the digest of the
    /// sound, and 0.
    public var digest: String?
    public var bytes: Int64?
    /// The outputs after the first, in the order of the recipe; `nil` for one that was left alone.
    public var further: [PublishedFile?] = []
    /// Set for a job that was completed or skipped.
    public var placement: Placement?
    /// Whether it was completed with remarks.
    public var hasRemarks = false
    /// Who retried it last after it had ended.
    public var retriedBy: String?
    /// When its failure was accepted, and by whom.
    public var acceptedAt: Date?
    public var acceptedBy: String?
    /// The remarks, in a list of jobs with remarks; otherwise `nil`.
    public var remarks: JobRemarks?

    package init() {}
}

/// A row of `list_jobs` or `show_jobs`, and a job in lists of the API.
extension JobSummary: LedgerRecord, ListedRecord {
    package static let listName = "jobs"
    package static var blank: JobSummary { JobSummary() }

    package static let fields: [RecordField<JobSummary>] = [
        .always("id", \.job, .id, "the job's number", column: "job"),
        .special(
            "state",
            RecordKind<JobState>.choice.shape,
            isRequired: true,
            "where it is in its life",
            read: { job, row in
                // Release 0.1 knows no accepted jobs, so the ledger reports them as failed.
                let isAccepted = try (row["accepted_at"] as Date?) != nil
                job.state = try isAccepted ? .accepted : row.value("state")
            },
            encode: { job, encoder, key in try encoder.encode(job.state, forKey: key) },
            decode: { job, decoder, key in job.state = try decoder.decode(JobState.self, forKey: key) }
        ),
        .always("batch", \.batch, .id, "the batch that it was submitted with"),
        .always("queue", \.queue, .text, "its queue"),
        .always("priority", \.priority, .chosen(in: LedgerRules.priorities), "higher goes first"),
        .always("source", \.source, .text, "the location of its first source"),
        .always("since", \.since, .moment, "when it entered its state", column: "at"),
        .always("attempts", \.attempts, .count, "attempts that count, with the one under way"),
        .always("maxAttempts", \.maxAttempts, .count, "attempts that it may have"),
        .always("losses", \.losses, .count, "how often it was lost with its worker or machine", column: "lost"),
        .always("roomDeaths", \.roomDeaths, .count, "how often it ended its room"),
        .maybe("code", \.code, .text, "the failure that ended it, or after which it waits"),
        .maybe("class", \.kind, .choice, "whether another attempt can succeed"),
        .maybe("stage", \.stage, .text, "the part of the work that failed"),
        .special(
            "readyAt",
            .moment,
            "when a delayed job becomes ready, or a tenant's job may start; see waitingFor",
            read: { job, row in
                let date: Date? = try row["ready_at"]
                job.readyAt = date == .distantFuture ? nil : date
            },
            encode: { job, encoder, key in try encoder.encodeIfPresent(job.readyAt, forKey: key) },
            decode: { job, decoder, key in job.readyAt = try decoder.decodeIfPresent(Date.self, forKey: key) }
        ),
        .maybe("worker", \.worker, .text, "the worker that holds it or held it last"),
        .maybe("slot", \.slot, .count, "that worker's slot"),
        .maybe("frames", \.frames, .size, "frames done"),
        .maybe("totalFrames", \.totalFrames, .size, "frames to do", column: "frames_total"),
        .flag("isToBeCancelled", \.isToBeCancelled, "whether its worker was asked to stop it", column: "cancel_asked"),
        .maybe("digest", \.digest, .text, "SHA-256 of the first output, or of the sound of a scan"),
        .maybe("bytes", \.bytes, .size, "the length of the first output", column: "size"),
        .further("furtherOutputs", \.further),
        .special(
            "placement",
            RecordKind<Placement>.choice.shape,
            "set if the output was not simply published",
            read: { job, row in job.placement = try row.valueIfPresent("placement") },
            encode: { job, encoder, key in
                if let placement = job.placement, placement != .published { try encoder.encode(placement, forKey: key) }
            },
            decode: { job, decoder, key in
                job.placement = try decoder.decodeIfPresent(Placement.self, forKey: key)
                if job.state == .completed, job.placement == nil { job.placement = .published }
            }
        ),
        .flag("hasRemarks", \.hasRemarks, "whether the output lacks something of its source"),
        .maybe("retriedBy", \.retriedBy, .text, "who retried it last after it had ended"),
        .maybe("acceptedAt", \.acceptedAt, .moment, "when its failure was accepted"),
        .maybe("acceptedBy", \.acceptedBy, .text, "who accepted its failure"),
        .special(
            "damage",
            .anything,
            "what was damaged, in a list of jobs with warnings",
            encode: { job, encoder, key in
                guard let damage = job.remarks?.damage, !damage.isEmpty else { return }
                try encoder.encode(DamageExtent(damage), forKey: key)
            },
            decode: { job, decoder, key in
                guard let extent = try decoder.decodeIfPresent(DamageExtent.self, forKey: key) else { return }
                job.remarks = JobRemarks(damage: extent.report, remarks: job.remarks?.remarks ?? [])
            }
        ),
        .special(
            "remarks",
            .list(.anything),
            "what the output lacks, in a list of jobs with warnings",
            encode: { job, encoder, key in try encoder.encodeIfPresent(job.remarks?.remarks, forKey: key) },
            decode: { job, decoder, key in
                guard let remarks = try decoder.decodeIfPresent([Remark].self, forKey: key) else { return }
                job.remarks = JobRemarks(damage: job.remarks?.damage ?? DamageReport(), remarks: remarks)
            }
        ),
    ]

    /// A row of `list_jobs`.
    init(listed row: Row) throws {
        try self.init(reading: row)
        remarks = JobRemarks(try row["remarks"])
    }
}

/// Damage without its stretches, which only the job's report lists.
private struct DamageExtent: Codable {
    let frames: Int64
    let stretchCount: Int

    init(_ damage: DamageReport) { (frames, stretchCount) = (damage.frames, damage.stretchCount) }

    init(from decoder: any Decoder) throws {
        let record = try decoder.container(keyedBy: CodingKeys.self)
        (frames, stretchCount) = (try record.size(.frames), try record.count(.stretchCount))
    }

    var report: DamageReport { DamageReport(frames: frames, stretchCount: stretchCount) }
}
