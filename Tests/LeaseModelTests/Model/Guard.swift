/// All mechanisms that keep jobs correct. Each can be removed, to see what it is good for.
///
/// Guards of the ledger are conditions in its SQL. The others are rules that workers, coordinators and storage follow.
enum Guard: Int, CaseIterable, Sendable {
    // MARK: The ledger's fence
    case epochInFence, leaseInFence, rowInFence
    case publishFence, finishFence, failFence, releaseFence
    case epochGrows, epochSurvivesRetry

    // MARK: The ledger's leases
    case claimNeedsWorker, beatNeedsWorker
    case reapNeedsExpiry, quietAfterOutage, quietAtFirstTick, workerKey, claimsAreBarred

    // MARK: The ledger's promises
    case submissionKey, lossesAreUnspent, cancelStopsPublishing, endedWorkersAreAudited, anyProcessFinishes

    // MARK: The worker
    case refusalIsObeyed, unansweredIsKept, strayJobsAreReleased
    case spoiledBeforeFailed

    // MARK: The way of a file
    case fileIsSynced, attemptNameIsFlushed, publishedBeforeNamed, namedBeforeFinished, nameIsFlushed
    case noClobber, attemptNameIsUnique, adoptedByDigest
    case sweepAsksRunning, sweepAsksPublishing, sweepListsFirst, sweepWaits
}

/// The guards in force.
struct Guards: Sendable, Hashable {
    private var bits: UInt64 = .max

    static let all = Guards()

    func stand(_ one: Guard) -> Bool { bits & (1 << UInt64(one.rawValue)) != 0 }

    func without(_ missing: Guard...) -> Guards {
        var rest = self
        for one in missing { rest.bits &= ~(1 << UInt64(one.rawValue)) }
        return rest
    }
}
