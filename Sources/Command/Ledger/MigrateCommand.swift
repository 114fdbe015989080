import Conversion
import Ledger

/// `sluice migrate`: brings the ledger's schema to the version of this program.
enum MigrateCommand {
    private static let target = Option<Int>(
        "to",
        .whole(in: 0...9999),
        "go no further than this version; never back",
        in: .general
    )
    private static let number = Option<Int>(
        "ledger-number",
        .whole(in: LedgerNumber.all),
        "its number, which its ids bear, otherwise 0; only before its first job",
        in: .general
    )
    private static let dryRun = Switch("dry-run", "print what would be done, and change nothing", in: .general)
    private static let json = Switch("json", "print the result as a line of JSON", in: .output)

    static let value = Subcommand(
        name: "migrate",
        summary: "make the ledger in a PostgreSQL database, or bring it up to date",
        discussion: [
            "Each migration is a transaction of its own, so one that fails leaves nothing behind and those before it stand. "
                + "Any number may run at once. There is no way back but a backup.",
            "The number of a ledger stands in the high bits of the ids of its jobs and batches, so ledgers of different numbers "
                + "have no id in common. It is given before the first job, and stays.",
            "DATABASE_URL and PostgreSQL's own variables (PGHOST, PGPASSFILE, ...) say what --database leaves open.",
        ],
        options: [target.form, number.form, dryRun.form] + LedgerOptions.forms + [json.form],
        examples: [
            Example(
                line: "sluice migrate --database postgresql://ada@db/audio --dry-run",
                purpose: "what is to be done"
            ),
            Example(line: "sluice migrate --database postgresql://ada@db/audio", purpose: "do it"),
            Example(line: "sluice migrate --context second --ledger-number 1", purpose: "a second ledger"),
        ],
        run: run
    )

    @Sendable private static func run(_ invocation: Invocation, _ console: Console) throws -> ExitCode {
        let (target, number, isDry) = (invocation[target], invocation[number], invocation[dryRun])
        guard target == nil || number == nil else { throw UsageError("--to and --ledger-number exclude each other") }
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
            during: "number the ledger",
            "the ledger holds jobs whose ids bear its number, \(current.value)",
            hint: "number a ledger before the first job is submitted to it"
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
            let steps = (isDry ? before.pending : report.applied).map { "  \($0)" }
            let place = "schema \(schema)"
            let numbered = number.map { ["its number \(isDry ? "would be" : "is") \($0)"] } ?? []
            guard !steps.isEmpty else { return ["\(place) is at version \(version); nothing to do"] + numbered }
            if isDry {
                return ["\(place) is at version \(version); to be applied:"] + steps + numbered
                    + ["nothing was done (--dry-run)"]
            }
            let count = Figures.count(steps.count, "migration")
            return steps + ["\(place) is at version \(version), \(count) applied"] + numbered
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
                ledgerNumber: number
            )
        }
    }
}
