public import Conversion
import FoundationEssentials

extension JobLedger {
    /// Does the housekeeping that is due: finds lost workers, wakes delayed jobs, folds counts, makes and drops
    /// partitions.
    ///
    /// Each coordinator and worker may call it, about once a second; all but one return at once. Each chore that is
    /// due gets one page of work, the most urgent first. Larger chores get further pages in turn, until nothing is
    /// left or `slice` is over. `limit` applies to each call to the ledger. A page that takes longer is rolled
    /// back, and the next ones are smaller.
    ///
    /// A caller that gets notifications may `rest` when nothing is to be done: the report then says for how long. Until
    /// then no tick begins, unless there are jobs.
    public func keepHouse(
        for slice: Duration? = nil,
        within limit: Duration? = nil,
        rests: Bool = false
    ) async throws -> HousekeepingReport {
        let end = slice.map { ContinuousClock.now + $0 }
        let first = try await firstRound(within: limit, rests: rests)
        var report = HousekeepingReport()
        report.rest = first.rest
        var (due, tickedAt) = (first.due, ContinuousClock.now)
        // The chores that were due at first. Chores that become due later are done too, but do not keep this loop
        // running.
        var open = Set(due)
        for page in first.pages {
            if let done = page.done { report.add(done) }
            if !page.hasMore { open.remove(page.chore) }
        }
        for chore in due.dropFirst(first.pages.count) {
            let hasMore = try await doPage(of: chore, &report, within: limit)
            if !hasMore { open.remove(chore) }
        }
        due = due.filter(open.contains)
        while !open.isEmpty {
            if let end, end <= .now { break }
            // Look for lost workers every second, however long the other chores take.
            if .now - tickedAt >= .seconds(1) {
                let again = try await beginTick(within: limit)
                tickedAt = .now
                due = again + due.filter { !again.contains($0) }
            }
            var unfinished: [String] = []
            for chore in due {
                if try await doPage(of: chore, &report, within: limit) {
                    unfinished.append(chore)
                } else {
                    open.remove(chore)
                }
            }
            due = unfinished
        }
        report.isUnfinished = !open.isEmpty
        return report
    }

    /// How long the first round may keep the connection, which others of this process may wait for.
    private static let roundLimit = Duration.milliseconds(50)

    /// Begins a tick and does the first page of each chore, all on one connection: most ticks have no more to do. A call
    /// that fails ends the round, and so does one that takes long. What it has left out follows by `doPage`.
    private func firstRound(within limit: Duration?, rests: Bool) async throws -> FirstRound {
        // A tick whose answer was lost did happen. Its chores are due at the next tick.
        try await settle("run housekeeping", within: limit) { connection, _ in
            let end = ContinuousClock.now + Self.roundLimit
            var round = FirstRound()
            round.due = try connection.rows("select chore from \(schema).begin_tick()") { try $0[0] }
            for chore in round.due {
                do {
                    round.pages.append(try connection.doPage(of: chore, schema))
                } catch let error as LedgerError where error.code == .ledgerTimedOut || error.isTransient {
                    break
                }
                guard .now < end else { break }
            }
            guard rests, round.isQuiet else { return round }
            let rest: Int32 = try connection.value("select \(schema).house_rest()")
            if rest > 0 { round.rest = .milliseconds(Int(rest)) }
            return round
        }
    }

    /// The chores that are due, the most urgent first; empty if another process ticks or has just ticked.
    private func beginTick(within limit: Duration?) async throws -> [String] {
        // A tick whose answer was lost did happen. Its chores are due at the next tick.
        try await settle("run housekeeping", within: limit) { connection, _ in
            try connection.rows("select chore from \(schema).begin_tick()") { try $0[0] }
        }
    }

