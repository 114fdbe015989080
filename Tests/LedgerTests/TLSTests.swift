import Conversion
import TestSupport
import Testing

@testable import Ledger

struct TLSTests {
    private func source(
        _ server: PrivatePostgres,
        _ options: String,
        patience: Duration = Lab.farTooLong
    ) throws -> ConnectionSource {
        var configuration = try LedgerConfiguration.patient(
            url: "postgresql://postgres@localhost:\(server.port)/postgres?hostaddr=127.0.0.1&\(options)"
        )
        configuration.reachTimeout = patience
        return try ConnectionSource(configuration)
    }

    @Test func aServerIsAcceptedOnlyWithTheCertificateThatIsAskedFor() async throws {
        let server = try PrivatePostgres.startWithTLS()
        let trusting = try source(server, "sslmode=verify-full&sslrootcert=\(server.certificate)")
        let isEncrypted: Bool = try await trusting.run("connect") { connection in
            try connection.value("select ssl from pg_stat_ssl where pid = pg_backend_pid()")
        }
        #expect(isEncrypted)
        let other = try PrivatePostgres.startWithTLS()
        let distrusting = try source(
            server,
            "sslmode=verify-full&sslrootcert=\(other.certificate)",
            patience: .seconds(20)
        )
        let error = try await failure { try await distrusting.run("connect") { try $0.execute("select 1") } }
        #expect(error.code == .ledgerCannotReach)
        #expect(error.detail.contains("certificate"))
    }

    /// Before version 17, libpq would send the cancel request unencrypted.
    @Test func overTLSAStatementIsGivenUpInsteadOfCancelledInTheClear() async throws {
        let server = try PrivatePostgres.startWithTLS()
        let source = try source(server, "sslmode=require")
        let start = ContinuousClock.now
        let error = try await failureInTime(\.mayHaveHappened) { limit in
            try await source.run("dawdle", within: limit) { try $0.execute("select pg_sleep(600)") }
        }
        #expect(error.code == .ledgerTimedOut)
        #expect(error.sqlState == nil)
        // The server got no cancel request, so the outcome is unknown.
        #expect(error.mayHaveHappened)
        #expect(ContinuousClock.now - start < Lab.farTooLong)
        let one: Int = try await source.run("go on") { try $0.value("select 1") }
        #expect(one == 1)
    }
}
