import Conversion
import Ledger
import Synchronization

/// The limits that recipes of a submission ask for and the tenant does not have. The ledger clamps them; this only tells.
final class ClampedLimits: Sendable {
    private let ceilings: JobCeilings
    private let found = Mutex<Set<String>>([])

    /// `nil` for a tenant whose jobs have no limits.
    init?(_ tenant: Tenant?) {
        guard let ceilings = tenant?.limits.jobs else { return nil }
        self.ceilings = ceilings
    }

    func note(_ limits: Recipe.Limits?) {
        let names = ceilings.exceeded(by: limits)
        if !names.isEmpty { found.withLock { $0.formUnion(names) } }
    }

    /// The names, in order; `nil` if there are none.
    var names: [String]? {
        let names = found.withLock { $0.sorted() }
        return names.isEmpty ? nil : names
    }
}
