import Console
import Glibc
import Ledger

/// `sluice watch`: shows all activity on the whole screen, refreshed about once a second.
enum WatchCommand {
    static let value: Subcommand = Subcommand(
        name: "watch",
        summary: "monitor queues, jobs, workers and failures on a full screen",
        discussion: [
            "Shows running, waiting, failed and ended jobs, queues and workers. Keys move through the lists, "
                + "and cancel, retry and pause; each change asks first and shows how many jobs it affects. ? lists "
                + "the keys, q quits.",
            "It needs a terminal. \"sluice jobs --watch\" shows a single list, and \"sluice status --json\" is "
                + "for programs.",
        ],
        options: [JobFilterOptions.batch.form, JobFilterOptions.queue.form] + LedgerOptions.forms,
        examples: [
            Example(line: "sluice watch", purpose: "everything"),
            Example(line: "sluice watch --batch 17", purpose: "one batch"),
        ],
        run: run
    )

    @Sendable private static func run(_ invocation: Invocation, _ console: CommandOutput) throws -> ExitCode {
        guard console.data.isTerminal, isatty(STDIN_FILENO) == 1, invocation.environment["TERM"] != "dumb" else {
            throw UsageError(
                "watch needs a terminal",
                hint: "\"sluice jobs --watch\" shows a single list, \"sluice status --json\" is for programs"
            )
        }
        return try WatchSession(invocation, console).run()
    }
}
