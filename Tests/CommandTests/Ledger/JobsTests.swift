import Conversion
import Foundation
import Ledger
import TestSupport
import Testing

@testable import Command
@testable import Console

/// `sluice jobs` on a real ledger.
struct JobsTests {
    /// Submits one job for each state, in the order of their numbers: completed, failed, running, delayed,
    /// cancelled, waiting.
    private func jobsInEveryState(_ bench: LedgerBench) async throws -> [Int64] {
        let jobs = try await bench.submit(6, Submission(label: "mixed"))
        let worker = try await bench.worker()
        let fences = try await bench.claim(4, for: worker)
        try await bench.complete(fences[0])
        try await bench.fail(fences[1])
        _ = try await bench.heartbeat.beat(
            worker,
            [RunningJob(fences[2], frames: 710, totalFrames: 1_000, slot: 2)],
            status: WorkerStatus(busySlots: 1)
        )
        try await bench.fail(fences[3], .transient, code: "io_source", message: "the share went away")
        try await bench.ledger.apply(.cancel, to: JobFilter(ids: [jobs[4]]))
        return jobs
    }

    @Test func everyStateIsShownWithWhatIsKnownOfIt() async throws {
        let bench = try LedgerBench()
        let jobs = try await jobsInEveryState(bench)
        let lines = try bench.output("jobs").split(separator: "\n").map(String.init)
        try #require(lines.count == 7)
        let titles: [Substring] = lines[0].split(separator: " ")
        #expect(titles == ["ID", "STATE", "SOURCE", "CODE", "DONE", "ATTEMPTS", "WHEN", "WORKER"])
        func row(_ place: Int) -> [Substring] { lines[6 - place].split(separator: " ") }
        #expect(row(0).prefix(4) == ["\(jobs[0])", "completed", "in:a/1.wav", "1"] && row(0).last == "pump-1")
        #expect(row(1).prefix(4) == ["\(jobs[1])", "failed", "in:a/2.wav", "truncated"])
        #expect(row(2).prefix(5) == ["\(jobs[2])", "running", "in:a/3.wav", "71%", "1"] && row(2).last == "pump-1/2")
        #expect(row(3).prefix(4) == ["\(jobs[3])", "delayed", "in:a/4.wav", "io_source"])
        #expect(row(4)[1] == "cancelled" && row(5)[1] == "waiting")
    }

    @Test func recordsKeepTheirNames() async throws {
        let bench = try LedgerBench()
        _ = try await jobsInEveryState(bench)
        try Golden.expect(Golden.maskedLedger(bench.output("jobs", "--json")), is: "jobs.jsonl")
        // The back-off before the next attempt is random, and only `readyAt` shows it.
        let stories = try [1, 2, 3, 4, 5, 6].map { try bench.output("job", "\($0)", "--json") }
        try Golden.expect(Golden.maskedLedger(stories.joined()), is: "stories.jsonl")
    }

    @Test func filtersSayWhichJobs() async throws {
        let bench = try LedgerBench()
        let jobs = try await jobsInEveryState(bench)
        let other = try await bench.submit(2, Submission(queue: "nightly"), stem: "z/show")
        func ids(_ words: String...) throws -> [Int64] {
            try bench.run(["jobs", "-q"] + words).checked().outputText.split(separator: "\n").compactMap { Int64($0) }
        }
        #expect(try ids("--state", "failed,completed") == [jobs[1], jobs[0]])
        #expect(try ids("--state", "failed", "--state", "completed") == [jobs[1], jobs[0]])
        #expect(try ids("--batch", "2") == other.reversed())
        #expect(try ids("--queue", "nightly") == other.reversed())
        #expect(try ids("--code", "truncated") == [jobs[1]])
        #expect(try ids("--code", "truncated", "--code", "io_source") == [jobs[3], jobs[1]])
        #expect(try ids("--class", "transient") == [jobs[3]])
        #expect(try ids("--stage", "decode", "--state", "failed") == [jobs[1]])
        #expect(try ids("--source", "in:z/") == other)
        try bench.age(seconds: 7_200)
        let late = try await bench.submit(1, stem: "late")
        #expect(try ids("--since", "1h") == late)
        #expect(try ids("--since", "3h", "--state", "failed") == [jobs[1]])
        #expect(try ids("--ended-since", "1h").isEmpty)
        #expect(try Set(ids("--ended-since", "3h")) == [jobs[0], jobs[1], jobs[4]])
    }

    @Test func timesAreToldByTheLedgersClock() async throws {
        let bench = try LedgerBench()
        try await bench.submit(1)
        // Leaves a slow machine 55 seconds to spare.
        try bench.age(seconds: 125)
        #expect(try bench.output("jobs").contains("2 min ago"))
        try bench.age(seconds: 7_200)
        #expect(try bench.output("jobs").contains("2 h ago"))
    }

