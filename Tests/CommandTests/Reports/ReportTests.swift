import Conversion
import Foundation
import Ledger
import TestSupport
import Testing

@testable import Command

/// `sluice report` adds up what the ledger says of a batch, and writes it whole or not at all.
struct ReportTests {
    private static let damage = DamageReport(
        frames: 4_096,
        stretchCount: 2,
        stretches: [
            .init(start: 48_000, frames: 2_048, code: "corrupt_stream"),
            .init(start: 240_000, frames: 2_048, code: "corrupt_stream"),
        ]
    )

    /// Batch 1, of nine jobs: two are completed, three failed as truncated and one for another reason, of which one is
    /// accepted; one is cancelled, one runs and one waits.
    private func bench() async throws -> (LedgerBench, [Int64]) {
        let bench = try LedgerBench()
        var recipe = LedgerBench.recipe("a/1")
        recipe.damage = .conceal
        let requests = [JobRequest(recipe)] + (2...9).map { JobRequest(LedgerBench.recipe("a/\($0)")) }
        let receipt = try await bench.ledger.submit(Submission(label: "talks"), requests)
        let fences = try await bench.claim(7, for: bench.worker())
        let cover = Remark(.cover, "WAV cannot store a cover")
        try await bench.complete(fences[0], LedgerBench.report(frames: 480_000, Self.damage, cover))
        try await bench.complete(fences[1], LedgerBench.report(frames: 480_000))
        for fence in fences[2...4] { try await bench.fail(fence) }
        try await bench.fail(fences[5], code: "source_not_found", message: "it is not there")
        let jobs = try await bench.ledger.jobs(ofBatch: receipt.batch)
        try await bench.ledger.apply(.cancel, to: JobFilter(ids: [jobs[8]]))
        _ = try bench.output("accept", "\(jobs[5])", "--yes")
        return (bench, jobs)
    }

    private func record(_ bench: LedgerBench, _ words: String...) throws -> [String: Any] {
        _ = try bench.run(["report", "report.json", "--on-conflict", "replace"] + words).checked()
        let bytes = try Bytes.read(bench.folder.path("report.json"))
        return try #require(JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any])
    }

    // MARK: - Counts

    @Test func countsAreThoseOfBatchesAndErrors() async throws {
        let (bench, jobs) = try await bench()
        let report = try record(bench, "--batch", "talks")
        let batch = try #require(try bench.records("batches", "1").first)
        #expect(report["jobs"] as? [String: Int] == batch["jobs"] as? [String: Int])
        #expect(report["jobsWithRemarks"] as? Int == 1 && batch["jobsWithRemarks"] as? Int == 1)
        #expect(report["name"] as? String == "talks" && report["jobsForgotten"] as? Int == 0)
        func key(_ group: [String: Any]) -> String { "\(group["code"] ?? "") \(group["stage"] ?? "")" }
        let causes = try #require(report["failures"] as? [[String: Any]])
        let told = Dictionary(uniqueKeysWithValues: causes.map { (key($0), $0["jobs"] as? Int) })
        let groups = try bench.records("errors", "--batch", "1")
        let counted: [(String, Int?)] = groups.map { group in
            (key(group), (group["jobs"] as? Int ?? 0) + (group["accepted"] as? Int ?? 0))
        }
        #expect(told == Dictionary(uniqueKeysWithValues: counted))
        #expect(told == ["truncated decode": 3, "source_not_found decode": 1])
        #expect(hints(causes) == hints(groups))
        let place = try #require((causes[0]["places"] as? [[String: Any]])?.first)
        #expect(place["job"] as? Int64 == jobs[2] && place["frame"] as? Int == 138_581_424)
        let seconds = 138_581_424.0 / 48_000
        #expect(place["seconds"] as? Double == seconds)
    }

    private func hints(_ groups: [[String: Any]]) -> [String] {
        let hints: [String] = groups.map { group in group["hint"] as? String ?? "" }
        return hints.map { $0.replacing("`", with: "") }.sorted()
    }

