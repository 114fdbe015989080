import API
import Console
import Conversion
import Ledger
import LedgerClient
import Storage
import System

/// `sluice report`: writes one page about a batch, for people who were not there, or the same as JSON.
enum ReportCommand {
    private static let batch = Option<BatchName>(
        "batch",
        .batch,
        "the batch: its number, its label, or \"last\" (required)",
        in: .jobs
    )
    private static let output = Argument(name: "OUT", summary: "the file to write: OUT.html or OUT.json")

    static let value: Subcommand = Subcommand(
        name: "report",
        summary: "write a page about a batch, for a browser or on paper",
        discussion: [
            "The page has the counts, the time that the batch took, failures by cause with their places and what to do, "
                + "damaged sources, what outputs lack of their sources, the loudness, and the slowest and largest jobs. "
                + "It is one file that loads nothing and needs no script.",
            "OUT.json has the same for programs. The sums are over all jobs, and long lists say how many entries they "
                + "leave out: \"sluice export\" lists every job.",
        ],
        arguments: [output],
        options: [batch.form] + LedgerOptions.forms + [ConvertCommand.onConflict.form],
        examples: [
            Example(line: "sluice report --batch 17 podcasts.html", purpose: "a page about batch 17"),
            Example(
                line: "sluice report --batch last report.json --on-conflict replace",
                purpose: "for programs, each night"
            ),
        ],
        run: run
    )

    private enum Form: String, CaseIterable { case html, json }

    @Sendable private static func run(_ invocation: Invocation, _ console: CommandOutput) throws -> ExitCode {
        guard let name = invocation[batch] else { throw UsageError("--batch is missing", hint: batch.form.summary) }
        let path = invocation.word(output)
        guard let form = Form.allCases.first(where: { path.lowercased().hasSuffix(".\($0.rawValue)") }) else {
            throw UsageError("\(path.printable): the name must end in .html or .json")
        }
        // What would stop it at the end stops it now.
        let file: OutputFile
        do throws(StorageError) {
            let preparation = try OutputFile.prepare(at: path, onConflict: invocation[ConvertCommand.onConflict])
            switch consume preparation {
            case .ready(let prepared): file = prepared
            case .skipped:
                warnOfSkip(path, console)
                return .success
            }
        } catch {
            throw refusal(error)
        }
        let report = try LedgerWork.run(invocation) { try await read(name, from: $0) }
        let text =
            switch form {
            case .html: ReportPage(report: report).html.text
            case .json: try JSONText.line(report) + "\n"
            }
        // Another program may have written it meanwhile.
        if try write(text, to: file, path) == .skipped { warnOfSkip(path, console) }
        return .success
    }

    private static func refusal(_ error: StorageError) -> Refusal {
        Refusal(message: error.failure.message, hint: error.hint, exitCode: error.failure.exitCode)
    }

    private static func warnOfSkip(_ path: String, _ console: CommandOutput) {
        console.warn("\(path.printable) already exists; skipped")
    }

    /// Adds up each page of jobs while the next one is read.
    private static func read(_ name: BatchName, from ledger: any CommandLedger) async throws -> BatchReport {
        let number = try await name.id(on: ledger)
        let now = try await ledger.time()
        guard let batch = try await ledger.batch(number) else { throw Refusal.missing("batch \(number)") }
        var tally = BatchTally(batch, asOf: now)
        try await ledger.eachPage(ofBatch: number, isBrief: false) { page in
            for story in page.stories { tally.add(story) }
        }
        return tally.finished
    }

    /// The file appears whole or not at all.
    private static func write(
        _ text: String,
        to file: consuming OutputFile,
        _ path: String
    ) throws(Refusal) -> OutputFile.Outcome {
        do throws(Outlet.Failure) {
            try Outlet(descriptor: file.descriptor, colour: .never, environment: [:]).write(text)
        } catch {
            throw Refusal(message: "cannot write \(path.printable): \(systemText(error.errorNumber))")
        }
        do throws(StorageError) {
            return try file.publish()
        } catch {
            throw refusal(error)
        }
    }
}
