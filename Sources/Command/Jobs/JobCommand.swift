import Console
import FoundationEssentials
import Ledger
import Records

/// `sluice job`: prints all that the ledger has recorded about one or more jobs.
enum JobCommand {
    private static let jobs = Argument(
        name: "ID",
        summary: "the id of a job",
        count: .oneOrMore,
        completion: .ledger(.jobs([]))
    )

    static let value = Subcommand(
        name: "job",
        summary: "show a job: its request, attempts, failures and what to do",
        arguments: [jobs],
        options: LedgerOptions.forms + [ListOptions.json.form],
        examples: [Example(line: "sluice job 10442", purpose: "why a job failed or waits")],
        run: run
    )

    @Sendable private static func run(_ invocation: Invocation, _ console: CommandOutput) throws -> ExitCode {
        let ids = try invocation.ids(jobs)
        let (now, stories) = try LedgerWork.run(invocation) { ledger in
            var stories: [JobStory?] = []
            for id in ids { stories.append(try await ledger.story(of: id)) }
            return (try await ledger.time(), stories)
        }
        var isFirst = true
        for case let story? in stories {
            if invocation[ListOptions.json] {
                try console.print(JSONText.line(StoryRecord(story)))
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
}
