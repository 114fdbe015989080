/// What a replay has compared.
struct ReplayReport: Sendable {
    private(set) var seeds = 0
    private(set) var calls = 0
    private(set) var failovers = 0
    /// The kinds of calls and answers: `publish done`, or `cancel running` for a call whose effect depends on the job.
    private(set) var kinds: Set<String> = []
    /// The story of the first difference.
    var difference: String?

    mutating func add(_ entries: [LedgerTrace.Entry]) {
        seeds += 1
        var jobs: [LedgerTables.Job] = []
        for entry in entries {
            if entry.call.losesCommits { failovers += 1 } else { calls += 1 }
            kinds.insert(Self.kind(of: entry, before: jobs))
            jobs = entry.after.jobs
        }
    }

    mutating func add(_ other: ReplayReport) {
        seeds += other.seeds
        calls += other.calls
        failovers += other.failovers
        kinds.formUnion(other.kinds)
        difference = difference ?? other.difference
    }

    private static func kind(of entry: LedgerTrace.Entry, before jobs: [LedgerTables.Job]) -> String {
        let name = entry.call.function
        switch (entry.call, entry.answer) {
        case (.cancel(let job), _), (.retry(let job), _): return "\(name) \(jobs[job].state)"
        case (_, .said(let answer)): return "\(name) \(answer)"
        case (_, .refused), (_, .stranger): return "\(name) \(entry.answer)"
        case (_, .handed(.some)): return "\(name) handed"
        default: return name
        }
    }
}
