import Conversion
import Foundation
import TestSupport
import Testing

@testable import Ledger

/// A retry may change how a recipe handles damage, and the record keeps the earlier settings.
struct AmendingTests {
    /// A ledger with a worker, and for each of `damage` a job that has failed for good.
    private func lab(_ damage: [DamageMode]) async throws -> (lab: LedgerLab, worker: WorkerEntry, jobs: [Int64]) {
        let lab = try await LedgerLab()
        let worker = try await lab.worker()
        let requests = damage.enumerated().map { number, mode in
            var recipe = LedgerLab.recipe("a/\(number)")
            recipe.damage = mode
            return JobRequest(recipe)
        }
        let receipt = try await lab.ledger.submit(Submission(), requests)
        let claims = try await lab.claim(Int32(damage.count), for: worker)
        try await lab.ledger.fail(claims.map { AttemptFailure($0.fence, LedgerLab.failure(.permanent)) })
        return (lab, worker, Array(receipt.firstJob...receipt.lastJob))
    }

    @Test func retriedJobsMeetDamageAsTheyAreToldAndTheRestOfTheirRecipesStays() async throws {
        let (lab, worker, jobs) = try await lab([.strict, .skip])
        let change = JobChange.retryWithDamage(.conceal)
        #expect(try await lab.ledger.count(of: change, matching: JobFilter(ids: [jobs[0]])) == 1)
        #expect(try await lab.ledger.apply(change, to: JobFilter(ids: [jobs[0]])).changed == 1)
        let claim = try #require(try await lab.claim(1, for: worker).first)
        var expected = LedgerLab.recipe("a/0")
        expected.damage = .conceal
        #expect(claim.recipe == expected)
        #expect((claim.attempt, claim.fence.epoch) == (1, 2))
        #expect(try await lab.state(jobs[1]) == "failed")
        #expect(try await lab.ledger.story(of: jobs[1])?.amendments == [])
    }

    @Test func recordTellsHowDamageWasMetUntilWhichAttempt() async throws {
        let (lab, worker, jobs) = try await lab([.strict])
        for mode in [DamageMode.conceal, .conceal, .skip] {
            try await lab.ledger.apply(.retryWithDamage(mode), to: JobFilter(ids: jobs))
            let claim = try #require(try await lab.claim(1, for: worker).first)
            #expect(claim.recipe.damage == mode)
            try await lab.ledger.fail([AttemptFailure(claim.fence, LedgerLab.failure(.permanent))])
        }
        // The second retry changed nothing.
        let story = try #require(try await lab.ledger.story(of: jobs[0]))
        #expect(story.amendments.map(\.damage) == [.strict, .conceal])
        #expect(story.amendments.map(\.untilEpoch) == [1, 3])
        #expect(story.amendments.allSatisfy { $0.changedBy == "postgres" && $0.changedAt >= story.submittedAt })
        #expect(try Recipe(json: story.recipe).damage == .skip)
        #expect(try await lab.ledger.stories(of: jobs) == [story])
    }

    @Test func trustingThePacketsRaisesTheVersionOfTheRecipe() async throws {
        let (lab, worker, jobs) = try await lab([.strict])
        try await lab.ledger.apply(.retryWithDamage(.trustPackets), to: JobFilter(ids: jobs))
        let claim = try #require(try await lab.claim(1, for: worker).first)
        #expect(claim.recipe.damage == .trustPackets)
        let recipe = try #require(try await lab.ledger.story(of: jobs[0])?.recipe)
        #expect(recipe.contains("\"version\": 4"))
    }

    /// Registers a worker that knows no recipes of version 4.
    private func olderWorker(_ lab: LedgerLab) async throws -> WorkerEntry {
        let worker = try await lab.worker("older")
        try await lab.lab.run { connection in
            _ = try connection.execute(
                """
                update \(lab.schema).worker set abilities = array_remove(abilities, 'recipe:4') where id = \(worker.worker)
                """
            )
        }
        return worker
    }

    /// Regression: the job stayed in its lane, and a worker of an earlier release took it and could not read its recipe.
    @Test func workersThatDoNotKnowTheModeDoNotTakeTheJob() async throws {
        let (lab, worker, jobs) = try await lab([.strict, .strict])
        let older = try await olderWorker(lab)
        let filter = JobFilter(ids: jobs)
        // The recipe keeps its version, so a later retry leads to the same workers.
        for change in [JobChange.retryWithDamage(.trustPackets), .retry, .retryWithDamage(.skip)] {
            #expect(try await lab.ledger.apply(change, to: filter).changed == 2)
            #expect(try await lab.claim(2, for: older).isEmpty)
            #expect(try await lab.ledger.story(of: jobs[0])?.needs.contains("recipe:4") == true)
            let claims = try await lab.claim(2, for: worker)
            #expect(claims.count == 2)
            try await lab.ledger.fail(claims.map { AttemptFailure($0.fence, LedgerLab.failure(.permanent)) })
        }
    }

