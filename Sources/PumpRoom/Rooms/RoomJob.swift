import Conversion
import Synchronization

/// One call of `run`, on its way through a slot.
struct RoomJob: Sendable {
    let id: Int64
    let errand: RoomErrand
    let report: @Sendable (ConversionProgress) -> Void
    /// Called once.
    let finish: @Sendable (RoomAnswer) -> Void
    let ticket: RoomTicket
    /// How many rooms it was given to that ended before they began it.
    var moves = 0

    func fail(_ failure: Failure) { finish(.failed(RoomFailure(failure))) }

    func cancel() { fail(.cancelledBeforeItBegan) }
}

/// Remembers that a job is not wanted any more, also if that is said before the slot has heard of the job.
final class RoomTicket: Sendable {
    private let flag = Atomic<Bool>(false)

    func cancel() { flag.store(true, ordering: .releasing) }
    var isCancelled: Bool { flag.load(ordering: .acquiring) }
}

extension Failure {
    static var cancelledBeforeItBegan: Failure {
        Failure(code: "cancelled", kind: .infrastructure, stage: "open", message: "cancelled before it began")
    }
}

/// A job that a room has been given.
struct SentJob {
    /// Why a job is to end before it is done.
    enum Stop { case cancelled, deadline(Duration) }

    let job: RoomJob
    /// What its numbers can come to.
    let bounds: JobBounds
    /// What the room had used when it began.
    private(set) var spentAtBegin: WireCost?
    private(set) var last: ConversionProgress?
    /// Whether its caller has had an outcome, and only the room does not know yet.
    var isAbandoned = false
    private(set) var stop: Stop?
    /// Counted while somebody watched.
    private(set) var elapsed = Duration.zero
    private(set) var quiet = Duration.zero
    private(set) var sinceStop = Duration.zero
    private var progressCount = 0

    init(_ job: RoomJob, bounds: JobBounds = JobBounds()) { (self.job, self.bounds) = (job, bounds) }

    var id: Int64 { job.id }
    var hasBegun: Bool { spentAtBegin != nil }

    mutating func begin(_ spent: WireCost) { spentAtBegin = spent }

    /// Enters where the room says it is; false if it cannot be there, or says so far too often.
    mutating func advance(to progress: ConversionProgress) -> Bool {
        progressCount += 1
        // A room says so ten times a second; a thousand are what may lie in the socket while we sleep.
        guard progressCount <= 1_000 + Int(elapsed.components.seconds) * 50,
            progress.isCredible(after: last, within: bounds)
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

    /// How long it may go on, by its recipe and the slot.
    func wallLimit(_ configuration: RoomConfiguration) -> Duration? {
        let own = job.errand.limits?.wallSeconds.map { Duration.seconds($0) }
        return [own, configuration.wallLimit].compactMap { $0 }.min()
    }

    /// How long it may take no frame.
    func stallLimit(_ configuration: RoomConfiguration) -> Duration {
        let own = job.errand.limits?.stallSeconds.map { Duration.seconds($0) }
        return min(own ?? configuration.stallLimit, configuration.stallLimit)
    }

    /// What it cost, by what the room has used in all.
    func cost(cpuMicroseconds: Int64, peakBytes: Int64) -> RoomCost {
        let before = spentAtBegin?.cpuMicroseconds ?? 0
        // A room of which nobody knows what it used is no free room.
        guard cpuMicroseconds >= before, peakBytes > 0 else { return RoomCost() }
        return RoomCost(cpu: .microseconds(cpuMicroseconds - before), peakBytes: peakBytes)
    }
}
