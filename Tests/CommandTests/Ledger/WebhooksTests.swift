import Foundation
import Ledger
import TestSupport
import Testing

/// `sluice webhooks`.
struct WebhooksTests {
    @Test func aSecretIsPrintedOnceAlone() async throws {
        let bench = try LedgerBench()
        #expect(try bench.run("webhooks").checked().errorText.hasPrefix("no webhooks; "))
        let made = try bench.run("webhooks", "create", "https://example.com/a").checked()
        #expect(made.outputText.wholeMatch(of: /whsec_[A-Za-z0-9+\/]{43}=\n/) != nil)
        #expect(made.errorText == "webhook 1: this is the only time that its secret is shown\n")
        let object = try bench.output("webhooks", "create", "https://example.com/b", "--own", "--json")
        #expect(object.hasPrefix(#"{"id":2,"secret":"whsec_"#))
        try await bench.submit(1)
        let words = ["--batch", "1", "--event", "failures.high", "--failures", "33"]
        _ = try bench.run(["webhooks", "create", "https://example.com/c"] + words).checked()
        let lines = try bench.output("webhooks").split(separator: "\n").map { $0.split(separator: " ") }
        #expect(
            lines[0].prefix(4) == ["ID", "NAME", "URL", "FOR"]
                && lines[1].prefix(4) == ["1", "-", "https://example.com/a", "all"]
        )
        #expect(try bench.output("webhooks", "-q") == "1\n2\n3\n")
        let list = try bench.output("webhooks", "--json")
        try Golden.expect(Golden.maskedLedger(list), is: "webhooks.jsonl")
        #expect(!list.contains(made.outputText.dropLast()) && !list.contains("whsec_"))

