import API
import Console
import Conversion
import FoundationEssentials
import Ledger
import System

/// `sluice wait`: waits until jobs or batches have ended, with or without success.
enum WaitCommand {
    private static let ids = Argument(
        name: "ID",
        summary: "the ids of jobs; last stands for --batch last",
        count: .any,
        completion: .ledger(.jobs(JobState.open))
    )
    private static let batch = Option<BatchName>(
        "batch",
        .batch,
        "wait for all jobs of this batch: its number, its label, or \"last\"",
        isRepeatable: true,
        in: .jobs
    )
    private static let takesAny = Switch("any", "return as soon as one of them has ended", in: .jobs)
    static let timeout = Option<Duration>("timeout", .duration, "stop waiting after this time", in: .general)
    /// With the values of `submit`, because a variable sets both.
    private static let onConflict = SettledOption<SubmitConflict>(
        SubmitConflict.option.form.name,
        .choice("WHAT") { conflict in
            switch conflict {
            case .fail: "fetch all but these outputs, and fail"
            case .replace: "replace the files"
            case .skip: "leave the files alone"
            case .missing, .newer: "as skip"
            }
        },
        fallback: "fail",
        "with --fetch: what to do about other files in DIR",
        environment: "SLUICE_ON_CONFLICT",
        in: .destination
    )
    private static let json = Switch("json", "print one JSON line per item at the end", in: .output)

    static let value: Subcommand = Subcommand(
        name: "wait",
        summary: "wait until jobs or batches have ended",
        discussion: [
            "Exit codes: 0 all completed; 3 some failed or were cancelled; 4 no such job or batch; 8 timed out. "
                + "A failed job that was retried has not ended. Failures that \"sluice accept\" has accepted do not count.",
            "--on-end runs a command in /bin/sh once they have ended, with SLUICE_BATCH, SLUICE_JOB, SLUICE_COMPLETED, "
                + "SLUICE_SKIPPED, SLUICE_FAILED, SLUICE_ACCEPTED, SLUICE_CANCELLED and SLUICE_EXIT_CODE in its "
                + "environment. If all were completed and the command fails, the exit code is 1.",
            "--fetch brings the outputs of the completed jobs to this machine, each below DIR with the path that it has below "
                + "its root, and compares their digests with those in the ledger. A repetition goes on where it ended. If "
                + "all were completed and an output cannot be fetched, the exit code is 1.",
        ],
        arguments: [ids],
        options: [
            batch.form, takesAny.form, timeout.form, EndCommand.option.form, OutputFetching.option.form,
            onConflict.form,
        ] + LedgerOptions.forms
            + [ProgressStyle.option.form, json.form],
        examples: [
            Example(line: "sluice wait --batch 17 --timeout 2h", purpose: "wait for a batch"),
            Example(line: "sluice wait --any 10442 10981", purpose: "wait for the first of two jobs"),
            Example(line: "sluice wait --batch 17 --fetch results", purpose: "bring the outputs here"),
            Example(line: "sluice wait --batch last --on-end ./report.sh", purpose: "run a command at the end"),
        ],
        run: run
    )

    @Sendable private static func run(_ invocation: Invocation, _ console: CommandOutput) throws -> ExitCode {
        let isLast = invocation.saysLast(ids)
        let waiting = Waiting(
            jobs: isLast ? [] : try invocation.ids(ids),
            names: invocation.all(batch) + (isLast ? [.last] : []),
            takesAny: invocation[takesAny],
            limit: invocation[timeout]
        )
        guard !waiting.jobs.isEmpty || !waiting.names.isEmpty else {
            throw UsageError("no jobs or batches given", hint: "give the ids of jobs, or --batch BATCH")
        }
        let fetching = try OutputFetching(invocation, onConflict: invocation[onConflict].policy)
        try fetching?.check(invocation)
        let ending = try waiting.run(invocation, console)
        if invocation[json] {
            for batch in ending.state.batches { try console.print(JSONText.line(JSONRecord(batch))) }
            for job in ending.state.jobs { try console.print(JSONText.line(JSONRecord(job))) }
        } else {
            for line in ending.lines { try console.print(line) }
            ending.sayFailures(on: console)
            ending.sayRemarks(on: console)
        }
        var fetched = ExitCode.success
        if let fetching, !ending.isTimedOut {
            fetched = try fetching.run(after: ending, isJSON: invocation[json], invocation, console)
        }
        let end = EndCommand(invocation)?.run(after: ending, invocation.environment, on: console) ?? ending.exitCode
        return end == .success ? fetched : end
    }
}

