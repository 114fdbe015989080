import API
import Conversion
import Foundation
import Ledger
import TestSupport
import Testing

@testable import Command

/// `batches`, `queues`, `workers`, `errors` and `status`.
struct OverviewTests {
    // MARK: - Status

    @Test func failuresAndLossesOfTheLastHourAreTold() async throws {
        let bench = try LedgerBench()
        let context = ["XDG_CONFIG_HOME": bench.folder.path]
        let address = try #require(bench.environment["SLUICE_DATABASE_URL"])
        try bench.run("config", "set-context", "here", "--database", address, environment: context).checked()
        _ = try await bench.failedJob()
        try bench.sql("update sluice.worker set ended_at = sluice.ledger_time(), end_reason = 'lost'")
        let notes = [
            "1 job has failed for good in the last hour with truncated: sluice errors --since 1h",
            "worker pump-1 (host-1) was lost just now: its jobs went to others",
        ]
        for words in [["status"], ["status", "--all-contexts"], ["status", "--context", "here"]] {
            let run = try bench.run(words, environment: context).checked()
            #expect(!run.outputText.contains("all well"), "\(words)")
            for note in notes { #expect(run.errorText.contains(note), "\(words): \(run.errorText)") }
        }
        // The API gives these facts.
        let facts = try await StatusFacts.look(at: bench.ledger)
        for note in notes { #expect(facts.notes.contains { $0.line == note }) }
        try bench.sql("update sluice.failure_count set hour = hour - interval '3 h'")
        try bench.sql("update sluice.failure_delta set at = at - interval '3 h'")
        #expect(try !bench.run("status").checked().errorText.contains("failed for good"))
    }

    // MARK: - Batches

    @Test func batchesTellHowFarTheyAre() async throws {
        let bench = try LedgerBench()
        try await bench.submit(4, Submission(label: "podcasts", labels: ["by": "ada"]))
        let fences = try await bench.claim(2, for: bench.worker())
        try await bench.complete(fences[0])
        try await bench.fail(fences[1])
        try await bench.submit(1, Submission(queue: "nightly", key: "k1"))
        let lines = try bench.output("batches").split(separator: "\n").map { $0.split(separator: " ") }
        #expect(lines[0] == ["ID", "NAME", "QUEUE", "JOBS", "DONE", "FAILED", "OPEN", "SUBMITTED"])
        // What failed is not done.
        #expect(lines[2].prefix(7) == ["1", "podcasts", "default", "4", "25%", "1", "2"])
        #expect(lines[1].prefix(3) == ["2", "nightly", "1"])
        try Golden.expect(Golden.maskedLedger(bench.output("batches", "--json")), is: "batches.jsonl")
        #expect(try bench.output("batches", "-q") == "2\n1\n")
        #expect(try bench.output("batches", "1", "-q") == "1\n")
        let page = try bench.run("batches", "--limit", "1").checked()
        #expect(page.errorText == "more: sluice batches --before 2, or --all\n")
        #expect(try bench.output("batches", "--before", "2", "-q") == "1\n")
        #expect(try bench.output("batches", "--all", "-q") == "2\n1\n")
        #expect(try bench.run("batches", "5").status == .exited(4))
        _ = try await bench.ledger.apply(.cancel, to: JobFilter(batch: 1))
        let cancelled = try bench.output("batches", "1").split(separator: "\n").map { $0.split(separator: " ") }
        #expect(cancelled[0].prefix(8) == ["ID", "NAME", "QUEUE", "JOBS", "DONE", "CANCELLED", "FAILED", "OPEN"])
        #expect(cancelled[1].prefix(8) == ["1", "podcasts", "default", "4", "25%", "2", "1", "0"])
    }

    // MARK: - Metrics

    @Test func metricsArePrintedInBothFormats() async throws {
        let bench = try LedgerBench()
        try await bench.submit(4)
        let fences = try await bench.claim(2, for: bench.worker())
        try await bench.complete(fences[0])
        try await bench.fail(fences[1])
        func masked(_ text: String) -> String {
            text.replacing(#/(seconds(_sum)?|seconds\{queue="default"\}|dead_rows\{[^}]*\}) [0-9.e-]+\n/#) {
                "\($0.output.1) N\n"
            }
            .replacing(#/(seconds_bucket\{le="[0-9.]+"\}) [01-9]\n/#) { "\($0.output.1) N\n" }
            .replacing(#/libavcodec="[0-9.]+"/#) { _ in "libavcodec=\"V\"" }
        }
        try Golden.expect(masked(bench.output("metrics")), is: "metrics.txt")
        try Golden.expect(masked(bench.output("metrics", "--openmetrics")), is: "metrics-openmetrics.txt")
    }

    // MARK: - Queues

    @Test func queuesArePausedResumedLimitedAndWeighed() async throws {
        let bench = try LedgerBench()
        try await bench.submit(3)
        try await bench.submit(1, Submission(queue: "nightly"))
        #expect(try bench.output("queues", "-q") == "default\nnightly\n")
        let paused = try bench.output("queues", "pause", "nightly", "default")
        #expect(paused.split(separator: "\n").dropFirst().allSatisfy { $0.contains("  paused ") })
        #expect(try await bench.ledger.queues().allSatisfy { $0.isPaused })
        _ = try bench.output("queues", "resume", "default")
        #expect(try await bench.ledger.queues().map(\.isPaused) == [false, true])
        _ = try bench.output("queues", "limit", "default", "2")
        _ = try bench.output("queues", "weight", "default", "400")
        let queue = try #require(try await bench.ledger.queues().first)
        #expect((queue.runningLimit, queue.weight) == (2, 400))
        try Golden.expect(bench.output("queues", "--json"), is: "queues.jsonl")
        _ = try bench.output("queues", "limit", "default", "none")
        #expect(try await bench.ledger.queues().first?.runningLimit == nil)
    }

    @Test func queueThatIsNotThereChangesNothing() async throws {
        let bench = try LedgerBench()
        try await bench.submit(1)
        let run = try bench.run("queues", "pause", "default", "nihgtly")
        #expect(run.status == .exited(4) && run.errorText.hasPrefix("error: no such queue \"nihgtly\"\n"))
        #expect(try await bench.ledger.queues().first?.isPaused == false)
        for words in [
            ["limit", "default", "many"], ["limit", "default", "0"], ["weight", "default", "0"], ["pause"],
            ["stop", "default"],
        ] {
            #expect(try bench.run(["queues"] + words).status == .exited(2), "\(words)")
        }
    }

    // MARK: - Workers

    @Test func workersAreShownAndAsked() async throws {
        let bench = try LedgerBench()
        #expect(try bench.run("workers").checked().errorText.hasPrefix("no workers are running"))
        let worker = try await bench.worker("pump-1")
        try await bench.submit(1)
        let fence = try await bench.claim(for: worker)[0]
        _ = try await bench.heartbeat.beat(
            worker,
            [RunningJob(fence)],
            status: WorkerStatus(busySlots: 1, pausedBecause: "the disk is full")
        )
        let shown = try bench.run("workers").checked()
        let cells = shown.outputText.split(separator: "\n")[1].split(separator: " ")
        #expect(cells.prefix(7) == ["\(worker)", "pump-1", "host-1", "paused", "4", "1", "1"] && cells.last == "1.0")
        #expect(shown.errorText == "note:  pump-1 is paused: the disk is full\n")
        for (word, wish) in [("quiet", WorkerWish.quiet), ("drain", .drain), ("run", .run)] {
            _ = try bench.output("workers", word, wish == .drain ? "pump-1" : "\(worker)")
            #expect(try await bench.ledger.workers().first?.wish == wish)
        }
        try Golden.expect(Golden.maskedLedger(bench.output("workers", "--json")), is: "workers.jsonl")
        let unknown = try bench.run("workers", "quiet", "pump-9")
        #expect(unknown.status == .exited(4))
        _ = try await bench.ledger.stop(worker)
        #expect(try bench.output("workers", "-q").isEmpty)
        #expect(try bench.output("workers", "--ended-since", "1h").contains(" stopped "))
    }

    @Test func workerThatIsNotHeardOfAnyMoreIsMarked() async throws {
        let bench = try LedgerBench()
        _ = try await bench.worker()
        try bench.age(seconds: 665)
        let row = try bench.output("workers").split(separator: "\n")[1]
        // Leaves a slow machine 55 seconds to spare.
        #expect(row.contains(" unheard ") && row.contains("11 min ago"))
    }

    @Test func aLostWorkerWasSeenAtItsLastHeartbeat() async throws {
        let bench = try LedgerBench()
        let worker = try await bench.worker()
        _ = try await bench.heartbeat.beat(worker, status: WorkerStatus(busySlots: 2, pausedBecause: "full"))
        try bench.age(seconds: 725)
        try bench.sql("update sluice.worker set ended_at = sluice.ledger_time() - interval '60 s', end_reason = 'lost'")
        let shown = try bench.run("workers", "--ended-since", "1h").checked()
        // Leaves a slow machine 55 seconds to spare.
        #expect(shown.outputText.contains(" lost ") && shown.outputText.contains("12 min ago"), "\(shown.outputText)")
        #expect(shown.stderr.isEmpty)
        let record = try #require(try bench.records("workers", "--ended-since", "1h").first)
        #expect(record["busySlots"] == nil && record["pausedBecause"] == nil && record["state"] as? String == "lost")
        let advice = try bench.output("explain", "worker_lost")
        #expect(advice.contains("sluice workers --ended-since 1d"), "\(advice)")
    }

    // MARK: - Errors

    @Test func failuresAreGroupedWithExampleAndHint() async throws {
        let bench = try LedgerBench()
        #expect(try bench.run("errors").checked().errorText == "no failures\n")
        let first = try await bench.failedJob(stem: "one")
        let second = try await bench.failedJob(stem: "two")
        let crash = try await bench.failedJob(code: "room_crash", stem: "three")
        let run = try bench.run("errors").checked()
        let lines = run.outputText.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        let titles: [Substring] = lines[0].split(separator: " ")
        #expect(titles == ["CODE", "CLASS", "STAGE", "JOBS", "TRIES", "LAST", "EXAMPLE"])
        let top = lines[1].split(separator: " ").map(String.init)
        #expect(top.prefix(5) == ["truncated", "permanent", "decode", "2", "2"])
        #expect(lines[1].contains(" \(second) in:two/1.wav") || lines[1].contains(" \(first) in:one/1.wav"))
        #expect(lines[2].contains(" \(crash) in:three/1.wav"))
        #expect(lines[3].isEmpty)
        let advice = "fetch the file again; --on-damage conceal keeps the length and fills the rest with silence"
        #expect(lines[4] == "truncated   \(advice)")
        #expect(run.errorText == "retry a group: sluice retry --code truncated --on-damage conceal\n")
        for code in ["conceal_refused", "uncounted_sound"] {
            let other = try LedgerBench()
            _ = try await other.failedJob(code: code)
            let advised = try other.run("errors").checked().errorText
            #expect(advised == "retry a group: sluice retry --code \(code) --on-damage trust-packets\n")
        }
        #expect(try bench.output("errors", "-q") == "truncated\nroom_crash\n")
        #expect(try bench.output("errors", "--batch", "3", "-q") == "room_crash\n")
        let records = try bench.records("errors")
        #expect(records.map { $0["code"] as? String } == ["truncated", "room_crash"])
        #expect(
            Set(records[0].keys) == [
                "code", "class", "stage", "jobs", "accepted", "attempts", "lastAt", "example", "exampleSource", "hint",
            ]
        )
    }

    // MARK: - Status

    @Test func statusSaysWhatIsNotWell() async throws {
        let bench = try LedgerBench()
        try await bench.submit(3)
        let run = try bench.run("status").checked()
        let lines = run.outputText.split(separator: "\n").map(String.init)
        let version = try bench.server.run("show server_version").prefix { $0 != " " && $0 != "\n" }
        #expect(lines[0].hasPrefix("ledger     postgres \(version) at postgresql://postgres@"))
        #expect(lines[0].hasSuffix(", see below"))
        #expect(lines[1] == "workers    0 alive (0 slots)")
        #expect(lines[2].hasPrefix("waiting    3   oldest "))
        #expect(lines[2].hasSuffix(" s   delayed 0   running 0   publishing 0"))
        #expect(lines[3] == "finished   0 completed, 0 failed, 0 cancelled")
        #expect(run.errorText.contains("note:  no workers are running"))
        #expect(run.errorText.contains("note:  housekeeping has not run yet"))
        let worker = try await bench.worker()
        _ = try await bench.ledger.keepHouse()
        try await bench.complete(bench.claim(for: worker)[0])
        try bench.sql("update sluice.worker set build = '\(Version.number)'")
        let well = try bench.run("status").checked()
        #expect(well.outputText.contains(", all well\n") && well.stderr.isEmpty)
        #expect(
            well.outputText.contains(
                "workers    1 alive (4 slots); housekeeping has just begun, and no worker counts as lost before "
            )
        )
        #expect(well.outputText.contains("finished   1 completed, 0 failed, 0 cancelled"))
        let record = try #require(try bench.records("status").first)
        #expect((record["jobs"] as? [String: Int])?["completed"] == 1)
        #expect((record["notes"] as? [String]) == [] && record["unsentDeliveries"] == nil)
    }

    @Test func statusSaysThatTheLedgerIsOfAnotherBuild() async throws {
        let bench = try LedgerBench()
        _ = try await bench.ledger.keepHouse()
        #expect(try bench.output("status").contains(", all well\n"))
        try bench.sql("update sluice.migration set functions = 'other' where functions is not null")
        let other = try bench.run("status").checked()
        #expect(!other.outputText.contains("all well"))
        #expect(
            other.errorText
                == "note:  the ledger has the functions of another build than this command: \"sluice migrate\" of the "
                + "installed release replaces them\n"
        )
        let version = try #require(try bench.records("status").first?["version"] as? [String: Any])
        #expect(version["hasOtherFunctions"] as? Bool == true && version["version"] as? Int == Migrator.version)
        // The coordinator answers from the same facts.
        let facts = try await StatusFacts.look(at: bench.ledger)
        #expect(facts.notes.map(\.kind) == [.versions] && facts.version?.isKnown == false)
        try bench.sql(
            "insert into sluice.migration (version, name, checksum, compatible_from) "
                + "values (\(Migrator.version + 1), 'later', 'x', 1)"
        )
        let newer = try bench.run("status").checked()
        #expect(newer.outputText.contains(", see below\n"))
        #expect(
            newer.errorText
                == "note:  the ledger is at version \(Migrator.version + 1), and this command knows \(Migrator.version): "
                + "install the release that has migrated it\n"
        )
    }

