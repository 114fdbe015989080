import Console
import Conversion
import Ledger
import LedgerClient
import System

extension OutputFetching {
    /// How many jobs are asked for at a time.
    private static let pageSize: Int32 = 200

    /// Throws a `Refusal` before the command waits, if no coordinator serves outputs.
    func check(roots: Set<String> = [], _ invocation: Invocation) throws {
        try LedgerWork.run(invocation) { _ in try await check(roots: roots) }
    }

    /// Fetches the outputs of what `wait` has waited for. A failure is reported and changes only the exit code: what follows
    /// the wait happens all the same. Throws if a signal ends the command.
    func run(
        after ending: Waiting.Ending,
        isJSON: Bool,
        _ invocation: Invocation,
        _ console: CommandOutput
    ) throws -> ExitCode {
        // Of several jobs with one destination, the newest made the file that is there.
        var filters = ending.state.batches.map {
            (batch: $0.batch, filter: JobFilter(states: [.completed], batch: $0.batch))
        }
        for (batch, jobs) in Dictionary(grouping: ending.state.jobsAlone, by: \.batch) {
            filters.append((batch, JobFilter(ids: jobs.map(\.job), states: [.completed])))
        }
        filters.sort { $0.batch > $1.batch }
        return try Self.reporting(on: console) {
            try run(filters.map(\.filter), isJSON: isJSON, invocation, console) { _ in true }
        }
    }

    /// Fetches the outputs at these places, from the latest jobs that made them. `firsts` are the places of the first outputs
    /// of jobs. A failure is reported, as above.
    func run(
        at places: Set<String>,
        firsts: [String],
        isJSON: Bool,
        _ invocation: Invocation,
        _ console: CommandOutput
    ) throws -> ExitCode {
        try Self.reporting(on: console) {
            let earlier = try LedgerWork.run(invocation) { try await $0.earlierJobs(at: firsts, digests: false) }
            var known: Set<Int64> = []
            let jobs = earlier.compactMap { job in job.flatMap { $0.state == .completed ? $0.job : nil } }
                .filter { known.insert($0).inserted }.sorted(by: >)
            let size = Int(Self.pageSize)
            let filters = stride(from: 0, to: jobs.count, by: size).map { start in
                JobFilter(ids: Array(jobs[start..<min(start + size, jobs.count)]), states: [.completed])
            }
            return try run(filters, isJSON: isJSON, invocation, console) { places.contains($0) }
        }
    }

    /// Runs `body`, and reports why it failed.
    private static func reporting(on console: CommandOutput, _ body: () throws -> ExitCode) throws -> ExitCode {
        do {
            return try body()
        } catch let error as LedgerError {
            LedgerFailurePage(error: error).show(on: console)
        } catch let refusal as Refusal {
            console.complain(refusal.message.printable, details: refusal.details, hint: refusal.hint?.printable)
        }
        return .failure
    }

    private func run(
        _ filters: [JobFilter],
        isJSON: Bool,
        _ invocation: Invocation,
        _ console: CommandOutput,
        _ isWanted: @escaping @Sendable (String) -> Bool
    ) throws -> ExitCode {
        let tally = Latest(TransferTally())
        let display = ProgressWriter(invocation[ProgressStyle.option], outlet: console.talk)
        let start = ContinuousClock.now
        func progress() -> TransferProgress {
            TransferProgress(tally: tally.value, word: "fetched", passed: .now - start)
        }
        defer { display.clear() }
        let (summary, failures) = try LedgerWork.run(
            invocation,
            onTick: { if tally.value.files > 0 { display.show(progress()) } }
        ) { ledger in
            var (place, cursor): (Int, JobCursor?) = (0, nil)
            return try await run(tally, isWanted: isWanted) {
                while place < filters.count {
                    let page = try await ledger.jobs(matching: filters[place], after: cursor, limit: Self.pageSize)
                    cursor = page.next
                    if cursor == nil { place += 1 }
                    if !page.jobs.isEmpty { return page.jobs.sorted { $0.job > $1.job } }
                }
                return []
            }
        }
        // The last record says that all was done.
        if summary.failed == 0 { display.finish(progress()) } else { display.clear() }
        if isJSON { try console.print(JSONText.line(summary)) } else { console.say(Self.words(summary)) }
        guard summary.failed > 0 else { return .success }
        console.complain(
            "\(Figures.count(summary.failed, "output")) \(Plural.past(summary.failed)) not fetched",
            details: failures.lines,
            hint:
                "\"sluice wait --fetch\" of the same jobs fetches the rest; --on-conflict replace replaces other files"
        )
        return .failure
    }

    /// `12 outputs, 1.9 GB, in results, 3 of which were there already; 1 other file left alone`
    private static func words(_ summary: Summary) -> String {
        let outputs = "\(Figures.count(summary.files, "output")), \(Figures.bytes(summary.bytes)), in \(summary.fetch)"
        let there =
            summary.present == 0
            ? "" : ", \(Figures.grouped(summary.present)) of which \(Plural.past(summary.present)) there already"
        let kept = summary.kept == 0 ? "" : "; \(Figures.count(summary.kept, "other file")) left alone"
        return (outputs + there + kept).printable
    }
}
