import Conversion
import Foundation
import Ledger
import TestSupport
import Testing

/// What commands print over HTTP, compared byte for byte with what they print on the database.
struct RemoteOutputTests {
    /// A ledger with jobs in most states, two queues and three workers.
    private func filled() async throws -> RemoteBench {
        let bench = try LedgerBench()
        // Longer than the time that passes below.
        try bench.sql("update sluice.setting set lease = '1 hour'")
        let worker = try await bench.worker("pump-1", abilities: ["root:in", "root:out", "codec:mp3"])
        let other = try await bench.worker("pump-2", abilities: ["root:in", "root:out", "codec:mp3"])
        _ = try await bench.ledger.wish(.quiet, of: other)
        var podcasts = Submission()
        (podcasts.label, podcasts.key, podcasts.labels) = ("podcasts", "podcasts-1", ["season": "2"])
        try await bench.submit(12, podcasts, stem: "podcasts")
        let fences = try await bench.claim(6, for: worker)
        try await bench.complete(fences[0])
        try await bench.complete(fences[1], Self.report)
        try await bench.fail(fences[2])
        try await bench.fail(fences[3], code: "not_audio", message: "line one\u{1B}[31m red")
        try await bench.fail(fences[4], .infrastructure, code: "cannot_read_source")
        // The last one runs. One of the rest is cancelled.
        _ = try await bench.ledger.apply(.cancel, to: JobFilter(sourceContains: "podcasts/12."))
        var night = Submission(queue: "nightly", label: "night \"shift\"", priority: 5, weight: 300)
        night.runAt = Date().addingTimeInterval(86_400 * 30)
        try await bench.submit(3, night, stem: "späte/Aufnahme")
        _ = try await bench.ledger.submit(
            Submission(queue: "rare"),
            [JobRequest(LedgerBench.recipe("rare"), needs: ["codec:nothing"])]
        )
        try await bench.ledger.setPaused(true, queue: "nightly")
        try await bench.ledger.setRunningLimit(7, queue: "rare")
        // What happened some time ago is shown in the same words a moment later.
        try bench.age(seconds: 40 * 60 + 10)
        return RemoteBench(bench)
    }

    private static var report: ConversionReport? { nil }

    @Test func statusNamesTheCoordinatorOfAContext() throws {
        let bench = try LedgerBench()
        let remote = RemoteBench(bench)
        let url = try remote.serve("--open-role", "viewer", at: "http")
        let place = ["XDG_CONFIG_HOME": bench.folder.path("config")]
        func sluice(_ words: String...) throws -> String {
            try Sluice.run(words, in: bench.folder, environment: place).checked().outputText
        }
        _ = try sluice("config", "set-context", "studio", "--url", url)
        let status = try sluice("status", "--context", "studio")
        #expect(status.contains("schema sluice, at ") && !status.contains(" at schema"), "\(status)")
        #expect(try remote.run(["status"], at: url).outputText.contains("schema sluice, at "))
    }

    /// The commands that read, with what they need to be told.
    private func readingCommands(_ bench: LedgerBench) async throws -> [[String]] {
        let jobs = try await bench.ledger.jobs(limit: 50).jobs.map(\.job)
        let batch = try await bench.ledger.batches().map(\.batch)
        let lowest = jobs.min() ?? 0
        return [
            ["jobs"], ["jobs", "--limit", "3"], ["jobs", "--limit", "3", "--after", "\(jobs[2])"], ["jobs", "--all"],
            ["jobs", "--state", "failed,cancelled"], ["jobs", "--state", "failed"], ["jobs", "--queue", "nightly"],
            ["jobs", "--batch", "podcasts"], ["jobs", "--batch", "\(batch[0])", "--quiet"],
            ["jobs", "--code", "truncated", "--class", "permanent", "--stage", "decode"],
            ["jobs", "--source", "in:podcasts/"], ["jobs", "--source", "in:podcasts/", "--after", "\(lowest)"],
            ["jobs", "--source-contains", "Aufnahme"], ["jobs", "--since", "1d"], ["jobs", "--ended-since", "1d"],
            ["jobs", "--remarks"], ["jobs", "--batch", "nothing of that name"], ["jobs", "--batch", "999999"],
            ["batches"], ["batches", "--limit", "1"], ["batches", "--all"], ["batches", "podcasts"],
            ["batches", "--before", "\(batch[0])"], ["batches", "--quiet"], ["batches", "999999"],
            ["errors"], ["errors", "--batch", "podcasts"], ["errors", "--queue", "nightly"],
            ["errors", "--since", "1d"],
            ["errors", "--quiet"],
            ["queues"], ["queues", "--quiet"], ["workers"], ["workers", "--quiet"], ["workers", "--ended-since", "1d"],
            ["status"], ["job", "999999"], ["job", "\(lowest)", "999999"],
        ] + jobs.map { ["job", "\($0)"] } + [["wait", "\(lowest)"], ["wait", "--any", "\(lowest)", "\(jobs[0])"]]
    }

