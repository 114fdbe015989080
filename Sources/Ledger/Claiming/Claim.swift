public import Conversion

/// A job that a worker may work on.
public struct Claim: Sendable, Hashable {
    /// To be repeated with every word about the job.
    public var fence: Fence
    public var recipe: Recipe
    public var batch: Int64
    public var queue: String
    public var priority: Int
    public var cost: Int
    public var labels: [String: String]
    /// Which of the attempts that count this is, from 1.
    public var attempt: Int
    public var maxAttempts: Int
    /// How often it was lost with its worker, or to what it ran on.
    public var losses: Int
    /// How many pump rooms died of it. One that killed some is better run alone.
    public var roomDeaths: Int
    /// How many workers were lost while they ran it. Such jobs are run one at a time.
    public var workersLost: Int
}

/// What a claim gave.
public struct Claims: Sendable, Hashable {
    public internal(set) var jobs: [Claim] = []
    /// Jobs that were claimed and cannot be worked on; what had to be said of them to the ledger has been said.
    public internal(set) var refused: [RefusedClaim] = []
}

/// A job whose recipe this build cannot read.
public struct RefusedClaim: Sendable, Hashable {
    public var fence: Fence
    public var error: RecipeError
    /// Whether the job failed for good; else it was handed back for a worker that can read it.
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
    /// Out of the columns `job`, `epoch` and `lease_id`.
    init(_ row: Row) throws {
        self.init(job: try row["job"], epoch: try row["epoch"], lease: try row["lease_id"])
    }
}
