import Conversion
import Synchronization

/// One piece of work on its way through a slot.
struct RoomJob: Sendable {
    let id: Int64
    let work: RoomWork
    let report: @Sendable (ConversionProgress) -> Void
    /// Called exactly once.
    let finish: @Sendable (RoomAnswer) -> Void
    let ticket: RoomTicket
    /// How many rooms had this job and ended before they began it.
    var moves = 0

    func fail(_ failure: Failure) { finish(.failed(RoomFailure(failure))) }

    func cancel() { fail(.cancelledBeforeItBegan) }
}

/// Remembers that a job was cancelled, even if the slot has not received the job yet.
final class RoomTicket: Sendable {
    private let flag = Atomic<Bool>(false)

    func cancel() { flag.store(true, ordering: .releasing) }
    var isCancelled: Bool { flag.load(ordering: .acquiring) }
}

extension Failure {
    static var cancelledBeforeItBegan: Failure {
        Failure(.cancelled, at: .open, "cancelled before it began")
    }
}
