import Ledger
import Testing

@testable import API

/// Sessions that begin with one-time links.
struct LinkSessionsTests {
    private func sessions(_ valid: String = "secret") throws -> LinkSessions {
        // It connects to nothing before it is asked for something.
        let ledger = try JobLedger(LedgerConfiguration(url: "postgresql://nobody@localhost/none"))
        return try LinkSessions(ledger) { $0 == valid }
    }

    @Test func aValidLinkBeginsASessionThatEnds() throws {
        let sessions = try sessions()
        let refused = sessions.begin(with: "other")
        #expect(refused == nil)
        let token = try #require(sessions.begin(with: "secret"))
        #expect(sessions.valid(token.text) == token)
        for other in ["", "secret", String(token.text.dropLast()), AccessToken().text] {
            #expect(sessions.valid(other) == nil, "\(other)")
        }
        let second = try #require(sessions.begin(with: "secret"))
        sessions.end(token.text)
        #expect(sessions.valid(token.text) == nil && sessions.valid(second.text) == second)
    }

    @Test func aSessionEndsAfterAWeek() throws {
        let sessions = try sessions()
        let now = ContinuousClock.now
        let token = try #require(sessions.begin(with: "secret", now: now)).text
        #expect(sessions.valid(token, now: now + .seconds(6 * 86_400)) != nil)
        #expect(sessions.valid(token, now: now + LinkSessions.life) == nil)
    }

    @Test func ofTooManyTheOldestEnd() throws {
        let sessions = try sessions()
        let now = ContinuousClock.now
        let tokens = try (0...LinkSessions.most).map { number in
            try #require(sessions.begin(with: "secret", now: now + .seconds(number))).text
        }
        let valid = tokens.filter { sessions.valid($0, now: now) != nil }
        #expect(valid == Array(tokens.dropFirst()))
    }

    @Test func requestsThatLastAreToldOfTheEnd() throws {
        let sessions = try sessions()
        let first = try #require(sessions.begin(with: "secret"))
        let second = try #require(sessions.begin(with: "secret"))
        let (ended, other) = (sessions.watch(first), sessions.watch(second))
        #expect(!ended.isOver && !other.isOver)
        sessions.end(first.text)
        #expect(ended.isOver && !other.isOver)
        // The session may end before the request is watched.
        #expect(sessions.watch(first).isOver)
        for _ in 0..<LinkSessions.most { _ = sessions.begin(with: "secret") }
        #expect(other.isOver)
    }

    @Test func requestsThatLastEndAfterAWeek() async throws {
        let sessions = try sessions()
        let token = try #require(sessions.begin(with: "secret", now: .now - LinkSessions.life + .milliseconds(200)))
        let watch = sessions.watch(token)
        await withCheckedContinuation { continuation in watch.whenOver { continuation.resume() } }
        #expect(watch.isOver)
    }

    @Test func theOwnerActsAsOperatorAndAsSubmitter() throws {
        let sessions = try sessions()
        #expect(sessions.steering.caller == Caller(name: "page@local", role: .operator, tenant: nil))
        #expect(sessions.submitting.caller == Caller(name: "page@local", role: .submitter, tenant: nil))
    }
}
