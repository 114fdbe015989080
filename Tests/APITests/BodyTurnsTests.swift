import System
import TestSupport
import Testing

@testable import API

/// How large bodies wait for each other.
struct BodyTurnsTests {
    private static let large = [UInt8](repeating: 32, count: BodyTurns.smallBytes + 1)

    /// A turn of the account "a", which ends when the continuation does.
    private func heldTurn(of turns: BodyTurns) async -> (Task<Int, any Error>, AsyncStream<Void>.Continuation) {
        let (began, beginning) = AsyncStream<Void>.makeStream()
        let (goesOn, going) = AsyncStream<Void>.makeStream()
        let held = Task<Int, any Error> {
            try await turns.answer(Self.large, of: "a") {
                .success($0.count)
            } run: { count in
                beginning.finish()
                for await _ in goesOn {}
                return count
            }
        }
        for await _ in began {}
        return (held, going)
    }

    @Test func smallBodiesDoNotWait() async throws {
        let turns = BodyTurns(most: 1)
        let (held, going) = await heldTurn(of: turns)
        for _ in 0..<10 {
            let count = try await turns.answer([1], of: "a") {
                .success($0.count)
            } run: {
                $0
            }
            #expect(count == 1)
        }
        going.finish()
        #expect(try await held.value == Self.large.count)
    }

    @Test func oneOfEachAccountAndFewOfAllRunAtATime() async throws {
        let turns = BodyTurns(most: 2)
        let running = Latest(0)
        let most = Latest(0)
        let ofOne = Latest(0)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<30 {
                let account = "\(number % 5)"
                group.addTask {
                    _ = try await turns.answer(Self.large, of: account) {
                        .success($0.count)
                    } run: { count in
                        let now = running.change { $0 += 1 }
                        _ = most.change { $0 = max($0, now) }
                        if account == "0" { _ = ofOne.change { $0 += 1 } }
                        // So long that the others would run meanwhile, if they were let.
                        for _ in 0..<20 { await Task.yield() }
                        if account == "0", ofOne.change({ $0 -= 1 }) > 0 { Issue.record("two of one account") }
                        _ = running.change { $0 -= 1 }
                        return count
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect((1...2).contains(most.value))
        #expect(running.value == 0)
    }

    @Test func bodiesOfClientsThatHaveLeftDoNotWait() async throws {
        let turns = BodyTurns(most: 1)
        let (held, going) = await heldTurn(of: turns)
        let leaving = Task {
            try await turns.answer(Self.large, of: "b") {
                .success($0.count)
            } run: {
                $0
            }
        }
        // Nothing tells that it waits.
        while await turns.waitingCount == 0 { await Task.yield() }
        leaving.cancel()
        await #expect(throws: CancellationError.self) { try await leaving.value }
        let waiting = await turns.waitingCount
        #expect(waiting == 0)
        going.finish()
        #expect(try await held.value == Self.large.count)
    }

    @Test func aBodyThatIsRefusedGivesItsTurnBack() async throws {
        let turns = BodyTurns(most: 1)
        for _ in 0..<3 {
            await #expect(throws: Problem.self) {
                try await turns.answer(Self.large, of: "a") { _ in
                    .failure(Problem(.badBody))
                } run: { (_: Int) in
                    1
                }
            }
        }
    }
}
