import Conversion
import Synchronization

/// Bounds what submissions keep while their jobs arrive: of one caller, and of all together.
final class SpoolSpace: Sendable {
    struct Limits: Sendable {
        /// Bytes of the submissions of one caller, and of all.
        var bytesPerCaller: Int64 = 2 << 30
        var bytes: Int64 = 8 << 30
        /// Submissions of one caller, and of all.
        var submissionsPerCaller = 32
        var submissions = 256
        /// Bytes of one submission that are kept in memory.
        var memoryBytes = 256 << 10
    }

    private struct Use {
        var submissions = 0
        var bytes: Int64 = 0
    }

    let limits: Limits
    private let uses = Mutex<[String: Use]>([:])

    init(_ limits: Limits = Limits()) { self.limits = limits }

    /// A place for a submission of a caller, for as long as the place is referred to. Throws `quotaExceeded` if the caller
    /// has no more, and `exhausted` if there are no more.
    func place(of caller: String) throws -> Place {
        try uses.withLock { uses in
            guard uses.values.reduce(0, { $0 + $1.submissions }) < limits.submissions else {
                throw LedgerError(.ledgerExhausted, during: "submit jobs", "too many submissions arrive at once")
            }
            guard uses[caller, default: Use()].submissions < limits.submissionsPerCaller else {
                throw LedgerError(
                    .ledgerQuotaExceeded,
                    during: "submit jobs",
                    "\(Plural.count(limits.submissionsPerCaller, "submission")) of this caller arrive already"
                )
            }
            uses[caller, default: Use()].submissions += 1
        }
        return Place(self, caller)
    }

    private func take(_ count: Int64, for caller: String) throws {
        try uses.withLock { uses in
            guard uses.values.reduce(0, { $0 + $1.bytes }) + count <= limits.bytes else {
                throw LedgerError(.ledgerExhausted, during: "submit jobs", "the jobs that arrive have no more space")
            }
            guard uses[caller, default: Use()].bytes + count <= limits.bytesPerCaller else {
                throw LedgerError(
                    .ledgerQuotaExceeded,
                    during: "submit jobs",
                    "the jobs of this caller that arrive have more than \(limits.bytesPerCaller) bytes together",
                    hint: "send them in several submissions, one after the other"
                )
            }
            uses[caller, default: Use()].bytes += count
        }
    }

    private func leave(_ caller: String, bytes: Int64) {
        uses.withLock { uses in
            guard var use = uses[caller] else { return }
            use.submissions -= 1
            use.bytes -= bytes
            uses[caller] = use.submissions > 0 ? use : nil
        }
    }

    /// What one submission takes of the space. Its end gives everything back.
    final class Place: Sendable {
        private let space: SpoolSpace
        private let caller: String
        private let bytes = Mutex<Int64>(0)

        fileprivate init(_ space: SpoolSpace, _ caller: String) { (self.space, self.caller) = (space, caller) }

        deinit { space.leave(caller, bytes: bytes.withLock { $0 }) }

        var memoryBytes: Int { space.limits.memoryBytes }

        /// Takes so many bytes more.
        func take(_ count: Int) throws {
            try space.take(Int64(count), for: caller)
            bytes.withLock { $0 += Int64(count) }
        }
    }
}
