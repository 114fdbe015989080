import Foundation
import TestSupport
import Testing

/// A model of the lease protocol: workers, coordinators, network, disk and failovers around a model of the ledger.
///
/// `SLUICE_SEED=n` replays one seed and prints its story. `SLUICE_WITHOUT=guard` also removes a guard, and
/// `SLUICE_WEATHER=tails` uses worlds whose failovers lose commits (`sleep`, `partitions`: see `Weather`).
/// `SLUICE_SEEDS=n` runs that many seeds instead of ten thousand.
@Suite struct LeaseModelTests {
    private static let environment = ProcessInfo.processInfo.environment
    private static let count = environment["SLUICE_SEEDS"].flatMap { Int($0) } ?? 10_000
    /// Enough seeds to find what breaks without a guard.
    private static let enough = 8_000

    @Test func everyPromiseHoldsWhateverHappens() async {
        let found = await Seeds.lowestBroken(Self.count)
        #expect(found == nil, "\(found.map { Run(seed: $0.seed).story() } ?? "")")
    }

    @Test func everyPromiseHoldsWhenFailoversLoseCommits() async {
        let found = await Seeds.lowestBroken(Self.count / 4, in: .tails)
        #expect(found == nil, "\(found.map { Run(seed: $0.seed, in: .tails).story() } ?? "")")
    }

    @Test func everyPromiseHoldsThroughPartitions() async {
        let found = await Seeds.lowestBroken(Self.count, in: .partitions)
        #expect(found == nil, "\(found.map { Run(seed: $0.seed, in: .partitions).story() } ?? "")")
    }

    /// Once the ledger is back, workers finish what they were doing when it went away.
    @Test func outageLongerThanALeaseTakesNoJobFromItsWorker() {
        var revivals = 0
        for seed in 0..<2_000 as Range<UInt64> {
            let run = Run(seed: seed)
            guard run.scenario.patience > 10 * Times.lease else { continue }
            let world = run.relive(Step.aroundAnOutage(of: 2 * Times.lease, drawnFrom: seed))
            let isLost = world.ledger.attempts.contains { $0.outcome == .lost }
            #expect(!isLost && world.violation == nil, "seed \(seed): \(world.violation?.rawValue ?? "lost")")
            revivals += world.ledger.revivals
        }
        #expect(revivals > 500)
    }

    @Test(arguments: Guard.bearing)
    func aPromiseBreaksWithout(_ missing: Guard) async {
        let found = await Seeds.lowestBroken(Self.enough, under: .all.without(missing), in: missing.weather)
        #expect(found != nil, "nothing breaks without \(missing)")
    }

    @Test(arguments: Guard.backed)
    func aPromiseBreaksWithoutBackedGuardAndWhatStandsBehind(_ missing: Guard) async throws {
        let backing = try #require(missing.backing)
        let alone = await Seeds.lowestBroken(Self.enough, under: .all.without(missing))
        #expect(alone == nil, "a promise breaks, although \(backing.because): \(alone?.promise.rawValue ?? "")")
        let guards = backing.by.reduce(Guards.all.without(missing)) { $0.without($1) }
        // Promises that break without the other guards alone do not count.
        let others = Set(backing.by.compactMap(\.ownPromise))
        let found = await Seeds.lowestBroken(Self.enough, under: guards, overlooking: others)
        #expect(found != nil, "nothing breaks without \(missing) and \(backing.by)")
    }

    @Test func synchronousReplicaLosesNoClaimAndNoOrder() {
        for seed in 0..<1_000 as Range<UInt64> {
            var none: [Step]?
            let world = Run(seed: seed, in: .synchronous).live(keeping: &none)
            #expect(world.lostClaims.isEmpty && world.lostOrders.isEmpty, "seed \(seed)")
        }
    }

    @Test func worldsReachWhatTheyAreFor() {
        var answers: Set<FenceAnswer> = []
        var outcomes: Set<Ledger.Outcome> = []
        var namings: Set<Folder.Naming> = []
        var endings: Set<Ledger.State> = []
        var losses = 0
        var revivals = 0
        for seed in 0..<1_000 as Range<UInt64> {
            var none: [Step]?
            let world = Run(seed: seed).live(keeping: &none)
            answers.formUnion(world.answers)
            namings.formUnion(world.namings)
            outcomes.formUnion(world.ledger.attempts.map(\.outcome))
            endings.formUnion(world.ledger.jobs.map(\.state))
            revivals += world.ledger.revivals
            losses += world.lostClaims.count + world.lostOrders.count
        }
        #expect(answers == [.done, .repeated, .lost, .cancelled])
        #expect(outcomes == [.completed, .failed, .lost, .released, .cancelled])
        #expect(namings == [.named, .adopted, .destinationExists, .attemptLost])
        #expect(endings == [.completed, .failed, .cancelled])
        #expect(losses > 100)
        #expect(revivals > 100)
    }

    @Test func seedIsReplayedExactly() throws {
        let run = Run(seed: 0, under: .all.without(.epochGrows))
        var steps: [Step]? = []
        let first = run.live(keeping: &steps)
        let second = run.relive(try #require(steps), isTraced: true)
        let third = run.relive(try #require(steps), isTraced: true)
        #expect(first.violation == second.violation)
        #expect(first.now == second.now)
        #expect(second.trace == third.trace)
    }

    @Test func storyIsShorterThanRunAndBreaksTheSame() async throws {
        let guards = Guards.all.without(.noClobber)
        let found = try #require(await Seeds.lowestBroken(Self.enough, under: guards))
        let run = Run(seed: found.seed, under: guards)
        var steps: [Step]? = []
        _ = run.live(keeping: &steps)
        let all = try #require(steps)
        let few = run.shrink(all, breaking: found.promise)
        #expect(few.count < all.count)
        #expect(run.relive(few).violation == found.promise)
        #expect(run.story().contains(found.promise.rawValue))
    }

    /// Prints the table of docs/decisions/0003-lease-model.md: how many of 20,000 seeds break without each guard.
    @Test(.enabled(if: environment["SLUICE_GUARD_TABLE"] != nil))
    func tellsWhatEachGuardIsGoodFor() async {
        for missing in Guard.allCases {
            let broken = await Seeds.broken(20_000, under: .all.without(missing), in: missing.weather)
            let kinds = Dictionary(grouping: broken, by: \.promise).sorted { $0.value.count > $1.value.count }
            let first = broken.map(\.seed).min().map { "\($0)" } ?? ""
            print(
                "guard | \(missing) | \(missing.weather) | \(broken.count) | \(first) | \(kinds.first?.key.rawValue ?? "")"
            )
        }
    }

    @Test(.enabled(if: environment["SLUICE_SEED"] != nil))
    func tellsTheStoryOfOneSeed() throws {
        let seed = try #require(Self.environment["SLUICE_SEED"].flatMap { UInt64($0) })
        var guards = Guards.all
        if let name = Self.environment["SLUICE_WITHOUT"] {
            let missing = try #require(Guard.allCases.first { "\($0)" == name }, "there is no guard \(name)")
            guards = guards.without(missing)
        }
        let weather: Weather =
            switch Self.environment["SLUICE_WEATHER"] {
            case "tails": .tails
            case "sleep": .sleep
            case "partitions": .partitions
            default: .mixed
            }
        print(Run(seed: seed, under: guards, in: weather).story())
    }
}
