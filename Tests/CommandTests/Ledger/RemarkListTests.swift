import Conversion
import Foundation
import Ledger
import TestSupport
import Testing

@testable import Command

/// What `job`, `jobs`, `batches` and `wait` say about outputs that lack something of their sources.
struct RemarkListTests {
    private static let damage = DamageReport(
        frames: 4_096,
        stretchCount: 6,
        stretches: (0..<6).map { .init(start: $0 * 48_000, frames: 512, code: "corrupt_stream") }
    )

    /// Three jobs of batch 1: one is completed with damage and a lost cover, one without remarks, and one waits.
    private func bench() async throws -> (LedgerBench, [Int64]) {
        let bench = try LedgerBench()
        var recipe = LedgerBench.recipe("a/1")
        recipe.damage = .conceal
        let requests = [JobRequest(recipe)] + (2...3).map { JobRequest(LedgerBench.recipe("a/\($0)")) }
        let receipt = try await bench.ledger.submit(Submission(label: "talks"), requests)
        let fences = try await bench.claim(2, for: bench.worker())
        try await bench.complete(fences[0], LedgerBench.report(Self.damage, Remark(.cover, "WAV cannot store a cover")))
        try await bench.complete(fences[1], LedgerBench.report())
        return (bench, try await bench.ledger.jobs(ofBatch: receipt.batch))
    }

    @Test func jobUsesTheWordsOfConvert() async throws {
        let (bench, jobs) = try await bench()
        let lines = try bench.output("job", "\(jobs[0])").split(separator: "\n").suffix(8)
        #expect(
            lines == [
                "  note: in:a/1.wav is damaged in 6 places: 4,096 frames filled with silence",
                "      512 frames from 0:00: corrupt_stream", "      512 frames from 0:01: corrupt_stream",
                "      512 frames from 0:02: corrupt_stream", "      512 frames from 0:03: corrupt_stream",
                "      512 frames from 0:04: corrupt_stream", "      and others; --json lists all",
                "  note: WAV cannot store a cover",
            ]
        )
    }

    @Test func jobsListsRemarksInFewWords() async throws {
        let (bench, jobs) = try await bench()
        let lines = try bench.output("jobs", "--remarks").split(separator: "\n")
        #expect(lines.count == 2)
        let titles: [Substring] = lines[0].split(separator: " ")
        #expect(titles == ["ID", "SOURCE", "WARNINGS", "ATTEMPTS", "WHEN", "WORKER"])
        #expect(lines[1].contains("  4,096 frames damaged in 6 places, cover lost  "))
        let record = try #require(try bench.records("jobs", "--batch", "talks", "--remarks").first)
        #expect(record["id"] as? Int64 == jobs[0] && record["hasRemarks"] as? Bool == true)
        #expect((record["damage"] as? [String: Int]) == ["frames": 4_096, "stretchCount": 6])
        #expect((record["remarks"] as? [[String: Any]])?.first?["kind"] as? String == "cover")
        // Other lists tell only whether there are any.
        let all = try bench.records("jobs")
        #expect(all.map { $0["hasRemarks"] as? Bool } == [nil, nil, true] && all.allSatisfy { $0["remarks"] == nil })
        #expect(try bench.run("jobs", "--remarks", "--state", "failed").errorText == "no job matches\n")
        #expect(try bench.run("retry", "--remarks").errorText.contains("--remarks"))
    }

    @Test func batchesCountsJobsWithRemarks() async throws {
        let (bench, _) = try await bench()
        let lines = try bench.output("batches").split(separator: "\n").map { $0.split(separator: " ") }
        #expect(lines[0] == ["ID", "NAME", "QUEUE", "JOBS", "DONE", "FAILED", "OPEN", "WARNINGS", "SUBMITTED"])
        #expect(lines[1].prefix(8) == ["1", "talks", "default", "3", "66%", "0", "1", "1"])
        #expect(try bench.records("batches", "1").first?["jobsWithRemarks"] as? Int == 1)
    }

    @Test func waitNamesTheCommandThatListsThem() async throws {
        let (bench, jobs) = try await bench()
        try await bench.ledger.apply(.cancel, to: JobFilter(ids: [jobs[2]]))
        let batch = try bench.run("wait", "--batch", "1")
        #expect(batch.errorText.hasSuffix("1 completed with warnings; sluice jobs --batch 1 --remarks\n"))
        let job = try bench.run("wait", "\(jobs[0])")
        #expect(job.errorText == "1 completed with warnings; sluice job \(jobs[0])\n")
        #expect(try bench.run("wait", "\(jobs[1])").errorText.isEmpty)
    }

    @Test func sourcesAreFoundByATextInsideThem() async throws {
        let (bench, jobs) = try await bench()
        func ids(_ words: String...) throws -> [Int64] {
            try bench.run(["jobs", "-q", "--source-contains"] + words).outputText.split(separator: "\n")
                .compactMap { Int64($0) }
        }
        #expect(try ids("/2.") == [jobs[1]])
        #expect(try ids("A/") == [] && ids("a/") == jobs.reversed())
        #expect(try ids(".wav", "--state", "waiting") == [jobs[2]])
        #expect(try ids(".wav", "--source", "in:a/1") == [jobs[0]])
        let some = try bench.run("jobs", "--source-contains", "a/", "--limit", "1")
        #expect(some.errorText == "more: sluice jobs --source-contains a/ --after \(jobs[2]), or --all\n")
        let dry = try bench.run("cancel", "--source-contains", ".wav", "--dry-run")
        #expect(dry.outputText == "would cancel 1 job\nnothing was done (--dry-run)\n")
    }
}
