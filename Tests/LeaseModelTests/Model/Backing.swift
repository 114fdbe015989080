/// Why no promise breaks without a guard: other guards cover for it.
struct Backing: Sendable {
    let by: [Guard]
    let because: String
}

extension Guard {
    /// The guards that cover for this one; `nil` if none do, so that a promise breaks without it.
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

    /// The promise that is identical to the guard.
    var ownPromise: Violation? {
        switch self {
        case .claimNeedsWorker: .claimedByEnded
        case .beatNeedsWorker: .endedRevived
        case .reapNeedsExpiry: .leaseCutShort
        default: nil
        }
    }

    /// The weather in which its absence shows.
    var weather: Weather {
        switch self {
        // These fail only if a commit is lost after its answer was sent.
        case .leaseInFence, .finishFence, .sweepWaits: .tails
        // These fail only if a late message meets a sleeping process.
        case .sweepListsFirst: .sleep
        default: .mixed
        }
    }

    static let bearing = allCases.filter { $0.backing == nil }
    static let backed = allCases.filter { $0.backing != nil }
}
