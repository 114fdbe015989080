public import Conversion
import FoundationEssentials

extension JobLedger {
    /// Does what is due for the whole ledger: finds lost workers, wakes jobs, folds counts, makes and drops partitions.
    ///
    /// Each coordinator and worker may call it, about once a second; all but one return at once. Each chore that is due gets a page of
    /// work, the most urgent first. Those that are larger get further pages in turn, until nothing is left or `slice` is over.
    /// `limit` is for each call to the ledger; a page that takes longer is undone, and the next ones are smaller.
    public func keepHouse(for slice: Duration? = nil, within limit: Duration? = nil) async throws -> HousekeepingReport
    {
        let end = slice.map { ContinuousClock.now + $0 }
        var report = HousekeepingReport()
        var due = try await beginTick(within: limit)
        var tickedAt = ContinuousClock.now
        // Those that were due at first. What becomes due meanwhile is done too, and does not keep this from ending.
        var open = Set(due)
        while !open.isEmpty {
            var unfinished: [String] = []
            for chore in due {
                if try await doPage(of: chore, &report, within: limit) {
                    unfinished.append(chore)
                } else {
                    open.remove(chore)
                }
            }
            if let end, end <= .now { break }
            due = unfinished
            // Lost workers are looked for every second, however long the other chores are.
            if !open.isEmpty, .now - tickedAt >= .seconds(1) {
                let again = try await beginTick(within: limit)
                tickedAt = .now
                due = again + due.filter { !again.contains($0) }
            }
        }
        report.isUnfinished = !open.isEmpty
        return report
    }

    /// The chores that are due, the most urgent first; none if another process ticks or has just ticked.
    private func beginTick(within limit: Duration?) async throws -> [String] {
        // A tick whose answer was lost has happened: the chores are due at the next one.
        try await settle("keep house", within: limit) { connection, _ in
            try connection.rows("select chore from \(schema).begin_tick()") { try $0[0] }
        }
    }

    /// Does a page of a chore, unless another process is at it. Whether there is more to do at once.
    private func doPage(of chore: String, _ report: inout HousekeepingReport, within limit: Duration?) async throws
        -> Bool
    {
        let started = ContinuousClock.now
        do {
            // A page whose answer was lost is followed by the next one.
            let page: (page: HousekeepingReport.Chore, hasMore: Bool)? = try await settle("keep house", within: limit) {
                connection,
                _ in
                try connection.first("select * from \(schema).do_chore(\(chore))") { row in
                    let page = HousekeepingReport.Chore(
                        name: chore,
                        affected: try row["affected"],
                        took: .milliseconds(try row["took_ms"] as Double),
                        pages: 1,
                        error: try row["error"]
                    )
                    return (page: page, hasMore: try row["more"] as Bool)
                }
            }
            guard let answer = page else { return false }
            report.add(answer.page)
            return answer.hasMore
        } catch let error as LedgerError where error.code == .timedOut {
            _ = try await settle("keep house", within: limit) { connection, _ in
                try connection.execute("select \(schema).shrink_chore(\(chore))")
            }
            let took = ContinuousClock.now - started
            report.add(HousekeepingReport.Chore(name: chore, took: took, pages: 1, error: error.detail))
            return false
        }
    }

    /// Jobs that are publishing for too long, each handed to one caller per `publish_grace`.
    ///
    /// Only those whose outputs lie in `roots`, and those that have no file; `nil`: any. A job whose recipe this build cannot read is left to others, who get it after the next such time.
    public func takeUnfinished(limit: Int32 = 100, in roots: [String]? = nil) async throws -> [UnfinishedPublication] {
        // If the answer is lost, the ledger hands the publications out again later.
        try await settle("take unfinished publications") { connection, _ in
            try connection.rows("select * from \(schema).take_unfinished(\(limit), \(roots))") {
                row -> UnfinishedPublication? in
                let text = try (row["recipe"] as JSON).text
                // Left to those who can read it: see above.
                guard let recipe = try? Recipe(json: text) else { return nil }
                return UnfinishedPublication(
                    fence: try Fence(row),
                    recipe: recipe,
                    attemptName: try row["attempt_name"],
                    digest: try row["digest"],
                    bytes: try row["size"],
                    since: try row["since"]
                )
            }.compactMap(\.self)
        }
    }

    /// Which of these still stand: for the sweep of attempt files, whose names hold them. A file without one is litter.
    public func standing(_ fences: [Fence]) async throws -> Set<Fence> {
        try await settle("look up fences") { connection, _ in
            var standing: Set<Fence> = []
            // One job can have one standing fence, and the answer names jobs alone: so each call asks once for each.
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
