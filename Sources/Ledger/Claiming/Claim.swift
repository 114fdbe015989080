public import Conversion

/// A job that a worker has claimed.
public struct Claim: Sendable, Hashable {
    /// The worker repeats it with every call about the job.
    public var fence: Fence
    public var recipe: Recipe
    public var batch: Int64
    public var queue: String
    public var priority: Int
    public var cost: Int
    public var labels: [String: String]
    /// The tenant that submitted the job, if one did. Tenants do not share rooms.
    public var tenant: String?
    /// The number of this attempt among those that count, from 1.
    public var attempt: Int
    public var maxAttempts: Int
    /// How often the job was lost with its worker, or because of the machine it ran on.
    public var losses: Int
    /// How many pump rooms died while they ran the job. Such a job is better run alone.
    public var roomDeaths: Int
    /// How many workers were lost while they ran the job. Workers run such jobs one at a time.
    public var workersLost: Int
}

/// The result of a claim.
public struct Claims: Sendable, Hashable {
    public internal(set) var jobs: [Claim] = []
    /// Claimed jobs that this build cannot work on. The claim has already failed them or handed them back.
    public internal(set) var refused: [RefusedClaim] = []
    /// Whether the ledger had no job at all that could come without a notification.
    public internal(set) var isLedgerIdle = false
}

/// A job whose recipe this build cannot read.
public struct RefusedClaim: Sendable, Hashable {
    public var fence: Fence
    public var error: RecipeError
    /// Whether the job failed for good. Otherwise it was handed back for a worker that can read its recipe.
    public var isFailed: Bool
}

extension RecipeError {
    /// Whether a worker of another build may be able to read the recipe.
    var isOfOurBuild: Bool { code == .unsupportedVersion }
}

/// A row of `claim` or `held`.
struct ClaimedRow: Sendable {
    var fence: Fence
    var recipeText: String
    var recipe: Result<Recipe, RecipeError>
    var claim: @Sendable (Recipe) -> Claim
}

extension ClaimedRow {
    init(_ row: Row, _ reader: inout RecipeReader) throws {
        let fence = try Fence(row)
        let text = try (row["recipe"] as JSON).text
        let labels = Labels.read(try row["labels"])
        let (batch, queue, priority, cost): (Int64, String, Int, Int) = try (
            row["batch"], row["queue"], row["priority"], row["cost"]
        )
        let (attempt, maxAttempts, losses, deaths): (Int, Int, Int, Int) = try (
            row["attempt"], row["max_attempts"], row["lost"], row["room_deaths"]
        )
        let workersLost: Int = try row["workers_lost"]
        let tenant: String? = try row["tenant"]
        self.fence = fence
        recipeText = text
        recipe = reader.recipe(text)
        claim = { recipe in
            Claim(
                fence: fence,
                recipe: recipe,
                batch: batch,
                queue: queue,
                priority: priority,
                cost: cost,
                labels: labels,
                tenant: tenant,
                attempt: attempt,
                maxAttempts: maxAttempts,
                losses: losses,
                roomDeaths: deaths,
                workersLost: workersLost
            )
        }
    }
}

extension Fence {
    /// Reads the columns `job`, `epoch` and `lease_id`.
    init(_ row: Row) throws {
        self.init(job: try row["job"], epoch: try row["epoch"], lease: try row["lease_id"])
    }
}
