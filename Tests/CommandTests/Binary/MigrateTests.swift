import Foundation
import Ledger
import TestSupport
import Testing

/// `sluice migrate` on a real server.
struct MigrateTests {
    let folder: TemporaryFolder
    let server: PrivatePostgres
    let database: String

    init() throws {
        folder = try TemporaryFolder.create()
        server = try .shared()
        database = server.url(database: try server.createDatabase())
    }

    private func migrate(_ words: String..., environment: [String: String] = [:]) throws -> Run {
        var environment = environment
        if environment.isEmpty { environment["SLUICE_DATABASE_URL"] = database }
        return try Sluice.run(["migrate"] + words, in: folder, environment: environment)
    }

    private struct Record: Decodable {
        struct Step: Decodable, Equatable { let version: Int, name: String }
        let schema: String
        let version: Int
        let applied: [Step]
        let pending: [Step]
        let functions: Bool
    }

    private func record(_ run: Run) throws -> Record { try JSONDecoder().decode(Record.self, from: run.stdout) }

    @Test func ledgerIsMadeOnceAndThenThereIsNothingToDo() throws {
        let dry = try migrate("--dry-run", "--json").checked()
        let plan = try record(dry)
        #expect((plan.schema, plan.version) == ("sluice", 0))
        #expect(plan.applied.isEmpty && plan.pending.first == Record.Step(version: 1, name: "ground"))
        #expect(plan.functions)
        let first = try migrate().checked()
        #expect(first.outputText.hasPrefix("  0001 ground\n") || first.outputText.hasPrefix("  0001_ground"))
        let last = try #require(plan.pending.last).version
        #expect(first.outputText.hasSuffix("schema sluice is at version \(last), \(last) migrations applied\n"))
        #expect(try migrate().checked().outputText == "schema sluice is at version \(last); nothing to do\n")
        let again = try record(migrate("--json").checked())
        #expect(again.version == last && again.applied.isEmpty && again.pending.isEmpty && !again.functions)
    }

