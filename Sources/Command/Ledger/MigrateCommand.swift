import Console
import Conversion
import Ledger

/// `sluice migrate`: brings the ledger's schema to the version of this program.
enum MigrateCommand {
    private static let target = Option<Int>(
        "to",
        .whole(in: 0...9999),
        "stop at this version; cannot go back",
        in: .general
    )
    private static let number = Option<Int>(
        "ledger-number",
        .whole(in: LedgerNumber.all),
        "set the number in the ledger's ids, before its first job (default: 0)",
        in: .general
    )
    private static let dryRun = Switch("dry-run", "show what would be done, and change nothing", in: .general)
    private static let json = Switch("json", "print the result as one JSON line", in: .output)

    static let value: Subcommand = Subcommand(
        name: "migrate",
        summary: "create the ledger in a PostgreSQL database, or upgrade it",
        discussion: [
            "Each step to version 23 runs in its own transaction, and all later ones run in one with the ledger's "
                + "functions: if one fails, its transaction is rolled back and earlier ones stay. Concurrent runs are "
                + "safe. The only way back is a backup.",
            "The number of a ledger is part of the ids of its jobs and batches, so ledgers with different "
                + "numbers have no id in common. Set it before the first job; it cannot change afterwards.",
            "DATABASE_URL and PostgreSQL's own variables (PGHOST, PGPASSFILE, ...) set what --database leaves "
                + "out.",
        ],
        options: [target.form, number.form, dryRun.form] + LedgerOptions.databaseForms + [json.form],
        examples: [
            Example(
                line: "sluice migrate --database postgresql://user@db/audio --dry-run",
                purpose: "show the pending migrations"
            ),
            Example(line: "sluice migrate --database postgresql://user@db/audio", purpose: "apply them"),
            Example(line: "sluice migrate --context second --ledger-number 1", purpose: "create a second ledger"),
        ],
        run: run
    )

    @Sendable private static func run(_ invocation: Invocation, _ console: CommandOutput) throws -> ExitCode {
        let (target, number, isDry) = (invocation[target], invocation[number], invocation[dryRun])
        guard target == nil || number == nil else { throw UsageError("--to and --ledger-number cannot be combined") }
        let configuration = try LedgerOptions.configuration(invocation)
        let result = ForegroundWork.run { () async -> Result<Outcome, LedgerError> in
            do {
                let migrator = try Migrator(configuration)
                try await migrator.checkEngine()
                let before = try await migrator.plan(to: target)
                if let number { try await check(number, migrator) }
                guard !isDry else { return .success(Outcome(before, MigrationReport(), number, isDry: true)) }
                let report = try await migrator.run(to: target)
                if let number { try await migrator.setNumber(number) }
                return .success(Outcome(before, report, number, isDry: false))
            } catch let error as LedgerError {
                return .failure(error)
            } catch {
                return .failure(LedgerError(.ledgerUnexpectedAnswer, during: "migrate", "\(error)"))
            }
        }
        switch result.value {
        case .success(let outcome):
            if invocation[json] {
                try console.print(JSONText.line(outcome.record(schema: configuration.schema.text)))
            } else {
                try console.print(outcome.lines(schema: configuration.schema.text).joined(separator: "\n"))
            }
            for warning in outcome.report.warnings { console.warn(warning.printable) }
            return .success
        case .failure(let error):
            if let signal = result.signal { return signal }
            let page = LedgerFailurePage(error: error)
            page.show(on: console)
            return page.exitCode
        }
    }

    /// Throws, before anything is changed, if the ledger can no longer take this number.
    @Sendable private static func check(_ number: Int, _ migrator: Migrator) async throws {
        guard let current = try await migrator.number(), current.value != number, !current.isFree else { return }
        throw LedgerError(
            .ledgerRefused,
            during: "set the ledger's number",
            "the ledger has jobs whose ids contain its number, \(current.value)",
            hint: "set the number before you submit the first job"
        )
    }

    /// The state of the ledger before the migration, and what the migration did.
    private struct Outcome: Sendable {
        let before: MigrationPlan
        let report: MigrationReport
        /// The number that the user asked for.
        let number: Int?
        let isDry: Bool

        init(_ before: MigrationPlan, _ report: MigrationReport, _ number: Int?, isDry: Bool) {
            (self.before, self.report, self.number, self.isDry) = (before, report, number, isDry)
        }

        var version: Int { report.applied.last?.version ?? before.version }

        func lines(schema: String) -> [String] {
            let changes = isDry ? before.pending : report.applied
            let replaces = isDry ? before.replacesFunctions : report.replacedFunctions
            let steps = changes.map { "  \($0)" } + (replaces ? ["  functions"] : [])
            let place = "schema \(schema)"
            let numbered = number.map { ["its number \(isDry ? "would be" : "is") \($0)"] } ?? []
            guard !steps.isEmpty else {
                let age = version > Migrator.version ? ", newer than this command and compatible with it" : ""
                return ["\(place) is at version \(version)\(age); nothing to do"] + numbered
            }
            if isDry {
                return ["\(place) is at version \(version); to be applied:"] + steps + numbered
                    + ["nothing was done (--dry-run)"]
            }
            let done = changes.isEmpty ? "functions replaced" : "\(Figures.count(changes.count, "migration")) applied"
            return steps + ["\(place) is at version \(version), \(done)"] + numbered
        }

        struct Step: Encodable {
            let version: Int
            let name: String
        }

        struct Record: Encodable {
            let schema: String
            let version: Int
            let applied: [Step]
            let pending: [Step]
            /// Whether the functions were replaced, or with `--dry-run` would be.
            let functions: Bool
            let ledgerNumber: Int?
        }

        func record(schema: String) -> Record {
            func steps(_ migrations: [Migration]) -> [Step] {
                migrations.map { Step(version: $0.version, name: $0.name) }
            }
            let pending = isDry ? before.pending : []
            return Record(
                schema: schema,
                version: version,
                applied: steps(report.applied),
                pending: steps(pending),
                functions: isDry ? before.replacesFunctions : report.replacedFunctions,
                ledgerNumber: number
            )
        }
    }
}
