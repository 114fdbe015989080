import Conversion
import Foundation
import TestSupport
import Testing

@testable import Ledger

/// What a submitter learns about earlier jobs, and a check about outputs.
struct EarlierJobTests {
    private static let stamp = SourceStamp(bytes: 5, modified: 1_763_000_000_123_456_789)

    private func number(_ recipe: Recipe) throws -> Int64 {
        var numbers = WorkNumbers()
        return try numbers.number(of: recipe)
    }

    @Test(arguments: [3, 500])
    func theLatestJobOfEachDestinationIsFound(count: Int) async throws {
        let lab = try await LedgerLab()
        let recipes = (0..<count).map { LedgerLab.recipe("x/\($0)") }
        let places = recipes.map { $0.outputs[0].location }
        #expect(try await lab.ledger.earlierJobs(at: places) == [EarlierJob?](repeating: nil, count: count))
        let first = try await lab.ledger.submit(Submission(), recipes.map { JobRequest($0, stamp: Self.stamp) })
        let waiting = try await lab.ledger.earlierJobs(at: places.reversed() + ["out:other"])
        #expect(waiting.last == .some(nil))
        let known: [EarlierJob] = waiting.dropLast().reversed().compactMap { $0 }
        let ids: [Int64] = known.map(\.job)
        let submitted: [Int64] = Array(first.firstJob...first.lastJob)
        #expect(ids == submitted)
        #expect(waiting.dropLast().allSatisfy { $0?.state == .waiting && $0?.stamp == Self.stamp })
        #expect(try waiting.dropLast().reversed().map { $0?.work } == recipes.map(number))
        // A later job replaces it, also from another queue.
        let later = try await lab.ledger.submit(Submission(queue: "other"), [JobRequest(recipes[1])])
        let found = try await lab.ledger.earlierJobs(at: places)
        #expect(found[1]?.job == later.firstJob && found[1]?.stamp == nil && found[1]?.batch == later.batch)
        #expect(found[0]?.job == first.firstJob)
    }

    @Test func theSameWorkHasTheSameNumber() throws {
        let recipe = LedgerLab.recipe("a")
        var skipping = recipe
        skipping.outputs[0].onConflict = .skip
        var strict = recipe
        strict.damage = .conceal
        #expect(try number(recipe) == number(skipping))
        #expect(try number(recipe) != number(strict))
        #expect(try number(recipe) != number(LedgerLab.recipe("b")))
    }

    @Test func whatBecameOfItIsTold() async throws {
        let lab = try await LedgerLab()
        try await lab.submit(4)
        let worker = try await lab.worker()
        let claims = try await lab.claim(4, for: worker)
        let fences = claims.map(\.fence)
        let places = claims.map { $0.recipe.outputs[0].location }
        try await lab.ledger.publish(Array(fences.prefix(3)).map(LedgerLab.publication))
        #expect(
            try await lab.ledger.earlierJobs(at: places).map { $0?.state } == [
                .publishing, .publishing, .publishing, .running,
            ]
        )
        try await lab.ledger.finish([FinishedJob(fences[0]), FinishedJob(fences[1], .skipped)])
        try await lab.ledger.fail([AttemptFailure(fences[3], LedgerLab.failure(.permanent))])
        let found = try await lab.ledger.earlierJobs(at: places, withDigests: true)
        #expect(found.map { $0?.state } == [.completed, .skipped, .publishing, .failed])
        #expect(found[0]?.bytes == 1_234 && found[0]?.digest?.count == 64)
        #expect(found[1]?.bytes == nil && found[3]?.code != nil)
        // Counts are right before and after they are folded.
        for _ in 0..<2 {
            let counts = try await lab.ledger.status().jobs
            #expect((counts.completed, counts.skipped, counts.failed, counts.publishing) == (1, 1, 1, 1))
            #expect(try await lab.ledger.batches().map(\.jobs) == [counts])
            try await lab.age(by: .seconds(5))
            _ = try await lab.ledger.keepHouse()
        }
        let outputs = try await lab.ledger.outputs()
        #expect(outputs.outputs.map(\.job) == [fences[0].job] && outputs.next == nil)
        let makers = try await lab.ledger.makers(of: places.map(RecordedOutput.init(at:)))
        #expect(makers.map { $0.map(\.state) } == [[.completed], [], [.publishing], []])
    }

    @Test func outputsComeInPages() async throws {
        let lab = try await LedgerLab()
        try await lab.submit(25)
        let worker = try await lab.worker()
        let fences = try await lab.claim(25, for: worker).map(\.fence)
        try await lab.ledger.publish(fences.map(LedgerLab.publication))
        try await lab.ledger.finish(fences)
        var (found, cursor, pages): ([Int64], JobCursor?, Int) = ([], nil, 0)
        repeat {
            let page = try await lab.ledger.outputs(after: cursor, limit: 10)
            found += page.outputs.map(\.job)
            cursor = page.next
            pages += 1
        } while cursor != nil
        #expect(found == fences.map(\.job).sorted(by: >) && pages == 3)
    }
}
