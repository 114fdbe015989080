import Glibc
import Ledger

/// `sluice watch`: shows all activity on the whole screen, refreshed about once a second.
enum WatchCommand {
    static let value = Subcommand(
        name: "watch",
        summary: "watch queues, running jobs, workers and failures on the whole screen",
        discussion: [
            "Lists what runs, waits, failed and ended, the queues and the workers; keys move in them, cancel, retry and "
                + "pause, each after a question that says how many jobs it is about. ? lists the keys, q leaves.",
            "It takes a terminal. \"sluice jobs --watch\" is a single list, and \"sluice status --json\" is for programs.",
        ],
        options: [JobFilterOptions.batch.form, JobFilterOptions.queue.form] + LedgerOptions.forms,
        examples: [
            Example(line: "sluice watch", purpose: "everything"),
            Example(line: "sluice watch --batch 17", purpose: "one batch"),
        ],
        run: run
    )

    @Sendable private static func run(_ invocation: Invocation, _ console: Console) throws -> ExitCode {
        guard console.data.isTerminal, isatty(STDIN_FILENO) == 1, invocation.environment["TERM"] != "dumb" else {
            throw UsageError(
                "watch draws on a terminal that can be drawn on, and there is none",
                hint: "\"sluice jobs --watch\" draws less, \"sluice status --json\" is for programs"
            )
        }
        return try WatchSession(invocation, console).run()
    }
}
