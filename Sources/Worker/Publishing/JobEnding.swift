import Conversion
import Ledger
import Storage

/// What became of a job here, to be told to the ledger.
struct JobEnding: Sendable {
    enum Kind: Sendable {
        /// Converted, whole, and not yet published.
        case output(PreparedJob, Fingerprint, AttemptFacts)
        case skipped
        /// Published by an earlier attempt that the ledger has forgotten.
        case made(MadeOutput, AttemptFacts)
        case failed(AttemptFailure)
        case handedBack(ReleaseReason, need: String?)
        /// Handed back until its file system has room or is mounted again; for how long at most, and what people read.
        case putOff(ReleaseReason, Duration, because: String)
    }

    let fence: Fence
    var kind: Kind
}
