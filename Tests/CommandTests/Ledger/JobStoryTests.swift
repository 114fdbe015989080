import Conversion
import Foundation
import Ledger
import TestSupport
import Testing

/// `sluice job` shows the request, the state of the job with its reason, and every attempt.
struct JobStoryTests {
    @Test func failureIsToldWithPlaceCostAndHint() async throws {
        let bench = try LedgerBench()
        let job = try await bench.failedJob()
        let text = try bench.output("job", "\(job)")
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        #expect(lines[0] == "job \(job)   failed   batch 1   queue default   priority 0")
        #expect(lines[1] == "from     in:bad/1.wav")
        #expect(lines[2] == "to       out:bad/1.mp3   podcast-mp3")
        #expect(lines[3].hasPrefix("asked    ") && lines[3].contains("   started ") && lines[3].contains("   ended "))
        #expect(lines[4].isEmpty)
        #expect(
            lines[5].hasPrefix("attempt 1   pump-1 slot 3   ")
                && lines[5].hasSuffix("   failed, permanent: not retried")
        )
        #expect(lines[6] == "  truncated   the header promises 1:02:10, the data ends at 48:07.113")
        #expect(
            lines[7]
                == "  stage decode, stream 0, at 48:07.11, frame 138,581,424, libav INVALIDDATA, "
                + "138,581,424 frames read, 5.1 s CPU, 31.0 MB of memory"
        )
        let advice = "fetch the file again; --on-damage conceal keeps the length and fills the rest with silence"
        #expect(lines[8] == "  hint: \(advice)")
    }

    @Test func aRefusalSaysWhatWasPromisedAndFound() async throws {
        let bench = try LedgerBench()
        let job = try await bench.submit(1)[0]
        var failure = Failure(.timelineGap, at: .decode, "0:09 of sound are missing")
        failure.contradiction = Contradiction(.clock, promised: "frame 500,000", found: "frame 100,000")
        let fence = try await bench.claim(for: bench.worker())[0]
        try await bench.ledger.fail([AttemptFailure(fence, failure)])
        let lines = try bench.output("job", "\(job)").split(separator: "\n").map(String.init)
        let meaning = "the container's clock advances by the frames of each packet"
        #expect(lines.contains("  rule: clock, \(meaning)"))
        #expect(lines.contains("  promised: frame 500,000") && lines.contains("  found: frame 100,000"))
        #expect(
            lines.contains("  to take the sound as it is: sluice retry \(job) --on-damage trust-packets")
        )
        let record = try bench.records("job", "\(job)", "--json").first
        let attempts = record?["attemptRecords"] as? [[String: Any]]
        let told = attempts?.first?["failure"] as? [String: Any]
        let contradiction = told?["contradiction"] as? [String: String]
        #expect(contradiction == ["rule": "clock", "promised": "frame 500,000", "found": "frame 100,000"])
    }

    /// A job that waits again cannot be retried, and one that splits its source takes no mode that moves sound.
    @Test func noCommandIsPrintedThatWouldNotHelp() async throws {
        let bench = try LedgerBench()
        var pieces = LedgerBench.recipe("a/1")
        let whole = pieces.outputs[0]
        pieces.outputs = try ["x", "y"].enumerated().map { place, name in
            var piece = whole
            piece.location = "out:\(name).flac"
            let (start, end) = (MediaTime(frames: Int64(place), rate: 1), MediaTime(frames: Int64(place + 1), rate: 1))
            piece.range = try MediaTimeRange(start: start, end: end)
            return piece
        }
        let requests = [pieces, LedgerBench.recipe("a/2")].map { JobRequest($0) }
        let receipt = try await bench.ledger.submit(Submission(), requests)
        var failure = Failure(.timelineGap, at: .decode, "0:09 of sound are missing")
        failure.contradiction = Contradiction(.clock, promised: "frame 500,000", found: "frame 100,000")
        let fences = try await bench.claim(2, for: bench.worker())
        try await bench.ledger.fail(fences.map { AttemptFailure($0, failure) })
        let second = JobFilter(ids: [receipt.lastJob])
        try await bench.ledger.apply(.retryWithDamage(.trustPackets), to: second)
        for job in [receipt.firstJob, receipt.lastJob] {
            let text = try bench.output("job", "\(job)")
            #expect(text.contains("  found: frame 100,000") && !text.contains("to take the sound as it is"))
        }
    }

    /// All workers with a full root leave its jobs to others: no worker with that root is missing.
    @Test func jobOfARootThatIsSetAsideSaysWhy() async throws {
        let bench = try LedgerBench()
        let job = try await bench.submit(1)[0]
        let fence = try await bench.claim(1, for: bench.worker())[0]
        let why = "root small: file_system_full: the output cannot be written"
        _ = try await bench.ledger.release([fence], because: .unable, needing: "root:small", message: why)
        let text = try bench.output("job", "\(job)")
        #expect(text.contains("waits    for a suitable worker, ") && text.contains("; \(why)\n"), "\(text)")
        #expect(text.contains("  unable   \(why)\n"), "\(text)")
    }

    @Test func completedJobShowsItsResult() async throws {
        let bench = try LedgerBench()
        let job = try await bench.submit(1)[0]
        try await bench.complete(bench.claim(for: bench.worker())[0])
        let text = try bench.output("job", "\(job)")
        #expect(text.contains("result   1.2 MB   sha256 \(String(repeating: "ab", count: 32))\n"))
        #expect(text.contains("   completed\n  48,000 frames, 0.12 s CPU, 31.0 MB of memory\n"))
    }

    @Test func damageAndLossAreToldInJobAndExport() async throws {
        let bench = try LedgerBench()
        let job = try await bench.submit(1)[0]
        let report = try LedgerBench.report(
            DamageReport(frames: 4_096, stretchCount: 1),
            Remark(.chapters, "2 chapters were not carried over", count: 2)
        )
        try await bench.complete(bench.claim(for: bench.worker())[0], report)
        let lines = try bench.output("job", "\(job)").split(separator: "\n").suffix(2)
        #expect(
            lines == [
                "  note: in:a/1.wav is damaged in 1 place: 4,096 frames lost",
                "  note: 2 chapters were not carried over",
            ]
        )
        let row = try bench.output("export", "--batch", "1").split(separator: "\n").last
        #expect(row?.hasSuffix("\t48000\t4,096 frames damaged in 1 place, 2 chapters lost\t1") == true)
        let told = try bench.records("job", "\(job)", "--json").first?["attemptRecords"] as? [[String: Any]]
        let conversion = told?.first?["conversion"] as? [String: Any]
        let remark = (conversion?["remarks"] as? [[String: Any]])?.first
        #expect(remark?["kind"] as? String == "chapters" && remark?["count"] as? Int == 2)
    }

    @Test func damageIsDrawnAtItsPlace() async throws {
        let bench = try LedgerBench()
        let job = try await bench.submit(1)[0]
        // Ten seconds, of which some hundredths behind the first and the fifth are lost.
        let damage = DamageReport(
            frames: 4_096,
            stretchCount: 2,
            stretches: [48_000, 240_000].map { .init(start: $0, frames: 2_048, code: "corrupt_stream") }
        )
        let report = try LedgerBench.report(frames: 480_000, damage)
        try await bench.complete(bench.claim(for: bench.worker())[0], report)
        func line(_ environment: [String: String]) throws -> String? {
            let run = try bench.run("job", "\(job)", environment: environment.merging(["COLUMNS": "40"]) { $1 })
            return run.outputText.split(separator: "\n").map(String.init).last
        }
        let (gap, rest) = (String(repeating: "⣀", count: 10), String(repeating: "⣀", count: 14))
        #expect(try line([:]) == "      ⣀⣀⣸⣇\(gap)⣸\(rest) 0:10")
        #expect(try line(["LC_ALL": "C"]) == "      --##----------#-------------- 0:10")
        #expect(try line(["TERM": "linux"])?.hasPrefix("      ▁▁██▁▁▁▁▁▁▁▁▁▁█▁▁") == true)
        // A program has the places in numbers.
        #expect(try bench.output("job", "\(job)").hasSuffix("      2,048 frames from 0:05: corrupt_stream\n"))
    }

    @Test func runningJobShowsHowFarItIs() async throws {
        let bench = try LedgerBench()
        let job = try await bench.submit(1)[0]
        let worker = try await bench.worker()
        let fence = try await bench.claim(for: worker)[0]
        _ = try await bench.heartbeat.beat(worker, [RunningJob(fence, frames: 500, totalFrames: 2_000, slot: 1)])
        let text = try bench.output("job", "\(job)")
        #expect(text.contains("done     █████                 25%   500 of 2,000 frames\n"))
        #expect(text.contains("in progress"))
    }

    @Test func everyAttemptIsTold() async throws {
        let bench = try LedgerBench()
        let job = try await bench.submit(1)[0]
        let worker = try await bench.worker()
        try await bench.fail(bench.claim(for: worker)[0], .transient, code: "io_source", message: "the share went away")
        try await bench.ledger.apply(.retry, to: JobFilter(ids: [job]))
        try await bench.ledger.release(bench.claim(for: worker))
        try await bench.complete(bench.claim(for: worker)[0])
        let text = try bench.output("job", "\(job)")
        #expect(
            text.contains("attempt 1   ")
                && text.contains("failed, transient: retried, up to 3 attempts")
        )
        #expect(text.contains("attempt 2   ") && text.contains("released: not counted"))
        #expect(text.contains("attempt 3   "))
    }

    @Test func storySaysWhyAJobWaits() async throws {
        let bench = try LedgerBench()
        let paused = try await bench.submit(1, Submission(queue: "night-1"))[0]
        try await bench.ledger.setPaused(true, queue: "night-1")
        func waits(_ job: Int64) throws -> String {
            let line = try bench.output("job", "\(job)").split(separator: "\n").first { $0.hasPrefix("waits") }
            return line.map { String($0.dropFirst(9)) } ?? ""
        }
        #expect(try waits(paused) == "its queue is paused; an operator can resume it: sluice queues resume night-1")
        let receipt = try await bench.ledger.submit(
            Submission(),
            [JobRequest(LedgerBench.recipe("x"), needs: ["root:archive"])]
        )
        #expect(try waits(receipt.firstJob).hasPrefix("for a suitable worker, since "))
        #expect(try waits(receipt.firstJob).hasSuffix(" s: the job needs root:archive"))
        let later = try await bench.submit(1, Submission(runAt: Date.now.addingTimeInterval(3_600)))[0]
        #expect(try waits(later).contains("for its start time: ") && waits(later).hasSuffix(", in 59 min"))
        let worker = try await bench.worker()
        let tried = try await bench.submit(1)[0]
        try await bench.fail(bench.claim(for: worker)[0], .transient, code: "io_source", message: "gone")
        #expect(try waits(tried).hasPrefix("for its next attempt, "))
        #expect(try waits(tried).hasSuffix(": sluice retry \(tried) starts it at once"))
        let next = try await bench.submit(1)[0]
        #expect(try waits(next).hasPrefix("its turn, since "))
        _ = try await bench.claim(for: worker)
        let last = try await bench.submit(1)[0]
        try await bench.ledger.setRunningLimit(1, queue: "default")
        let limit =
            "its queue has reached its limit of running jobs; an operator can remove it: sluice queues limit default none"
        #expect(try waits(last) == limit)
    }

    @Test func whatIsNotThereIsNotFound() async throws {
        let bench = try LedgerBench()
        let job = try await bench.submit(1)[0]
        let none = try bench.run("job", "77")
        #expect((none.status, none.errorText) == (.exited(4), "error: no such job 77\n"))
        let some = try bench.run("job", "77", "\(job)")
        #expect(some.status == .exited(3) && some.outputText.hasPrefix("job \(job)   waiting"))
        #expect(try bench.run("job", "seven").status == .exited(2))
        #expect(try bench.run("job").status == .exited(2))
    }
}
