public import Conversion
import FoundationEssentials
import Synchronization

extension JobLedger {
    /// Enters a worker that has just started.
    public func register(_ worker: WorkerRegistration) async throws -> WorkerEntry {
        // An entry whose answer was lost holds nothing, and ends with its lease.
        try await settle("register a worker") { connection, _ in
            let sentAt = ContinuousClock.now
            let entry = try connection.first(
                """
                select * from \(schema).register_worker(
                    \(worker.name), \(worker.host), \(worker.build), \(worker.slots), \(worker.allAbilities))
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
            guard let entry else { throw connection.failure(.unexpectedAnswer, "the ledger gave no entry") }
            return entry
        }
    }

    /// Says anew what a worker can do, which counts from its next claim on. Throws `leaseOver` if it has to register anew.
    public func setAbilities(_ abilities: [String], of worker: Int64) async throws {
        _ = try await settle("say what a worker can do") { connection, _ in
            try connection.execute(
                "select \(schema).set_abilities(\(worker), \(WorkerSecrets[worker]), \(WorkerRegistration.all(abilities)))"
            )
        }
    }

    /// Takes up to `wanted` jobs for a worker: by priority, then turn, then number; fewer or none if there are no more.
    ///
    /// `queues` narrows it to some. `inHand` is what the worker has, by which jobs of a claim whose answer was lost are told
    /// from those; so a worker makes one claim at a time. Throws `leaseOver` if the worker has to register anew.
    public func claim(
        _ wanted: Int32,
        for worker: Int64,
        from queues: [String]? = nil,
        inHand: some Collection<Fence> & Sendable = [],
        within limit: Duration? = nil
    ) async throws -> Claims {
        let rows = try await settle("claim jobs", within: limit) { connection, mayHaveHappened in
            if mayHaveHappened {
                // From here on no earlier try takes anything, wherever it hangs, so that what is held is all that it took.
                try connection.execute(
                    "select \(schema).bar_claims(\(worker), \(WorkerSecrets[worker]), \(ClaimNumber.last))"
                )
                let forgotten = try connection.held(by: worker, schema).filter { !inHand.contains($0.fence) }
                if !forgotten.isEmpty { return forgotten }
            }
            return try connection.claimedRows(
                """
                select * from \(schema).claim(
                    \(worker), \(WorkerSecrets[worker]), \(wanted), \(queues), \(ClaimNumber.next()))
                """
            )
        }
        return try await sorted(rows)
    }

    /// All that the ledger thinks a worker is working on, for one that wants to be sure. Throws `permissionDenied` if another process
    /// registered the worker.
    public func held(by worker: Int64) async throws -> Claims {
        let rows = try await settle("look up what a worker holds") { connection, _ in
            try connection.held(by: worker, schema)
        }
        return try await sorted(rows)
    }

    /// Hands back, or fails, what has a recipe that this build cannot read.
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

    /// The word for workers that can read the recipe's version.
    private static func versionNeed(of recipe: String) -> String {
        struct Version: Decodable { var version: Int }
        // A recipe without a version that is a number was not refused for its version.
        let version = try? JSON(text: recipe).decoded(as: Version.self, during: "read a recipe").version
        return AbilityWord.recipe(version ?? 0)
    }
}

/// Numbers by which claims of this process are told from later ones.
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
    /// As the ledger keeps it.
    var failure: Failure {
        Failure(
            code: "recipe_refused",
            kind: .permanent,
            stage: "open",
            message: "the recipe cannot be read: \(description)"
        )
    }
}
