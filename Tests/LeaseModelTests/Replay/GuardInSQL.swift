import Testing

/// A condition in a function of the migrations that is a guard of the model, and the text without it.
struct GuardInSQL: Sendable, CustomTestStringConvertible {
    let identity: Guard
    let function: String
    let piece: String
    let without: String
    /// Where the search for a trace starts in which the guard decides something. Most guards do so often.
    let firstSeed: UInt64

    init(_ identity: Guard, _ function: String, _ piece: String, without: String, from firstSeed: UInt64 = 0) {
        (self.identity, self.function, self.piece, self.without) = (identity, function, piece, without)
        self.firstSeed = firstSeed
    }

    var testDescription: String { "\(identity) in \(function)" }

    /// All that a promise depends on and that is a piece of text. `rowInFence` is not: it is the tables' structure.
    static let all = [
        GuardInSQL(.leaseInFence, "publish", " and r.lease_id = g.lease_id", without: ""),
        GuardInSQL(.publishFence, "publish", " and r.epoch = g.epoch and r.lease_id = g.lease_id", without: ""),
        GuardInSQL(
            .finishFence,
            "finish",
            " and p.epoch = g.epoch and p.lease_id = g.lease_id",
            without: "",
            from: 7_300
        ),
        GuardInSQL(.failFence, "take_out", " and r.epoch = g.epoch and r.lease_id = g.lease_id", without: ""),
        GuardInSQL(.releaseFence, "take_out", " and r.epoch = g.epoch and r.lease_id = g.lease_id", without: ""),
        GuardInSQL(.epochGrows, "claim", "g.epoch + 1", without: "greatest(g.epoch, 1)"),
        GuardInSQL(
            .epochSurvivesRetry,
            "retry_jobs",
            "p.new_lane, p.cost, 0, p.epoch, 0, 0, 0, t",
            without: "p.new_lane, p.cost, 0, 0, 0, 0, 0, t"
        ),
        GuardInSQL(.claimNeedsWorker, "claim", " or me.ended_at is not null", without: ""),
        GuardInSQL(.beatNeedsWorker, "beat", "beat.worker_id and w.ended_at is null", without: "beat.worker_id"),
        GuardInSQL(.reapNeedsExpiry, "reap", "s.lease_until <= t", without: "s.lease_until <= t + interval '15 s'"),
        GuardInSQL(
            .quietAfterOutage,
            "begin_tick",
            "then t + greatest(s.lease, interval '10 s')",
            without: "then h.quiet_until"
        ),
        GuardInSQL(.quietAtFirstTick, "begin_tick", "'-infinity' then t + s.lease", without: "'-infinity' then t"),
        GuardInSQL(.workerKey, "check_secret", "known is distinct from given and", without: "false and"),
        GuardInSQL(
            .submissionKey,
            "submit_singles",
            "select n.name, n.key, n.request_digest",
            without: "select n.name, gen_random_uuid()::text, n.request_digest"
        ),
        GuardInSQL(
            .lossesAreUnspent,
            "end_attempts",
            "(e.outcome = 'failed' and e.class <> 'infrastructure')",
            without: "(e.outcome = 'lost' or e.outcome = 'failed' and e.class <> 'infrastructure')"
        ),
        GuardInSQL(.cancelStopsPublishing, "publish", "r.cancel_asked", without: "false"),
        GuardInSQL(.anyProcessFinishes, "take_unfinished", "p.handed_at < t", without: "false and p.handed_at < t"),
        GuardInSQL(.sweepAsksRunning, "standing_fences", "true from running", without: "false from running"),
        GuardInSQL(.sweepAsksPublishing, "standing_fences", "true from publishing", without: "false from publishing"),
    ]
}
