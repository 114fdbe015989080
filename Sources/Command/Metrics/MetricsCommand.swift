import Console
import Ledger

/// `sluice metrics`: the metrics of the ledger as text, for a monitoring system.
enum MetricsCommand {
    private static let openMetrics = Switch(
        "openmetrics",
        "print OpenMetrics 1.0 instead of Prometheus' text format",
        in: .output
    )

    static let value: Subcommand = Subcommand(
        name: "metrics",
        summary: "print the metrics of the ledger, for Prometheus",
        discussion: [
            "Counters only ever grow, and outlive jobs, batches and programs. The role sluice_viewer suffices."
        ],
        options: LedgerOptions.databaseForms + [openMetrics.form],
        examples: [Example(line: "sluice metrics", purpose: "all metrics of the ledger")],
        run: run
    )

    @Sendable private static func run(_ invocation: Invocation, _ console: CommandOutput) throws -> ExitCode {
        let metrics = try LedgerWork.runOnDatabase(invocation) { try await $0.metrics() }
        let page = OpenMetricsText(
            metrics,
            version: Version.number,
            libavcodec: Version.codecLibrary,
            as: invocation[openMetrics] ? .openMetrics : .prometheus
        )
        // The page ends with a line feed, and so does what is printed.
        try console.print(String(page.text.dropLast()))
        return .success
    }
}
