import Foundation
import Ledger
import TestSupport
import Testing

@testable import Command
@testable import Console

/// Shell completion from the ledger: job and batch numbers, queue and worker names.
struct LedgerWordsTests {
    /// The words that the command would offer to a shell, however long the ledger takes: the command itself waits for
    /// less than a second.
    private func offered(_ bench: LedgerBench, _ words: String...) async throws -> [String] {
        let offer = Completer(root: Catalogue.root).offer(for: words)
        let asked = try #require(offer.asked)
        let source = try #require(asked.source as? LedgerWords)
        let found = try await source.found(typed: asked.typed, words: words, bench.environment, within: .seconds(60))
        return (offer.candidates + found).map { offer.prefix + $0.word }
    }

    @Test func jobsAreOfferedThatTheCommandIsFor() async throws {
        let bench = try LedgerBench()
        let failed = try await bench.failedJob()
        let open = try await bench.submit(2)
        #expect(try await offered(bench, "job", "") == (open.reversed() + [failed]).map { "\($0)" })
        #expect(try await offered(bench, "retry", "") == ["\(failed)"])
        #expect(try await offered(bench, "accept", "") == ["\(failed)"])
        #expect(try await offered(bench, "cancel", "") == open.reversed().map { "\($0)" })
        #expect(try await offered(bench, "prioritize", "5", "\(open[0])") == ["\(open[0])"])
        #expect(try await offered(bench, "wait", "9") == [])
    }

    @Test func batchesQueuesAndWorkersAreOfferedByNumberAndName() async throws {
        let bench = try LedgerBench()
        try await bench.submit(1, Submission(queue: "nightly", label: "talks"))
        _ = try await bench.worker("pump-7")
        // A worker chooses its own name. Completion never offers a name that a shell would execute or split, or
        // that a command would take for an option.
        for name in ["$(id)", "`id`", "a;id", "a b", "-y", "pump-'7"] { _ = try await bench.worker(name) }
        #expect(try await offered(bench, "jobs", "--batch", "") == ["1"])
        #expect(try await offered(bench, "export", "--batch=") == ["--batch=1"])
        #expect(try await offered(bench, "wait", "--batch", "2") == [])
        #expect(try await offered(bench, "queues", "pause", "ni") == ["nightly"])
        #expect(try await offered(bench, "submit", "--queue", "") == ["default", "nightly"])
        #expect(try await offered(bench, "workers", "drain", "") == ["pump-7"])
        #expect(try await offered(bench, "batches", "") == ["1"])
    }

    @Test func tokensAndWebhooksAreOffered() async throws {
        let bench = try LedgerBench()
        for name in ["ci", "night"] { _ = try await bench.ledger.createToken(named: name, role: .viewer) }
        _ = try bench.run("tokens", "revoke", "night").checked()
        _ = try await bench.ledger.createWebhook(NewWebhook(at: "https://example.com/", for: .all))
        #expect(try await offered(bench, "tokens", "revoke", "") == ["ci"])
        #expect(try await offered(bench, "webhooks", "remove", "") == ["1"])
        #expect(try await offered(bench, "webhooks", "test", "") == ["1"])
        _ = try await bench.ledger.createWebhook(
            NewWebhook(at: "https://example.com/", for: .all, named: "studio", onNotify: true)
        )
        #expect(try await offered(bench, "submit", "--notify", "") == ["1", "studio"])
        #expect(try await offered(bench, "submit", "--notify", "st") == ["studio"])
    }

    @Test func addressOnTheLineGoesBeforeTheEnvironment() async throws {
        let bench = try LedgerBench()
        try await bench.submit(1)
        let url = try #require(bench.environment["SLUICE_DATABASE_URL"])
        let words = ["complete-words", "--", "job", "--database", url, ""]
        let elsewhere = ["SLUICE_DATABASE_URL": "postgresql://ada@127.0.0.1:1/none"]
        // On a busy machine the ledger may be too slow for the Tab key, which then offers nothing: press it again.
        var text = ""
        for _ in 0..<30 where text.count <= "none\n".count {
            text = try Sluice.run(words, environment: elsewhere).outputText
        }
        #expect(text.hasPrefix("none\n1\twaiting in:a/1.wav"))
    }

    /// Completion prints no message, causes no delay, and starts no cluster.
    @Test func silenceWhereNoLedgerAnswers() throws {
        let folder = try TemporaryFolder.create()
        let home = ["XDG_DATA_HOME": folder.path("data")]
        for environment in [home, home.merging(["SLUICE_DATABASE_URL": "postgresql://a@127.0.0.1:1/b"]) { $1 }] {
            let run = try Sluice.run(["complete-words", "--", "job", ""], environment: environment)
            #expect((run.status, run.outputText, run.errorText) == (.exited(0), "none\n", ""))
        }
        #expect(try folder.names().isEmpty)
    }

    @Test func theCompleterSaysWhatToAskFor() {
        let completer = Completer(root: Catalogue.root)
        let job = completer.offer(for: ["job", "17"]).asked
        #expect(job?.source as? LedgerWords == .jobs([]) && job?.typed == "17")
        let queue = completer.offer(for: ["jobs", "--queue=n"]).asked
        #expect(queue?.source as? LedgerWords == .queues && queue?.typed == "n")
        #expect(completer.offer(for: ["formats", ""]).asked?.source == nil)
    }
}
