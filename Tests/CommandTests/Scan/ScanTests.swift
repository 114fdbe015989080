import Conversion
import Foundation
import Ledger
import TestSupport
import Testing

/// `sluice scan` on a real ledger: the jobs that it creates, and what it does not repeat.
struct ScanTests {
    let bench: LedgerBench

    init() throws { bench = try LedgerBench() }

    /// Does all waiting scans as a worker would. Those of files whose names contain `bad` fail.
    private func work() async throws {
        let worker = try await bench.worker(abilities: ["root:pods"])
        while let claim = try await bench.ledger.claim(1, for: worker).jobs.first {
            let (fence, name) = (claim.fence, claim.recipe.sources[0].location)
            guard let path = name.split(separator: ":").last else { continue }
            let stamp = try stamp(of: bench.folder.path("in/\(path)"))
            let digest = String(repeating: "0f", count: 32)
            let sound = SoundDigest(sha256: digest, form: "s16le", sampleRateHz: 8_000, channelCount: 1)
            #expect(try await bench.ledger.recordScan(sound, of: stamp, fence) == .recorded)
            var scan = ScanReport(frames: 8_000, damage: DamageReport(), sound: sound)
            if name.contains("bad") {
                let place = DamageReport.Stretch(start: 4_000, frames: 80, code: FailureCode.corruptStream.rawValue)
                scan.damage = DamageReport(frames: 80, stretchCount: 1, stretches: [place])
                let failure = Failure(.damageFound, at: .decode, "damaged in 1 place")
                let report = AttemptFailure(fence, failure, facts: AttemptFacts(scan: scan))
                #expect(try await bench.ledger.fail([report]) == [.done])
            } else {
                let facts = AttemptFacts(framesIn: 8_000, scan: scan)
                let publication = Publication(fence, attemptName: "", digest: digest, bytes: 0, facts: facts)
                #expect(try await bench.ledger.publish([publication]) == [.done])
                #expect(try await bench.ledger.finish([fence]) == [.done])
            }
        }
    }

    private func stamp(of path: String) throws -> SourceStamp {
        var facts = stat()
        let status = stat(path, &facts)
        try #require(status == 0)
        let time = Int64(facts.st_mtim.tv_sec) * 1_000_000_000 + Int64(facts.st_mtim.tv_nsec)
        return SourceStamp(bytes: Int64(facts.st_size), modified: time)
    }

    private func scan(_ words: String...) throws -> Run { try bench.run(["scan", "-r", "--root", "pods=in"] + words) }

    @Test func eachFileOfAFolderBecomesAScan() async throws {
        try bench.files("in/a.wav", "in/x/b.flac", "in/cover.jpg")
        let run = try scan("pods:", "--label", "night", "--loudness").checked()
        #expect(run.outputText == "batch 1 \"night\"  2 jobs: 2 new\n")
        let jobs = try await bench.ledger.jobs().jobs.sorted { $0.job < $1.job }
        #expect(jobs.map(\.source).sorted() == ["pods:a.wav", "pods:x/b.flac"])
        let story = try #require(try await bench.ledger.story(of: jobs[0].job))
        #expect(story.needs.sorted() == ["recipe:4", "root:pods"])
        #expect(try Recipe(json: story.recipe).scan == .init(loudness: true))
    }

    @Test func onlyWhatHasChangedOrIsDueIsScannedAgain() async throws {
        try bench.files("in/a.wav", "in/b.wav", "in/bad.wav")
        _ = try scan("in").checked()
        #expect(try scan("in").checked().outputText == "nothing to scan: 3 already waiting or running\n")
        try await work()
        let run = try scan("in").checked()
        #expect(run.outputText == "nothing to scan: 2 unchanged, 1 failed before\n")
        #expect(run.errorText.contains("failed before: pods:bad.wav"), "\(run.errorText)")
        try Bytes.write(Array("longer".utf8), to: bench.folder.path("in/b.wav"))
        try bench.files("in/c.wav")
        let again = try scan("in").checked().outputText
        #expect(again == "batch 2  2 jobs: 1 new, 1 changed\nnot scanned: 1 unchanged, 1 failed before\n")
        try await work()
        try bench.age(seconds: 10 * 86_400)
        #expect(try scan("in", "--every", "11d").checked().outputText.hasPrefix("nothing to scan: 3 unchanged"))
        #expect(try scan("in", "--every", "9d").checked().outputText == "batch 3  4 jobs: 4 due\n")
    }

    @Test func againScansEverything() async throws {
        try bench.files("in/a.wav")
        _ = try scan("in").checked()
        try await work()
        #expect(try scan("in", "--again").checked().outputText == "batch 2  1 job: 1 again\n")
    }

    @Test func filesThatFailedInSeveralBatchesNameThemAll() async throws {
        for name in ["in/bad-1.wav", "in/bad-2.wav"] {
            try bench.files(name)
            _ = try scan(name).checked()
            try await work()
        }
        let text = try scan("in").checked().errorText
        #expect(text.contains("\"sluice errors --batch 2\" says why; the batches are 2, 1"), "\(text)")
    }

