import TestSupport

extension BenchLedger {
    /// Writes finished jobs directly, without the ledger's functions. The ledger must be new.
    func writePast(_ jobs: Int) throws {
        let past = LedgerPast(schema: "sluice", jobs: jobs)
        try run(past.opening)
        _ = try Parallel.map(Array(past.starts)) { try run(past.batch(from: $0)) }
        try run(past.ending)
        try run("vacuum analyze")
    }

    private func run(_ sql: String) throws { try server.run(sql, database: database, limit: .seconds(3_600)) }
}