    @Test func functionsOfAnotherBuildAreReplaced() throws {
        try migrate().checked()
        try Run.program("psql", [database, "-qc", "update sluice.migration set functions = 'another'"]).checked()
        let version = Migrator.version
        #expect(try run("doctor").outputText.contains("with the functions of another build"))
        #expect(
            try migrate("--dry-run").checked().outputText
                == "schema sluice is at version \(version); to be applied:\n  functions\nnothing was done (--dry-run)\n"
        )
        #expect(
            try migrate().checked().outputText
                == "  functions\nschema sluice is at version \(version), functions replaced\n"
        )
        #expect(try !run("doctor").outputText.contains("with the functions of another build"))
    }

    @Test func migratesToTheTargetAndNeverBackwards() throws {
        #expect(try record(migrate("--to", "2", "--json").checked()).version == 2)
        let back = try migrate("--to", "1")
        #expect(back.status == .exited(7))
        #expect(back.errorText.contains("cannot go back to 1"))
        let far = try migrate("--to", "9999")
        #expect(far.status == .exited(7))
    }

    /// Records a migration of a later release, whose lowest version is `lowest`.
    private func migrateFurther(compatibleFrom lowest: Int, _ more: String = "") throws {
        try Run.program(
            "psql",
            [
                database, "-qc",
                """
                insert into sluice.migration (version, name, checksum, compatible_from)
                values (\(Migrator.version + 1), 'later', 'x', \(lowest)); \(more)
                """,
            ]
        ).checked()
    }

    private func run(_ words: String...) throws -> Run {
        try Sluice.run(words, in: folder, environment: ["SLUICE_DATABASE_URL": database])
    }

    @Test func aNewerLedgerThatIsCompatibleIsUsed() throws {
        try migrate().checked()
        try migrateFurther(compatibleFrom: Migrator.version)
        let version = Migrator.version + 1
        #expect(
            try migrate().checked().outputText
                == "schema sluice is at version \(version), newer than this command and compatible with it; nothing to do\n"
        )
        let status = try run("status").checked()
        #expect(status.errorText.contains("the ledger is at version \(version), and this command knows"))
        let doctor = try run("doctor").outputText
        #expect(doctor.contains("at version \(version), newer than this command and compatible with it"))
    }

    @Test func aNewerLedgerThatIsNotCompatibleIsRefusedWithTheReason() throws {
        try migrate().checked()
        try migrateFurther(compatibleFrom: Migrator.version + 1, "alter function sluice.status() rename to other;")
        for words in [["migrate"], ["status"]] {
            let refused = try Sluice.run(words, in: folder, environment: ["SLUICE_DATABASE_URL": database])
            #expect(refused.status == .exited(7))
            #expect(refused.errorText.contains("this one knows versions up to \(Migrator.version)"), "\(words)")
            #expect(refused.errorText.contains("ledger_schema_too_new"))
        }
    }

    @Test func schemaCanBeNamed() throws {
        let run = try migrate("--schema", "audio_house", "--to", "1", "--json").checked()
        #expect(try record(run).schema == "audio_house")
    }

    @Test func ledgerIsGivenANumberBeforeItsFirstJob() throws {
        let dry = try migrate("--ledger-number", "5", "--dry-run").checked()
        #expect(dry.outputText.hasSuffix("its number would be 5\nnothing was done (--dry-run)\n"))
        let made = try migrate("--ledger-number", "5").checked()
        #expect(made.outputText.hasSuffix("migrations applied\nits number is 5\n"))
        #expect(try migrate("--ledger-number", "6", "--json").checked().outputText.contains(#""ledgerNumber":6"#))
        try Bytes.write(Array("sound".utf8), to: folder.path("a.wav"))
        let submit = try Sluice.run(
            ["submit", "--root", "r=\(folder.path)", "r:a.wav", "--to", "r:b.flac", "--again", "-q"],
            in: folder,
            environment: ["SLUICE_DATABASE_URL": database]
        )
        #expect(submit.outputText == "\(6 << 43 | 1)\n")
        for words in [["--ledger-number", "5"], ["--ledger-number", "5", "--dry-run"]] {
            let run = try Sluice.run(["migrate"] + words, in: folder, environment: ["SLUICE_DATABASE_URL": database])
            #expect(run.status == .exited(1) && run.errorText.contains("contain its number, 6"))
        }
        #expect(try migrate("--ledger-number", "6").checked().outputText.hasSuffix("nothing to do\nits number is 6\n"))
        for words in [["--ledger-number", "1024"], ["--ledger-number", "-1"], ["--ledger-number", "6", "--to", "2"]] {
            #expect(try Sluice.run(["migrate"] + words, in: folder).status == .exited(2), "\(words)")
        }
    }

    @Test func plainVariableOfTheDatabaseCountsToo() throws {
        let run = try migrate("--dry-run", environment: ["DATABASE_URL": database]).checked()
        #expect(run.outputText.hasSuffix("nothing was done (--dry-run)\n"))
    }

    @Test func serverThatIsAwayIsUnreachable() throws {
        let run = try migrate(environment: ["SLUICE_DATABASE_URL": "postgresql://localhost/x?host=/nowhere"])
        #expect(run.status == .exited(5))
        #expect(run.errorText.contains("code ledger_cannot_reach"))
        #expect(run.stdout.isEmpty)
    }

    /// A migration makes a schema, not the database: to migrate is no advice here.
    @Test func databaseThatIsNotThereIsToBeCreated() throws {
        let nowhere = server.url(database: "nowhere")
        for words in [["migrate"], ["status"]] {
            let run = try Sluice.run(words, in: folder, environment: ["SLUICE_DATABASE_URL": nowhere])
            #expect(run.status == .exited(7))
            #expect(run.errorText.contains("hint:  create the database, as with \"createdb NAME\""), "\(run.errorText)")
            #expect(!run.errorText.contains("sluice migrate"), "\(run.errorText)")
        }
    }

    @Test func strangerIsTurnedAway() throws {
        let run = try migrate(environment: ["SLUICE_DATABASE_URL": server.url(user: "nobody_known")])
        #expect(run.status == .exited(6))
        #expect(run.errorText.contains("code ledger_permission_denied"))
    }

    @Test func addressThatIsNoneIsNotShown() throws {
        let run = try migrate(environment: ["SLUICE_DATABASE_URL": "nonsense://ada:secret@host"])
        #expect(run.status == .exited(7))
        #expect(!run.errorText.contains("secret"))
    }
}