    @Test func readingPrintsTheSame() async throws {
        let remote = try await filled()
        let url = try remote.serve("--open-role", "operator", at: "http")
        for words in try await readingCommands(remote.bench) {
            try compare(words, remote, url)
            if !words.contains("--quiet"), !words.contains("wait") { try compare(words + ["--json"], remote, url) }
        }
        // Later, when the leases of the workers are over.
        try remote.bench.age(seconds: 2 * 86_400)
        // The coordinator would do so between the two commands.
        _ = try await remote.bench.ledger.keepHouse()
        for words in [["workers"], ["workers", "--json"], ["status"], ["status", "--json"], ["jobs"], ["batches"]] {
            try compare(words, remote, url)
        }
    }

    private func compare(_ words: [String], _ remote: RemoteBench, _ url: String) throws {
        try remote.compare(words, at: url)
    }

    @Test func changesPrintTheSame() async throws {
        // The same ledger twice: each way changes its own.
        let (first, second) = (try await filled(), try await filled())
        let url = try second.serve("--open-role", "operator", at: "http")
        let failed = try await first.bench.ledger.jobs(matching: JobFilter(states: [.failed])).jobs.map(\.job)
        for words in [
            ["retry", "--code", "truncated", "--dry-run"], ["retry", "--code", "truncated", "--dry-run", "--json"],
            ["retry", "\(failed[0])"], ["retry", "\(failed[0])", "--yes"], ["retry", "\(failed[0])", "--yes"],
            ["retry", "--all", "--yes", "--on-damage", "conceal", "--conceal-limit", "60", "--json"],
            ["retry", "999999", "--yes"], ["retry"], ["cancel", "--queue", "nightly", "--dry-run"],
            ["cancel", "--queue", "nightly", "--yes"], ["cancel", "--batch", "podcasts", "--yes", "--json"],
            ["cancel", "--state", "completed", "--yes"],
            ["prioritize", "7", "--queue", "rare", "--yes"], ["prioritize", "7", "--queue", "nowhere", "--yes"],
            ["queues", "pause", "rare"], ["queues", "resume", "nightly", "rare"], ["queues", "limit", "rare", "none"],
            ["queues", "limit", "rare", "3", "--json"], ["queues", "weight", "rare", "250"],
            ["queues", "weight", "rare", "50", "--submitter", "intern"], ["queues", "pause", "nowhere"],
            ["workers", "quiet", "pump-1"], ["workers", "run", "pump-2", "pump-1"], ["workers", "drain", "nobody"],
            ["jobs", "--all", "--json"], ["queues", "--json"], ["workers", "--quiet"],
        ] {
            let direct = try first.bench.run(words)
            let over = try second.run(words, at: url)
            let line = words.joined(separator: " ")
            func masked(_ text: String) -> String {
                // The numbers of workers begin with the time at which they registered, and the ledgers were made one
                // after the other. Over HTTP, the holder of a token retries.
                Golden.maskedLedger(text).replacing(#/\d{12,}/#, with: "ID").replacing(#/\d+ min ago/#, with: "AGO")
                    .replacing(#/"retriedBy":"(postgres|token:local)"/#, with: "RETRIED")
            }
            #expect(masked(over.outputText) == masked(direct.outputText), "\(line)")
            #expect(over.errorText == direct.errorText, "\(line)")
            #expect(over.status == direct.status, "\(line): \(over.errorText)")
        }
    }

    @Test func webhooksPrintTheSame() async throws {
        let remote = try await filled()
        let bench = remote.bench
        let url = try remote.serve("--open-role", "operator", at: "http")
        try bench.run("tenants", "create", "radio").checked()
        try remote.compare(["webhooks"], at: url)
        let made = try remote.run(["webhooks", "create", "https://example.com/a", "--json"], at: url).checked()
        #expect(made.outputText.wholeMatch(of: /\{"id":1,"secret":"whsec_[A-Za-z0-9+\/]{43}="\}\n/) != nil)
        #expect(made.errorText == "")
        for words in [
            ["--batch", "podcasts", "--event", "failures.high", "--failures", "33"], ["--own"], ["--tenant", "radio"],
            ["--queue", "nightly"], ["--on-notify", "--name", "studio"],
        ] {
            let alone = try remote.run(["webhooks", "create", "https://example.com/b"] + words, at: url).checked()
            #expect(alone.outputText.hasPrefix("whsec_") && alone.errorText.hasPrefix("webhook "))
        }
        for words in [
            ["webhooks"], ["webhooks", "--json"], ["webhooks", "-q"], ["webhooks", "deliveries"],
            ["webhooks", "deliveries", "--json"], ["webhooks", "deliveries", "--limit", "1"],
            ["webhooks", "deliveries", "--dead", "-q"], ["webhooks", "deliveries", "--webhook", "1", "--before", "3"],
            ["webhooks", "deliveries", "--webhook", "9"], ["webhooks", "retry", "1", "--delivery", "1"],
            ["webhooks", "retry", "9"], ["webhooks", "remove", "1", "9"], ["webhooks", "test", "9"],
            ["webhooks", "create", "https://me:secret@a.example/"],
            ["webhooks", "create", "https://a.example/", "--batch", "999999"],
            ["webhooks", "create", "https://a.example/", "--own", "--event", "worker.lost"],
            ["webhooks", "create", "https://a.example/", "--name", "studio"],
            ["webhooks", "create", "https://a.example/", "--queue", "nowhere"],
            ["webhooks", "create", "https://a.example/", "--tenant", "nobody"],
        ] { try remote.compare(words, at: url) }
        _ = try remote.run(["webhooks", "remove", "1", "2", "3", "4", "5", "6"], at: url).checked()
        #expect(try bench.output("webhooks", "-q").isEmpty)
    }

    @Test func deliveriesPrintTheSame() async throws {
        let bench = try LedgerBench()
        for name in ["a", "b"] { _ = try bench.output("webhooks", "create", "https://example.com/\(name)") }
        for webhook: Int32 in [1, 1, 1, 2] { _ = try await bench.ledger.testWebhook(webhook) }
        let taken = try await bench.ledger.takeDeliveries(healthy: 3, failing: 0, lease: .seconds(60))
            .sorted { $0.id < $1.id }
        #expect(taken.count == 3)
        // One is delivered, one was given up, one waits for its next attempt, and one for its first.
        try await bench.ledger.record(taken[0], status: 204, error: nil)
        try await bench.ledger.record(taken[1], status: 410, error: "gone\u{1B}[31m for good")
        try await bench.ledger.record(taken[2], status: nil, error: "no answer")
        // In words that are the same a moment later.
        try bench.age(seconds: 40 * 60 + 10)
        // More than a page of the API.
        try bench.sql(
            """
            with e as (
                insert into sluice.webhook_event (type, key, at, body)
                select 'batch.ended', 'k' || n, now() - interval '2 hours', '{}' from generate_series(1, 2300) n returning id
            )
            insert into sluice.webhook_delivery (webhook, event, created_at, due_at, attempts, outcome, ended_at, tried_at)
            select 2, e.id, now() - interval '2 hours', now(), 10, 'dead', now() - interval '1 hour', now() - interval '1 hour'
            from e order by e.id
            """
        )
        let remote = RemoteBench(bench)
        let url = try remote.serve("--open-role", "operator", at: "http")
        for words in [
            [], ["--json"], ["-q"], ["--dead"], ["--dead", "--json"], ["--waiting"], ["--waiting", "--json"],
            ["--webhook", "1"], ["--webhook", "2", "-q"], ["--webhook", "1", "--dead", "--json"],
            ["--limit", "2"], ["--limit", "2", "--before", "4"], ["--limit", "2", "--before", "3", "--json"],
            ["--limit", "1000", "-q"], ["--limit", "1001", "-q"], ["--limit", "2304", "-q"],
            ["--limit", "10000", "-q"],
            ["--webhook", "2", "--dead", "--limit", "2299", "--json"], ["--before", "1"],
        ] { try remote.compare(["webhooks", "deliveries"] + words, at: url) }
        let all = try remote.run(["webhooks", "deliveries", "-q", "--limit", "10000"], at: url).checked().outputText
        #expect(all.split(separator: "\n").count == 2_304)
        for words in [["webhooks"], ["webhooks", "--json"], ["webhooks", "retry", "1", "--delivery", "99"]] {
            try remote.compare(words, at: url)
        }
        // Three pages.
        let retry = try remote.run(["webhooks", "retry", "2"], at: url).checked()
        #expect(retry.errorText == "2,300 will be sent again\n")
        let end = try remote.run(["webhooks", "retry", "2"], at: url)
        #expect(end.status == .exited(9))
    }

    @Test func submissionsPrintTheSame() throws {
        let (first, second) = (try RemoteBench(), try RemoteBench())
        let url = try second.serve("--open-role", "submitter", at: "http")
        for bench in [first.bench, second.bench] {
            for name in ["one", "two"] { try write("\(name).wav", in: bench, "not audio yet") }
        }
        func both(_ words: String..., sourceLocation: SourceLocation = #_sourceLocation) throws {
            let direct = try first.bench.run(words)
            let over = try second.run(words, at: url)
            func masked(_ text: String) -> String {
                Golden.maskedLedger(text).replacing(first.bench.folder.path.dropFirst(), with: "FOLDER")
                    .replacing(second.bench.folder.path.dropFirst(), with: "FOLDER")
                    .replacing(#/"submitter":"[^"]*"/#, with: "\"submitter\":0")
                    .replacing(#/"modified":\d+/#, with: "\"modified\":0")
                    .replacing(#/whsec_[A-Za-z0-9+\/]+=/#, with: "SECRET")
            }
            let line = words.joined(separator: " ")
            #expect(masked(over.outputText) == masked(direct.outputText), "\(line)", sourceLocation: sourceLocation)
            #expect(masked(over.errorText) == masked(direct.errorText), "\(line)", sourceLocation: sourceLocation)
            #expect(over.status == direct.status, "\(line): \(over.errorText)", sourceLocation: sourceLocation)
        }
        let to = ["--to", "out/{stem}.flac"]
        try both("submit", "one.wav", to[0], to[1], "--dry-run")
        try both("submit", "one.wav", "two.wav", to[0], to[1], "--label", "both", "--key", "k-1", "--priority", "3")
        // The same again, another request under the key, and without the key what is under way.
        try both("submit", "one.wav", "two.wav", to[0], to[1], "--label", "both", "--key", "k-1", "--priority", "3")
        try both("submit", "one.wav", to[0], to[1], "--key", "k-1")
        try both("submit", "one.wav", "two.wav", to[0], to[1])
        try both("submit", "one.wav", to[0], to[1], "--dry-run")
        try both("submit", "one.wav", to[0], to[1], "--again", "--json", "--run-at", "30d", "--max-attempts", "2")
        try both("submit", "one.wav", "--to", "a/{stem}.mp3", "--queue", "no such name")
        try both("submit", "one.wav", "--to", "out/{stem}.opus", "--also", "web/{stem}.mp3:podcast-mp3", "--json")
        try both("webhooks", "create", "https://example.com/a", "--own", "--name", "mine", "--json")
        try both("submit", "one.wav", "--to", "told/{stem}.flac", "--notify", "mine", "--json")
        try both("submit", "one.wav", "--to", "told/{stem}.flac", "--notify", "mine")
        try both("submit", "two.wav", "--to", "told/{stem}.flac", "--notify", "mine", "--notify", "1", "--key", "k-2")
        try both("submit", "two.wav", "--to", "told/{stem}.flac", "--notify", "1", "--key", "k-2")
        try both("submit", "two.wav", "--to", "told/{stem}.wav", "--notify", "nobody", "--dry-run")
        let unknown = try second.run(["submit", "two.wav", "--to", "told/{stem}.wav", "--notify", "nobody"], at: url)
        #expect(unknown.status == .exited(4) && unknown.errorText.contains("nobody"))
        try both("jobs", "--json", "--all")
        try both("job", "\(1)", "--json")
        try both("batches", "--json")
        try both("batches", "last", "--json")
    }

    private func write(_ name: String, in bench: LedgerBench, _ text: String) throws {
        let path = "\(bench.folder.path)/\(name)"
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        // The same time in both folders.
        try FileManager.default.setAttributes([.modificationDate: Date(timeIntervalSince1970: 1e9)], ofItemAtPath: path)
    }
}
