import API
import Console
import Conversion
import FoundationEssentials
import Ledger
import LedgerClient

/// `sluice job`: prints all that the ledger has recorded about one or more jobs.
enum JobCommand {
    private static let jobs = Argument(
        name: "ID",
        summary: "the id of a job; last is the newest job of your last batch",
        count: .oneOrMore,
        completion: .ledger(.jobs([]))
    )

    static let value: Subcommand = Subcommand(
        name: "job",
        summary: "show a job: its request, attempts, failures and what to do",
        arguments: [jobs],
        options: LedgerOptions.forms + [ListOptions.json.form],
        examples: [Example(line: "sluice job 10442", purpose: "why a job failed or waits")],
        run: run
    )

    @Sendable private static func run(_ invocation: Invocation, _ console: CommandOutput) throws -> ExitCode {
        let named = invocation.saysLast(jobs) ? [] : try invocation.ids(jobs)
        let (now, ids, stories) = try LedgerWork.run(invocation) { ledger in
            let ids = named.isEmpty ? [try await lastJob(ledger)] : named
            var stories: [JobStory?] = []
            for id in ids { stories.append(try await ledger.story(of: id)) }
            return (try await ledger.time(), ids, stories)
        }
        var isFirst = true
        for case let story? in stories {
            if invocation[ListOptions.json] {
                try console.print(JSONText.line(JSONRecord(story)))
            } else {
                let page = StoryPage(story: story, now: now, console: console)
                try console.print((isFirst ? page.lines : [""] + page.lines).joined(separator: "\n"))
                isFirst = false
            }
        }
        let missing = zip(ids, stories).filter { $0.1 == nil }.map(\.0)
        for id in missing { console.complain("no such job \(id)") }
        if missing.isEmpty { return .success }
        return missing.count == ids.count ? .notFound : .someFailed
    }

    private static func lastJob(_ ledger: any CommandLedger) async throws -> Int64 {
        let batch = try await BatchName.last.id(on: ledger)
        guard let job = try await ledger.jobs(matching: JobFilter(batch: batch), after: nil, limit: 1).jobs.first else {
            throw Refusal.missing("job: batch \(batch) has none")
        }
        return job.job
    }
}
