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
            try await ledger.eachPage(ofBatch: number, isBrief: isBrief) { page in
                try console.data.write(text(of: page, as: kind, isEach: isEach, countedFrom: &count))
            }
        }
        return .success
    }

    private static func text(
        of page: BatchPage,
        as kind: Form,
        isEach: Bool,
        countedFrom count: inout Int
    ) throws -> String {
        var text = ""
        // A page that is not brief has both.
        for job in page.stories.isEmpty ? page.jobs : [] {
            count += 1
            text += try kind == .tsv ? ExportRow(count, job).line : JSONText.line(JSONRecord(job))
            text += "\n"
        }
        for story in page.stories {
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