        #expect(try bench.run("webhooks", "remove", "1", "9").status == .exited(4))
        #expect(try bench.output("webhooks", "-q") == "1\n2\n3\n")
        _ = try bench.output("webhooks", "remove", "1", "3")
        #expect(try bench.output("webhooks", "-q") == "2\n")
    }

    @Test func whatCannotBeIsRefused() throws {
        let bench = try LedgerBench()
        for words in [
            [], ["https://a.example/", "--own", "--batch", "1"], ["https://a.example/", "--event", "all"],
            ["https://a.example/", "--failures", "0"], ["https://a.example/", "https://b.example/"],
            ["https://a.example/", "--queue", "default", "--own"],
            ["https://a.example/", "--on-notify", "--batch", "1"],
            ["https://a.example/", "--on-notify", "--queue", "default"],
            ["https://a.example/", "--name", "a", "--batch", "1"],
        ] {
            #expect(try bench.run(["webhooks", "create"] + words).status == .exited(2), "\(words)")
        }
        let wrong = try bench.run("webhooks", "create", "https://me:secret@a.example/")
        #expect(wrong.status == .exited(1) && wrong.errorText.contains("no address of a webhook"))
        #expect(!wrong.errorText.contains("secret"))
        #expect(try bench.run("webhooks", "create", "https://a.example/", "--batch", "7").status == .exited(4))
        let misfit = try bench.run("webhooks", "create", "https://a.example/", "--own", "--event", "worker.lost")
        #expect(misfit.errorText.contains("possible: batch.ended, failures.high\n"))
        for name in ["7", "a b", "x,y"] {
            let run = try bench.run("webhooks", "create", "https://a.example/", "--name", name)
            #expect(run.status == .exited(2) && run.errorText.contains("beginning with a letter\n"), "\(run.errorText)")
        }
        let nowhere = try bench.run("webhooks", "create", "https://a.example/", "--queue", "nowhere")
        #expect(nowhere.status == .exited(4) && nowhere.errorText.contains("there is no queue nowhere"))
        #expect(try bench.run("webhooks", "test", "1").status == .exited(4))
        #expect(try bench.run("webhooks", "deliveries", "--webhook", "1").status == .exited(4))
        #expect(try bench.run("webhooks", "deliveries", "--dead", "--waiting").status == .exited(2))
        #expect(try bench.run("coordinator", "--webhooks-to", "10.0.0.0/99").status == .exited(2))
    }

    @Test func aSubmissionNamesWebhooks() async throws {
        let bench = try LedgerBench()
        try Data("not audio yet".utf8).write(to: URL(fileURLWithPath: "\(bench.folder.path)/one.wav"))
        _ = try bench.output("webhooks", "create", "https://example.com/a", "--name", "studio", "--on-notify")
        let list = try bench.output("webhooks")
        #expect(list.contains("1  studio  https://example.com/a  --notify"))
        func submit(_ words: String...) throws -> Run {
            try bench.run(["submit", "one.wav", "--to", "out/{stem}.flac"] + words)
        }
        // Nothing is submitted for a name that is none.
        for words in [["--notify", "nobody"], ["--notify", "nobody", "--dry-run"]] {
            let run = try bench.run(["submit", "one.wav", "--to", "out/{stem}.flac"] + words)
            #expect(run.status != .exited(0) && run.errorText.contains("nobody"), "\(run.errorText)")
        }
        #expect(try submit("--notify", "studio", "--dry-run").checked().outputText.contains("1 job"))
        #expect(try submit("--notify", "a,b").status == .exited(2))
        #expect(try submit("--notify", "").status == .exited(2))
        #expect(try bench.output("batches", "-q").isEmpty)
        let line = try submit("--notify", "studio", "--notify", "1", "--json").checked().outputText
        #expect(line.contains(#""notify":["studio","1"]"#))
        let again = try submit("--notify", "studio").checked()
        #expect(again.errorText.contains("no batch was added, so studio is not notified"))
        #expect(try submit("--notify", "studio", "--json").checked().outputText.contains("notify") == false)
        try await bench.ledger.apply(.cancel, to: JobFilter())
        _ = try await bench.ledger.keepHouse()
        // What is folded is looked at after it.
        try bench.sql("update sluice.chore set due_at = '-infinity'")
        _ = try await bench.ledger.keepHouse()
        #expect(try await bench.ledger.deliveries().map(\.event) == ["batch.ended"])
    }

    @Test func deliveriesAreListedAndRetried() async throws {
        let bench = try LedgerBench()
        _ = try bench.output("webhooks", "create", "https://example.com/a")
        for _ in 0..<3 { _ = try await bench.ledger.testWebhook(1) }
        let taken = try await bench.ledger.takeDeliveries(healthy: 2, failing: 0, lease: .seconds(60))
        try await bench.ledger.record(taken[0], status: 200, error: nil)
        try await bench.ledger.record(taken[1], status: 410, error: "the answer has the status 410")
        let lines = try bench.output("webhooks", "deliveries").split(separator: "\n")
        #expect(lines.count == 4 && lines[0].hasPrefix("ID  WEBHOOK  EVENT"))
        #expect(lines[1].contains(" waiting ") && lines[2].contains(" dead ") && lines[3].contains(" delivered "))
        #expect(try bench.output("webhooks", "deliveries", "--dead", "-q") == "2\n")
        #expect(try bench.output("webhooks", "deliveries", "--waiting", "-q") == "3\n")
        let page = try bench.run("webhooks", "deliveries", "--limit", "1").checked()
        #expect(page.errorText == "more: sluice webhooks deliveries --before 3\n")
        let row = try bench.output("webhooks", "deliveries", "--webhook", "1", "--dead", "--json")
        #expect(row.contains(#""error":"the answer has the status 410""#) && row.contains(#""status":410,"triedAt""#))
        #expect(try bench.run("webhooks", "retry", "1", "--delivery", "1").status == .exited(9))
        #expect(try bench.run("webhooks", "retry", "1").checked().errorText == "1 will be sent again\n")
        #expect(try bench.output("webhooks", "deliveries", "--dead", "-q").isEmpty)
    }
}
