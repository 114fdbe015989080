import Foundation
import Ledger
import TestSupport
import Testing

@testable import Command
@testable import Console

/// Commands that choose their ledger by a context.
struct ContextLedgerTests {
    private let first: LedgerBench
    private let second: LedgerBench
    private let folder: TemporaryFolder

    init() throws {
        (first, second, folder) = (try LedgerBench(), try LedgerBench(), try TemporaryFolder.create())
        try #require(mkdir(folder.path("sound"), 0o755) == 0)
        try run(
            "config",
            "set-context",
            "prod",
            "--database",
            try url(first),
            "--root",
            "pods=\(folder.path)/sound:ro"
        ).checked()
        try run("config", "set-context", "lab", "--database", try url(second)).checked()
    }

    private func url(_ bench: LedgerBench) throws -> String { try #require(bench.environment["SLUICE_DATABASE_URL"]) }

    @discardableResult
    private func run(_ words: String..., environment: [String: String] = [:]) throws -> Run {
        let place = ["XDG_CONFIG_HOME": folder.path, "TZ": "UTC"]
        return try Sluice.run(words, in: folder, environment: place.merging(environment) { $1 })
    }

    @Test func commandsGoToTheLedgerOfTheContext() async throws {
        try await first.submit(3)
        try await second.submit(1)
        #expect(try run("jobs", "-q", "--context", "prod").checked().outputText == "3\n2\n1\n")
        #expect(try run("jobs", "-q", environment: ["SLUICE_CONTEXT": "lab"]).checked().outputText == "1\n")
        try run("config", "use", "prod").checked()
        #expect(try run("jobs", "-q").checked().outputText == "3\n2\n1\n")
        #expect(try run("jobs", "-q", environment: second.environment).checked().outputText == "1\n")
    }

    @Test func statusBeginsWithTheContext() async throws {
        try await first.submit(1)
        let shown = try run("status", "--context", "prod").checked().outputText
        #expect(shown.hasPrefix("context    prod\nledger     postgres "))
        let record = try run("status", "--context", "prod", "--json").checked().outputText
        #expect(record.contains(#""context":"prod""#))
        let nameless = try first.run("status").checked()
        #expect(nameless.outputText.hasPrefix("ledger     "))
        #expect(try !first.run("status", "--json").outputText.contains("\"context\""))
    }

    @Test func manyJobsAreNotChangedBeforeTheContextIsSaid() async throws {
        try await first.submit(2)
        let refused = try run("cancel", "--all", "--context", "prod")
        #expect(refused.status == .exited(2))
        #expect(
            refused.errorText == "error: would cancel 2 jobs in context prod; use --yes to skip the question\n"
        )
        #expect(try run("cancel", "--all", "--yes", "--context", "prod").checked().outputText == "2 jobs cancelled\n")
    }

