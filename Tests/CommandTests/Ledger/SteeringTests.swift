import Conversion
import Foundation
import Ledger
import TestSupport
import Testing

/// `retry`, `cancel` and `prioritize`: they choose jobs, count them, ask for confirmation, and then act.
struct SteeringTests {
    @Test func nothingHappensUnaskedAndUnseen() async throws {
        let bench = try LedgerBench()
        let jobs = try await bench.submit(3)
        let refused = try bench.run("cancel", "--batch", "1")
        #expect(refused.status == .exited(2))
        #expect(refused.errorText == "error: would cancel 3 jobs; use --yes to skip the question\n")
        let dry = try bench.run("cancel", "--batch", "1", "--dry-run").checked()
        #expect(dry.outputText == "would cancel 3 jobs\nnothing was done (--dry-run)\n")
        #expect(try await bench.state(jobs[0]) == .waiting)
        let done = try bench.run("cancel", "--batch", "1", "--yes").checked()
        #expect((done.outputText, done.errorText) == ("3 jobs cancelled\n", ""))
        #expect(try await bench.state(jobs[0]) == .cancelled)
    }

    @Test func runningJobsAreAskedToStop() async throws {
        let bench = try LedgerBench()
        let jobs = try await bench.submit(2)
        _ = try await bench.claim(for: bench.worker())
        #expect(try bench.output("cancel", "--all", "--yes") == "1 job cancelled, 1 running job being stopped\n")
        #expect(try bench.output("jobs", "--state", "running").contains("\(jobs[0])"))
        #expect(try bench.output("jobs").contains(" stopping "))
    }

