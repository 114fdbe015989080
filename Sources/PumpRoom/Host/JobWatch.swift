import Conversion

/// Watches a job that a room has: how far it is, what it may use, and whether it must stop.
struct JobWatch {
    /// Why the slot stops a job before it is done.
    enum Stop {
        case cancelled, deadline(Duration)
        /// After `time`, it is slower than the required minimum speed.
        case slow(time: Duration)
        case overspent(cpuSeconds: Int)
    }

    let job: RoomJob
    /// The highest figures that it can report.
    let bounds: JobBounds
    /// What the room had used when it began the job: as the room reports it, and as the kernel counts it.
    private(set) var spentAtBegin: WireCost?
    private var cpuAtBegin: Int64?
    private(set) var last: ConversionProgress?
    /// What the room has reported on the outputs before the last one.
    var reports: [ConversionReport] = []
    /// What the room has reported of the points of a description.
    var points: [SourcePoint] = []
    /// The frames that the passes before the conversion have measured, as a mean of these passes. The progress of a
    /// verification does not mention them.
    private var measured: Int64 = 0
    /// Whether the caller already has the outcome, although the room has not finished with the job.
    var isAbandoned = false
    /// What the room has asked of the sources that are fetched for it.
    var windows: WindowAccount
    /// Gives the caller the answer, which is held back until the room is gone.
    var answer: (@Sendable () -> Void)?
    private(set) var stop: Stop?
    /// Durations count only time in which the slot watched.
    private(set) var elapsed = Duration.zero
    private(set) var quiet = Duration.zero
    private(set) var sinceStop = Duration.zero
    /// Time for which the room has waited for bytes of a source.
    private var fetching = Duration.zero
    private var progressCount = 0

    init(_ job: RoomJob, bounds: JobBounds = JobBounds()) {
        (self.job, self.bounds, windows) = (job, bounds, job.windowAccount)
    }

    var id: Int64 { job.id }
    var hasBegun: Bool { spentAtBegin != nil }

    mutating func begin(_ spent: WireCost, cpuMicroseconds: Int64?) {
        spentAtBegin = spent
        cpuAtBegin = cpuMicroseconds
    }

    /// Records the reported progress. Returns false if it is impossible, or if reports come far too often.
    mutating func advance(to progress: ConversionProgress, _ configuration: RoomConfiguration) -> Bool {
        progressCount += 1
        // A room reports ten times a second. Up to a thousand reports may wait in the socket while the worker sleeps.
        guard progressCount <= 1_000 + Int(elapsed.components.seconds) * 50,
            progress.isCredible(after: last, within: bounds),
            isWithinBudget(progress, configuration)
        else { return false }
        if progress.frames > last?.frames ?? 0 || progress.verifiedFrames ?? 0 > last?.verifiedFrames ?? 0
            || progress.measuredFrames ?? 0 > last?.measuredFrames ?? 0
        {
            quiet = .zero
        }
        measured = max(measured, progress.measuredFrames ?? 0)
        last = progress
        return true
    }

    /// Whether a report on the next output tells of the spec that was asked for, and of no other.
    func hasAskedFor(_ report: ConversionReport) -> Bool { job.hasAskedFor(report, at: reports.count) }

    mutating func stop(_ reason: Stop) {
        if stop == nil { stop = reason }
    }

    mutating func pass(_ time: Duration) {
        elapsed += time
        // A job is not to blame for a source that is slow to come. Fetching has limits of its own.
        if windows.isOpen { fetching += time } else { quiet += time }
        if stop != nil { sinceStop += time }
    }

    /// How long it may go without taking a frame.
    func stallLimit(_ configuration: RoomConfiguration) -> Duration {
        let own = job.limits?.stallSeconds.map { Duration.seconds($0) }
        return min(own ?? configuration.stallLimit, configuration.stallLimit)
    }

    /// The job's cost, computed from what the room has used in all.
    func cost(cpuMicroseconds: Int64, peakBytes: Int64) -> RoomCost {
        let before = spentAtBegin?.cpuMicroseconds ?? 0
        // An unknown cost is not zero.
        guard cpuMicroseconds >= before, peakBytes > 0 else { return RoomCost() }
        return RoomCost(cpu: .microseconds(cpuMicroseconds - before), peakBytes: peakBytes)
    }
}

