import API
import Console
import Conversion
import FoundationEssentials
import Ledger
import LedgerClient

/// `sluice export`: prints every job of a batch as a table or JSON Lines, for other programs.
enum ExportCommand {
    private enum Form: String, CaseIterable, Sendable { case tsv, jsonl }

    private static let batch = Option<BatchName>(
        "batch",
        .batch,
        "the batch: its number, its label, or \"last\" (required)",
        in: .jobs
    )
    private static let form = SettledOption<Form>(
        "format",
        .choice("KIND") {
            $0 == .tsv ? "tab-separated columns with a header" : "the records that \"job --json\" prints"
        },
        fallback: "tsv",
        "the output format",
        in: .output
    )

    private static let brief = Switch("brief", "only the columns of lists, which is faster", in: .output)
    private static let outputs = Switch(
        "outputs",
        "a row for each output of a job, not only for the first",
        in: .output
    )

    static let value: Subcommand = Subcommand(
        name: "export",
        summary: "export all jobs of a batch as columns or JSON Lines",
        discussion: [
            "Prints tab-separated columns with a header, like the job log of GNU parallel. Columns about an "
                + "attempt describe the last one; unknown values are empty. Tabs and control characters in names are "
                + "written as \\u{9}.",
            "A row describes the first output of a job, and the column outputs counts all. With --outputs each output has a "
                + "row, with its destination, bytes and sha256; all else is the job's. Lines of JSON list all outputs.",
            "--brief leaves out the columns that need attempts and recipes: destination, host, started, "
                + "seconds, frames, remarks and outputs.",
        ],
        options: [batch.form] + LedgerOptions.forms + [form.form, brief.form, outputs.form],
        examples: [
            Example(
                line: "sluice export --batch 17 --brief | cut -f 3 | sort | uniq -c",
                purpose: "count the jobs by state"
            ),
            Example(
                line: "sluice export --batch 17 --outputs | cut -f 7,8,13",
                purpose: "all outputs and their digests"
            ),
            Example(line: "sluice export --batch 17 --format jsonl", purpose: "all details"),
        ],
        run: run
    )

    /// How many jobs one request to the ledger covers.
    private static let window: Int32 = 400

    @Sendable private static func run(_ invocation: Invocation, _ console: CommandOutput) throws -> ExitCode {
        guard let name = invocation[batch] else { throw UsageError("--batch is missing", hint: batch.form.summary) }
        let (kind, isBrief, isEach) = (invocation[form], invocation[brief], invocation[outputs])
        if isEach, isBrief || kind != .tsv {
            let other = isBrief ? "--brief" : "--format \(kind.rawValue)"
            let why = isBrief ? "outputs are read from recipes" : "lines of JSON list all outputs of a job"
            throw UsageError("\(other) and --outputs exclude each other", hint: why)
        }
        try LedgerWork.run(invocation) { ledger in
            let number = try await name.id(on: ledger)
            if kind == .tsv { try console.print(ExportRow.head(isBrief: isBrief)) }
            var count = 0
            var page = try await Page(of: number, behind: nil, isBrief: isBrief, ledger)
            while true {
                // The ledger reads the next page while this one is written.
                let current = page
                async let next = Page(after: current, of: number, isBrief: isBrief, ledger)
                try console.data.write(try current.text(as: kind, isEach: isEach, countedFrom: &count))
                guard let following = try await next else { return }
                page = following
            }
        }
        return .success
    }

    /// Up to `window` jobs of a batch, in the order of submission.
    private struct Page: Sendable {
        private let page: BatchPage
        private var jobs: [JobSummary] { page.stories.isEmpty ? page.jobs : [] }
        private var stories: [JobStory] { page.stories }

        init(of batch: Int64, behind job: Int64?, isBrief: Bool, _ ledger: any CommandLedger) async throws {
            page = try await ledger.page(ofBatch: batch, after: job, limit: window, isBrief: isBrief)
        }

        /// The page after another one; `nil` if that is the last.
        init?(after page: Page, of batch: Int64, isBrief: Bool, _ ledger: any CommandLedger) async throws {
            guard let next = page.page.next else { return nil }
            try await self.init(of: batch, behind: next, isBrief: isBrief, ledger)
        }

        func text(as kind: Form, isEach: Bool, countedFrom count: inout Int) throws -> String {
            var text = ""
            for job in jobs {
                count += 1
                text += try kind == .tsv ? ExportRow(count, job).line : JSONText.line(JSONRecord(job))
                text += "\n"
            }
            for story in stories {
                count += 1
                guard kind == .tsv else {
                    text += try JSONText.line(JSONRecord(story)) + "\n"
                    continue
                }
                for row in ExportRow.rows(count, story, isEach: isEach) { text += row.line + "\n" }
            }
            return text
        }
    }
}
