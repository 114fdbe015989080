import Foundation
import Ledger
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

    /// Root may write everywhere, and a worker does not run as root.
    @Test(.enabled(if: geteuid() == 0, "only root can examine as another user"))
    func rootsAreExaminedAsTheUserOfTheServices() throws {
        let bench = try LedgerBench()
        try #require(chmod(bench.folder.path, 0o755) == 0)
        let root = ["--root", "out=\(bench.folder.path)", "--json"]
        func verdict(_ words: [String]) throws -> String {
            let lines = try bench.run(["doctor"] + words + root).outputText.split(separator: "\n")
            return String(try #require(lines.first { $0.contains(#""subject":"root out""#) }))
        }
        #expect(try verdict([]).contains(#""verdict":"ok""#))
        let denied = try verdict(["--as", "nobody"])
        #expect(denied.contains("not writable by this user") && denied.contains("sudo chown nobody "), "\(denied)")
        let readOnly = ["--root", "in=\(bench.folder.path):ro", "--as", "nobody"]
        let sources = try bench.run(["doctor"] + readOnly).outputText
        #expect(sources.contains("ok    root in: ") && sources.contains("for sources only"), "\(sources)")
        #expect(
            try bench.run(["doctor", "--as", "nobody"]).outputText.hasPrefix("ok    user: examined as the user nobody")
        )
        let missing = try bench.run("doctor", "--as", "no-such-user")
        #expect(missing.status == .exited(4) && missing.errorText.contains("there is no user \"no-such-user\""))
    }

    /// Encryption is tried first, with the certificate of the user's folder: the folder of root is closed to others.
    @Test(.enabled(if: geteuid() == 0, "only root can examine as another user"))
    func connectionOfAnotherUserIsEncryptedAsThatUsersWouldBe() throws {
        let server = try PrivatePostgres.startWithTLS()
        let home = try TemporaryFolder.create()
        try #require(chmod(home.path, 0o700) == 0)
        let address = "postgresql://postgres@localhost:\(server.port)/postgres?hostaddr=127.0.0.1&sslmode=require"
        let environment = ["HOME": home.path, "SLUICE_DATABASE_URL": address]
        #expect(try Sluice.run(["migrate"], environment: environment).status == .exited(0))
        for user in [[], ["--as", "nobody"]] {
            let doctor = try Sluice.run(["doctor", "--json"] + user, environment: environment)
            #expect(doctor.outputText.contains(#""message":"TLS""#), "\(doctor.outputText)")
        }
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

    @Test func loginOfTheServicesMustBeAbleToRegister() throws {
        let bench = try LedgerBench()
        let login = PrivatePostgres.freshName("pump")
        try bench.sql("create role \(login) login in role sluice_viewer")
        let url = try #require(bench.environment["SLUICE_DATABASE_URL"]).replacing("postgres@", with: "\(login)@")
        let file = bench.folder.path("sluice.conf")
        try Bytes.write(Array("database = \(url)\n".utf8), to: file)
        func role() throws -> String {
            let lines = try Sluice.run(["doctor", "--json", "--config", file]).outputText.split(separator: "\n")
            return String(try #require(lines.first { $0.contains(#""subject":"role""#) }))
        }
        #expect(try role().contains("grant sluice_worker to \(login)"))
        try bench.sql("grant sluice_worker to \(login)")
        #expect(try role().contains(#""verdict":"ok""#))
        try bench.sql("drop role \(login)")
    }

    @Test func workersWithDifferentUsersAreTold() async throws {
        let bench = try LedgerBench()
        for (name, user) in [("a", 812), ("b", 812), ("c", 997)] {
            let entry = try await bench.ledger.register(
                WorkerRegistration(name: name, host: "h-\(name)", build: "test", slots: 1)
            )
            _ = try await bench.heartbeat.beat(entry.worker, status: WorkerStatus(userID: user))
            let doctor = try bench.run("doctor", "--json").outputText
            #expect(doctor.contains(#""subject":"owners""#) == (user == 997), "\(doctor)")
        }
        let line = try bench.run("doctor").outputText
        #expect(line.contains("812 (2 workers, such as a on h-a), 997 (1 worker, such as c on h-c)"), "\(line)")
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
