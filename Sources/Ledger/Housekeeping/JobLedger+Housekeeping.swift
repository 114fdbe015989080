public import Conversion
import FoundationEssentials

extension JobLedger {
    /// Does what is due for the whole ledger: finds lost workers, wakes jobs, folds counts, makes and drops partitions.
    ///
    /// Anybody may call it as often as they like, about once a second; all but one return at once.
    public func keepHouse(within limit: Duration? = nil) async throws -> HousekeepingReport {
        try await settle("keep house", within: limit) { connection, _ in
            HousekeepingReport(
                chores: try connection.rows("select * from \(schema).keep_house()") { row in
                    HousekeepingReport.Chore(
                        name: try row["chore"],
                        affected: try row["affected"],
                        took: .milliseconds(try row["took_ms"] as Double),
                        error: try row["error"]
                    )
                }
            )
        }
    }

    /// Jobs that are publishing for too long, each handed to one caller per `publish_grace`.
    ///
    /// Only those whose outputs lie in `roots`, and those that have no file; `nil`: any. A job whose recipe this build cannot read is left to others, who get it after the next such time.
    public func takeUnfinished(limit: Int32 = 100, in roots: [String]? = nil) async throws -> [UnfinishedPublication] {
        // What a lost answer handed to nobody is handed out again.
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
