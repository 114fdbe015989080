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
    /// A caller that gets notifications sets `rests`. If there is nothing to do, the report then says for how long all
    /// callers rest: until then no tick begins, unless there are jobs.
    public func keepHouse(
        for slice: Duration? = nil,
        within limit: Duration? = nil,
        rests: Bool = false
    ) async throws -> HousekeepingReport {
        let end = slice.map { ContinuousClock.now + $0 }
        var first = try await firstRound(within: limit, rests: rests)
        var tickedAt = ContinuousClock.now
        let isWhole = first.isWhole
        for chore in first.due.dropFirst(first.pages.count) {
            if let late = first.late, late.chore == chore {
                try await shrink(chore, within: limit)
                first.pages.append(late)
            } else {
                first.pages.append(try await doPage(of: chore, within: limit))
            }
        }
        if rests, !isWhole { first.rest = try await rest(after: first, within: limit) }
        var report = HousekeepingReport()
        report.rest = first.rest
        // The chores that were due at first. Chores that become due later are done too, but do not keep this loop
        // running.
        var open = Set(first.due)
        for page in first.pages {
            if let done = page.done { report.add(done) }
            if !page.hasMore { open.remove(page.chore) }
        }
        var due = first.due.filter { open.contains($0) }
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
                let page = try await doPage(of: chore, within: limit)
                if let done = page.done { report.add(done) }
                if page.hasMore { unfinished.append(chore) } else { open.remove(chore) }
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
                let started = ContinuousClock.now
                guard started < end else { break }
                do {
                    round.pages.append(try connection.doPage(of: chore, schema))
                } catch let error as LedgerError where error.isTransient {
                    // The connection has no time left in which to say so to the ledger.
                    if error.code == .ledgerTimedOut { round.late = ChorePage(chore, late: error, since: started) }
                    break
                }
            }
            if rests, round.isWhole { round.rest = try connection.rest(after: round, schema) }
            return round
        }
    }

    /// How long all callers rest after a round with all its pages; `nil` if the next tick is needed as usual.
    private func rest(after round: FirstRound, within limit: Duration?) async throws -> Duration? {
        try await settle("run housekeeping", within: limit) { connection, _ in
            try connection.rest(after: round, schema)
        }
    }

    /// The chores that are due, the most urgent first; empty if another process ticks or has just ticked.
    private func beginTick(within limit: Duration?) async throws -> [String] {
        // A tick whose answer was lost did happen. Its chores are due at the next tick.
        try await settle("run housekeeping", within: limit) { connection, _ in
            try connection.rows("select chore from \(schema).begin_tick()") { try $0[0] }
        }
    }

    /// Does a page of a chore, unless another process works on it. After a page that takes too long, the next ones are
    /// smaller.
    private func doPage(of chore: String, within limit: Duration?) async throws -> ChorePage {
        let started = ContinuousClock.now
        do {
            // If the answer of a page was lost, the next page follows.
            return try await settle("run housekeeping", within: limit) { connection, _ in
                try connection.doPage(of: chore, schema)
            }
        } catch let error as LedgerError where error.code == .ledgerTimedOut {
            try await shrink(chore, within: limit)
            return ChorePage(chore, late: error, since: started)
        }
    }

    /// Makes the next pages of a chore smaller.
    private func shrink(_ chore: String, within limit: Duration?) async throws {
        _ = try await settle("run housekeeping", within: limit) { connection, _ in
            try connection.execute("select \(schema).shrink_chore(\(chore))")
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
        try await settle("look up fencing tokens") { connection, _ in
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
    /// Of these chores, in their order. The last ones are missing if a call failed or took long.
    var pages: [ChorePage] = []
    /// The page that was not done in time, if there was one.
    var late: ChorePage?
    /// As in the report.
    var rest: Duration?

    /// Whether each chore has had its page.
    var isWhole: Bool { pages.count == due.count }

    /// Whether no page found anything to do.
    var isQuiet: Bool { pages.allSatisfy(\.isQuiet) }
}

/// A page of a chore.
private struct ChorePage: Sendable {
    let chore: String
    /// `nil` if another process works on the chore.
    var done: HousekeepingReport.Chore?
    /// Whether the next page should follow at once.
    var hasMore = false

    init(chore: String, done: HousekeepingReport.Chore? = nil, hasMore: Bool = false) {
        (self.chore, self.done, self.hasMore) = (chore, done, hasMore)
    }

    /// A page that was not done in time.
    init(_ chore: String, late error: LedgerError, since start: ContinuousClock.Instant) {
        let took = ContinuousClock.now - start
        let done = HousekeepingReport.Chore(name: chore, took: took, pages: 1, error: error.detail)
        self.init(chore: chore, done: done)
    }

    var isQuiet: Bool {
        guard let done else { return false }
        return done.affected == 0 && done.error == nil && !hasMore
    }
}

extension Connection {
    fileprivate func doPage(of chore: String, _ schema: SchemaName) throws -> ChorePage {
        let page = try first("select * from \(schema).do_chore(\(chore))") { row in
            let done = HousekeepingReport.Chore(
                name: chore,
                affected: try row["affected"],
                took: .milliseconds(try row["took_ms"] as Double),
                pages: 1,
                error: try row["error"]
            )
            return ChorePage(chore: chore, done: done, hasMore: try row["more"])
        }
        return page ?? ChorePage(chore: chore)
    }

    /// How long all callers rest after a round with all its pages; `nil` if the next tick is needed as usual.
    fileprivate func rest(after round: FirstRound, _ schema: SchemaName) throws -> Duration? {
        guard round.isQuiet else { return nil }
        // Only a tick of this caller can show that there is nothing to do.
        let hasTicked = !round.due.isEmpty
        let milliseconds: Int32 = try value("select \(schema).house_rest(\(hasTicked))")
        return milliseconds > 0 ? .milliseconds(Int(milliseconds)) : nil
    }
}