    @Test func sumsAreThoseOfTheJobs() async throws {
        let (bench, jobs) = try await bench()
        let report = try record(bench, "--batch", "1")
        #expect(report["outputs"] as? Int == 2 && report["bytes"] as? Int == 2 * 1_234_567)
        #expect(report["audioSeconds"] as? Double == 2)
        // Two that were completed, four that failed; the seventh attempt is under way.
        let cpu = try #require(report["cpuSeconds"] as? Double)
        #expect(abs(cpu - (2 * 0.12 + 4 * 5.1)) < 1e-9)
        let attempts = try #require(report["attempts"] as? [String: Int])
        #expect(attempts["completed"] == 2 && attempts["failed"] == 4 && attempts["underWay"] == 1)
        let progress = try #require(report["progress"] as? [String: Any])
        let (ended, failed) = (progress["ended"] as? [Int] ?? [], progress["failed"] as? [Int] ?? [])
        #expect(ended.reduce(0, +) == 7 && failed.reduce(0, +) == 4)
        let losses = try #require(report["losses"] as? [[String: Any]])
        #expect(losses.count == 1 && losses[0]["kind"] as? String == "cover" && losses[0]["jobs"] as? Int == 1)
        let damage = try #require(report["damage"] as? [String: Any])
        #expect(damage["files"] as? Int == 1 && damage["places"] as? Int == 2 && damage["frames"] as? Int == 4_096)
        let file = try #require((damage["listed"] as? [[String: Any]])?.first)
        #expect(file["job"] as? Int64 == jobs[0] && file["frames"] as? Int == 480_000)
        #expect(file["treatment"] as? String == "filled with silence")
        #expect((report["largest"] as? [[String: Any]])?.count == 2)
    }

    @Test func thePageSaysTheSame() async throws {
        let (bench, _) = try await bench()
        let run = try bench.run("report", "--batch", "last", "out.html")
        #expect(run.status == .exited(0) && run.outputText.isEmpty && run.errorText.isEmpty)
        let text = String(decoding: try Bytes.read(bench.folder.path("out.html")), as: UTF8.self)
        #expect(text.hasPrefix("<!doctype html>\n") && text.hasSuffix("</html>\n"))
        #expect(text.contains("7 of 9 jobs have ended, 3 failed, 1 completed with warnings."))
        #expect(text.contains("<h2>Why 4 jobs failed <small>1 of them accepted</small></h2>"))
        #expect(text.contains("48:07.11") && text.contains("the data ends at 48:07.113"))
        // From the second on, for 0.043 s, and from the fifth on, of ten.
        #expect(text.contains("<path d=\"M100 0h4v10h-4zM500 0h4v10h-4z\"/>"))
        #expect(text.contains("0.09 s filled with silence at 0:01, 0:05"))
    }

    // MARK: - The length of a source

    /// The page about one completed job with damage.
    private func page(_ recipe: Recipe) throws -> String {
        var (story, attempt) = (JobStory.blank, AttemptRecord.blank)
        (story.summary.job, story.summary.state) = (1, .completed)
        (story.summary.source, story.recipe) = (recipe.sources[0].location, try recipe.json())
        attempt.outcome = .completed
        attempt.facts.report = try LedgerBench.report(frames: 480_000, Self.damage)
        story.attempts = [attempt]
        var tally = BatchTally(BatchSummary(), asOf: .now)
        tally.add(story)
        return ReportPage(report: tally.finished).html.text
    }

    private static let strip = "<svg class=\"strip\""

    @Test func placesStandOnTheClockOfTheSource() throws {
        let (report, recipe) = (try LedgerBench.report(frames: 480_000, Self.damage), LedgerBench.recipe("a/1"))
        #expect(report.wholeFrames(by: recipe, onDamage: .conceal) == 480_000)
        // What was left out was not taken.
        #expect(report.wholeFrames(by: recipe, onDamage: .skip) == 484_096)
        let text = try page(recipe)
        #expect(text.contains(Self.strip) && text.contains("at 0:01, 0:05</p>"))
    }

    @Test func aPartOfASourceHasNoStrip() throws {
        // The report counts what was taken, and places lie on the clock of the file.
        var recipe = LedgerBench.recipe("a/1")
        recipe.sources[0].ranges = [
            try MediaTimeRange(start: MediaTime(value: 3_600, timescale: 1), end: .positiveInfinity)
        ]
        #expect(try LedgerBench.report(frames: 480_000, Self.damage).wholeFrames(by: recipe, onDamage: .conceal) == nil)
        let text = try page(recipe)
        #expect(!text.contains(Self.strip) && text.contains("at 0:01, 0:05</p>"))
    }

