import Conversion
import Foundation
import Hashing
import TestSupport
import Testing

@testable import Ledger

/// Tokens: their text, their life, and what a restriction to a queue means.
struct TokenTests {
    @Test func aTokenIsReadAsItWasWritten() throws {
        let token = AccessToken()
        #expect(token.text.wholeMatch(of: /slt_[0-9a-f]{72}/) != nil)
        #expect(try AccessToken(token.text) == token)
        #expect(AccessToken() != token)
    }

    @Test func eachChangedOrLostCharacterIsNoticed() throws {
        let text = AccessToken().text
        for place in text.indices {
            var other = text
            other.replaceSubrange(place...place, with: text[place] == "0" ? "1" : "0")
            #expect(throws: LedgerError.self) { try AccessToken(other) }
            other = text
            other.remove(at: place)
            #expect(throws: LedgerError.self) { try AccessToken(other) }
        }
        for other in [
            "", "slt_", text.uppercased(), text + "0", " " + text, "slt_" + String(repeating: "é", count: 72),
        ] {
            #expect(throws: LedgerError.self) { try AccessToken(other) }
        }
    }

    @Test func noDescriptionShowsTheSecret() throws {
        let token = AccessToken()
        var dumped = ""
        dump(token, to: &dumped)
        let secret = token.text.dropFirst(4).prefix(64)
        for text in ["\(token)", String(reflecting: token), dumped, "\([token])", "\(Optional(token) as Any)"] {
            #expect(!text.contains(secret) && !text.contains("\(token.text.prefix(12))"))
        }
        var broken = token.text
        broken.removeLast()
        do { _ = try AccessToken(broken) } catch { #expect(!"\(error)".contains(secret.prefix(8))) }
    }

    @Test func theHashIsThatOfTheServer() async throws {
        let lab = try await LedgerLab()
        // One block and its padding, and more.
        for count in 0...130 {
            let message = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 151 &+ count) }
            let expected: Data = try await lab.value("select sha256(\(Data(message)))")
            #expect(Data(SHA256Hash.digest(of: message)) == expected, "\(count) bytes")
        }
    }

    @Test func aTokenIsFoundUntilItExpiresOrIsRevoked() async throws {
        let lab = try await LedgerLab()
        let ledger = lab.ledger
        let token = try await ledger.createToken(named: "ci", role: .submitter, queue: "q", validFor: .seconds(600))
        let api = try lab.ledger(as: GrantTests.user("sluice_face", on: lab.lab.server))
        let found = try #require(try await api.find(token))
        #expect(found.state == .valid && found.name == "ci" && found.role == .submitter && found.queue == "q")
        #expect(try found.principal() == Principal(name: "ci", role: .submitter, queue: "q"))
        #expect(try await api.find(AccessToken()) == nil)
        #expect(try await ledger.tokens().map(\.name) == ["ci"])

        // The ledger holds the secret in no table.
        let rows: String = try await lab.value(
            "select (select string_agg(k::text, '') from \(lab.schema).token k) || (select string_agg(a::text, '') from \(lab.schema).audit a)"
        )
        #expect(rows.contains("ci") && !rows.contains(token.text.dropFirst(4).prefix(64)))

        try await lab.age(by: .seconds(601))
        #expect(try await api.find(token)?.state == .expired)
        #expect(try await ledger.tokens().isEmpty)
        #expect(try await ledger.tokens(withEnded: true).map(\.state) == [.expired])

        let other = try await ledger.createToken(named: "other", role: .viewer)
        #expect(try await api.find(other)?.expiresAt == nil)
        #expect(try await ledger.revokeToken("other")?.state == .revoked)
        #expect(try await api.find(other)?.state == .revoked)
        #expect(try await ledger.revokeToken("other")?.state == .revoked)
        #expect(try await ledger.revokeToken("nothing") == nil)
        #expect(try await ledger.revokeToken("\(found.id)")?.name == "ci")
        // The name is free again.
        let next = try await ledger.createToken(named: "ci", role: .viewer)
        #expect(try await api.find(next)?.state == .valid)
        #expect(try await api.find(token)?.state == .revoked)
    }

    @Test func useIsRecordedToTheMinuteAndWrittenOnce() async throws {
        let lab = try await LedgerLab()
        let token = try await lab.ledger.createToken(named: "t", role: .viewer)
        let api = try lab.ledger(as: GrantTests.user("sluice_face", on: lab.lab.server))
        let id = try #require(try await api.find(token)).id
        #expect(try await api.find(token)?.usedAt == nil)
        // In the middle of a minute, so that the next seconds belong to it.
        let second: Double = try await lab.value("select extract(second from \(lab.schema).ledger_time())::float8")
        try await lab.age(by: .seconds(second < 20 ? 0 : 61 - second))
        func version() async throws -> String {
            try await lab.value("select xmin::text from \(lab.schema).token where id = \(id)")
        }
        try await api.noteUses(ofTokens: [id: .zero, 999: .zero])
        let used = try #require(try await api.find(token)?.usedAt)
        #expect(used.timeIntervalSince1970.truncatingRemainder(dividingBy: 60) == 0)
        let first = try await version()
        try await api.noteUses(ofTokens: [id: .seconds(300)])
        #expect(try await version() == first)
        try await lab.age(by: .seconds(60))
        // Written in the next minute, and yet a use of this one.
        try await api.noteUses(ofTokens: [id: .seconds(60)])
        #expect(try await version() == first)
        try await api.noteUses(ofTokens: [id: .zero])
        #expect(try await api.find(token)?.usedAt == used + 60)
    }

    @Test func whatIsNoTokenIsRefused() async throws {
        let lab = try await LedgerLab()
        let ledger = lab.ledger
        _ = try await ledger.createTenant("radio")
        _ = try await ledger.createToken(named: "taken", role: .viewer)
        func code(_ name: String, _ role: AccessRole = .viewer, tenant: String? = nil) async throws -> FailureCode {
            try await failure(of: { _ = try await ledger.createToken(named: name, role: role, tenant: tenant) }).code
        }
        #expect(try await code("taken") == .ledgerConflict)
        #expect(try await code("12") == .ledgerRefused)
        #expect(try await code("a b") == .ledgerRefused)
        #expect(try await code("", .viewer) == .ledgerRefused)
        #expect(try await code("a", tenant: "tv") == .ledgerRefused)
        #expect(try await code("a", .operator, tenant: "radio") == .ledgerRefused)
        #expect(try await ledger.tokens().map(\.name) == ["taken"])
        #expect(try await !ledger.createTenant("radio"))
        #expect(try await failure(of: { _ = try await ledger.createTenant("a b") }).code == .ledgerRefused)
        #expect(try await ledger.tenants().map(\.name) == ["radio"])
    }

    @Test func onlyOperatorsByLoginManageTokens() async throws {
        let lab = try await LedgerLab()
        let server = lab.lab.server
        let steward = try lab.ledger(as: GrantTests.user("sluice_operator", on: server))
        _ = try await steward.createToken(named: "a", role: .operator)
        let acting = try lab.ledger.acting(for: Principal(name: "a", role: .operator))
        #expect(try await acting.tokens().map(\.name) == ["a"])
        var refused: [@Sendable () async throws -> Void] = [
            { _ = try await acting.createToken(named: "b", role: .viewer) },
            { _ = try await acting.revokeToken("a") }, { _ = try await acting.createTenant("t") },
            { _ = try await acting.setLimits(TenantLimits(), of: "t") },
        ]
        for role in ["sluice_submitter", "sluice_viewer", "sluice_worker", "sluice_face"] {
            let ledger = try lab.ledger(as: GrantTests.user(role, on: server))
            refused += [
                { _ = try await ledger.createToken(named: "b", role: .viewer) }, { _ = try await ledger.tokens() },
                { _ = try await ledger.revokeToken("a") }, { _ = try await ledger.audit() },
                { _ = try await ledger.tenants() }, { _ = try await ledger.createTenant("t") },
            ]
            if role != "sluice_face" { refused.append { _ = try await ledger.find(AccessToken()) } }
        }
        for refused in refused {
            #expect(try await failure(of: { try await refused() }).code == .ledgerPermissionDenied)
        }
        #expect(try await lab.ledger.tokens(withEnded: true).map(\.state) == [.valid])
    }

    @Test func aTokenForAQueueChangesNothingElse() async throws {
        let lab = try await LedgerLab()
        let day = try await lab.submit(3, Submission(queue: "day"))
        let night = try await lab.submit(3, Submission(queue: "night"))
        let steward = try lab.ledger.acting(for: Principal(name: "o", role: .operator, queue: "night"))
        let submitter = try lab.ledger.acting(for: Principal(name: "s", role: .submitter, queue: "night"))
        let worker = try await lab.worker()

        #expect(try await submitter.submit(Submission(queue: "night"), recipes: [LedgerLab.recipe("x")]).jobCount == 1)
        #expect(try await submitter.submit(Submission(queue: "night"), LedgerLab.requests(300)).jobCount == 300)
        try await steward.setPaused(true, queue: "night")
        #expect(try await steward.count(of: .cancel, matching: JobFilter()) == 304)
        #expect(try await steward.count(of: .cancel, matching: JobFilter(batch: day.batch)) == 0)
        #expect(try await steward.apply(.cancel, to: JobFilter(ids: [day.firstJob, night.firstJob])).changed == 1)
        #expect(try await steward.apply(.cancel, to: JobFilter()).changed == 303)
        // It lists what its role lists.
        #expect(try await steward.status().jobs.waiting == 3)

        for refused: @Sendable () async throws -> Void in [
            { _ = try await submitter.submit(Submission(queue: "day"), recipes: [LedgerLab.recipe("y")]) },
            { _ = try await submitter.submit(Submission(queue: "day"), LedgerLab.requests(300)) },
            { _ = try await submitter.submit(Submission(queue: "new"), recipes: [LedgerLab.recipe("y")]) },
            { try await steward.setPaused(true, queue: "day") }, { try await steward.setRunningLimit(1, queue: "day") },
            { try await steward.setWeight(5, queue: "day") },
            { try await steward.setWeight(5, queue: "day", submitter: "postgres") },
            { try await steward.apply(.cancel, to: JobFilter(queue: "day")) },
            { _ = try await steward.wish(.drain, of: worker.worker) },
        ] {
            #expect(try await failure(of: { try await refused() }).code == .ledgerPermissionDenied)
        }
        #expect(try await lab.truth() == ["waiting": 3, "cancelled": 304])
    }
}
