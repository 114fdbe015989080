import Conversion
import TestSupport
import Testing

@testable import Ledger

/// What a login is told that the server refuses.
struct AccessHintTests {
    /// A server that asks all but its owner for a password.
    private static let server = Result {
        let server = try PrivatePostgres.start()
        try server.run("create role ada login password 'right'; create role bare login password 'x'")
        try server.demandPasswords()
        return server
    }

    private func refusal(_ user: String, password: String? = nil) async throws -> LedgerError {
        let url = try Self.server.get().url().replacing(
            "postgres@",
            with: user + (password.map { ":\($0)" } ?? "") + "@"
        )
        let ledger = try JobLedger(try LedgerConfiguration(url: url))
        let error = try await #require(throws: LedgerError.self) { try await ledger.time() }
        await ledger.close()
        return error
    }

    @Test func eachRefusedConnectionHasItsOwnRemedy() async throws {
        let missing = try await refusal("ada")
        #expect(missing.code == .ledgerPermissionDenied && missing.hint?.contains("asks for a password") == true)
        let wrong = try await refusal("ada", password: "wrong")
        #expect(wrong.sqlState == "28P01" && wrong.hint?.hasPrefix("check the user and the password") == true)
        // It may connect, and the database has no ledger.
        #expect(try await refusal("ada", password: "right").code == .ledgerMissing)
    }

    @Test func remediesDoNotDependOnTheLanguageOfTheServer() {
        let entry = "kein pg_hba.conf-Eintrag f\u{fc}r Host \u{bb}10.0.0.7\u{ab}"
        #expect(
            AccessHint.connecting("28000", entry, needsPassword: false, user: "ada")?.contains("needs a line") == true
        )
        let peer = "Peer-Authentifizierung f\u{fc}r Benutzer \u{bb}ada\u{ab} fehlgeschlagen"
        #expect(
            AccessHint.connecting("28000", peer, needsPassword: false, user: "ada")?.contains("sudo -u ada") == true
        )
        let role = "Rolle \u{bb}ada\u{ab} existiert nicht"
        #expect(
            AccessHint.connecting("28000", role, needsPassword: false, user: "ada")?.contains("logins create ada")
                == true
        )
        let denied = "keine Berechtigung f\u{fc}r Funktion claim"
        #expect(AccessHint.using(denied, user: "ada")?.hasSuffix("grant sluice_worker to ada") == true)
        #expect(AccessHint.using("permission denied for schema sluice", user: "ada") == nil)
    }

    @Test func rolesAreThoseOfTheLedger() async throws {
        let lab = try await LedgerLab()
        let rows = try await lab.lab.run { connection in
            try connection.rows("select object_name, role_name from \(lab.schema).permission") { row in
                (try row[0] as String, try row[1] as String)
            }
        }
        let stored = Dictionary(grouping: rows, by: \.0).mapValues { Set($0.map(\.1)) }
        #expect(AccessHint.roles.mapValues(Set.init) == stored && stored.count > 50)
    }
}
