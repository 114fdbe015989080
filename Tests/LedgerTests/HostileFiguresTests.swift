import Conversion
import Foundation
import TestSupport
import Testing

@testable import Ledger

/// Measurements that no correct worker sends. The ledger stores the nearest values that its columns hold, and no
/// other job waits because of them.
struct HostileFiguresTests {
    /// A length in milliseconds above half of what a bigint holds.
    private static let endless = Duration.seconds(4_600_000_000_000_000)

    private func publication(_ fence: Fence, _ facts: AttemptFacts) -> Publication {
        var publication = LedgerLab.publication(fence)
        publication.facts = facts
        return publication
    }

    @Test func soundWithoutEndStopsNeitherFinishNorCounts() async throws {
        let lab = try await LedgerLab()
        try await lab.submit(6)
        let worker = try await lab.worker()
        let fences = try await lab.claim(6, for: worker).map(\.fence)
        let facts = AttemptFacts(
            slot: 1,
            framesIn: .max,
            framesOut: .max,
            audio: Self.endless,
            cpu: Self.endless,
            peakBytes: .max
        )
        // The last two are honest jobs in the same call.
        let words = fences.prefix(4).map { publication($0, facts) } + fences.suffix(2).map(LedgerLab.publication)
        #expect(try await lab.ledger.publish(words) == Array(repeating: .done, count: 6))
        #expect(try await lab.ledger.finish(fences) == Array(repeating: .done, count: 6))
        #expect(try await lab.ledger.keepHouse().chores.allSatisfy { $0.error == nil })
        #expect(try await lab.ledger.status().jobs.completed == 6)
        #expect(try await lab.ledger.batch(1)?.jobs.completed == 6)
    }

    /// Rows that an older build accepted.
    @Test func whatStandsInTheTablesAlreadyIsFoldedToo() async throws {
        let lab = try await LedgerLab()
        try await lab.submit(1)
        for _ in 0..<3 {
            try await lab.lab.run { connection in
                try connection.execute(
                    """
                    insert into \(lab.schema).count_delta (queue, batch, state, jobs, audio_ms, at)
                    select 1, 1, 'completed', 1, 9223372036854775807, clock_timestamp() from generate_series(1, 3)
                    """
                )
            }
            try await lab.age(by: .seconds(3))
            #expect(try await lab.ledger.keepHouse().chores.allSatisfy { $0.error == nil })
        }
        #expect(try await lab.ledger.status().audioLately > .zero)
    }

    @Test func failureWithNumbersBeyondTheColumnsIsStored() async throws {
        let lab = try await LedgerLab()
        try await lab.submit(2)
        let worker = try await lab.worker()
        let claims = try await lab.claim(2, for: worker)
        var failure = LedgerLab.failure(.transient)
        (failure.stream, failure.frame) = (1 << 40, .max)
        failure.position = MediaTime(value: .max, timescale: 1)
        let facts = AttemptFacts(slot: .max, framesIn: .max, framesOut: .max, audio: Self.endless, peakBytes: .max)
        let reports = [
            AttemptFailure(claims[0].fence, failure, facts: facts),
            AttemptFailure(claims[1].fence, LedgerLab.failure(.permanent)),
        ]
        #expect(try await lab.ledger.fail(reports) == [.done, .done])
        let story = try #require(try await lab.ledger.story(of: claims[0].fence.job))
        #expect(story.attempts[0].failure?.code == failure.code)
        #expect(story.attempts[0].failure?.stream == nil)
    }

    /// Calls the functions directly, as a compromised worker may.
    @Test func functionsTakeWhateverNumberIsSaid() async throws {
        let lab = try await LedgerLab()
        try await lab.submit(2)
        let worker = try await lab.worker()
        let fences = try await lab.claim(2, for: worker).map(\.fence)
        let numbers = ["-1", "1e300", "9223372036854775808", "-9223372036854775809", "0.5", "2147483648"]
        for (place, number) in numbers.enumerated() {
            let text = """
                [{"job": \(fences[0].job), "epoch": \(place + 1), "lease_id": "\(fences[0].lease)", "code": "x",
                  "class": "infrastructure", "stage": "decode", "message": "m", "stream": \(number), "frame": \(number),
                  "slot": \(number), "frames_in": \(number), "frames_out": \(number), "audio_ms": \(number),
                  "cpu_ms": \(number), "peak_bytes": \(number)}]
                """
            let answers: [String] = try await lab.lab.run { connection in
                try connection.rows("select answer::text from \(lab.schema).fail(\(JSON(text: text)))") { try $0[0] }
            }
            #expect(answers == [place == 0 ? "done" : "lost"], "\(number)")
        }
    }

    @Test func lossesAreCountedAsFarAsTheirColumnGoes() async throws {
        let lab = try await LedgerLab()
        try await lab.submit(1)
        let worker = try await lab.worker()
        try await lab.lab.run { connection in
            try connection.execute("update \(lab.schema).waiting set lost = 32767, room_deaths = 32766")
        }
        let claim = try #require(try await lab.claim(1, for: worker).first)
        #expect(try await lab.ledger.fail([AttemptFailure(claim.fence, LedgerLab.failure(.infrastructure))]) == [.done])
        #expect(try await lab.state(claim.fence.job) == "delayed")
    }
}