    /// The same for a job that waits for another try.
    @Test func delayedJobsThatTrustPacketsGoToNewerWorkers() async throws {
        let lab = try await LedgerLab()
        try await lab.set("retry_base = '10 min'")
        let (worker, older) = (try await lab.worker(), try await olderWorker(lab))
        let filter = JobFilter(batch: try await lab.submit(2).batch)
        let claims = try await lab.claim(2, for: older)
        try await lab.ledger.fail([AttemptFailure(claims[0].fence, LedgerLab.failure(.transient))])
        try await lab.ledger.fail([AttemptFailure(claims[1].fence, LedgerLab.failure(.permanent))])
        #expect(try await lab.ledger.apply(.retryWithDamage(.trustPackets), to: filter).changed == 2)
        #expect(try await lab.claim(2, for: older).isEmpty)
        #expect(try await lab.claim(2, for: worker).map(\.recipe.damage) == [.trustPackets, .trustPackets])
    }

    @Test func theLimitOnSilenceIsAmendedAndToldWithTheMode() async throws {
        let (lab, worker, jobs) = try await lab([.conceal])
        for (limit, expected) in [(nil, nil), (60, 60), (60, 60), (nil, 60), (90, 90)] as [(Int?, Int?)] {
            try await lab.ledger.apply(
                .retryWithDamage(.conceal, concealSeconds: limit),
                to: JobFilter(ids: jobs)
            )
            let claim = try #require(try await lab.claim(1, for: worker).first)
            #expect(claim.recipe.limits?.concealSeconds == expected)
            try await lab.ledger.fail([AttemptFailure(claim.fence, LedgerLab.failure(.permanent))])
        }
        let story = try #require(try await lab.ledger.story(of: jobs[0]))
        #expect(story.amendments.map(\.concealSeconds) == [nil, 60])
        #expect(story.amendments.map(\.untilEpoch) == [2, 5])
        #expect(try Recipe(json: story.recipe).limits == Recipe.Limits(concealSeconds: 90))
    }

    @Test(arguments: [("conceal", 0), ("skip", 5), (nil, 5)] as [(String?, Int32)])
    func aLimitOnSilenceThatMeansNothingIsRefused(mode: String?, limit: Int32) async throws {
        let (lab, _, _) = try await lab([.strict])
        await #expect(throws: LedgerError.self) {
            try await lab.lab.run { connection in
                _ = try connection.execute(
                    "select * from \(lab.schema).retry_jobs('{}', null, 10, \(mode), \(limit))"
                )
            }
        }
    }

    @Test func jobsThatWaitForAnotherTryAreAmendedAndGoAtOnce() async throws {
        let lab = try await LedgerLab()
        try await lab.set("retry_base = '10 min'")
        let worker = try await lab.worker()
        let job = try await lab.submit(1).firstJob
        let claim = try await lab.claim(1, for: worker)[0]
        try await lab.ledger.fail([AttemptFailure(claim.fence, LedgerLab.failure(.transient))])
        #expect(try await lab.ledger.apply(.retryWithDamage(.skip), to: JobFilter(ids: [job])).changed == 1)
        #expect(try await lab.claim(1, for: worker).map(\.recipe.damage) == [.skip])
    }

    @Test func whatRunsOrIsDoneIsLeftAsItIs() async throws {
        let lab = try await LedgerLab()
        let worker = try await lab.worker()
        let receipt = try await lab.submit(3)
        let claims = try await lab.claim(2, for: worker)
        try await lab.ledger.publish([LedgerLab.publication(claims[0].fence)])
        try await lab.ledger.finish([claims[0].fence])
        #expect(try await lab.ledger.apply(.retryWithDamage(.conceal), to: JobFilter(batch: receipt.batch)).seen == 0)
        for job in receipt.firstJob...receipt.lastJob {
            let story = try #require(try await lab.ledger.story(of: job))
            #expect(try Recipe(json: story.recipe).damage == .strict)
            #expect(story.amendments.isEmpty)
        }
    }

    @Test func otherWordsAreRefused() async throws {
        let lab = try await LedgerLab()
        await #expect(throws: LedgerError.self) {
            try await lab.lab.run { connection in
                _ = try connection.execute("select * from \(lab.schema).retry_jobs('{}', null, 10, 'hope')")
            }
        }
    }
}
