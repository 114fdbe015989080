import Conversion

/// A job that a room has been given.
struct SentJob {
    /// Why a job is to end before it is done.
    enum Stop {
        case cancelled, deadline(Duration)
        /// It has taken `time`, which is more than what it says to have done is worth.
        case slow(time: Duration)
        case overspent(cpuSeconds: Int)
    }

    let job: RoomJob
    /// What its numbers can come to.
    let bounds: JobBounds
    /// What the room had used when it began, as it says and as the kernel does.
    private(set) var spentAtBegin: WireCost?
    private var cpuAtBegin: Int64?
    private(set) var last: ConversionProgress?
    /// Whether its caller has had an outcome, and only the room does not know yet.
    var isAbandoned = false
    /// What its caller hears when the room is gone, where it must be gone first.
    var answer: RoomAnswer?
    private(set) var stop: Stop?
    /// Counted only while the slot watched.
    private(set) var elapsed = Duration.zero
    private(set) var quiet = Duration.zero
    private(set) var sinceStop = Duration.zero
    private var progressCount = 0

    init(_ job: RoomJob, bounds: JobBounds = JobBounds()) { (self.job, self.bounds) = (job, bounds) }

    var id: Int64 { job.id }
    var hasBegun: Bool { spentAtBegin != nil }

    mutating func begin(_ spent: WireCost, cpuMicroseconds: Int64?) {
        spentAtBegin = spent
        cpuAtBegin = cpuMicroseconds
    }

    /// Enters where the room says it is; false if it cannot be there, or says so far too often.
    mutating func advance(to progress: ConversionProgress, _ configuration: RoomConfiguration) -> Bool {
        progressCount += 1
        // A room says so ten times a second; a thousand are what may lie in the socket while we sleep.
        guard progressCount <= 1_000 + Int(elapsed.components.seconds) * 50,
            progress.isCredible(after: last, within: bounds),
            isWithinBudget(progress, configuration)
        else { return false }
        if progress.frames > last?.frames ?? 0 || progress.verifiedFrames ?? 0 > last?.verifiedFrames ?? 0 {
            quiet = .zero
        }
        last = progress
        return true
    }

    mutating func stop(_ reason: Stop) {
        if stop == nil { stop = reason }
    }

    mutating func pass(_ time: Duration) {
        elapsed += time
        quiet += time
        if stop != nil { sinceStop += time }
    }

    /// How long it may take no frame.
    func stallLimit(_ configuration: RoomConfiguration) -> Duration {
        let own = job.errand.limits?.stallSeconds.map { Duration.seconds($0) }
        return min(own ?? configuration.stallLimit, configuration.stallLimit)
    }

    /// What it cost, by what the room has used in all.
    func cost(cpuMicroseconds: Int64, peakBytes: Int64) -> RoomCost {
        let before = spentAtBegin?.cpuMicroseconds ?? 0
        // An unknown cost is not a cost of nothing.
        guard cpuMicroseconds >= before, peakBytes > 0 else { return RoomCost() }
        return RoomCost(cpu: .microseconds(cpuMicroseconds - before), peakBytes: peakBytes)
    }
}

// MARK: - Limits that the slot watches

extension SentJob {
    /// What a room may go beyond its job's limits before it is clear that it does not watch them: between two looks, and where
    /// the rate of a source changes in the middle.
    private static let slackSeconds = 60.0
    private static let slackFactor = 2.0
    /// No sound of ours has a lower rate. Frames of a lower one would be worth more time than they take.
    private static let lowestRate: Int32 = 1_000
    /// A source gets a second for so many of its bytes, twice: to decode it and to decode its output again.
    private static let bytesPerSecond = 1_024.0

    /// Longer than any real limit, and less than a duration can hold.
    private static let ages = 1e12

    /// Whether `progress` is no more sound than the job may decode: the room should have ended it.
    private func isWithinBudget(_ progress: ConversionProgress, _ configuration: RoomConfiguration) -> Bool {
        guard let allowed = configuration.limits(for: job.errand.limits).decodedSeconds else { return true }
        return Self.seconds(progress.frames, progress) <= Double(allowed) * Self.slackFactor + Self.slackSeconds
    }

    private static func seconds(_ frames: Int64, _ progress: ConversionProgress) -> Double {
        Double(frames) / Double(max(lowestRate, progress.position.timescale))
    }

    /// Why it has to end, by its recipe's time, the slot's, or what it has come to in that time.
    func overdue(_ configuration: RoomConfiguration) -> Stop? {
        let own = job.errand.limits?.wallSeconds.map { Duration.seconds($0) }
        if let limit = [own, configuration.wallLimit].compactMap({ $0 }).min(), elapsed > limit {
            return .deadline(limit)
        }
        guard let pace = configuration.slowestPace, elapsed > configuration.paceGrace + .seconds(worth / pace) else {
            return nil
        }
        return .slow(time: elapsed)
    }

    /// Seconds of sound that it has decoded, output included, as far as the room can be believed: no more than such a source holds.
    private var worth: Double {
        guard let last else { return 0 }
        let done = Self.seconds(last.frames, last) + Self.seconds(last.verifiedFrames ?? 0, last)
        return min(done, job.errand.sourceBytes.map { 2 * Double($0) / Self.bytesPerSecond } ?? Self.ages)
    }

    /// Why it has to end, by the processor time that the kernel has counted for its room; a second more than the room itself
    /// allows, which knows better where it is.
    func overspent(_ cpuMicroseconds: Int64?, _ configuration: RoomConfiguration) -> Stop? {
        guard let limit = configuration.limits(for: job.errand.limits).cpuSeconds, let cpuMicroseconds, let cpuAtBegin,
            (cpuMicroseconds - cpuAtBegin) / 1_000_000 > limit
        else { return nil }
        return .overspent(cpuSeconds: limit)
    }
}

extension SentJob.Stop {
    /// What becomes of the job that was stopped; `nil` where its caller wanted that.
    func failure(at last: ConversionProgress?) -> Failure? {
        switch self {
        case .cancelled: nil
        case .deadline(let limit):
            Failure(
                .deadlineExceeded,
                "it took longer than the \(limit.seconds) it may take",
                at: last,
                hint: "raise wallSeconds, or the worker's limit"
            )
        case .slow(let time):
            Failure(
                .tooSlow,
                "after \(time.seconds) it has decoded less than the worker asks of a job in that time",
                at: last,
                hint: "a faster or less busy worker may do it; --job-time of the worker replaces this limit"
            )
        case .overspent(let seconds): .overspent(seconds, at: last)
        }
    }
}