// MARK: - Limits that the slot watches

extension JobWatch {
    /// How far a job may exceed its limit before it is clear that the room does not enforce it. An honest room may
    /// exceed it between two checks, and where the sample rate of a source changes midway.
    private static let slackSeconds = 60.0
    private static let slackFactor = 2.0
    /// The lowest rate that counts, in Hz. A lower one would let few frames earn much time.
    private static let lowestRate: Int32 = 1_000
    /// The size of a source limits the sound that counts: one second for this many bytes, once for decoding it, once
    /// for verifying its output, and once for each pass before the conversion.
    private static let bytesPerSecond = 1_024.0

    /// Longer than any real limit, and short enough for a `Duration`.
    private static let ages = 1e12

    /// Whether `progress` stays within the sound that the job may decode. Beyond that, the room should have ended it.
    private func isWithinBudget(_ progress: ConversionProgress, _ configuration: RoomConfiguration) -> Bool {
        guard let allowed = configuration.limits(for: job.limits).decodedSeconds else { return true }
        let frames = max(progress.frames, progress.measuredFrames ?? 0)
        return Self.seconds(frames, progress) <= Double(allowed) * Self.slackFactor + Self.slackSeconds
    }

    private static func seconds(_ frames: Int64, _ progress: ConversionProgress) -> Double {
        Double(frames) / Double(max(lowestRate, progress.position.timescale))
    }

    /// Why the job must stop: it exceeds the recipe's or the slot's time limit, or is too slow. `nil` if it may go on.
    func overdue(_ configuration: RoomConfiguration) -> Stop? {
        let own = job.limits?.wallSeconds.map { Duration.seconds($0) }
        if let limit = [own, configuration.wallLimit].compactMap({ $0 }).min(), elapsed > limit {
            return .deadline(limit)
        }
        guard let speed = configuration.minimumSpeed,
            elapsed - fetching > configuration.speedGrace + .seconds(worth / speed)
        else { return nil }
        return .slow(time: elapsed)
    }

    /// The passes over the sources before the conversion, which the recipe asks for. A room reports them as one, so
    /// what it has measured counts for each of them.
    private var earlyPasses: Int { max(1, job.earlyPasses) }

    /// Seconds of sound that it has decoded, including verification, capped by what a source of this size can hold.
    private var worth: Double {
        guard let last else { return 0 }
        let done =
            Self.seconds(last.frames, last) + Self.seconds(last.verifiedFrames ?? 0, last)
            + Self.seconds(measured, last) * Double(earlyPasses)
        let passes = measured > 0 ? Double(2 + earlyPasses) : 2
        return min(done, job.sourceBytes.map { passes * Double($0) / Self.bytesPerSecond } ?? Self.ages)
    }

    /// Why the job must stop, by the processor time that the kernel counts for its room. Allows up to a second more
    /// than the room does, because the room's own report is more precise.
    func overspent(_ cpuMicroseconds: Int64?, _ configuration: RoomConfiguration) -> Stop? {
        guard let limit = configuration.limits(for: job.limits).cpuSeconds, let cpuMicroseconds, let cpuAtBegin,
            (cpuMicroseconds - cpuAtBegin) / 1_000_000 > limit
        else { return nil }
        return .overspent(cpuSeconds: limit)
    }
}

extension JobWatch.Stop {
    /// The failure of the stopped job; `nil` if its caller cancelled it.
    func failure(at last: ConversionProgress?) -> Failure? {
        switch self {
        case .cancelled: nil
        case .deadline(let limit):
            Failure(.deadlineExceeded, "the job exceeded its time limit of \(limit.seconds)", after: last)
        case .slow(let time):
            Failure(
                .tooSlow,
                "after \(time.seconds) the job is below the worker's minimum speed",
                after: last
            )
        case .overspent(let seconds): .overspent(seconds, at: last)
        }
    }
}
