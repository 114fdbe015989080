import Conversion
import Foundation
import Ledger
import TestSupport
import Testing

/// Sources on web servers, which `submit` and `scan` take as they are written. No test has a server: none is asked.
struct WebServerSourcesTests {
    private let bench: LedgerBench
    private static let target = ["--to", "out:{dir}/{stem}.mp3", "--preset", "podcast-mp3"]
    private static let root = ["--root", "web=https://media.invalid/pod"]

    init() throws { bench = try LedgerBench() }

    private func submit(_ words: String...) throws -> Run {
        try bench.run(["submit"] + words + Self.target + Self.root)
    }

    @Test func fileIsTakenAsItIsWritten() async throws {
        try submit("web:june/a #?%.wav").checked()
        #expect(try await bench.ways() == ["web:june/a #?%.wav > out:june/a #?%.mp3"])
        // Whether the root is named or not.
        try bench.run(["submit", "web:june/b.wav"] + Self.target).checked()
        #expect(try await bench.ways(batch: 2) == ["web:june/b.wav > out:june/b.mp3"])
    }

    @Test func filesOfAListAreTaken() async throws {
        let list = bench.folder.path("list")
        try Bytes.write(Array("web:a.wav\nweb:b/c.wav\nweb:a.wav\n".utf8), to: list)
        try submit("--files-from", "list").checked()
        #expect(try await bench.ways() == ["web:a.wav > out:a.mp3", "web:b/c.wav > out:b/c.mp3"])
        try Bytes.write(Array("web:b/\n".utf8), to: list)
        let run = try submit("--files-from", "list")
        #expect(run.status == .exited(2))
        #expect(run.errorText.contains("web:b/ is a folder; a list may contain only files"), "\(run.errorText)")
    }

    @Test(arguments: [["-r", "web:june/"], ["-r", "web:"], ["-r", "web:june"], ["web:june/"], ["web:"]])
    func foldersAreRefused(words: [String]) throws {
        for command in [["submit"] + words + Self.target, ["scan"] + words] {
            let run = try bench.run(command + Self.root)
            #expect(run.status == .exited(2))
            let why = "\(words.last ?? "") cannot be listed: web servers do not say which files they have\n"
            #expect(run.errorText.contains(why), "\(run.errorText)")
            #expect(run.errorText.contains("--files-from FILE lists its files"), "\(run.errorText)")
        }
    }

    @Test func fileBesideFoldersIsTaken() async throws {
        try bench.files("in/a.wav")
        let words = ["submit", "-r", "in", "web:june/b.wav", "--root", "in=in"]
        try bench.run(words + Self.target + Self.root).checked()
        #expect(try await bench.ways() == ["in:a.wav > out:a.mp3", "web:june/b.wav > out:june/b.mp3"])
    }

    @Test func filesAreScanned() async throws {
        let run = try bench.run(["scan", "web:a.wav", "--json"] + Self.root).checked()
        #expect(run.outputText.contains(#""jobs":1"#), "\(run.outputText)")
        let job = try await bench.ledger.jobs(ofBatch: 1)[0]
        let recipe = try Recipe(json: try #require(try await bench.ledger.story(of: job)).recipe)
        #expect(recipe.sources[0].location == "web:a.wav")
    }

    @Test func pathsOutsideTheRootAreRefused() throws {
        let run = try submit("web:../a.wav")
        #expect(!run.succeeded && run.errorText.contains("it contains \"..\""), "\(run.errorText)")
    }

    @Test func sourcesAreCutAtTimesOnly() throws {
        let words = ["submit", "web:a.wav", "--to", "out:{stem}-{n}.mp3", "--dry-run"] + Self.root
        try bench.run(words + ["--split-at", "0:10,0:20"]).checked()
        let run = try bench.run(words + ["--split-at", "chapters"])
        let why = "is on a web server, and only files of this machine are searched"
        #expect(run.errorText.contains(why) && run.errorText.contains("give times"), "\(run.errorText)")
    }

    @Test func filesOfAFolderAreJoinedByTheirNames() async throws {
        try Bytes.write(Array("web:book/10.mp3\nweb:book/2.mp3\n".utf8), to: bench.folder.path("list"))
        let words = ["submit", "--files-from", "list", "--join-folders", "--to", "out:{dir}.m4b"] + Self.root
        let run = try bench.run(words).checked()
        #expect(run.errorText.contains("chapters beside files on web servers are left out"), "\(run.errorText)")
        let job = try await bench.ledger.jobs(ofBatch: 1)[0]
        let recipe = try Recipe(json: try #require(try await bench.ledger.story(of: job)).recipe)
        #expect(recipe.sources.map(\.location) == ["web:book/2.mp3", "web:book/10.mp3"])
        let tags = try bench.run(words + ["--order", "tags"])
        #expect(tags.status == .exited(2) && tags.errorText.contains("on a web server"), "\(tags.errorText)")
    }

    @Test func commandThatStartsAWorkerNamesTheServer() async throws {
        _ = try await bench.worker(abilities: ["root:out", "codec:mp3"])
        let run = try submit("web:a.wav").checked()
        #expect(run.errorText.contains("sluice worker "), "\(run.errorText)")
        #expect(run.errorText.contains("web=https://media.invalid/pod/"), "\(run.errorText)")
    }

    // MARK: - Where roots come from

    @Test func contextHasWebServers() async throws {
        let url = try #require(bench.environment["SLUICE_DATABASE_URL"])
        let place = ["XDG_CONFIG_HOME": bench.folder.path]
        let words = ["config", "set-context", "prod", "--database", url] + Self.root + ["--root", "out=/srv/out"]
        try Sluice.run(words, in: bench.folder, environment: place).checked()
        let submit = ["submit", "--context", "prod"] + Self.target
        try Sluice.run(submit + ["web:a.wav"], in: bench.folder, environment: place).checked()
        #expect(try await bench.ways() == ["web:a.wav > out:a.mp3"])
        let run = try Sluice.run(submit + ["-r", "web:"], in: bench.folder, environment: place)
        #expect(run.status == .exited(2) && run.errorText.contains("web: cannot be listed"), "\(run.errorText)")
    }

    @Test(arguments: [
        ("web=http://host/a", "?allow-http at the end permits it"),
        ("web=https://me:word@host/a", "--root web: the address contains a user name"),
        ("web=https://host/a:wo", "--root web: a web server is read only, and its rules forbid reading"),
        ("s3=https://host/a", "--root s3: s3 is reserved"),
    ])
    func rootsThatNameNoWebServerAreRefused(root: String, problem: String) throws {
        let run = try bench.run(["submit", "web:a.wav"] + Self.target + ["--root", root])
        #expect(run.status == .exited(2) && run.errorText.contains(problem), "\(run.errorText)")
    }

    @Test func checkRefusesWebServers() throws {
        let run = try bench.run(["check", "--all"] + Self.root)
        #expect(run.status == .exited(2))
        #expect(run.errorText.contains("only submit, scan and workers read from web servers"), "\(run.errorText)")
    }
}
