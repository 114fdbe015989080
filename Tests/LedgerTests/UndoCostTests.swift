import TestSupport
import Testing

@testable import Ledger

/// Undoing a bulk change replaces the rows of the audit that it has just added by one, and must find them among many.
struct UndoCostTests {
    /// How many rows of the audit a page of an undoing reads, of 20,000 that its caller has.
    private func rowsRead(by acting: JobLedger, _ lab: LedgerLab) async throws -> Int {
        let batch = try await lab.ledger.submit(recipes: [LedgerLab.recipe("a"), LedgerLab.recipe("b")]).batch
        let change = try await acting.begin(.prioritize(5), on: JobFilter(batch: batch)).number
        while try await acting.step(ofChange: change)?.phase == .running {}
        _ = try await acting.wish(.undo, of: change)
        let opening = try #require(acting.opening)
        return try await lab.lab.run { connection in
            try connection.transaction {
                _ = try connection.execute(Statement(stringLiteral: opening.sql))
                _ = try connection.execute("select * from \(lab.schema).step_change(\(change))")
                let count: Int64 = try connection.value(
                    """
                    select coalesce(sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0)), 0)::bigint
                    from pg_stat_xact_user_tables where relid = to_regclass(\("\(lab.schema).audit"))
                    """
                )
                return Int(count)
            }
        }
    }

    @Test func aPageOfAnUndoingReadsOnlyTheRowsOfTheAuditThatItAdded() async throws {
        let lab = try await LedgerLab()
        let schema = lab.schema
        let acting = try lab.ledger.acting(for: Principal(name: "ci", role: .operator))
        try await lab.lab.run { connection in
            _ = try connection.execute(
                """
                insert into \(schema).audit (at, who, what, details, affected, ended_at)
                select now(), 'token:ci', 'prioritize_jobs', '{}', 1, now() from generate_series(1, 20000)
                """
            )
            _ = try connection.execute("analyze \(schema).audit")
        }
        #expect(try await rowsRead(by: acting, lab) <= 20)
        // The measure notices the condition that read them all.
        try await lab.lab.run { connection in
            try connection.script(
                """
                set search_path = \(schema.text), pg_temp;
                do $$
                declare
                    text text := pg_get_functiondef('step_change'::regproc);
                    other text := replace(text, 'where a.id > audited_before and a.xmin = ', 'where a.who = caller_name() and a.xmin = ');
                begin
                    assert other <> text;
                    execute other;
                end $$;
                reset search_path
                """
            )
        }
        #expect(try await rowsRead(by: acting, lab) >= 20_000)
    }
}
