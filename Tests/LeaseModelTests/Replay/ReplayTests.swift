import Foundation
import Testing

/// Holds the model's ledger against the SQL functions of the migrations.
///
/// Whole runs of the model are repeated on a PostgreSQL: each call that reaches the model's ledger is made there at the
/// same time, and each answer is compared, as are the tables after each change. A failover that loses commits returns
/// to a savepoint.
///
/// `SLUICE_REPLAYS=n` replays that many seeds of each weather, and `SLUICE_SEED=n` replays one seed.
@Suite struct ReplayTests {
    private static let environment = ProcessInfo.processInfo.environment
    private static let standard: Range<UInt64> = 0..<75
    private static let seeds: Range<UInt64> =
        if let seed = environment["SLUICE_SEED"].flatMap({ UInt64($0) }) {
            seed..<seed + 1
        } else {
            0..<(environment["SLUICE_REPLAYS"].flatMap { UInt64($0) } ?? standard.upperBound)
        }
    private static let weathers: [Weather] = [.mixed, .partitions, .sleep, .tails]

    /// All functions, with all answers but one: `release` answers `publishing` only to a worker that does not wait for
    /// the answer to its publication.
    private static let kinds: Set<String> = [
        "submit", "cancel_jobs waiting", "cancel_jobs delayed", "cancel_jobs running", "cancel_jobs publishing",
        "retry_jobs delayed", "retry_jobs publishing", "retry_jobs failed", "retry_jobs cancelled",
        "register", "stop_worker", "claim", "claim refused", "claim stranger", "bar_claims", "bar_claims stranger",
        "held", "held stranger", "beat", "beat refused", "beat stranger",
        "publish done", "publish repeated", "publish lost", "publish cancelled",
        "finish done", "finish repeated", "finish lost",
        "fail done", "fail repeated", "fail lost", "fail cancelled",
        "release done", "release repeated", "release lost", "release cancelled",
        "tick", "take_unfinished", "take_unfinished handed", "standing_fences",
    ]

    @Test func sqlFunctionsAnswerAsTheModelDoes() async throws {
        let report = try await withThrowingTaskGroup(of: ReplayReport.self) { group in
            for weather in Self.weathers {
                group.addTask { try await ReplayLab().replay(Self.seeds, in: weather) }
            }
            return try await group.reduce(into: ReplayReport()) { $0.add($1) }
        }
        #expect(report.difference == nil, "\(report.difference ?? "")")
        guard report.difference == nil, Self.seeds == Self.standard else { return }
        #expect(report.seeds == 300)
        #expect(report.kinds.isSuperset(of: Self.kinds), "missing: \(Self.kinds.subtracting(report.kinds).sorted())")
        #expect(report.failovers > 500)
    }

    /// Replays the first trace in which the guard decides an answer, up to there. The functions answer as the model
    /// does, and no longer without the guard.
    @Test(.serialized, arguments: GuardInSQL.all)
    func replayFindsThatAGuardIsMissing(_ missing: GuardInSQL) async throws {
        let weather = missing.identity.weather
        let lowest = (missing.firstSeed..<missing.firstSeed + 500).lazy
            .compactMap { seed in
                let whole = Run(seed: seed, in: weather).ledgerTrace().entries
                return whole.upToWhatIsDecided(by: missing.identity).map { (seed, Array($0)) }
            }
            .first
        let (seed, entries) = try #require(lowest, "no trace shows what the guard is for")
        let lab = try await Self.lab.value
        let difference = try await lab.difference(in: entries, of: seed, weather)
        #expect(difference == nil, "\(difference ?? "")")
        let found = try await lab.difference(in: entries, of: seed, weather, without: missing)
        let story = try #require(found, "nothing differs without the guard")
        #expect(story.contains("seed \(seed), weather \(weather), step "))
        #expect(story.contains("the model ") && story.contains("PostgreSQL "))
    }

    /// The guards are removed in it one by one, each in a transaction that is rolled back.
    private static let lab = Task { try await ReplayLab() }
}
