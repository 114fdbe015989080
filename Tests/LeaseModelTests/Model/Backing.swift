/// Why a guard may be missing without anything being broken: another one stands behind it.
struct Backing: Sendable {
    let by: [Guard]
    let because: String
}

extension Guard {
    /// What stands behind this guard; `nil` if nothing does, and a promise breaks without it.
    var backing: Backing? {
        switch self {
        case .epochInFence:
            Backing(
                by: [.leaseInFence],
                because:
                    "a lease id is drawn for each claim and a claim takes a job once, so job and lease id name the epoch"
            )
        case .claimsAreBarred:
            Backing(
                by: [.claimNeedsWorker, .endedWorkersAreAudited],
                because:
                    "what a late claim takes is handed back after the next beat, and a worker that has ended gets nothing"
            )
        case .endedWorkersAreAudited:
            Backing(
                by: [.claimNeedsWorker, .claimsAreBarred],
                because: "a claim holds the worker's row, so nothing comes to an ended worker for the audit to find"
            )
        default: nil
        }
    }

    /// The promise that says just what the guard says.
    var ownPromise: Violation? {
        switch self {
        case .claimNeedsWorker: .claimedByEnded
        case .beatNeedsWorker: .endedRevived
        case .reapNeedsExpiry: .leaseCutShort
        default: nil
        }
    }

    /// In which weather its absence shows.
    var weather: Weather {
        switch self {
        // Only a commit that was lost after it was answered makes these fail.
        case .leaseInFence, .finishFence, .sweepWaits: .tails
        // And these only if something that is late meets something that sleeps.
        case .sweepListsFirst: .sleep
        default: .mixed
        }
    }

    static let bearing = allCases.filter { $0.backing == nil }
    static let backed = allCases.filter { $0.backing != nil }
}
