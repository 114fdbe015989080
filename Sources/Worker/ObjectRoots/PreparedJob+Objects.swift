import Conversion
import PumpRoom
import Storage

extension PreparedJob {
    /// What the room has made of the job, unless bytes of a source were missing: then its sound is that of no file, whatever
    /// the room says.
    func judged<Answer>(_ outcome: RoomOutcome<Answer>) -> RoomOutcome<Answer> {
        guard let missing = objects.failure?.failure else { return outcome }
        switch outcome {
        case .done(_, let cost): return .failed(RoomFailure(missing, cost: cost))
        case .failed(var failed):
            guard !failed.isRoomDeath, failed.failure.known != .cancelled else { return outcome }
            failed.failure = missing
            return .failed(failed)
        case .handedBack: return outcome
        }
    }

    /// Why nothing may be made of sources that were found changed. `other` is what their contents have led to.
    func change(_ other: Failure? = nil) -> Failure { objects.failure?.failure ?? .sourceChanged(other) }
}
