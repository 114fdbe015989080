import Conversion
import TestSupport
import Testing

@testable import Ledger

/// Engines that speak PostgreSQL's protocol: how they are detected and refused.
struct ForeignEngineTests {
    private func engine(
        _ version: String,
        extensions: Set<String> = ["plpgsql"],
        relations: Set<String> = []
    ) -> ForeignEngine? {
        ForeignEngine(version: version, extensions: extensions, relations: relations)
    }

    private static let stock = "PostgreSQL 16.4 on x86_64-pc-linux-gnu, compiled by gcc (GCC) 9.5.0, 64-bit"

    /// Answers of real servers to `select version()`.
    @Test(arguments: [
        (
            "CockroachDB CCL v24.3.5 (x86_64-pc-linux-gnu, built 2025/02/03 17:28:15, go1.22.8)", "cockroach",
            "CockroachDB v24.3.5"
        ),
        (
            "CockroachDB CCL v20.1.15 (x86_64-unknown-linux-gnu, built 2021/04/26 16:11:58, go1.13.9)", "cockroach",
            "CockroachDB v20.1.15"
        ),
        (
            "CockroachDB OSS v21.1.1 (x86_64-apple-darwin19, built 2021/05/24 15:00:00, go1.15.11)", "cockroach",
            "CockroachDB v21.1.1"
        ),
        (
            "PostgreSQL 11.2-YB-2024.2.0.0-b0 on x86_64-pc-linux-gnu, compiled by clang version 17.0.6 "
                + "(https://github.com/yugabyte/llvm-project.git 9b881774e40024e901fc6f3d313607b071c08631), 64-bit",
            "yugabyte", "YugabyteDB 2024.2.0.0-b0"
        ),
        (
            "PostgreSQL 15.12-YB-2025.2.3.2-b0 on aarch64-unknown-linux-gnu, compiled by clang, 64-bit", "yugabyte",
            "YugabyteDB 2025.2.3.2-b0"
        ),
    ])
    func enginesAreToldByTheirVersion(version: String, kind: String, name: String) throws {
        let engine = try #require(self.engine(version))
        #expect(engine.kind.rawValue == kind && engine.name == name && engine.isRefused)
        #expect(ForeignEngine(version: version, extensions: [], relations: [])?.kind == engine.kind)
    }

    @Test func aurorasEnginesAreToldByWhatTheyAloneHave() throws {
        let limitless = try #require(engine(Self.stock, relations: ["rds_aurora.limitless_subclusters"]))
        #expect(limitless.kind == .limitless && limitless.isRefused)
        let named = try #require(
            engine("PostgreSQL 16.6-limitless on aarch64-unknown-linux-gnu, compiled by gcc, 64-bit")
        )
        #expect(named.name == "Amazon Aurora PostgreSQL Limitless Database 16.6-limitless")
        let dsql = try #require(engine("PostgreSQL 16", extensions: [], relations: ["sys.iam_pg_role_mappings"]))
        #expect(dsql.kind == .dsql && dsql.isRefused)
    }

    @Test func citusIsToldByItsExtensionAndWarnedOf() throws {
        let citus = try #require(engine(Self.stock, extensions: ["plpgsql", "citus", "citus_columnar"]))
        #expect(citus.kind == .citus && !citus.isRefused)
        #expect(engine(Self.stock, extensions: ["citus_columnar"]) == nil)
    }

    @Test(arguments: [
        stock,
        "PostgreSQL 15.20 (Debian 15.20-0+deb12u1) on x86_64-pc-linux-gnu, compiled by gcc (Debian 12.2.0-14+deb12u1) 12.2.0, 64-bit",
        "PostgreSQL 13.3 on x86_64-pc-linux-gnu, compiled by x86_64-pc-linux-gnu-gcc (GCC) 7.4.0, 64-bit",
        "PostgreSQL 18.0 on aarch64-apple-darwin, compiled by Apple clang version 17.0.0, 64-bit",
        "PostgreSQL 17beta1 on x86_64-pc-linux-musl, compiled by gcc (Alpine 13.2.1) 13.2.1, 64-bit",
        "EnterpriseDB 15.4 on x86_64-pc-linux-gnu, compiled by gcc, 64-bit", "",
    ])
    func postgresIsTakenFromWhoeverRunsIt(version: String) {
        #expect(engine(version, extensions: ["plpgsql", "pg_stat_statements", "timescaledb", "aws_commons"]) == nil)
    }

    @Test func everyEngineSaysWhyNotAndWhatInstead() {
        let engines = [
            engine("CockroachDB CCL v26.2.1 ()"), engine("PostgreSQL 15.12-YB-2025.2.0.0-b0 on x"),
            engine(Self.stock, extensions: ["citus"]),
            engine(Self.stock, relations: ["sys.iam_pg_role_mappings"]),
            engine(Self.stock, relations: ["rds_aurora.limitless_subclusters"]),
        ].compactMap(\.self)
        #expect(Set(engines.map(\.kind)) == Set(ForeignEngine.Kind.allCases))
        for engine in engines {
            #expect(!engine.reason.isEmpty && !engine.hint.isEmpty && engine.refusal.detail.contains(engine.name))
        }
    }

    @Test func stockServerIsAskedAndIsNone() async throws {
        let lab = try await Lab()
        #expect(try await lab.run { try $0.foreignEngine() } == nil)
    }

    /// A server with a relation that only DSQL has counts as DSQL, and the migrator creates nothing there.
    @Test func migratorMakesNothingOnAnEngineThatItRefuses() async throws {
        let server = try PrivatePostgres.shared()
        let database = try server.createDatabase()
        try server.run("create schema sys; create view sys.iam_pg_role_mappings as select 1", database: database)
        let migrator = try Migrator(.patient(url: server.url(database: database)))
        for call: @Sendable () async throws -> Void in [
            { _ = try await migrator.run() }, { try await migrator.checkEngine() },
        ] {
            let error = try await failure(of: call)
            #expect(error.code == .ledgerBadConfiguration && error.detail.contains("Amazon Aurora DSQL"))
        }
        let made = try server.run("select count(*) from pg_namespace where nspname = 'sluice'", database: database)
        #expect(made.contains("0"))
    }
}