    @Test func placesInSeveralSourcesAreNotMixed() throws {
        var recipe = LedgerBench.recipe("a/1")
        recipe.sources.append(Recipe.Source(location: "in:b.wav"))
        let text = try page(recipe)
        #expect(!text.contains(Self.strip) && text.contains("0.09 s lost in its 2 sources</p>"))
    }

    // MARK: - Retention and pages

    @Test func jobsThatRetentionHasDeletedAreCounted() async throws {
        let (bench, jobs) = try await bench()
        let gone = "(\(jobs[0]), \(jobs[1]))"
        // As retention leaves a batch: its counts cover what the ledger still holds.
        try bench.sql(
            """
            delete from sluice.attempt where job in \(gone);
            delete from sluice.finished where job in \(gone);
            delete from sluice.job where id in \(gone);
            insert into sluice.count_delta (queue, batch, state, jobs, at)
            select queue, id, 'completed', -2, created_at from sluice.batch
            """
        )
        let report = try record(bench, "--batch", "1")
        #expect(report["jobsForgotten"] as? Int == 2 && report["outputs"] as? Int == 0)
        _ = try bench.run("report", "--batch", "1", "out.html").checked()
        let text = String(decoding: try Bytes.read(bench.folder.path("out.html")), as: UTF8.self)
        #expect(text.contains("2 jobs are no longer in the ledger, and not counted here."))
    }

    @Test func allPagesOfALongBatchAreRead() async throws {
        let bench = try LedgerBench()
        try await bench.submit(1_107)
        _ = try bench.output("cancel", "--batch", "1", "--yes")
        let report = try record(bench, "--batch", "1")
        #expect((report["jobs"] as? [String: Int])?["cancelled"] == 1_107)
    }

    @Test func overHTTPItIsTheSame() async throws {
        let (bench, _) = try await bench()
        let remote = RemoteBench(bench)
        let url = try remote.serve("--open-role", "viewer", at: "api")
        func text(_ name: String) throws -> String {
            let bytes = try Bytes.read(bench.folder.path(name))
            var record = try #require(JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any])
            // The moment, and spans: over HTTP, moments are known to the millisecond.
            for key in ["asOf", "workSeconds", "progress"] { record[key] = nil }
            for key in ["slowest", "largest"] {
                let jobs = try #require(record[key] as? [[String: Any]])
                #expect(jobs.count == (key == "slowest" ? 6 : 2))
                let told: [[String: Any]] = jobs.map { job in job.filter { $0.key != "seconds" } }
                func number(_ job: [String: Any]) -> Int { job["job"] as? Int ?? 0 }
                record[key] = told.sorted { number($0) < number($1) }
            }
            let sorted = try JSONSerialization.data(withJSONObject: record, options: .sortedKeys)
            return String(decoding: sorted, as: UTF8.self)
        }
        _ = try bench.run("report", "--batch", "1", "direct.json").checked()
        _ = try remote.run(["report", "--batch", "1", "remote.json"], at: url).checked()
        #expect(try text("remote.json") == text("direct.json"))
        _ = try remote.run(["report", "--batch", "talks", "remote.html"], at: url).checked()
        let page = String(decoding: try Bytes.read(bench.folder.path("remote.html")), as: UTF8.self)
        #expect(page.contains("7 of 9 jobs have ended, 3 failed, 1 completed with warnings."))
    }

    // MARK: - Size

