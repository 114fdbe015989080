import Ledger
import System
import Testing

@testable import API

/// How look-ups of tokens that are not known wait for each other.
struct TokenLookUpsTests {
    /// Statements that are answered only after `answers.finish()`.
    private struct Statements: Sendable {
        let asked = Latest<[[AccessToken]]>([])
        private let held: AsyncStream<Void>
        let answers: AsyncStream<Void>.Continuation

        init() { (held, answers) = AsyncStream<Void>.makeStream() }

        @Sendable func find(_ tokens: [AccessToken]) async -> [TokenRecord?] {
            _ = asked.change { $0.append(tokens) }
            for await _ in held {}
            return [TokenRecord?](repeating: nil, count: tokens.count)
        }
    }

    /// Looks a token up, and returns once it waits, or is in the statement that is held.
    private func begin(
        _ lookUps: TokenLookUps,
        _ statements: Statements,
        _ token: AccessToken,
        isKnown: Bool = false,
        from network: String,
        refused: Latest<Int> = Latest(0)
    ) async -> Task<Void, any Error> {
        let before = (await lookUps.waitingCount, statements.asked.value.count, refused.value)
        let task = Task {
            do {
                let record = try await lookUps.record(of: token, isKnown: isKnown, from: network)
                #expect(record == nil)
            } catch is Problem {
                _ = refused.change { $0 += 1 }
            }
        }
        while (await lookUps.waitingCount, statements.asked.value.count, refused.value) == before {
            // Nothing tells that it waits, or was asked for, or refused.
            await Task.yield()
        }
        return task
    }

    @Test func aFloodOfOneNetworkLeavesPlacesForOthers() async throws {
        let statements = Statements()
        let lookUps = TokenLookUps(most: 100, mostInOne: 4, statements.find)
        let (quiet, known) = (AccessToken(), AccessToken())
        var tasks = [await begin(lookUps, statements, AccessToken(), from: "flood")]
        // The first statement keeps the others waiting.
        while statements.asked.value.isEmpty { await Task.yield() }
        for _ in 0..<10 { tasks.append(await begin(lookUps, statements, AccessToken(), from: "flood")) }
        tasks.append(await begin(lookUps, statements, quiet, from: "quiet"))
        tasks.append(await begin(lookUps, statements, known, isKnown: true, from: "flood"))
        statements.answers.finish()
        for task in tasks { try await task.value }
        let asked = statements.asked.value
        let second = try #require(asked.dropFirst().first)
        #expect(second.count == 4 && second.contains(quiet) && second.first == known)
        #expect(Set(asked.joined()).count == 13 && asked.count == 4)
    }

    @Test func theLongestLineIsCut() async throws {
        let statements = Statements()
        let lookUps = TokenLookUps(most: 5, mostInOne: 1, statements.find)
        let refused = Latest(0)
        let quiet = AccessToken()
        var tasks = [await begin(lookUps, statements, AccessToken(), from: "flood")]
        // The first statement keeps the others waiting.
        while statements.asked.value.isEmpty { await Task.yield() }
        for _ in 0..<6 {
            tasks.append(await begin(lookUps, statements, AccessToken(), from: "flood", refused: refused))
        }
        // The sixth finds no place.
        #expect(refused.value == 1)
        tasks.append(await begin(lookUps, statements, quiet, from: "quiet", refused: refused))
        #expect(refused.value == 2)
        statements.answers.finish()
        for task in tasks { try await task.value }
        #expect(statements.asked.value.joined().contains(quiet))
    }
}
