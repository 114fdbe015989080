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
        #expect(sessions.isValid(token.text))
        for other in ["", "secret", String(token.text.dropLast()), AccessToken().text] {
            #expect(!sessions.isValid(other), "\(other)")
        }
        let second = try #require(sessions.begin(with: "secret"))
        sessions.end(token.text)
        #expect(!sessions.isValid(token.text) && sessions.isValid(second.text))
    }

    @Test func aSessionEndsAfterAWeek() throws {
        let sessions = try sessions()
        let now = ContinuousClock.now
        let token = try #require(sessions.begin(with: "secret", now: now)).text
        #expect(sessions.isValid(token, now: now + .seconds(6 * 86_400)))
        #expect(!sessions.isValid(token, now: now + LinkSessions.life))
    }

    @Test func ofTooManyTheOldestEnd() throws {
        let sessions = try sessions()
        let now = ContinuousClock.now
        let tokens = try (0...LinkSessions.most).map { number in
            try #require(sessions.begin(with: "secret", now: now + .seconds(number))).text
        }
        let valid = tokens.filter { sessions.isValid($0, now: now) }
        #expect(valid == Array(tokens.dropFirst()))
    }

    @Test func theOwnerActsAsOperatorAndAsSubmitter() throws {
        let sessions = try sessions()
        #expect(sessions.steering.caller == Caller(name: "page@local", role: .operator, tenant: nil))
        #expect(sessions.submitting.caller == Caller(name: "page@local", role: .submitter, tenant: nil))
    }
}