    @Test func aPageOfTenThousandBadJobsHasLessThanTwoMegabytes() throws {
        var batch = BatchSummary()
        batch.jobsSubmitted = 10_003
        var tally = BatchTally(batch, asOf: .now)
        let name = String(repeating: "<&\"\u{202E}", count: 100)
        let stretches = (0..<100).map { number in
            DamageReport.Stretch(start: Int64(number) * 441_000, frames: 512, code: "corrupt_stream")
        }
        for number in 1...10_000 {
            var story = JobStory.blank
            (story.summary.job, story.summary.state) = (Int64(number), .failed)
            story.summary.source = "in:\(name)\(number).mp3"
            story.summary.code = number % 9 == 0 ? name : "truncated"
            (story.summary.kind, story.summary.stage) = (.permanent, "stage-\(number % 300)")
            var attempt = AttemptRecord.blank
            (attempt.outcome, attempt.endedAt) = (.failed, attempt.startedAt.addingTimeInterval(Double(number)))
            attempt.workerName = "\(name)\(number)"
            attempt.failure = Failure(
                code: story.summary.code ?? "",
                kind: .permanent,
                stage: "decode",
                message: name + name,
                hint: name + name
            )
            attempt.facts.scan = ScanReport(
                frames: 44_100_000,
                damage: DamageReport(frames: 51_200 + Int64(number), stretchCount: 200, stretches: stretches),
                sound: SoundDigest(sha256: name, form: name, sampleRateHz: 44_100, channelCount: 2)
            )
            story.attempts = [attempt]
            tally.add(story)
        }
        let report = tally.finished
        #expect(report.jobs.failed == 10_000 && report.damage.files == 10_000 && report.jobsForgotten == 3)
        #expect(report.failures.count == BatchTally.mostCauses)
        let failed = report.failures.reduce(report.failuresUnlisted) { $0 + $1.jobs }
        #expect(failed == 10_000)
        #expect(report.damage.listed.count == BatchTally.mostDamaged && report.damage.listed[0].job == 10_000)
        #expect(report.damage.listed.count + report.damage.unlisted == 10_000)
        let bytes = ReportPage(report: report).html.text.utf8.count
        #expect(bytes < 2_000_000, "\(bytes)")
        #expect(bytes > ReportPage.mostDamageBytes)
    }

    @Test func aPageOfTenThousandGoodJobsIsShort() throws {
        var tally = BatchTally(BatchSummary(), asOf: .now)
        for number in 1...10_000 {
            var story = JobStory.blank
            (story.summary.job, story.summary.state) = (Int64(number), .completed)
            story.summary.source = "in:\(number).wav"
            story.summary.since = Date(timeIntervalSince1970: Double(number))
            tally.add(story)
        }
        #expect(ReportPage(report: tally.finished).html.text.utf8.count < 30_000)
    }

    // MARK: - Writing

    @Test func anotherFileIsLeftAloneUnlessSaidOtherwise() async throws {
        let bench = try LedgerBench()
        try await bench.submit(1)
        try Bytes.write(Array("mine".utf8), to: bench.folder.path("out.html"))
        func text() throws -> String { String(decoding: try Bytes.read(bench.folder.path("out.html")), as: UTF8.self) }
        let refused = try bench.run("report", "--batch", "1", "out.html")
        #expect(refused.status == .exited(1) && refused.errorText.contains("it already exists"))
        #expect(try text() == "mine")
        let skipped = try bench.run("report", "--batch", "1", "out.html", "--on-conflict", "skip")
        #expect(skipped.status == .exited(0) && skipped.errorText == "note:  out.html already exists; skipped\n")
        #expect(try text() == "mine")
        _ = try bench.run("report", "--batch", "1", "out.html", "--on-conflict", "replace").checked()
        #expect(try text().hasPrefix("<!doctype html>"))
    }

    @Test func aReportThatCannotBeMadeLeavesNoFile() throws {
        let bench = try LedgerBench()
        #expect(try bench.run("report", "--batch", "4", "out.html").status == .exited(4))
        let lost = try bench.run(
            "report",
            "--batch",
            "4",
            "out.html",
            environment: ["SLUICE_DATABASE_URL": "postgresql://nobody@/none?host=/nowhere&connect_timeout=1"]
        )
        #expect(lost.status != .exited(0))
        #expect(try bench.run("report", "out.html").status == .exited(2))
        #expect(try bench.run("report", "--batch", "4", "out.pdf").status == .exited(2))
        let homeless = try bench.run("report", "--batch", "4", "none/out.html")
        #expect(homeless.status == .exited(4) && homeless.errorText.contains("cannot open the folder none"))
        let left = try FileManager.default.contentsOfDirectory(atPath: bench.folder.path)
        #expect(!left.contains { $0.contains("out") }, "\(left)")
    }
}
