import Foundation
import Ledger
import TestSupport
import Testing

@testable import Command

/// `sluice logins`: for people and services that reach the database themselves.
struct LoginsTests {
    private let bench: LedgerBench
    /// Logins belong to the server, which other tests use, too.
    private let ada = PrivatePostgres.freshName("ada")

    init() throws { bench = try LedgerBench() }

    private func url(of user: String) throws -> String {
        let own = try #require(bench.environment["SLUICE_DATABASE_URL"])
        return own.replacingOccurrences(of: "//postgres@", with: "//\(user)@")
    }

    @Test func aLoginIsPrintedOnceAndMayDoWhatItsRoleSays() throws {
        let made = try bench.run("logins", "create", ada, "--role", "submitter").checked()
        let address = made.outputText.trimmingCharacters(in: .newlines)
        let password = try #require(address.split(separator: "@").first?.split(separator: ":").last)
        #expect(address.hasPrefix("postgresql://\(ada):") && password.count == 24)
        #expect(made.errorText.contains("the only time") && !made.errorText.contains(password))
        let stored = try bench.sql("select rolpassword from pg_authid where rolname = '\(ada)'")
        #expect(stored.hasPrefix("SCRAM-SHA-256$"), "the server was never sent the password itself")

        let environment = try ["SLUICE_DATABASE_URL": url(of: ada)]
        #expect(try bench.run("status", environment: environment).succeeded)
        let steering = try bench.run("queues", "pause", "default", environment: environment)
        #expect(
            steering.status == .exited(6)
                && steering.errorText.contains("needs the role sluice_operator: an administrator runs"),
            "\(steering.errorText)"
        )

        let lines = try bench.output("logins").split(separator: "\n").map { $0.split(separator: " ").map(String.init) }
        #expect(lines[0] == ["NAME", "ROLES"] && lines.contains([ada, "sluice_submitter"]))
        #expect(try bench.output("logins", "-q").split(separator: "\n").contains(ada[...]))
        #expect(try bench.output("audit").contains("create_login"))

        let taken = try bench.run("logins", "create", ada, "--role", "viewer")
        #expect(taken.status == .exited(1) && taken.errorText.contains("there is a login or role \"\(ada)\" already"))
        try bench.run("logins", "remove", ada).checked()
        #expect(try bench.run("logins", "remove", ada).status == .exited(4))
        #expect(try bench.sql("select count(*) from pg_roles where rolname = '\(ada)'") == "0")
    }

    @Test func severalRolesAndNoPassword() throws {
        let made = try bench.run(
            "logins",
            "create",
            ada,
            "--role",
            "worker",
            "--role",
            "viewer",
            "--no-password",
            "--json"
        )
        .checked()
        let record = try #require(try JSONSerialization.jsonObject(with: Data(made.outputText.utf8)) as? [String: Any])
        #expect(record["roles"] as? [String] == ["sluice_worker", "sluice_viewer"])
        #expect((record["address"] as? String)?.hasPrefix("postgresql://\(ada)@") == true)
        #expect(try bench.sql("select rolpassword is null from pg_authid where rolname = '\(ada)'") == "t")
        try bench.run("logins", "remove", ada).checked()
    }

    @Test func statementsForAnAdministratorNeedNoServer() throws {
        let run = try Sluice.run(["logins", "create", "ada", "--role", "submitter", "--print"]).checked()
        #expect(
            run.outputText == """
                create role "ada" login;
                grant sluice_submitter to "ada";
                alter role "ada" set idle_in_transaction_session_timeout = '5min';
                alter role "ada" set statement_timeout = '1h';
                \\password "ada"

                """
        )
    }

    @Test func whoMayNotCreateLoginsIsToldWhoMay() throws {
        try bench.run("logins", "create", ada, "--role", "viewer", "--no-password").checked()
        let run = try bench.run(
            "logins",
            "create",
            "mallory",
            "--role",
            "operator",
            environment: ["SLUICE_DATABASE_URL": url(of: ada)]
        )
        #expect(run.status == .exited(6) && run.errorText.contains("sudo -u postgres sluice logins"))
        try bench.run("logins", "remove", ada).checked()
    }

    @Test func aLoginWithOtherRightsIsNotRemoved() throws {
        try bench.sql("create role \(ada) login createdb; grant sluice_viewer to \(ada)")
        let run = try bench.run("logins", "remove", ada)
        #expect(!run.succeeded && run.errorText.contains("is not only for the ledger"))
        try bench.sql("drop role \(ada)")
        #expect(try bench.run("logins", "remove", "postgres").status == .exited(4), "the owner is not listed")
    }

    @Test(arguments: [
        ["ada b", "--role", "viewer"], ["ada", "--role", "owner"], ["ada"], ["1ada", "--role", "viewer"],
    ])
    func whatALoginNeedsIsAskedFor(words: [String]) throws {
        #expect(try bench.run(["logins", "create"] + words).status == .exited(2))
    }

    @Test(arguments: [
        ("postgresql://postgres@db/audio", "postgresql://ada:pw@db/audio"),
        (
            "postgresql://postgres@db1:5432,db2:5433/audio?sslmode=require",
            "postgresql://ada:pw@db1:5432,db2:5433/audio?sslmode=require"
        ),
        ("postgresql://postgres@%2Frun%2Fpostgresql/audio", "postgresql://ada:pw@here/audio"),
        ("postgresql://%2Ftmp:5433/audio", "postgresql://ada:pw@here:5433/audio"),
    ])
    func anAddressIsThatOfTheServerForOtherMachines(server: String, address: String) {
        #expect(LoginsCommand.address(of: server, "ada", "pw", host: "here") == address)
    }
}