    @Test func pagesFollowOneAnother() async throws {
        let bench = try LedgerBench()
        let jobs = try await bench.submit(7)
        let first = try bench.run("jobs", "--limit", "3").checked()
        #expect(first.outputText.split(separator: "\n").count == 4)
        #expect(first.errorText == "more: sluice jobs --after \(jobs[4]), or --all\n")
        let second = try bench.run("jobs", "--limit", "3", "--after", "\(jobs[4])", "-q").checked()
        #expect(second.outputText == "\(jobs[3])\n\(jobs[2])\n\(jobs[1])\n")
        #expect(second.errorText.isEmpty)
        let bySource = try bench.run("jobs", "--source", "in:a/", "--limit", "3", "--after", "\(jobs[2])").checked()
        #expect(bySource.outputText.contains("in:a/4.wav") && !bySource.outputText.contains("in:a/3.wav"))
        #expect(bySource.errorText == "more: sluice jobs --source in:a/ --after \(jobs[5]), or --all\n")
    }

    @Test func allIsMoreThanAPage() async throws {
        let bench = try LedgerBench()
        try await bench.submit(1_203)
        let jobs = Array(Int64(1)...1_203)
        let all = try bench.output("jobs", "--all", "-q").split(separator: "\n").compactMap { Int64($0) }
        #expect(all == jobs.reversed())
        let table = try bench.output("jobs", "--all").split(separator: "\n")
        #expect(table.count == 1_204 && table.count { $0.contains("SOURCE") } == 1)
    }

    @Test func emptyListIsAnAnswer() async throws {
        let bench = try LedgerBench()
        let none = try bench.run("jobs").checked()
        #expect((none.outputText, none.errorText) == ("", "no jobs\n"))
        try await bench.submit(1)
        let noneLikeIt = try bench.run("jobs", "--state", "failed").checked()
        #expect((noneLikeIt.outputText, noneLikeIt.errorText) == ("", "no job matches\n"))
        #expect(try bench.run("jobs", "--state", "failed", "--json").checked().stderr.isEmpty)
    }

    @Test func batchThatIsNotThereIsNotFound() async throws {
        let bench = try LedgerBench()
        for words in [["jobs", "--batch", "9"], ["jobs", "--follow", "--batch", "9"], ["errors", "--batch", "9"]] {
            let run = try bench.run(words)
            #expect(run.status == .exited(4))
            #expect(run.errorText == "error: no such batch 9\n")
        }
    }

    @Test func wordsThatMakeNoSenseAreWrongUse() throws {
        let bench = try LedgerBench()
        for words in [
            ["--watch"], ["--follow", "--watch"], ["--follow", "--all"], ["--follow", "--state", "waiting"],
            ["--state", "ended"], ["--since", "tomorrow"], ["--limit", "0"], ["--batch", "0"], ["--code", "x"],
            ["--stage", "x"],
        ] {
            let run = try bench.run(["jobs"] + words)
            #expect(run.status == .exited(2), "\(words): \(run.errorText)")
        }
    }

    @Test func namesOfOthersCannotMoveTheCursor() async throws {
        let bench = try LedgerBench()
        let hostile = Recipe(
            from: Recipe.Source(location: "in:\u{1B}[2J\u{202E}x.wav"),
            to: Recipe.Output(location: "out:x.mp3")
        )
        let receipt = try await bench.ledger.submit(Submission(label: "\u{1B}]0;t\u{7}"), recipes: [hostile])
        for words in [
            ["jobs"], ["job", "\(receipt.firstJob)"], ["batches"], ["export", "--batch", "\(receipt.batch)"],
        ] {
            let text = try bench.run(words).checked().outputText
            #expect(!text.contains("\u{1B}") && !text.contains("\u{202E}") && text.contains(#"\u{1b}"#), "\(words)")
        }
    }

    @Test func followingPrintsEachEndOnceAndEndsWithTheBatch() async throws {
        let bench = try LedgerBench()
        let jobs = try await bench.submit(3)
        let worker = try await bench.worker()
        let fences = try await bench.claim(3, for: worker)
        // Covers the last hour, because the first job may end before the command first looks.
        let running = try bench.start("jobs", "--follow", "--batch", "1", "-q", "--ended-since", "1h")
        try await bench.complete(fences[0])
        try running.waitForOutput("\(jobs[0])\n")
        try await bench.fail(fences[2])
        try running.waitForOutput("\(jobs[2])\n")
        try await bench.complete(fences[1])
        try running.ends(with: .exited(0))
        #expect(running.outputText == [jobs[0], jobs[2], jobs[1]].map { "\($0)\n" }.joined())
    }

    @Test func followingStopsAtASignalByTheSignal() async throws {
        let bench = try LedgerBench()
        _ = try await bench.failedJob()
        let running = try bench.start("jobs", "--follow", "--state", "failed", "--ended-since", "1h")
        try running.waitForOutput("truncated")
        running.signal(SIGINT)
        try running.ends(with: .signalled(SIGINT))
        #expect(running.errorText.isEmpty)
    }
}