    @Test func halfPublishedJobsAreKnownToCancelAndRetry() async throws {
        let bench = try LedgerBench()
        let jobs = try await bench.submit(2)
        let fence = try await bench.claim(for: bench.worker())[0]
        let publication = Publication(
            fence,
            attemptName: ".a.attempt",
            digest: String(repeating: "ab", count: 32),
            bytes: 1
        )
        #expect(try await bench.ledger.publish([publication]) == [.done])
        let late = try bench.run("cancel", "\(jobs[0])", "--yes")
        #expect(late.errorText.contains("nothing to cancel: 1 job is already publishing, too late to cancel"))
        #expect(
            try bench.output("cancel", "--all", "--yes")
                == "1 job cancelled, 1 already publishing, too late to cancel\n"
        )
        // Another process may still be publishing, so the ledger hands the job to no worker yet.
        #expect(try bench.output("retry", "\(jobs[0])", "--yes") == "0 jobs back in the queue\n")
        _ = try bench.sql("update sluice.publishing set since = since - interval '1 h'")
        #expect(
            try bench.output("retry", "\(jobs[0])", "--dry-run")
                == "would finish 1 half-published job\nnothing was done (--dry-run)\n"
        )
        #expect(
            try bench.output("retry", "\(jobs[0])", "--yes")
                == "0 jobs back in the queue, 1 half-published: the next worker with its root finishes it\n"
        )
        #expect(try await bench.ledger.takeUnfinished().map(\.fence) == [fence])
        #expect(try await bench.state(jobs[0]) == .publishing)
    }

    @Test func retryMeansWhatFailed() async throws {
        let bench = try LedgerBench()
        let failed = try await bench.failedJob()
        let cancelled = try await bench.submit(1)[0]
        try await bench.ledger.apply(.cancel, to: JobFilter(ids: [cancelled]))
        #expect(
            try bench.output("retry", "--all", "--dry-run")
                == "would put 1 job back into the queue with a fresh set of attempts\nnothing was done (--dry-run)\n"
        )
        #expect(try bench.output("retry", "--code", "truncated", "--yes") == "1 job back in the queue\n")
        #expect(try await bench.state(failed) == .waiting)
        #expect(try await bench.state(cancelled) == .cancelled)
        #expect(try bench.output("retry", "\(cancelled)", "--yes") == "1 job back in the queue\n")
        #expect(try bench.records("job", "\(cancelled)").first?["retriedBy"] as? String == "postgres")
        #expect(try bench.output("jobs", "--all").contains("RETRIED BY"))
        #expect(try await bench.state(cancelled) == .waiting)
    }

    @Test func retryMayMeetDamageInAnotherWay() async throws {
        let bench = try LedgerBench()
        let job = try await bench.failedJob(code: "corrupt_stream")
        #expect(
            try bench.output("retry", "--code", "corrupt_stream", "--on-damage", "conceal", "--dry-run")
                == "would put 1 job back into the queue with a fresh set of attempts, with --on-damage conceal\n"
                + "nothing was done (--dry-run)\n"
        )
        let record = try #require(
            try bench.records("retry", "--code", "corrupt_stream", "--on-damage", "conceal", "--yes").first
        )
        #expect(record["onDamage"] as? String == "conceal" && record["changed"] as? Int == 1)
        let text = try bench.output("job", "\(job)")
        #expect(text.contains("\nhow      on damage conceal\nbefore   on damage strict until attempt 1, changed "))
        #expect(text.contains(" by postgres\n"))
        let story = try #require(try bench.records("job", "\(job)").first)
        let amendment = try #require((story["amendments"] as? [[String: Any]])?.first)
        #expect(Set(amendment.keys) == ["untilEpoch", "damage", "changedAt", "changedBy"])
        #expect(amendment["untilEpoch"] as? Int == 1 && amendment["damage"] as? String == "strict")
        // The variable is for conversions: without the option, a retry keeps the policy.
        try await bench.fail(bench.claim(for: bench.worker())[0])
        #expect(
            try bench.run("retry", "\(job)", "--yes", environment: ["SLUICE_ON_DAMAGE": "skip"]).checked().outputText
                == "1 job back in the queue\n"
        )
        #expect(try bench.run("retry", "\(job)", "--on-damage", "hope").status == .exited(2))
    }

    @Test func retryMayLimitTheSilence() async throws {
        let bench = try LedgerBench()
        let job = try await bench.failedJob(code: "implausible_length")
        let alone = try bench.run("retry", "\(job)", "--conceal-limit", "600", "--yes")
        #expect(alone.status == .exited(2))
        #expect(alone.errorText.contains("--conceal-limit needs --on-damage conceal"))
        let words = ["retry", "\(job)", "--on-damage", "conceal", "--conceal-limit", "5400", "--yes"]
        let record = try #require(try bench.records(words).first)
        #expect(record["onDamage"] as? String == "conceal" && record["concealLimit"] as? Int == 5_400)
        let text = try bench.output("job", "\(job)")
        #expect(text.contains("\nhow      on damage conceal, at most 1 h 30 min of silence\n"))
        let recipe = try #require(try await bench.ledger.story(of: job)?.recipe)
        #expect(try Recipe(json: recipe).limits?.concealSeconds == 5_400)
    }

    @Test func amendmentOfAnUntriedJobNamesNoAttempt() async throws {
        let bench = try LedgerBench()
        let job = try await bench.submit(1)[0]
        try await bench.ledger.apply(.cancel, to: JobFilter(ids: [job]))
        _ = try bench.run("retry", "\(job)", "--on-damage", "conceal", "--yes").checked()
        #expect(try await bench.ledger.story(of: job)?.amendments.map(\.untilEpoch) == [0])
        let text = try bench.output("job", "\(job)")
        #expect(text.contains("\nbefore   on damage strict before the first attempt, changed "))
    }

    @Test func acceptedFailuresDoNotDecideTheExitCode() async throws {
        let bench = try LedgerBench()
        let jobs = try await bench.submit(3)
        let fences = try await bench.claim(3, for: bench.worker())
        try await bench.complete(fences[0])
        for fence in fences.dropFirst() { try await bench.fail(fence) }
        #expect(try bench.run("wait", "--batch", "1").status == .exited(3))
        #expect(
            try bench.output("accept", "--code", "truncated", "--batch", "1", "--dry-run")
                == "would accept the failures of 2 jobs\nnothing was done (--dry-run)\n"
        )
        #expect(try bench.output("accept", "--batch", "last", "--yes") == "2 failures accepted\n")
        let waited = try bench.run("wait", "--batch", "1").checked()
        #expect((waited.outputText, waited.errorText) == ("batch 1  1 completed, 2 accepted\n", ""))
        #expect(try bench.output("wait", "\(jobs[2])") == "job \(jobs[2])  accepted: truncated\n")
        #expect(try bench.output("audit").contains("accept_jobs"))
        #expect(try bench.run("accept", "--batch", "1", "--yes").status == .exited(9))
        // A retry of all that failed leaves them alone, and a retry by id does not.
        #expect(try bench.run("retry", "--batch", "1", "--yes").status == .exited(9))
        #expect(try bench.output("retry", "\(jobs[2])", "--yes") == "1 job back in the queue\n")
        #expect(try await bench.state(jobs[2]) == .waiting)
        #expect(try bench.output("accept", "\(jobs[1])", "--undo", "--yes") == "1 job counts as failed again\n")
        #expect(try bench.run("wait", "\(jobs[1])").status == .exited(3))
        let record = try #require(try bench.records("accept", "\(jobs[1])", "--yes").first)
        #expect(record["change"] as? String == "accept" && record["changed"] as? Int == 1)
        #expect(!record.keys.contains("undo"))
    }

    @Test func allListsShowAcceptedFailuresApart() async throws {
        let bench = try LedgerBench()
        let jobs = try await bench.submit(3)
        let fences = try await bench.claim(3, for: bench.worker())
        try await bench.complete(fences[0])
        for fence in fences.dropFirst() { try await bench.fail(fence) }
        _ = try bench.run("accept", "--all", "--yes").checked()
        let batches = try bench.output("batches").split(separator: "\n").map { $0.split(separator: " ") }
        #expect(batches[0] == ["ID", "NAME", "QUEUE", "JOBS", "DONE", "FAILED", "ACCEPTED", "OPEN", "SUBMITTED"])
        #expect(batches[1].prefix(6) == ["1", "default", "3", "33%", "0", "2"])
        let errors = try bench.output("errors").split(separator: "\n").map { $0.split(separator: " ") }
        #expect(errors[0].prefix(6) == ["CODE", "CLASS", "STAGE", "JOBS", "ACCEPTED", "TRIES"])
        #expect(errors[1].prefix(6) == ["truncated", "permanent", "decode", "0", "2", "2"])
        #expect(try bench.output("queues").contains(" ACCEPTED"))
        #expect(try bench.output("jobs", "--state", "accepted", "-q") == "\(jobs[2])\n\(jobs[1])\n")
        #expect(try bench.output("jobs").contains("ACCEPTED BY"))
        let page = try bench.output("job", "\(jobs[2])")
        #expect(page.hasPrefix("job \(jobs[2])   accepted   ") && page.contains("\naccepted "))
        let record = try #require(try bench.records("job", "\(jobs[2])").first)
        #expect(record["state"] as? String == "accepted" && record["acceptedBy"] as? String == "postgres")
        let status = try bench.run("status").checked()
        #expect(status.outputText.contains("finished   1 completed, 0 failed, 2 accepted, 0 cancelled"))
        #expect(!status.errorText.contains("failed for good"))
    }

    @Test func prioritiesMayBeBelowZero() async throws {
        let bench = try LedgerBench()
        let job = try await bench.submit(2)[1]
        #expect(try bench.output("prioritize", "-5", "\(job)", "--yes") == "1 job moved to priority -5\n")
        #expect(try await bench.ledger.story(of: job)?.summary.priority == -5)
        #expect(try bench.output("prioritize", "10", "--queue", "default", "--yes") == "2 jobs moved to priority 10\n")
        #expect(try bench.run("prioritize", "101", "\(job)", "--yes").status == .exited(2))
    }

    @Test func nothingToDoIsSaid() async throws {
        let bench = try LedgerBench()
        let job = try await bench.submit(1)[0]
        let none = try bench.run("retry", "--batch", "1", "--yes")
        #expect((none.status, none.errorText) == (.exited(9), "error: nothing to retry\n"))
        let idle = try bench.run("retry", "\(job)", "--yes")
        #expect(idle.status == .exited(9))
        #expect(idle.errorText.hasPrefix("note:  1 job is in a state in which retry has no effect\n"))
    }

    @Test func jobOfAnotherIsNotCalledIdle() async throws {
        let bench = try LedgerBench()
        let job = try await bench.submit(1)[0]
        _ = try bench.sql("create role other_submitter login in role sluice_submitter")
        // Roles are of the whole server. `try?`: a role that stays fails no expectation here.
        defer { _ = try? bench.sql("drop role other_submitter") }
        let address = try #require(bench.environment["SLUICE_DATABASE_URL"])
        let url = address.replacing("postgres@", with: "other_submitter@")
        for words in [["cancel", "\(job)"], ["prioritize", "5", "\(job)"]] {
            let run = try bench.run(words + ["--yes"], environment: ["SLUICE_DATABASE_URL": url])
            #expect(run.status == .exited(6))
            #expect(run.errorText.hasPrefix("error: batch 1 belongs to "), "\(run.errorText)")
        }
        #expect(try await bench.state(job) == .waiting)
    }

    @Test func oneMistypedNumberStopsAll() async throws {
        let bench = try LedgerBench()
        let jobs = try await bench.submit(2)
        let run = try bench.run("cancel", "\(jobs[0])", "77", "78", "--yes")
        #expect((run.status, run.errorText) == (.exited(4), "error: no such jobs 77, 78\n"))
        #expect(try await bench.state(jobs[0]) == .waiting)
        #expect(try bench.run("cancel", "--batch", "9", "--yes").status == .exited(4))
    }

    @Test func itHasToBeSaidWhichJobs() async throws {
        let bench = try LedgerBench()
        try await bench.submit(1)
        for words in [
            ["cancel"], ["retry"], ["cancel", "1", "--batch", "1"], ["cancel", "1", "--all"], ["cancel", "x"],
            ["prioritize"], ["prioritize", "high", "--all"],
        ] {
            #expect(try bench.run(words + ["--yes"]).status == .exited(2), "\(words)")
        }
        #expect(try await bench.state(1) == .waiting)
    }

    @Test func recordsCountBeforeAndAfter() async throws {
        let bench = try LedgerBench()
        try await bench.submit(2)
        let lines = [
            try bench.output("cancel", "--all", "--dry-run", "--json"),
            try bench.output("cancel", "--all", "--yes", "--json"),
            try bench.output("retry", "--state", "cancelled", "--yes", "--json"),
            try bench.output("prioritize", "3", "--all", "--yes", "--json"),
        ]
        try Golden.expect(lines.joined(), is: "changes.jsonl")
    }
}
