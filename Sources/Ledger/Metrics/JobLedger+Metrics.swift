extension JobLedger {
    /// All metrics of the ledger. The cost does not depend on the number of jobs that have ended.
    ///
    /// A viewer or an operator may call it. Without the right to see the sessions of others (`pg_read_all_stats`), the
    /// age of the oldest transaction is missing.
    public func metrics() async throws -> LedgerMetrics {
        try await look("read the metrics") { connection in
            var lines: [LedgerMetrics.Line] = []
            try connection.forEachRow(
                """
                select meter, queue, key, class, amount from \(schema).ledger_metrics()
                union all
                select 'snapshot_age', null, '', '', a.seconds from \(schema).oldest_snapshot_age() a (seconds)
                where a.seconds is not null
                """
            ) { row in
                lines.append(
                    LedgerMetrics.Line(
                        meter: try row["meter"],
                        queue: try row["queue"],
                        key: try row["key"],
                        label: try row["class"],
                        amount: try row["amount"]
                    )
                )
            }
            return LedgerMetrics(lines)
        }
    }
}