    @Test func statusSaysThatWorkersAreOfAnotherBuild() async throws {
        let bench = try LedgerBench()
        _ = try await bench.ledger.keepHouse()
        for name in ["pump-1", "pump-2"] { _ = try await bench.worker(name) }
        try bench.sql("update sluice.worker set build = '\(Version.number)' where name = 'pump-2'")
        let run = try bench.run("status").checked()
        #expect(run.outputText.contains(", see below\n"))
        #expect(
            run.errorText
                == "note:  workers run another build than this command (\(Version.number)): 1.0 on pump-1; "
                + "\"sluice workers\" lists them: install one release\n"
        )
        // A coordinator compares the workers among themselves.
        let facts = try await StatusFacts.look(at: bench.ledger)
        #expect(facts.notes.map(\.kind) == [.versions] && facts.notes[0].text.hasPrefix("workers run several builds: "))
        try bench.sql("update sluice.worker set build = '\(Version.number)'")
        #expect(try bench.run("status").checked().stderr.isEmpty)
    }

    @Test func statusSaysThatJobsWaitInAPausedQueue() async throws {
        let bench = try LedgerBench()
        _ = try await bench.worker()
        _ = try await bench.ledger.keepHouse()
        try bench.sql("update sluice.worker set build = '\(Version.number)'")
        try await bench.submit(2, Submission(queue: "nightly"))
        try await bench.submit(1, Submission(queue: "weekly"))
        #expect(try bench.run("status").checked().stderr.isEmpty)
        _ = try bench.output("queues", "pause", "nightly", "weekly")
        let paused = try bench.run("status").checked()
        let notes = [
            "2 jobs wait in queue nightly, which is paused: sluice queues resume nightly",
            "1 job waits in queue weekly, which is paused: sluice queues resume weekly",
        ]
        #expect(paused.errorText == notes.map { "note:  \($0)\n" }.joined())
        #expect(paused.outputText.contains(", see below\n"))
        #expect(try bench.records("status").first?["notes"] as? [String] == notes)
        // Who may not resume a queue learns who may.
        let login = PrivatePostgres.freshName("viewer")
        try bench.sql("create role \(login) login in role sluice_viewer")
        let url = try #require(bench.environment["SLUICE_DATABASE_URL"]).replacing("postgres@", with: "\(login)@")
        let seen = try Sluice.run(["status"], in: bench.folder, environment: ["SLUICE_DATABASE_URL": url]).checked()
        let told = [
            "2 jobs wait in queue nightly, which is paused: ask an operator to resume it",
            "1 job waits in queue weekly, which is paused: ask an operator to resume it",
        ]
        #expect(seen.errorText == told.map { "note:  \($0)\n" }.joined())
        let remote = RemoteBench(bench)
        let viewed = try remote.run(["status"], at: remote.serve("--open-role", "viewer", at: "view")).checked()
        #expect(told.allSatisfy { viewed.errorText.contains("note:  \($0)\n") }, "\(viewed.errorText)")
        let steered = try remote.run(["status"], at: remote.serve("--open-role", "operator", at: "steer")).checked()
        #expect(notes.allSatisfy { steered.errorText.contains("note:  \($0)\n") }, "\(steered.errorText)")
        try bench.sql("drop role \(login)")
        _ = try bench.output("queues", "resume", "nightly", "weekly")
        #expect(try bench.run("status").checked().stderr.isEmpty)
    }

    /// Functions of another build of the same version may answer in another shape. Then the build is the cause.
    @Test func anAnswerInAnotherShapeIsExplainedByTheBuild() throws {
        let bench = try LedgerBench()
        try bench.sql("update sluice.migration set functions = 'other' where functions is not null")
        try bench.sql("drop function sluice.list_queues()")
        try bench.sql(
            "create function sluice.list_queues() returns table (queue text) language sql as 'select ''default'''"
        )
        let run = try bench.run("queues")
        #expect(run.status == .exited(7))
        #expect(run.errorText.contains("with the functions of another build"), "\(run.errorText)")
    }

    @Test func statusSaysThatNoCoordinatorSendsWebhooks() async throws {
        let bench = try LedgerBench()
        let hook = try await bench.ledger.createWebhook(NewWebhook(at: "https://example.com/", for: .all)).id
        _ = try await bench.ledger.testWebhook(hook)
        try bench.age(seconds: 305)
        let status = try bench.run("status").checked()
        #expect(
            status.errorText
                == "note:  a webhook delivery waits for 5 min, and no coordinator sends any: start one with "
                + "\"sluice coordinator\"\n"
        )
        #expect(status.outputText.contains(", see below\n"))
        let record = try #require(try bench.records("status").first)
        #expect((record["notes"] as? [String])?.count == 1)
        #expect((record["unsentDeliveries"] as? [String: Any])?["count"] as? Int == 1)
        #expect(try bench.run("doctor").outputText.contains("a webhook delivery waits for 5 min"))
        _ = try await bench.ledger.takeDeliveries(healthy: 1, failing: 1, lease: .seconds(60))
        #expect(try bench.run("status").checked().stderr.isEmpty)
        #expect(!(try bench.run("doctor").outputText.contains("webhook delivery")))
    }

    @Test func ledgerThatIsNotMigratedSaysWhatToDo() async throws {
        let bench = try LedgerBench()
        for command in ["status", "jobs", "batches", "queues", "workers", "errors"] {
            let run = try bench.run(command, environment: ["SLUICE_SCHEMA": "nothing_here"])
            #expect(run.status == .exited(7), "\(command)")
            #expect(run.errorText.contains("hint:  run `sluice migrate`"))
            let away = try bench.run(command, environment: ["SLUICE_DATABASE_URL": "postgresql:///x?host=/nowhere"])
            #expect(away.status == .exited(5), "\(command)")
        }
    }
}
