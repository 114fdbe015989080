import Conversion
import FoundationEssentials
import Ledger

/// What happened to the jobs of a batch: what `sluice report` writes.
///
/// All sums are over all jobs. Lists hold a bounded number of entries, so that the report of a million jobs is as long as
/// that of ten thousand; next to each list is the number of what it leaves out.
struct BatchReport: Sendable, Encodable {
    let batch: Int64
    let name: String?
    let queue: String
    let submitter: String
    let submittedAt: Date
    /// The ledger's time before its first job was read.
    let asOf: Date
    /// When the first attempt began, and when the last job ended.
    var startedAt: Date?
    var endedAt: Date?

    var jobs = JobCounts()
    /// How many of the completed jobs have remarks.
    var jobsWithRemarks = 0
    /// Sources that the submission left out, because their outputs were there or had been edited.
    let sourcesSkipped: Int
    /// Jobs of the batch that the ledger no longer holds.
    var jobsForgotten = 0
    var attempts = Attempts()

    /// The length of what completed jobs have made, and of what scans have decoded. Several outputs of the same sound count
    /// once.
    var audioSeconds = 0.0
    /// What attempts took together, and their processor time.
    var workSeconds = 0.0
    var cpuSeconds = 0.0
    /// Outputs that were written, and their length.
    var outputs = 0
    var bytes: Int64 = 0

    var presets = WordCounts(most: 12)
    var formats = WordCounts(most: 12)
    var damageModes = WordCounts(most: 8)
    /// How many attempts each worker made.
    var workers = WordCounts(most: 100)
    var builds = WordCounts(most: 12)

    var progress = EndedOverTime()
    var failures: [FailureCause] = []
    /// Failed jobs whose cause is not among those listed.
    var failuresUnlisted = 0
    var damage = Damage()
    /// What outputs lack of their sources, and other remarks.
    var losses: [Loss] = []
    var otherRemarks: [Loss] = []
    var loudness = Loudness()
    var slowest: [Effort] = []
    var largest: [Effort] = []

    /// How attempts ended.
    struct Attempts: Sendable, Encodable {
        var completed = 0
        var failed = 0
        var lost = 0
        var released = 0
        var cancelled = 0
        var underWay = 0

        var total: Int { completed + failed + lost + released + cancelled + underWay }
    }

    /// Jobs that ended with the same code, class and stage.
    struct FailureCause: Sendable, Encodable {
        let code: String
        let kind: Failure.Kind?
        let stage: String
        var jobs = 0
        /// How many of them a person has accepted.
        var accepted = 0
        var lastAt: Date
        /// What the code means, its usual cause, and what to do; `nil` if this version does not know the code.
        let meaning: String?
        let usualCause: String?
        var hint: String?
        /// The first jobs, in the order of submission.
        var places: [Place] = []
        var unlisted = 0

        private enum CodingKeys: String, CodingKey {
            case code, kind = "class", stage, jobs, accepted, lastAt, meaning, usualCause, hint, places, unlisted
        }
    }

    /// Where a job failed.
    struct Place: Sendable, Encodable {
        let job: Int64
        let source: String
        /// The position in the source, in seconds and in frames.
        let seconds: Double?
        let frame: Int64?
        let message: String
    }

    /// The damaged sources.
    struct Damage: Sendable, Encodable {
        var files = 0
        var places = 0
        var frames: Int64 = 0
        /// The most damaged ones, by the time that is lost.
        var listed: [DamagedFile] = []
        var unlisted = 0
    }

    /// A source with damage.
    struct DamagedFile: Sendable, Encodable {
        let job: Int64
        let source: String
        /// How many sources the job has: the damage is that of all.
        var sources = 1
        let state: JobState
        /// What was done about it: `filled with silence`.
        let treatment: String
        /// The length of the source; `nil` if only parts of it were taken.
        let frames: Int64?
        /// The rate at which its frames count; `nil` if unknown.
        let sampleRateHz: Int?
        let damage: DamageReport

        /// In seconds; without a rate as if it were the most usual one, to compare files.
        var lostSeconds: Double { Double(damage.frames) / Double(max(1, sampleRateHz ?? 44_100)) }
    }

    /// Remarks of one kind.
    struct Loss: Sendable, Encodable {
        let kind: Remark.Kind
        /// In two or three words: `chapters lost`.
        let brief: String
        var jobs = 0
        /// Of samples, tags or chapters, as far as remarks have numbers.
        var count: Int64 = 0
        /// Some of the jobs, each with another sentence.
        var examples: [Example] = []

        struct Example: Sendable, Encodable {
            let job: Int64
            let source: String
            let detail: String
        }
    }

    /// The integrated loudness of sources and outputs, where it was measured.
    struct Loudness: Sendable, Encodable {
        var sources = LevelSpread()
        var outputs = LevelSpread()
        /// Those that recipes ask for.
        var targetsLUFS: [Double] = []
        /// Sources that are too quiet or too short for an integrated loudness.
        var unmeasured = 0

        var isEmpty: Bool { sources.files + outputs.files + unmeasured == 0 }
    }

    /// What a job cost.
    struct Effort: Sendable, Encodable {
        let job: Int64
        let source: String
        let state: JobState
        /// What its longest attempt took, the sound that this attempt made, and its worker. An attempt that was lost made no
        /// sound.
        let seconds: Double
        let audioSeconds: Double?
        let worker: String?
        /// Of all its outputs.
        let bytes: Int64

        /// Seconds of sound for each second of work.
        var speed: Double? { audioSeconds.flatMap { seconds > 0 ? $0 / seconds : nil } }
    }
}

extension BatchReport {
    /// From the first attempt to the end of the last job, or to the moment of the report while jobs are open; `nil` before
    /// that.
    var tookSeconds: Double? {
        guard let startedAt, let end = jobs.open > 0 ? asOf : endedAt else { return nil }
        let seconds = end.timeIntervalSince(startedAt)
        return seconds >= 0 ? seconds : nil
    }

    /// Jobs that failed, whether or not a person has accepted that.
    var failedJobs: Int { jobs.failed + jobs.accepted }
}
