import FoundationEssentials
import Ledger

/// `sluice wait`: waits until jobs or batches have ended, with or without success.
enum WaitCommand {
    private static let ids = Argument(
        name: "ID",
        summary: "the ids of jobs",
        count: .any,
        completion: .ledger(.jobs(JobState.open))
    )
    private static let batch = Option<Int64>(
        "batch",
        .id.offering(.batches),
        "wait for all jobs of this batch",
        isRepeatable: true,
        in: .jobs
    )
    private static let takesAny = Switch("any", "return as soon as one of them has ended", in: .jobs)
    private static let timeout = Option<Duration>("timeout", .duration, "stop waiting after this time", in: .general)
    private static let json = Switch("json", "print one JSON line per item at the end", in: .output)

    static let value = Subcommand(
        name: "wait",
        summary: "wait until jobs or batches have ended",
        discussion: [
            "Exit codes: 0 all completed; 3 some failed or were cancelled; 4 no such job or batch; 8 timed out. "
                + "A failed job that was retried has not ended."
        ],
        arguments: [ids],
        options: [batch.form, takesAny.form, timeout.form] + LedgerOptions.forms
            + [ProgressOption.option.form, json.form],
        examples: [
            Example(line: "sluice wait --batch 17 --timeout 2h", purpose: "wait for a batch"),
            Example(line: "sluice wait --any 10442 10981", purpose: "wait for the first of two jobs"),
        ],
        run: run
    )

    @Sendable private static func run(_ invocation: Invocation, _ console: Console) throws -> ExitCode {
        let waiting = Waiting(
            jobs: try invocation.ids(ids),
            batches: invocation.all(batch),
            takesAny: invocation[takesAny],
            limit: invocation[timeout]
        )
        guard !waiting.jobs.isEmpty || !waiting.batches.isEmpty else {
            throw UsageError("no jobs or batches given", hint: "give the ids of jobs, or --batch ID")
        }
        let ending = try waiting.run(invocation, console)
        if invocation[json] {
            for batch in ending.state.batches { try console.print(JSONText.line(BatchRecord(batch))) }
            for job in ending.state.jobs { try console.print(JSONText.line(JobRecord(job))) }
        } else {
            for line in ending.lines { try console.print(line) }
        }
        return ending.exitCode
    }
}

extension Waiting {
    /// Waits with a progress bar on the terminal. The caller prints the result.
    func run(_ invocation: Invocation, _ console: Console) throws -> Ending {
        let display = WaitDisplay(invocation[ProgressOption.option], outlet: console.talk)
        let latest = Latest<State?>(nil)
        do {
            let ending = try LedgerWork.run(invocation, onTick: { display.show(latest.value) }) { ledger in
                try await run(on: ledger, console) { latest.value = $0 }
            }
            display.finish(ending)
            if ending.isTimedOut { console.say("timed out: some jobs have not ended") }
            return ending
        } catch {
            display.finish(nil)
            throw error
        }
    }
}

extension Waiting.Ending {
    /// `batch 17 "podcasts"  12,404 completed, 2 failed`, `job 10442  completed`
    var lines: [String] {
        state.batches.map { "\($0.title)  \($0.jobs.words)" }
            + state.jobs.map { job in
                let code = job.state == .failed ? job.code.map { ": \($0)" } ?? "" : ""
                return "job \(job.job)  \(job.state.rawValue)\(code)".printable
            }
    }
}
