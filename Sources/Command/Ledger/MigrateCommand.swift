import Ledger

/// `sluice migrate`: brings the ledger's schema to the version that this program knows.
enum MigrateCommand {
    private static let target = Option<Int>(
        "to",
        .whole(in: 0...9999),
        "go no further than this version; never back",
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
            "DATABASE_URL and PostgreSQL's own variables (PGHOST, PGPASSFILE, ...) say what --database leaves open.",
        ],
        options: [target.form, dryRun.form] + LedgerOptions.forms + [json.form],
        examples: [
            Example(
                line: "sluice migrate --database postgresql://ada@db/audio --dry-run",
                purpose: "what is to be done"
            ),
            Example(line: "sluice migrate --database postgresql://ada@db/audio", purpose: "do it"),
        ],
        run: run
    )

    @Sendable private static func run(_ invocation: Invocation, _ console: Console) throws -> ExitCode {
        let configuration = try LedgerOptions.configuration(invocation)
        let (target, isDry) = (invocation[target], invocation[dryRun])
        let result = ForegroundWork.run { () async -> Result<Outcome, LedgerError> in
            do {
                let migrator = try Migrator(configuration)
                let before = try await migrator.plan(to: target)
                guard !isDry else { return .success(Outcome(before, MigrationReport(), isDry: true)) }
                return .success(Outcome(before, try await migrator.run(to: target), isDry: false))
            } catch let error as LedgerError {
                return .failure(error)
            } catch {
                return .failure(LedgerError(.unexpectedAnswer, during: "migrate", "\(error)"))
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

    /// Where the ledger stood, and what was done to it.
    private struct Outcome: Sendable {
        let before: MigrationPlan
        let report: MigrationReport
        let isDry: Bool

        init(_ before: MigrationPlan, _ report: MigrationReport, isDry: Bool) {
            (self.before, self.report, self.isDry) = (before, report, isDry)
        }

        var version: Int { report.applied.last?.version ?? before.version }

        func lines(schema: String) -> [String] {
            let steps = (isDry ? before.pending : report.applied).map { "  \($0)" }
            let place = "schema \(schema)"
            guard !steps.isEmpty else { return ["\(place) is at version \(version); nothing to do"] }
            if isDry {
                return ["\(place) is at version \(version); to be applied:"] + steps + ["nothing was done (--dry-run)"]
            }
            let count = Figures.count(steps.count, "migration")
            return steps + ["\(place) is at version \(version), \(count) applied"]
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
        }

        func record(schema: String) -> Record {
            func steps(_ migrations: [Migration]) -> [Step] {
                migrations.map { Step(version: $0.version, name: $0.name) }
            }
            let pending = isDry ? before.pending : []
            return Record(schema: schema, version: version, applied: steps(report.applied), pending: steps(pending))
        }
    }
}