    /// Does a page of a chore, unless another process works on it. Returns whether the next page should follow at once.
    private func doPage(of chore: String, _ report: inout HousekeepingReport, within limit: Duration?) async throws
        -> Bool
    {
        let started = ContinuousClock.now
        do {
            // If the answer of a page was lost, the next page follows.
            let page = try await settle("run housekeeping", within: limit) { connection, _ in
                try connection.doPage(of: chore, schema)
            }
            if let done = page.done { report.add(done) }
            return page.hasMore
        } catch let error as LedgerError where error.code == .ledgerTimedOut {
            _ = try await settle("run housekeeping", within: limit) { connection, _ in
                try connection.execute("select \(schema).shrink_chore(\(chore))")
            }
            let took = ContinuousClock.now - started
            report.add(HousekeepingReport.Chore(name: chore, took: took, pages: 1, error: error.detail))
            return false
        }
    }

    /// Jobs that have been publishing for too long. The ledger hands each to one caller per `publish_grace`.
    ///
    /// Returns only jobs whose output lies in `roots`, and those that have no file; `nil` means any root. It leaves
    /// out jobs whose recipes this build cannot read. Other callers get those after the next `publish_grace`.
    public func takeUnfinished(limit: Int32 = 100, in roots: [String]? = nil) async throws -> [UnfinishedPublication] {
        // If the answer is lost, the ledger hands the publications out again later.
        try await settle("claim unfinished publications") { connection, _ in
            try connection.rows("select * from \(schema).take_unfinished(\(limit), \(roots))") {
                row -> UnfinishedPublication? in
                let text = try (row["recipe"] as JSON).text
                // An unreadable recipe is left to other callers: see above.
                guard let recipe = try? Recipe(json: text) else { return nil }
                return UnfinishedPublication(
                    fence: try Fence(row),
                    recipe: recipe,
                    attemptName: try row["attempt_name"],
                    file: PublishedFile(digest: try row["digest"], bytes: try row["size"]),
                    further: try [PublishedFile?](further: row),
                    since: try row["since"]
                )
            }.compactMap(\.self)
        }
    }

    /// The given fences that are still valid. The sweep of attempt files uses it: a file without a valid fence is
    /// litter.
    public func standing(_ fences: [Fence]) async throws -> Set<Fence> {
        try await settle("look up fences") { connection, _ in
            var standing: Set<Fence> = []
            // The answer names jobs only, and a job has at most one valid fence. So each call asks about one fence
            // per job.
            var left = fences
            while !left.isEmpty {
                var jobs: Set<Int64> = []
                let asked = left.filter { jobs.count < 1_000 && jobs.insert($0.job).inserted }
                let taken = Set(asked)
                left.removeAll { taken.contains($0) }
                let found: [Int64] = try connection.rows(
                    """
                    select job from \(schema).standing_fences(
                        \(asked.map(\.job)), \(asked.map(\.epoch)), \(asked.map(\.lease)))
                    """
                ) { try $0[0] }
                let names = Set(found)
                standing.formUnion(asked.filter { names.contains($0.job) })
            }
            return standing
        }
    }
}

/// A tick, and the first pages of its chores.
private struct FirstRound: Sendable {
    /// The chores that are due, the most urgent first; empty if another process ticks or has just ticked, or all rest.
    var due: [String] = []
    /// Of these chores, in their order. The last ones are missing if a call failed.
    var pages: [ChorePage] = []
    /// As in the report.
    var rest: Duration?

    /// Whether nothing was to be done.
    var isQuiet: Bool {
        pages.count == due.count
            && pages.allSatisfy { page in page.done.map { $0.affected == 0 && $0.error == nil } ?? false }
    }
}

/// A page of a chore.
private struct ChorePage: Sendable {
    let chore: String
    /// `nil` if another process works on the chore.
    var done: HousekeepingReport.Chore?
    /// Whether the next page should follow at once.
    var hasMore = false
}

extension Connection {
    fileprivate func doPage(of chore: String, _ schema: SchemaName) throws -> ChorePage {
        try first("select * from \(schema).do_chore(\(chore))") { row in
            let done = HousekeepingReport.Chore(
                name: chore,
                affected: try row["affected"],
                took: .milliseconds(try row["took_ms"] as Double),
                pages: 1,
                error: try row["error"]
            )
            return ChorePage(chore: chore, done: done, hasMore: try row["more"])
        } ?? ChorePage(chore: chore)
    }
}
