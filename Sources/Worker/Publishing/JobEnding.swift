import Conversion
import Ledger
import Storage

/// The result of a job on this worker, to be reported to the ledger.
struct JobEnding: Sendable {
    enum Kind: Sendable {
        /// Converted completely, but not yet published.
        case output(PreparedJob, Fingerprint, AttemptFacts)
        case skipped
        /// Published by an earlier attempt of which the ledger has no record.
        case made(MadeOutput, AttemptFacts)
        case failed(AttemptFailure)
        case handedBack(FailureCode, need: String?)
        /// Handed back until its file system has space or is mounted again: for at most this
        /// long, with a reason for users.
        case putOff(FailureCode, Duration, because: String)
    }

    let fence: Fence
    var kind: Kind
}
