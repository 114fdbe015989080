import TestSupport
import Testing

extension LedgerLab {
    /// The pages of the ledger's tables and indexes that each of `calls` touches, without those of the first call, which
    /// makes the session's plans. They run in one session and one transaction that is rolled back.
    ///
    /// Pages of the server's catalog do not count. A session reads them again whenever other tests have created or
    /// dropped so much that the server's queue of these changes has overflowed.
    func pages(of calls: [String]) async throws -> ArraySlice<Int> {
        let (server, database) = (lab.server, lab.database)
        let mark = "pages so far:"
        // 16384 is the first id that is not the catalog's.
        let count = """
            select '\(mark)' || coalesce(sum(pg_stat_get_xact_blocks_fetched(oid)), 0) from pg_class where oid >= 16384
            """
        let texts: [String] = ["begin"] + calls.flatMap { (call: String) -> [String] in [call, count] } + ["rollback"]
        let text: String = try await onOwnThread {
            try server.run(each: texts, database: database)
        }
        let lines: [Substring] = text.split(separator: "\n").filter { $0.hasPrefix(mark) }
        let totals: [Int] = try lines.map { try #require(Int($0.dropFirst(mark.count))) }
        try #require(totals.count == calls.count, "\(text)")
        return zip(totals.dropFirst(), totals).map { (after: Int, before: Int) in after - before }[...]
    }
}
