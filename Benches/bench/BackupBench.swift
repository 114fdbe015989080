import Conversion
import Foundation
import TestSupport

/// What a large ledger takes on disk, and how long it takes to back it up and to restore it.
enum BackupBench {
    static func run(isQuick: Bool) async throws -> [Section] {
        let jobs = isQuick ? 100_000 : 2_000_000
        let server = try LedgerServer.start()
        let bench = try await BenchLedger.create(on: server.postgres)
        Bench.complain("\(jobs) finished jobs")
        try bench.writePast(jobs)
        try server.settle()
        let sizes = try sizes(of: bench)
        let folder = try BenchFolder.create(in: ProcessInfo.processInfo.environment["TMPDIR"] ?? "/tmp")
        let file = "\(folder.path)/ledger.dump"
        Bench.complain("dump")
        let dump = try seconds {
            try Run.program(
                "pg_dump",
                [
                    "--format", "custom", "--schema", "sluice", "--file", file, "--dbname",
                    server.postgres.url(database: bench.database),
                ],
                limit: .seconds(3_600)
            ).checked()
        }
        guard let bytes = try FileManager.default.attributesOfItem(atPath: file)[.size] as? Int else {
            throw SupportError("measure \(file)", "it has no size")
        }
        var restores: [Double] = []
        for processes in [1, 2] {
            Bench.complain("restore with \(Plural.count(processes, "process"))")
            let database = try server.postgres.createDatabase()
            try server.settle()
            restores.append(
                try seconds {
                    try Run.program(
                        "pg_restore",
                        ["--jobs", "\(processes)", "--dbname", server.postgres.url(database: database), file],
                        limit: .seconds(3_600)
                    ).checked()
                }
            )
            let restored = try server.postgres.run("select count(*) from sluice.finished", database: database)
            guard restored == "\(jobs)" else { throw SupportError("restore \(jobs) jobs", "\(restored) came") }
            try server.postgres.run("drop database \(database)")
        }
        let recipe = try number("select avg(length(recipe::text)) from sluice.job where id <= 10000", bench)
        try await bench.remove()
        let spans = try await spans(for: 100_000_000, on: server)

        let place = "PostgreSQL \(try server.version), \(server.place)"
        var section = Section(
            "backup",
            """
            \(jobs) finished jobs with one attempt each and recipes of \(recipe.fixed(0)) characters; \(place). The last column is computed
            from the first. A ledger of 100 million jobs has \(spans) spans, which were made here without jobs.
            """,
            columns: ["what", "measured", "per job", "100 million jobs (computed)"]
        )
        let parts = sizes.map { ("size of \($0.name)", $0.bytes) } + [("size of a dump", Double(bytes))]
        let times =
            [("pg_dump", dump)]
            + zip(["pg_restore", "pg_restore --jobs 2"], restores).map { ($0, $1) }
        for (name, size) in parts {
            let perJob = size / Double(jobs)
            section.add(
                [name, "\((size / 1_000_000).fixed(0)) MB", "\(perJob.fixed(0)) B", "\((perJob / 10).fixed(1)) GB"],
                numbers: ["bytesPerJob": perJob],
                isWithin: nil
            )
        }
        for (name, time) in times {
            let perJob = time / Double(jobs)
            section.add(
                [
                    name, "\(time.fixed(1)) s", "\((perJob * 1_000_000).fixed(1)) us",
                    "\((perJob * 100_000_000 / 60).fixed(0)) min",
                ],
                numbers: ["secondsPerJob": perJob],
                isWithin: nil
            )
        }
        return [section]
    }

    private static func seconds(_ body: () throws -> Void) rethrows -> Double {
        let began = ContinuousClock.now
        try body()
        return (.now - began) / .seconds(1)
    }

    private static func number(_ sql: String, _ bench: BenchLedger) throws -> Double {
        let text = try bench.server.run(sql, database: bench.database)
        guard let number = Double(text) else { throw SupportError(sql, text) }
        return number
    }

    /// The bytes on disk of the partitioned tables, with their indexes.
    private static func sizes(of bench: BenchLedger) throws -> [(name: String, bytes: Double)] {
        var sizes = try ["job", "finished", "attempt"].map { table in
            let sql = """
                select sum(pg_total_relation_size(relid)) from pg_partition_tree('sluice.\(table)') where isleaf
                """
            return (name: table, bytes: try number(sql, bench))
        }
        sizes.append((name: "the database", bytes: try number("select pg_database_size(current_database())", bench)))
        return sizes
    }

    /// The number of spans of a ledger with this many jobs.
    private static func spans(for jobs: Int, on server: LedgerServer) async throws -> Int {
        let bench = try await BenchLedger.create(on: server.postgres)
        try server.postgres.run("set search_path = sluice; select make_spans(\(jobs))", database: bench.database)
        let spans = Int(try number("select count(*) from sluice.span where first_id <= \(jobs)", bench))
        try await bench.remove()
        return spans
    }
}
