import Conversion
import FoundationEssentials
import Ledger

/// `sluice export`: every job of a batch in a table for other programs.
enum ExportCommand {
    private enum Form: String, CaseIterable, Sendable { case tsv, jsonl }

    private static let batch = Option<Int64>("batch", .id, "the batch; has to be said", in: .jobs)
    private static let form = SettledOption<Form>(
        "format",
        .choice("KIND") {
            $0 == .tsv ? "columns with tabs between them, and a head" : "what \"job --json\" prints of each"
        },
        fallback: "tsv",
        "how to write it",
        in: .output
    )

    private static let brief = Switch("brief", "only what lists show, which is read much faster", in: .output)

    static let value = Subcommand(
        name: "export",
        summary: "print every job of a batch as columns or JSON Lines, for other programs",
        discussion: [
            "Like the job log of GNU parallel, with a head and tabs. Of attempts the last one counts; what is not known is "
                + "empty. Tabs and control characters in names are written as \\u{9}.",
            "Attempts and recipes are looked up job by job. --brief leaves out what comes of them: host, started, seconds, "
                + "frames and destination.",
        ],
        options: [batch.form] + LedgerOptions.forms + [form.form, brief.form],
        examples: [
            Example(line: "sluice export --batch 17 --brief | cut -f 3 | sort | uniq -c", purpose: "count the states"),
            Example(line: "sluice export --batch 17 --format jsonl", purpose: "everything that is known"),
        ],
        run: run
    )

    /// How many jobs are asked for at one time, and by how many askers.
    private static let (window, askers) = (400, 4)

    @Sendable private static func run(_ invocation: Invocation, _ console: Console) throws -> ExitCode {
        guard let number = invocation[batch] else { throw UsageError("--batch is missing", hint: batch.form.summary) }
        let (kind, isBrief) = (invocation[form], invocation[brief])
        try LedgerWork.run(invocation) { ledger in
            try await JobFilterOptions.requireBatch(number, of: ledger)
            if kind == .tsv { try console.print(ExportRow.head(isBrief: isBrief)) }
            var (last, count): (Int64, Int) = (0, 0)
            while true {
                let ids = try await ledger.jobs(ofBatch: number, after: last, limit: Int32(window))
                guard let end = ids.last else { return }
                var text = ""
                if isBrief {
                    let page = try await ledger.jobs(matching: JobFilter(ids: ids), limit: Int32(window))
                    for job in page.jobs.sorted(by: { $0.job < $1.job }) {
                        count += 1
                        text += try kind == .tsv ? ExportRow(count, job).line : JSONText.line(JobRecord(job))
                        text += "\n"
                    }
                } else {
                    for story in try await stories(of: ids, ledger) {
                        count += 1
                        text += try kind == .tsv ? ExportRow(count, story).line : JSONText.line(StoryRecord(story))
                        text += "\n"
                    }
                }
                try console.data.write(text)
                last = end
            }
        }
        return .success
    }

    /// In the order of `ids`. One that was dropped meanwhile, being old, is left out.
    private static func stories(of ids: [Int64], _ ledger: JobLedger) async throws -> [JobStory] {
        try await withThrowingTaskGroup(of: (Int, [JobStory]).self) { group in
            let share = (ids.count + askers - 1) / askers
            for (place, start) in stride(from: 0, to: ids.count, by: share).enumerated() {
                let part = ids[start..<min(start + share, ids.count)]
                group.addTask {
                    var stories: [JobStory] = []
                    for id in part {
                        if let story = try await ledger.story(of: id) { stories.append(story) }
                    }
                    return (place, stories)
                }
            }
            var parts: [(Int, [JobStory])] = []
            for try await part in group { parts.append(part) }
            return parts.sorted { $0.0 < $1.0 }.flatMap(\.1)
        }
    }
}
