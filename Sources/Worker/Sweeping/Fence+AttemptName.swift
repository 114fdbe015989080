import Conversion
import FoundationEssentials
import Storage

extension Fence {
    /// The fence that is part of an attempt's file name; `nil` if no ledger can have issued it.
    init?(_ name: AttemptName) {
        guard let epoch = Int32(exactly: name.epoch) else { return nil }
        var bytes = UUID().uuid
        withUnsafeMutableBytes(of: &bytes) { raw in
            for place in raw.indices { raw[place] = UInt8(truncatingIfNeeded: name.lease >> (8 * (15 - place))) }
        }
        self.init(job: name.job, epoch: epoch, lease: UUID(uuid: bytes))
    }
}
