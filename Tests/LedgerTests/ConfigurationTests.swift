import Conversion
import Foundation
import TestSupport
import Testing

@testable import Ledger

struct ConfigurationTests {
    private static let password = "hunter2%40%2F"
    private static let plain = "hunter2@/"

    @Test func descriptionsShowNoPassword() throws {
        let url = "postgresql://ada:\(Self.password)@db1:5432,[::1]:5433/audio?sslmode=verify-full&sslpassword=pssst7"
        let configuration = try LedgerConfiguration(url: url)
        #expect(
            configuration.description
                == "postgresql://ada@db1:5432,[::1]:5433/audio?sslmode=verify-full, schema sluice"
        )
        var dumped = ""
        dump(configuration, to: &dumped)
        for text in ["\(configuration)", String(reflecting: configuration), dumped, "\(configuration.address.secrets)"]
        {
            #expect(!text.contains("hunter2"))
            #expect(!text.contains("pssst7"))
        }
    }

    @Test(arguments: [
        "postgresql://ada:hunter2@db:notaport/audio", "postgresql://ada:hunter2@[::1/audio",
        "postgresql://ada:hunter2@db/audio?sslmode=strict", "postgresql://ada:hunter2@db/audio?nonsense=hunter2",
        "postgresql://ada:hunter2%zz@db/audio", "postgres//ada:hunter2@db/audio", "host=db password='hunter2",
        "postgresql://ada:hunter2@db:70000/audio", "postgresql://ada:hunter2@a,b,c/audio?port=1,2",
        "postgresql://ada:hunter2@db/audio?connect_timeout=soon",
    ])
    func anAddressThatCannotBeReadIsRefusedWithoutItsPassword(url: String) throws {
        do {
            _ = try LedgerConfiguration(url: url)
            Issue.record("the address was accepted")
        } catch let error as LedgerError {
            #expect(error.code == .ledgerBadConfiguration)
            #expect(!"\(error) \(error.hint ?? "")".contains("hunter2"))
        }
    }

    @Test func theURLComesBeforeTheEnvironment() throws {
        let environment = [
            "PGHOST": "elsewhere", "PGPORT": "7777", "PGUSER": "bob", "PGPASSWORD": "hunter2", "PGSSLMODE": "require",
            "PGDATABASE": "other", "HOME": "/",
        ]
        let both = try LedgerConfiguration(url: "postgresql://ada@db/audio", environment: environment)
        #expect(both.description == "postgresql://ada@db:7777/audio?sslmode=require, schema sluice")
        #expect(both.address.secrets["password"]?.text == "hunter2")
        let alone = try LedgerConfiguration(environment: environment)
        #expect(alone.description == "postgresql://bob@elsewhere:7777/other?sslmode=require, schema sluice")
    }

    @Test func severalHostsMeanTheOneThatTakesChanges() throws {
        let several = try LedgerConfiguration(url: "postgresql://a:1,b:2/audio").address.attempts()
        #expect(several.map { $0.keywords["host"] } == ["a", "b"])
        #expect(several.map { $0.keywords["port"] } == ["1", "2"])
        #expect(several.allSatisfy { $0.keywords["target_session_attrs"] == "read-write" })
        let one = try LedgerConfiguration(url: "postgresql://a/audio").address.attempts()
        #expect(one.map { $0.keywords["target_session_attrs"] } == ["any"])
        let standby = try LedgerConfiguration(url: "postgresql://a,b/audio?target_session_attrs=prefer-standby")
        #expect(try standby.address.attempts().map { $0.keywords["host"] } == ["a", "b", "a", "b"])
    }

    @Test(arguments: [
        "", "Sluice", "1st", "a-b", "pg_x", "a\"; drop schema public; --", String(repeating: "a", count: 64),
    ])
    func aNameThatNeedsQuotesIsNoSchema(name: String) {
        #expect(throws: LedgerError.self) { try SchemaName(name) }
    }

    @Test func aFieldThatIsOutOfBoundsIsNamed() throws {
        var configuration = try LedgerConfiguration()
        try configuration.validate()
        configuration.connectionLimit = 0
        #expect(throws: LedgerError.self) { try configuration.validate() }
        do { try configuration.validate() } catch let error as LedgerError {
            #expect(error.detail == "connectionLimit must be 1 to 1000, not 0")
        }
    }

    @Test func aServerWithoutTLSGetsNothingWhereTLSIsAsked() async throws {
        let server = try SilentServer()
        let heard = Task.detached { try server.hearOut(answering: UInt8(ascii: "N")) }
        var configuration = try LedgerConfiguration(
            url: "postgresql://ada:\(Self.password)@127.0.0.1:\(server.port)/audio?sslmode=require"
        )
        configuration.reachTimeout = .zero
        let error = try await failure {
            try await ConnectionSource(configuration).run("connect") { try $0.execute("select 1") }
        }
        #expect(error.code == .ledgerCannotReach)
        #expect(!error.description.contains(Self.plain))
        // The client sent a TLS request and nothing more: no name, no password.
        #expect(try await heard.value == [0, 0, 0, 8, 0x04, 0xD2, 0x16, 0x2F])
    }

    @Test func noCommandLineHoldsAPassword() async throws {
        let server = try PrivatePostgres.shared()
        let secret = "secret-\(UUID())"
        let url = server.url().replacingOccurrences(of: "postgres@", with: "postgres:\(secret)@")
        let source = try ConnectionSource(try LedgerConfiguration(url: url))
        let found = try await source.run("look around") { connection in
            try connection.execute("select 1")
            return try FileManager.default.contentsOfDirectory(atPath: "/proc").filter { Int($0) != nil }
                .compactMap { FileManager.default.contents(atPath: "/proc/\($0)/cmdline") }
                .map { String(decoding: $0, as: UTF8.self) }
        }
        #expect(found.contains { $0.contains("postgres") })
        #expect(!found.contains { $0.contains(secret) })
    }
}