    @Test func aDryRunSubmitsNothing() async throws {
        try bench.files("in/a.wav")
        let run = try scan("in", "--dry-run").checked()
        #expect(run.outputText.contains("1 scan in queue default, priority 0\n  1 new\n"), "\(run.outputText)")
        #expect(try await bench.ledger.jobs().jobs.isEmpty)
    }

    @Test func theResultIsARecord() async throws {
        try bench.files("in/a.wav")
        let record = try #require(try bench.records(["scan", "-r", "--root", "pods=in", "in"]).first)
        #expect(record["jobs"] as? Int == 1 && record["batch"] as? Int == 1 && record["isRepetition"] as? Bool == false)
        #expect((record["findings"] as? [String: Int])?["new"] == 1)
    }

    @Test func jobErrorsAndExportShowWhatWasFound() async throws {
        try bench.files("in/a.wav", "in/bad.wav")
        _ = try scan("in").checked()
        try await work()
        let jobs = try await bench.ledger.jobs().jobs
        let good = try #require(jobs.first { $0.state == .completed })
        let bad = try #require(jobs.first { $0.state == .failed })
        let digest = String(repeating: "0f", count: 32)
        let page = try bench.output("job", "\(good.job)")
        #expect(page.contains("8,000 frames decoded, no damage") && page.contains(digest), "\(page)")
        let damaged = try bench.output("job", "\(bad.job)")
        #expect(damaged.contains("80 frames from 0:00.5") && damaged.contains("corrupt_stream"), "\(damaged)")
        #expect(try bench.output("errors").contains("damage_found"))
        let record = try #require(try bench.records(["job", "\(bad.job)"]).first)
        let attempt = try #require((record["attemptRecords"] as? [[String: Any]])?.last)
        let found = try #require(attempt["scan"] as? [String: Any])
        #expect(found["frames"] as? Int == 8_000)
        #expect(((found["damage"] as? [String: Any])?["stretches"] as? [Any])?.count == 1)
        let rows = try bench.output("export", "--batch", "1").split(separator: "\n").map { $0.split(separator: "\t") }
        #expect(rows.count == 3)
        let lines = try bench.output("export", "--batch", "1")
        #expect(lines.contains("80 frames damaged in 1 place") && lines.contains(digest), "\(lines)")
    }

    @Test func waitingForScansThatFailedBeforeSaysSo() async throws {
        try bench.files("in/bad.wav")
        _ = try scan("in").checked()
        try await work()
        #expect(try scan("in", "--wait").status == .exited(3))
    }

    @Test(arguments: [
        (["scan"], "no files given"), (["scan", "-r", "nowhere:"], "is not known here"),
        (["scan", "-r", "nowhere:2022"], "is not known here"),
        (["scan", "a.wav", "--timeout", "1h"], "needs --wait"), (["scan", "-0", "a.wav"], "needs --files-from"),
    ]) func mistakesAreNamed(words: [String], what: String) throws {
        let run = try bench.run(words)
        #expect(run.status == .exited(2) && run.errorText.contains(what), "\(run.errorText)")
    }

    @Test func filesThatNoWorkerHasAreRefusedOverHTTP() async throws {
        try bench.files("in/a.wav")
        let remote = RemoteBench(bench)
        let root = "in=\(bench.folder.path("in"))"
        let url = try remote.serve("--open-role", "submitter", "--uploads", "in", "--root", root, at: "http")
        let refused = "no running worker is known to have root local"
        for words in [["scan", "-r", "in"], ["scan", "in/a.wav"]] {
            let run = try remote.run(words, at: url)
            #expect(run.status == .exited(1) && run.errorText.contains(refused), "\(run.errorText)")
        }
        #expect(try await bench.ledger.batches().isEmpty)
        #expect(try remote.run(["scan", "in:a.wav"], at: url).checked().outputText == "batch 1  1 job: 1 new\n")
        _ = try await bench.worker(abilities: ["root:local"])
        #expect(try remote.run(["scan", "-r", "in"], at: url).checked().outputText == "batch 2  1 job: 1 new\n")
    }

    @Test func acceptedFailuresAreLeftOutWithoutAWarning() async throws {
        try bench.files("in/bad.wav")
        _ = try scan("in").checked()
        try await work()
        #expect(try await bench.ledger.apply(.accept(), to: JobFilter()).changed == 1)
        let run = try scan("in", "--wait").checked()
        #expect(run.outputText == "nothing to scan: 1 failed before and accepted\n")
        #expect(!run.errorText.contains("failed before"), "\(run.errorText)")
        try Bytes.write(Array("longer".utf8), to: bench.folder.path("in/bad.wav"))
        #expect(try scan("in").checked().outputText == "batch 2  1 job: 1 changed\n")
    }

    @Test func aRecipeFileThatIsAScanIsValidAndConvertsNothing() throws {
        let recipe = #"{"version":4,"sources":[{"location":"a.wav"}],"outputs":[],"scan":{}}"#
        try Bytes.write(Array(recipe.utf8), to: bench.folder.path("scan.json"))
        let run = try bench.run("submit", "a.wav", "--recipe", "scan.json", "--to", "out/{stem}.mp3")
        #expect(run.status == .exited(2) && run.errorText.contains("sluice scan"), "\(run.errorText)")
        // It is valid all the same.
        _ = try bench.run("recipe", "check", "scan.json").checked()
    }
}