    @Test func watchShowsTheContextAboveAndInItsQuestion() async throws {
        let material = try await WatchMaterial()
        var context = LedgerContext(name: "prod", database: "postgresql://db/x")
        context.colour = .red
        var state = WatchState(try await material.look(), context: context)
        let style = ScreenStyle(paint: { text, ink in ink == .bad ? "<\(text)>" : text })
        let page = WatchPage(state, size: ScreenSize(columns: 80, rows: 24), style: style)
        #expect(page.lines[0].hasPrefix("sluice <prod>    "))
        for columns in [10, 20, 40, 80, 200] {
            for line in state.screen(columns) { #expect(line.displayWidth <= columns) }
        }
        let what = try counted(state.take(.character("C")))
        state.take(count: 12_406, of: what)
        #expect(state.foot() == "prod: cancel 12,406 jobs (all running)?  y/N")
        #expect(state.foot(24).hasPrefix("prod: cancel") && state.foot(24).hasSuffix("  y/N"))
    }

    // MARK: - Roots

    @Test func rootsOfTheContextHoldWhereNoneIsSaid() throws {
        try WAVFile.write(Material.talk, to: folder.path("sound/talk.wav"))
        let plan = try run(
            "submit",
            folder.path("sound/talk.wav"),
            "--to",
            "pods:{stem}.flac",
            "--dry-run",
            "--context",
            "prod"
        ).checked()
        #expect(plan.outputText.contains("pods:talk.wav -> pods:talk.flac"))
        let other = try run(
            "submit",
            folder.path("sound/talk.wav"),
            "--root",
            "x=\(folder.path)",
            "--to",
            "x:{stem}.flac",
            "--dry-run",
            "--context",
            "prod"
        ).checked()
        #expect(other.outputText.contains("x:sound/talk.wav -> x:talk.flac"))
        let doctor = try run("doctor", "--context", "prod", "--json")
        #expect(doctor.outputText.contains("root pods"))
        #expect(try !run("doctor", "--context", "lab", "--json").outputText.contains("root pods"))
    }

    // MARK: - All contexts

    @Test func statusOfAllContextsHasALineForEach() async throws {
        try await first.submit(3)
        _ = try await second.worker()
        try second.sql("update sluice.worker set build = '\(Version.number)'")
        try run("config", "use", "lab").checked()
        let all = try run("status", "--all-contexts").checked()
        let lines = all.outputText.split(separator: "\n").map {
            $0.split(separator: " ", omittingEmptySubsequences: true)
        }
        #expect(lines[0].prefix(3) == ["CONTEXT", "STATE", "WORKERS"])
        #expect(lines[1].prefix(6) == ["*", "lab", "all", "well", "1", "0"])
        #expect(lines[2].prefix(5) == ["prod", "see", "below", "0", "3"])
        #expect(all.errorText.contains("note:  prod: no workers are running"))
        let records = try run("status", "--all-contexts", "--json").checked().outputText.split(separator: "\n")
        #expect(records.count == 2 && records[0].contains(#""context":"lab""#) && records[1].contains(#""waiting":3"#))
    }

    @Test func ledgerThatIsAwayCostsItsLineOnly() async throws {
        try await first.submit(3)
        try run("config", "set-context", "away", "--database", "postgresql://ada:secret@127.0.0.1:1/none").checked()
        let all = try run("status", "--all-contexts")
        #expect(all.status == .exited(3))
        #expect(
            all.outputText.contains("away") && all.outputText.contains("no answer") && all.outputText.contains("prod")
        )
        #expect(all.errorText.contains("error: context away: ") && all.errorText.contains("code ledger_cannot_reach"))
        let json = try run("status", "--all-contexts", "--json")
        #expect(json.status == .exited(3))
        let line = try #require(json.outputText.split(separator: "\n").first)
        #expect(line.hasPrefix(#"{"context":"away","failure":{"code":"ledger_cannot_reach""#))
        for text in [all.outputText, all.errorText, json.outputText, json.errorText] {
            #expect(!text.contains("secret"))
        }
    }

    @Test func allContextsExcludeOne() throws {
        for words in [["--context", "prod"], ["--database", "host=h"], ["--schema", "x"]] {
            let run = try Sluice.run(
                ["status", "--all-contexts"] + words,
                environment: ["XDG_CONFIG_HOME": folder.path]
            )
            #expect(run.status == .exited(2), "\(words)")
        }
        let none = try Sluice.run(["status", "--all-contexts"], environment: ["XDG_CONFIG_HOME": folder.path("none")])
        #expect(none.status == .exited(4) && none.errorText.hasPrefix("error: no contexts\n"))
    }

    // MARK: - Completion

    private func offered(_ words: String...) throws -> [String] {
        let run = try Sluice.run(["complete-words", "--"] + words, environment: ["XDG_CONFIG_HOME": folder.path])
            .checked()
        #expect(run.errorText == "")
        return run.outputText.split(separator: "\n").dropFirst().map { String($0.prefix { $0 != "\t" }) }
    }

    @Test func contextsAreOfferedByName() throws {
        #expect(try offered("config", "use", "") == ["lab", "prod"])
        #expect(try offered("jobs", "--context", "p") == ["prod"])
        #expect(try offered("jobs", "--context=") == ["--context=lab", "--context=prod"])
        #expect(try offered("config", "delete-context", "l") == ["lab"])
    }

    @Test func wordsOfTheContextsLedgerAreOffered() async throws {
        try await first.submit(1)
        #expect(try offered("job", "--context", "prod", "") == ["1"])
        #expect(try offered("job", "--context=lab", "") == [])
        try run("config", "use", "prod").checked()
        #expect(try offered("job", "") == ["1"])
        try Bytes.write(Array("{".utf8), to: folder.path("sluice/config.json"))
        #expect(try offered("job", "") == [])
    }
}
