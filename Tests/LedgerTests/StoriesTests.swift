import Conversion
import Foundation
import TestSupport
import Testing

@testable import Ledger

/// The stories of many jobs, read in one call, equal those read one by one.
struct StoriesTests {
    @Test func storiesOfAPageAreThoseOfEachJob() async throws {
        let lab = try await LedgerLab()
        let worker = try await lab.worker()
        try await lab.set("retry_base = '10 min'")
        let first = try await lab.submit(7, Submission(label: "many", labels: ["by": "ada"]))
        let later = try await lab.submit(1, Submission(runAt: try await lab.ledger.time() + 3_600))
        try await lab.submit(1, Submission(queue: "held"))
        try await lab.ledger.setPaused(true, queue: "held")
        let receipt = try await lab.ledger.submit(Submission(), [JobRequest(LedgerLab.recipe("x"), needs: ["root:no"])])
        let claims = try await lab.claim(6, for: worker)
        // One job for each state, and one with several attempts.
        try await lab.ledger.publish(claims[0...1].map { LedgerLab.publication($0.fence) })
        try await lab.ledger.finish([claims[0].fence])
        try await lab.ledger.fail([
            AttemptFailure(claims[2].fence, LedgerLab.failure(.permanent)),
            AttemptFailure(claims[3].fence, LedgerLab.failure(.transient)),
        ])
        try await lab.ledger.apply(.retryWithDamage(.skip), to: JobFilter(ids: [claims[2].fence.job]))
        try await lab.ledger.apply(.cancel, to: JobFilter(ids: [claims[3].fence.job]))
        _ = try await lab.heartbeat.beat(
            worker.worker,
            [RunningJob(claims[4].fence, frames: 5, totalFrames: 9, slot: 1)]
        )
        let all = Array(first.firstJob...receipt.lastJob)
        var expected: [JobStory] = []
        for job in all { expected.append(try #require(try await lab.ledger.story(of: job))) }
        #expect(try await lab.ledger.stories(of: all.reversed() + [4_711]) == expected)
        let states = Set(expected.map(\.summary.state))
        #expect(states == [.waiting, .delayed, .running, .publishing, .completed, .cancelled])
        let reasons = Set(expected.compactMap(\.waitingFor))
        #expect(reasons == [.line, .runAt, .paused, .unable])
        #expect(expected.contains { $0.summary.job == later.firstJob && $0.waitingFor == .runAt })
        try await lab.ledger.setRunningLimit(1, queue: "default")
        #expect(try await lab.ledger.stories(of: [first.lastJob]).map(\.waitingFor) == [.limit])
        #expect(try await lab.ledger.stories(of: []) == [])
    }
}
