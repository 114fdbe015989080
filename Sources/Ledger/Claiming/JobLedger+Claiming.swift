public import Conversion
import FoundationEssentials
import Synchronization

extension JobLedger {
    /// Registers a worker that has just started.
    public func register(_ worker: WorkerRegistration) async throws -> WorkerEntry {
        // If the answer is lost, the entry holds no jobs and ends with its lease.
        try await settle("register a worker") { connection, _ in
            let sentAt = ContinuousClock.now
            let entry = try connection.first(
                """
                select * from \(schema).register_worker(
                    \(worker.name), \(worker.host), \(worker.build), \(worker.slots), \(worker.allAbilities),
                    \(worker.libraries))
                """
            ) { row in
                let entry = WorkerEntry(
                    worker: try row["worker"],
                    leaseLength: .seconds(try row["lease_seconds"] as Double),
                    sentAt: sentAt
                )
                WorkerSecrets[entry.worker] = try row["secret"] as UUID
                return entry
            }
            guard let entry else {
                throw connection.failure(.ledgerUnexpectedAnswer, "the server returned no entry for the worker")
            }
            return entry
        }
    }

    /// Replaces the abilities of a worker, from its next claim on. Throws `leaseOver` if the worker must register anew.
    public func setAbilities(_ abilities: [String], of worker: Int64) async throws {
        _ = try await settle("set the capabilities of a worker") { connection, _ in
            try connection.execute(
                "select \(schema).set_abilities(\(worker), \(WorkerSecrets[worker]), \(WorkerRegistration.all(abilities)))"
            )
        }
    }

    /// Claims up to `wanted` jobs for a worker, by priority, then turn, then number. Returns fewer if there are no
    /// more.
    ///
    /// `queues` limits the claim to some queues. `inHand` is what the worker already holds: after a lost answer, it
    /// separates those jobs from the ones that the lost claim took. So a worker makes one claim at a time. Throws
    /// `leaseOver` if the worker must register anew.
    public func claim(
        _ wanted: Int32,
        for worker: Int64,
        from queues: [String]? = nil,
        inHand: some Collection<Fence> & Sendable = [],
        within limit: Duration? = nil
    ) async throws -> Claims {
        let (rows, isIdle): ([ClaimedRow], Bool) = try await settle("claim jobs", within: limit) {
            connection,
            mayHaveHappened in
            if mayHaveHappened {
                // From here on no earlier try can take jobs, wherever it hangs, so `held` returns all that it took.
                try connection.execute(
                    "select \(schema).bar_claims(\(worker), \(WorkerSecrets[worker]), \(ClaimNumber.last))"
                )
                let forgotten = try connection.held(by: worker, schema).filter { !inHand.contains($0.fence) }
                if !forgotten.isEmpty { return (forgotten, false) }
            }
            let rows = try connection.claimedRows(
                """
                select * from \(schema).claim(
                    \(worker), \(WorkerSecrets[worker]), \(wanted), \(queues), \(ClaimNumber.next()))
                """
            )
            guard rows.isEmpty else { return (rows, false) }
            return (rows, try connection.value("select \(schema).is_idle()"))
        }
        var claims = try await sorted(rows)
        claims.isLedgerIdle = isIdle
        return claims
    }

    /// All jobs that a worker holds according to the ledger.
    ///
    /// Throws `permissionDenied` if another process registered the worker.
    public func held(by worker: Int64) async throws -> Claims {
        let rows = try await settle("list the jobs of a worker") { connection, _ in
            try connection.held(by: worker, schema)
        }
        return try await sorted(rows)
    }

    /// Hands back or fails the jobs whose recipes this build cannot read.
    private func sorted(_ rows: [ClaimedRow]) async throws -> Claims {
        var claims = Claims()
        var unreadable: [AttemptFailure] = []
        for row in rows {
            switch row.recipe {
            case .success(let recipe): claims.jobs.append(row.claim(recipe))
            case .failure(let error) where error.isOfOurBuild:
                try await release([row.fence], because: .unable, needing: Self.versionNeed(of: row.recipeText))
                claims.refused.append(RefusedClaim(fence: row.fence, error: error, isFailed: false))
            case .failure(let error):
                unreadable.append(AttemptFailure(row.fence, error.failure))
                claims.refused.append(RefusedClaim(fence: row.fence, error: error, isFailed: true))
            }
        }
        if !unreadable.isEmpty { try await fail(unreadable) }
        return claims
    }

    /// The ability that a worker needs to read the recipe's version.
    private static func versionNeed(of recipe: String) -> String {
        struct Version: Decodable { var version: Int }
        // A recipe whose version is not a number was not refused because of its version.
        let version = try? JSON(text: recipe).decoded(as: Version.self, during: "read a recipe").version
        return AbilityWord.recipe(version ?? 0)
    }
}

/// Numbers that put the claims of this process in order.
private enum ClaimNumber {
    private static let counter = Atomic<Int64>(0)

    static var last: Int64 { counter.load(ordering: .sequentiallyConsistent) }

    static func next() -> Int64 { counter.add(1, ordering: .sequentiallyConsistent).newValue }
}

extension Connection {
    fileprivate func held(by worker: Int64, _ schema: SchemaName) throws -> [ClaimedRow] {
        try claimedRows("select * from \(schema).held(\(worker), \(WorkerSecrets[worker]))")
    }

    fileprivate func claimedRows(_ statement: Statement) throws -> [ClaimedRow] {
        var reader = RecipeReader()
        return try rows(statement) { try ClaimedRow($0, &reader) }
    }
}

extension RecipeError {
    /// The failure that the ledger stores.
    var failure: Failure {
        Failure(.recipeRefused, at: .open, "the recipe is invalid: \(description)")
    }
}
