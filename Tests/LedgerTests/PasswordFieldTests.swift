import Conversion
import Foundation
import TestSupport
import Testing

@testable import Ledger

/// Passwords are hidden where they stand in an address, and every other character stays.
struct PasswordFieldTests {
    /// Short passwords, words that occur in every message, names of hosts and keywords, and characters from the
    /// syntax of addresses.
    private static let passwords =
        [
            "a", "e", " ", "sl", "postgres", "postgresql", "host", "localhost", "db1", "password", "audio", "to", "***",
            ":", "@",
        ]
        + [
            "/", "?", "&", "=", "%", "'", "\\", "\"", "pa ss", "p@ss/w?rd&x=y", "it's", "ü\u{301}", "\u{301}", "5432",
            "[::1]",
        ]

    /// Messages of libpq and of servers. None of them quotes a password.
    private static let messages = [
        "could not translate host name \"nowhere.invalid\" to address: Name or service not known",
        "connection to server at \"db1\" (10.0.0.7), port 5432 failed: Connection refused",
        "connection to server on socket \"/run/postgresql/.s.PGSQL.5432\" failed: No such file or directory",
        "FATAL: password authentication failed for user \"postgres\"", "fe_sendauth: no password supplied",
        "password retrieved from file \"/home/ada/.pgpass\"", "database \"slate\" does not exist",
        "passfile=/home/ada/.pgpass cannot be read", "postgresql://ada@db1:5432,[::1]:5433/audio?sslmode=verify-full",
        "postgresql://db1:5432/audio?user=ada@example.org", "the password of a host is password",
    ]

    private static func random() -> [String] {
        var generator = SystemRandomNumberGenerator()
        let letters = Array("abcdefghijklmnopqrstuvwxyz:/@?&=%'\"\\ []0123456789#+;,.ü")
        return (0..<400).map { _ in
            String(
                (0...Int.random(in: 0...7, using: &generator)).map { _ in letters.randomElement(using: &generator)! }
            )
        }
    }

    private static func encoded(_ password: String) -> String {
        password.utf8.map { "%" + ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    private static func quoted(_ password: String) -> String {
        "'" + password.replacingOccurrences(of: "\\", with: "\\\\").replacingOccurrences(of: "'", with: "\\'") + "'"
    }

    @Test func everyLetterOfAMessageStaysWhateverThePassword() throws {
        for password in Self.passwords + Self.random() {
            let url = "postgresql://postgres:\(Self.encoded(password))@db1,nowhere.invalid:5433/audio?sslmode=require"
            let address = try Address(url: url, environment: [:])
            #expect(address.secrets["password"]?.text == password)
            #expect(address.description == "postgresql://postgres@db1,nowhere.invalid:5433/audio?sslmode=require")
            for message in Self.messages { #expect(PasswordField.hidden(in: message) == message) }
        }
    }

    @Test func theFieldOfAnAddressIsHiddenAndNothingElse() throws {
        for password in Self.passwords + Self.random() {
            let (encoded, quoted) = (Self.encoded(password), Self.quoted(password))
            for pattern in [
                "postgresql://ada:SECRET@db1,db2:5433/audio?passfile=/x&sslmode=require",
                "postgres://:SECRET@[::1]:5432/audio", "postgresql://ada@db/audio?pass%77ord=SECRET&sslpassword=SECRET",
            ] {
                let (given, hidden) = (
                    pattern.replacing("SECRET", with: encoded), pattern.replacing("SECRET", with: "***")
                )
                #expect(PasswordField.hidden(inAddress: given) == hidden)
                #expect(
                    PasswordField.hidden(in: "cannot read \"\(given) \" at db1") == "cannot read \"\(hidden) \" at db1"
                )
            }
            for pattern in [
                "host=db1 password=SECRET user=ada", "password = SECRET sslpassword=SECRET passfile=/x dbname=a",
            ] {
                let (given, hidden) = (
                    pattern.replacing("SECRET", with: quoted), pattern.replacing("SECRET", with: "***")
                )
                #expect(try Address(url: given, environment: [:]).secrets["password"]?.text == password)
                #expect(PasswordField.hidden(in: given) == hidden)
                #expect(PasswordField.hidden(inAddress: given) == hidden)
            }
        }
    }

    @Test(arguments: [
        ("postgresql://ada:pa@ss@db/audio", "postgresql://ada:***@db/audio"),
        ("postgresql://ada:pa/ss@db/audio", "postgresql://ada:***@db/audio"),
        ("postgresql://ada:12/ss@db/audio", "postgresql://ada:***@db/audio"),
        ("postgresql://ada:p?ss@db/audio?sslmode=require", "postgresql://ada:***@db/audio?sslmode=require"),
        ("postgresql://ada:two words@db/audio", "postgresql://ada:***@db/audio"),
        ("postgres//ada:hunter2@db/audio", "postgres//ada:***@db/audio"),
        ("host=db password='open", "host=db password=***"),
        ("host=db password=a\\ b user=x", "host=db password=*** user=x"),
        ("password=x", "password=***"), ("password=", "password="), ("passwords=x", "passwords=x"),
    ])
    func anAddressThatIsNotWrittenWellIsHiddenToo(given: String, hidden: String) {
        #expect(PasswordField.hidden(inAddress: given) == hidden)
        #expect(PasswordField.hidden(in: given) == hidden)
    }

    /// libpq would take the end of the password for a host name, try to connect to it, and show it in its error.
    @Test(arguments: [
        "postgresql://ada:pa@ss7@db/audio", "postgresql://ada:12/ss7@db/audio", "postgresql://ada:pa@s/ss7@db/audio",
        "postgresql://ada@db?dbname=postgres%3A%2F%2Fada%3Ass7%40db%2Faudio", "host=db password=my ss7 user=ada",
        "host=db password='my ss7", "postgresql://ada:ss7%zz@db/audio", "postgresql://ada:ss7@[::1/audio",
        "postgresql://ada:s\"s7 x\"ss7%zz@db/audio", "postgresql://ada:p/a?ss7@db/audio", "ss7", "=ss7",
    ])
    func aPasswordThatIsNotReadAsOneIsNotQuoted(url: String) throws {
        let error = try #require(throws: LedgerError.self) { try LedgerConfiguration(url: url) }
        #expect(error.code == .ledgerBadConfiguration)
        #expect(!"\(error) \(error.hint ?? "")".contains("s7"), "\(error)")
    }

    @Test(arguments: [
        ("host=db password=my secret", "missing \"=\" after *** in connection info string"),
        ("host=db password='secret", "unterminated quoted string in connection info string"),
        ("postgresql://ada:x@[::1/audio", "matching \"]\" in IPv6 host address in URI: ***"),
    ])
    func anAddressThatCannotBeReadIsToldWhy(url: String, reason: String) throws {
        let error = try #require(throws: LedgerError.self) { try LedgerConfiguration(url: url) }
        #expect(error.detail.hasSuffix(reason), "\(error.detail)")
    }

    @Test func theServersWordsStayWhole() async throws {
        let server = try PrivatePostgres.shared()
        for password in ["sl", "e", "postgres", "database"] {
            let url = server.url(database: "slate").replacingOccurrences(of: "postgres@", with: "postgres:\(password)@")
            let configuration = try LedgerConfiguration.patient(url: url)
            let error = try await failure {
                try await ConnectionSource(configuration).run("connect") { try $0.execute("select 1") }
            }
            #expect(error.detail.hasSuffix("database \"slate\" does not exist"), "\(error.detail)")
            #expect(configuration.description.hasPrefix("postgresql://postgres@"))
        }
    }
}
