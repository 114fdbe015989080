import Foundation
import TestSupport
import Testing

/// The server checks of `sluice doctor`.
struct DoctorTests {
    /// The doctor recognises Aurora DSQL by a view that no other server has.
    @Test func engineWhereNoLedgerWorksIsNamedWithTheReason() throws {
        let server = try PrivatePostgres.shared()
        let database = try server.createDatabase()
        try server.run("create schema sys; create view sys.iam_pg_role_mappings as select 1", database: database)
        let environment = ["SLUICE_DATABASE_URL": server.url(database: database)]
        let doctor = try Sluice.run(["doctor", "--json"], environment: environment)
        #expect(doctor.status == .exited(1))
        let engine = try #require(doctor.outputText.split(separator: "\n").first)
        #expect(engine.contains(#""subject":"engine""#) && engine.contains(#""verdict":"fail""#))
        #expect(engine.contains("Amazon Aurora DSQL is not PostgreSQL: it has no PL/pgSQL"))
        // The doctor skips all other checks of this server but still checks this machine.
        #expect(
            !doctor.outputText.contains(#""subject":"server""#) && doctor.outputText.contains(#""subject":"sandbox""#)
        )
        for words in [["migrate"], ["migrate", "--dry-run"]] {
            let migrate = try Sluice.run(words, environment: environment)
            #expect(
                migrate.status == .exited(7)
                    && migrate.errorText.contains("the server is Amazon Aurora DSQL, not PostgreSQL")
            )
            #expect(migrate.errorText.contains("hint:  use PostgreSQL itself"))
        }
    }

    @Test func postgresItselfIsNotRemarked() throws {
        let doctor = try LedgerBench().run("doctor", "--json")
        #expect(
            !doctor.outputText.contains(#""subject":"engine""#) && doctor.outputText.contains(#""subject":"server""#)
        )
    }

    @Test func choreThatTakesLongIsShownWithWhatIsLeft() async throws {
        let bench = try LedgerBench()
        try await bench.submit(3)
        #expect(try !bench.run("doctor", "--json").outputText.contains("fold_counts"))
        _ = try bench.sql(
            "update sluice.chore set began_at = sluice.ledger_time() - interval '90 s', affected = 40000 where name = 'fold_counts'"
        )
        let under = try bench.run("doctor", "--json").outputText
        #expect(under.contains("fold_counts: 40,000 done in 1 min, 1 left, never finished"), "\(under)")
        _ = try bench.sql(
            "update sluice.chore set began_at = null, done_at = sluice.ledger_time() - interval '2 h', error = 'disk full' where name = 'fold_counts'"
        )
        let failed = try bench.run("doctor", "--json").outputText
        #expect(failed.contains("fold_counts: disk full; 1 left, last finished 2 h ago"), "\(failed)")
    }

    @Test func loginThatActsForOthersIsExplained() throws {
        let bench = try LedgerBench()
        _ = try bench.sql("create role face_login login in role sluice_face")
        // Roles are of the whole server. `try?`: a role that stays fails no expectation here.
        defer { _ = try? bench.sql("drop role face_login") }
        let url = try #require(bench.environment["SLUICE_DATABASE_URL"]).replacing("postgres@", with: "face_login@")
        let doctor = try Sluice.run(["doctor", "--json"], environment: ["SLUICE_DATABASE_URL": url])
        let lines = doctor.outputText.split(separator: "\n")
        let role = try #require(lines.first { $0.contains(#""subject":"role""#) })
        #expect(role.contains("face_login: face; a coordinator keeps house") && role.contains(#""verdict":"warn""#))
        // Nothing fails because of it.
        #expect(!doctor.outputText.contains(#""subject":"ledger""#) && !doctor.outputText.contains("denied"))
    }

    @Test func lockTableThatIsTooSmallIsToldWithWhatToSet() throws {
        let enough = try LedgerBench().run("doctor", "--json")
        #expect(enough.outputText.contains(#""subject":"locks","verdict":"ok""#), "\(enough.outputText)")
        let server = try PrivatePostgres.start(settings: ["max_locks_per_transaction": "40"])
        let environment = ["SLUICE_DATABASE_URL": server.url()]
        #expect(try Sluice.run(["migrate"], environment: environment).status == .exited(0))
        let doctor = try Sluice.run(["doctor", "--json"], environment: environment)
        let line = doctor.outputText.split(separator: "\n").first { $0.contains(#""subject":"locks""#) }
        #expect(line?.contains(#""verdict":"warn""#) == true, "\(doctor.outputText)")
        #expect(line?.contains("set max_locks_per_transaction = 64 in postgresql.conf") == true)
    }
}