extension Waiting {
    /// Waits with a progress bar on the terminal. The caller prints the result.
    func run(_ invocation: Invocation, _ console: CommandOutput) throws -> Ending {
        let display = WaitDisplay(WaitDisplay.style(invocation), console)
        let latest = Latest<State?>(nil)
        do {
            let followsRunning = display.isForPeople
            let ending = try LedgerWork.run(invocation, onTick: { display.show(latest.value) }) { ledger in
                var waiting = self
                waiting.followsRunning = followsRunning
                for name in names {
                    let id = try await name.id(on: ledger)
                    if !waiting.batches.contains(id) { waiting.batches.append(id) }
                }
                return try await waiting.run(on: ledger, console) { latest.value = $0 }
            }
            display.finish(ending)
            if ending.isTimedOut { console.say("timed out: some jobs have not ended") }
            return ending
        } catch let stop as StoppedBySignal {
            display.finish(nil)
            console.say("the jobs continue; \"\(command)\" waits for them again")
            throw stop
        } catch {
            display.finish(nil)
            throw error
        }
    }

    /// The command that waits for the same jobs and batches.
    private var command: String {
        let batches = batches.map { "\($0)" } + names.map { ShellWord.quoted($0.word) }
        let words = batches.flatMap { ["--batch", $0] } + jobs.map { "\($0)" }
        return (["sluice", "wait"] + (takesAny ? ["--any"] : []) + words).joined(separator: " ")
    }
}

extension Waiting.Ending {
    /// Says which failures there were and what shows them:
    /// `2 failed: truncated 1, not_audio 1; sluice errors --batch 42`.
    func sayFailures(on console: CommandOutput) {
        guard !failures.isEmpty else { return }
        let groups = failures.prefix(5).map { "\($0.code) \(Figures.grouped($0.jobs))" }
        let more = failures.count > 5 ? ", ..." : ""
        let failed = state.batches.filter { $0.jobs.failed > 0 }.map { "--batch \($0.batch)" }
        let jobs = state.jobsAlone.filter { $0.state == .failed }.map { "\($0.job)" }
        let command =
            switch (failed.count, jobs.count) {
            case (1, 0): "sluice errors \(failed[0])"
            case (0, 1): "sluice job \(jobs[0])"
            default: "sluice errors"
            }
        let count = Figures.grouped(failures.reduce(0) { $0 + $1.jobs })
        console.say("\(count) failed: \(groups.joined(separator: ", "))\(more); \(command)".printable)
    }

    /// Says how many completed jobs have warnings, and what shows them:
    /// `3 completed with warnings; sluice jobs --batch 42 --remarks`.
    func sayRemarks(on console: CommandOutput) {
        let batches = state.batches.filter { $0.jobsWithRemarks > 0 }
        let jobs = state.jobsAlone.filter(\.hasRemarks)
        let count = batches.reduce(jobs.count) { $0 + $1.jobsWithRemarks }
        guard count > 0 else { return }
        let command =
            switch (batches.count, jobs.count) {
            case (1, 0): "sluice jobs --batch \(batches[0].batch) --remarks"
            case (0, 1): "sluice job \(jobs[0].job)"
            default: "sluice jobs --remarks"
            }
        console.say("\(Figures.grouped(count)) completed with warnings; \(command)")
    }

    /// `batch 17 "podcasts"  12,404 completed, 2 failed`, `job 10442  completed`
    var lines: [String] {
        state.batches.map { "\($0.title)  \($0.jobs.words)" }
            + state.jobs.map { job in
                let hasFailed = [JobState.failed, .accepted].contains(job.state)
                let code = hasFailed ? job.code.map { ": \($0)" } ?? "" : ""
                return "job \(job.job)  \(job.state.rawValue)\(code)".printable
            }
    }
}
