/// Charges the processor time of a room to its jobs: by the room's word, as far as the kernel's count permits it.
///
/// The room knows best what each job took: it may have begun the next one before the slot reads its answer. But it may lie.
/// So all that the kernel has counted is charged to some job, except for `slack`, and never more. The jobs of a room are of
/// one tenant.
struct ProcessorAccount {
    /// How much of the kernel's count, in microseconds, has been charged or belongs to no job; `nil` before the first one.
    private var settled: Int64?
    /// What may stay uncharged in the room's whole life, for what it does between jobs.
    static let slack: Int64 = 100_000
    /// Threads of a room that can run at a time.
    private static let threads: Int64 = 3

    /// The room begins a job. Counts are in microseconds since its start: the kernel's, `nil` if it cannot be read, and the
    /// room's own.
    mutating func begin(counted: Int64?, claimed: Int64) {
        // What came before the first job belongs to none.
        if settled == nil { settled = counted.map { min($0, claimed) } }
    }

    /// What a job is charged, in microseconds; `nil` if nothing is known.
    ///
    /// `claimed` is what the room says that the job took, `nil` if it cannot be true. `elapsed` is how long the job has run.
    mutating func charge(_ claimed: Int64?, counted: Int64?, elapsed: Duration) -> Int64? {
        guard let counted, let before = settled else {
            let seconds = elapsed.components.seconds + 1
            return claimed.map { min($0, seconds * 1_000_000 * Self.threads) }
        }
        let open = max(0, counted - before)
        let charged = min(open, max(claimed ?? open, open - Self.slack))
        settled = before + charged
        return charged
    }
}
