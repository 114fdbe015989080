import Foundation
import Ledger
import LedgerClient
import TestSupport
import Testing

@testable import Command
@testable import Console

/// The file that holds the contexts: its contents, its permissions, and the contents that are refused.
struct ContextFileTests {
    private let folder: TemporaryFolder
    private let file: ContextFile

    init() throws {
        folder = try TemporaryFolder.create()
        file = try #require(ContextFile(environment: ["XDG_CONFIG_HOME": folder.path, "HOME": "/nowhere"]))
    }

    private func add(_ name: String, _ database: String = "postgresql://ada@db/audio") throws {
        try file.change { $0.set(LedgerContext(name: name, database: database)) }
    }

    private func write(_ text: String, mode: mode_t = 0o600) throws {
        try FileManager.default.createDirectory(atPath: folder.path("sluice"), withIntermediateDirectories: true)
        try Bytes.write(Array(text.utf8), to: file.path)
        try #require(chmod(file.path, mode) == 0)
    }

    private func mode(_ path: String) throws -> mode_t {
        var facts = stat()
        try #require(lstat(path, &facts) == 0)
        return facts.st_mode & 0o777
    }

    @Test func placeIsThatOfTheUsersConfiguration() {
        #expect(file.path == folder.path("sluice/config.json"))
        #expect(ContextFile(environment: ["HOME": "/home/ada"])?.path == "/home/ada/.config/sluice/config.json")
        #expect(
            ContextFile(environment: ["XDG_CONFIG_HOME": "relative", "HOME": "/h"])?.path
                == "/h/.config/sluice/config.json"
        )
        #expect(ContextFile(environment: ["HOME": ""]) == nil && ContextFile(environment: [:]) == nil)
    }

    @Test func whatIsWrittenIsReadAgain() throws {
        #expect(try file.read().book == ContextBook())
        var context = LedgerContext(
            name: "prod-1.eu",
            database: "postgresql://ada:a%40b@db:5433,db2/audio?sslmode=verify-full"
        )
        context.schema = try .init("audio_house")
        context.roots = ["in=/mnt/in:ro", "out=/srv/o ut:ext=flac+mp3,mode=640"]
        context.colour = .magenta
        context.coordinator = .init(
            url: try CoordinatorURL("http://10.1.2.3:8080"),
            tokenFile: "/t/a",
            isInsecure: true
        )
        var remote = LedgerContext(name: "c")
        remote.coordinator = .init(url: try CoordinatorURL("unix:/run/sluice/http"))
        try file.change { book in
            book.set(context)
            book.set(remote)
            book.set(LedgerContext(name: "b", database: "host=/run/pg dbname=x"))
            try book.use("prod-1.eu")
        }
        let book = try file.read().book
        #expect(book.current == "prod-1.eu" && book.contexts.map(\.name) == ["b", "c", "prod-1.eu"])
        #expect(try book.context(named: "c") == remote)
        #expect(try book.context(named: "prod-1.eu") == context)
    }

    @Test func fileIsItsOwnersAlone() throws {
        let old = umask(0)
        defer { umask(old) }
        try add("prod", "postgresql://ada:secret@db/audio")
        #expect(try mode(file.path) == 0o600 && mode(folder.path("sluice")) == 0o700)
        // The next change makes a readable file private again.
        try #require(chmod(file.path, 0o644) == 0)
        try add("second")
        #expect(try mode(file.path) == 0o600)
        #expect(try folder.names() == ["sluice"])
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path("sluice")).sorted()
        #expect(names == ["config.json", "config.lock"])
    }

    @Test func passwordThatOthersMayReadIsComplainedAbout() throws {
        let secret = #"{"contexts": {"prod": {"database": "postgresql://ada:secret@db/audio"}}}"#
        let plain = #"{"contexts": {"prod": {"database": "postgresql://ada@db/audio?passfile=/x"}}}"#
        let cases: [(String, mode_t, Bool)] = [
            (secret, 0o600, false), (secret, 0o640, true), (secret, 0o604, true), (plain, 0o644, false),
            (plain, 0o664, true), (plain, 0o602, true),
            (secret.replacing("ada:secret@db/audio", with: "db/a?sslpassword=x"), 0o644, true),
        ]
        for (text, mode, isComplaint) in cases {
            try write(text, mode: mode)
            let complaint = try file.read().complaint
            #expect((complaint != nil) == isComplaint, "\(text) \(String(mode, radix: 8))")
            #expect(complaint?.contains("chmod 600 \(file.path)") ?? true)
            #expect(complaint?.contains("secret") != true)
        }
    }

    @Test func linkStaysALink() throws {
        try FileManager.default.createDirectory(atPath: folder.path("sluice"), withIntermediateDirectories: true)
        try FileManager.default.createDirectory(atPath: folder.path("dotfiles"), withIntermediateDirectories: true)
        try Bytes.write(Array("{}".utf8), to: folder.path("dotfiles/sluice.json"))
        try #require(symlink("../dotfiles/sluice.json", file.path) == 0)
        try add("prod")
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: file.path) == "../dotfiles/sluice.json")
        #expect(try file.read().book.contexts.map(\.name) == ["prod"])
    }

    /// No change is lost, and a concurrent reader never sees half a file.
    @Test func writersAtTheSameTimeDoNotTearIt() async throws {
        let file = file
        try add("first")
        try await withThrowingTaskGroup(of: Void.self) { group in
            for writer in 0..<8 {
                group.addTask {
                    for number in 0..<10 {
                        let name = "w\(writer)-\(number)"
                        try file.change { $0.set(LedgerContext(name: name, database: "postgresql://ada@db/\(name)")) }
                    }
                }
            }
            group.addTask {
                for _ in 0..<200 {
                    let book = try file.read().book
                    #expect(book.has("first"))
                }
            }
            try await group.waitForAll()
        }
        #expect(try file.read().book.contexts.count == 81)
    }

    @Test func changeThatFailsChangesNothing() throws {
        try add("prod")
        let before = try Bytes.read(file.path)
        #expect(throws: UnknownContext.self) {
            try file.change { book in
                book.set(LedgerContext(name: "other", database: "postgresql://x/y"))
                try book.use("pord")
            }
        }
        #expect(try Bytes.read(file.path) == before)
    }

    // MARK: - Unusable files

    @Test(arguments: [
        "", "{", "[]", "null ", #"{"contexts": []}"#, #"{"contexts": {"prod": {}}}"#,
        #"{"contexts": {"prod": {"database": "nonsense://ada:secret@x"}}}"#,
        #"{"contexts": {"prod": {"database": "postgresql://db/x", "schema": "Not One"}}}"#,
        #"{"contexts": {"prod": {"database": "postgresql://db/x", "roots": ["nothing"]}}}"#,
        #"{"contexts": {"prod": {"database": "postgresql://db/x", "roots": ["a=relative"]}}}"#,
        #"{"contexts": {"prod": {"database": "postgresql://db/x", "color": "[31m"}}}"#,
        #"{"contexts": {"$(id)": {"database": "postgresql://ada:secret@db/x"}}}"#,
        "{\"contexts\": {\"a\\u001b[31m\": {\"database\": \"postgresql://ada:secret@db/x\"}}}",
        #"{"contexts": {}, "current": "gone"}"#,
    ])
    func damageIsSaidWithoutWhatTheFileHolds(text: String) throws {
        try write(text)
        let refusal = try #require(throws: Refusal.self) { _ = try file.read() }
        #expect(refusal.exitCode == .configuration && refusal.message.contains(file.path))
        #expect(!refusal.message.contains("secret") && !refusal.message.contains("\u{1B}"))
    }

    @Test func whatIsNoFileOfOursIsNotWaitedForAndNotReadWhole() throws {
        try FileManager.default.createDirectory(atPath: folder.path("sluice"), withIntermediateDirectories: true)
        try #require(mkfifo(file.path, 0o600) == 0)
        #expect(throws: Refusal.self) { _ = try file.read() }
        try #require(unlink(file.path) == 0)
        try write(String(repeating: " ", count: 2 << 20))
        #expect(throws: Refusal.self) { _ = try file.read() }
    }

    @Test func namesThatMeanSomethingElsewhereAreNone() {
        for name in ["prod", "a", "EU-west_1.b", "0", String(repeating: "a", count: 63)] {
            #expect(LedgerContext.isName(name))
        }
        for name in [
            "", ".", "..", "-x", "_x", "a b", "a/b", "a\n", "a\u{1B}[0m", "ä", "a:b", "$x", "a\u{0}", "*",
            String(repeating: "a", count: 64),
        ] {
            #expect(!LedgerContext.isName(name), "\(name.debugDescription)")
        }
    }

    @Test func bookIsReadOnceForEachCommand() throws {
        try add("prod")
        try file.change { try $0.use("prod") }
        let memory = ContextMemory(environment: ["XDG_CONFIG_HOME": folder.path])
        #expect(try memory.book().current == "prod")
        try file.change { try $0.use(nil) }
        #expect(try memory.book().current == "prod")
        #expect(try ContextMemory(environment: ["XDG_CONFIG_HOME": folder.path]).book().current == nil)
    }
}
