import Conversion
import Synchronization
import TestSupport
import Testing

@testable import Ledger

struct StatementTests {
    @Test func eachClassOfErrorHasItsCode() async throws {
        let lab = try await Lab()
        let schema = lab.schema
        try await lab.run { connection in
            try connection.script(
                """
                set local search_path = \(schema);
                create table job (id bigint primary key, state text not null check (state in ('waiting')));
                insert into job values (1, 'waiting');
                """
            )
        }
        let cases: [(Statement, FailureCode, String)] = [
            ("insert into \(schema).job values (1, 'waiting')", .ledgerConflict, "23505"),
            ("insert into \(schema).job values (2, 'lost')", .ledgerRefused, "23514"),
            ("insert into \(schema).job values (2, null)", .ledgerRefused, "23502"),
            ("select 1 / 0", .ledgerRefused, "22012"),
            ("select * from \(schema).nothing", .ledgerMissing, "42P01"),
            ("select \(schema).claim(1)", .ledgerMissing, "42883"),
            ("selec 1", .ledgerBadStatement, "42601"),
            ("select pg_terminate_backend(pg_backend_pid())", .ledgerConnectionLost, "57P01"),
        ]
        for (statement, code, state) in cases {
            let error = try await failure { try await lab.run { try $0.execute(statement) } }
            #expect(error.code == code, "\(statement.sql)")
            #expect(error.sqlState == state)
            #expect(error.operation == "test")
        }
        let readOnly = try await failure {
            try await lab.run { connection in
                try connection.transaction(.readOnly) { try connection.execute("delete from \(schema).job") }
            }
        }
        #expect(readOnly.code == .ledgerReadOnly)
    }

    @Test func afterAnErrorTheSameConnectionGoesOn() async throws {
        let lab = try await Lab { $0.connectionLimit = 1 }
        let before: Int = try await lab.run { try $0.value("select pg_backend_pid()") }
        _ = try await failure { try await lab.run { try $0.execute("selec") } }
        let after: Int = try await lab.run { try $0.value("select pg_backend_pid()") }
        #expect(before == after)
    }

    @Test func aTransactionIsDoneWholeOrNotAtAll() async throws {
        let lab = try await Lab { $0.connectionLimit = 1 }
        let schema = lab.schema
        try await lab.run { try $0.execute("create table \(schema).t (n bigint)") }
        struct Change: Error {}
        await #expect(throws: Change.self) {
            try await lab.run { connection in
                try connection.transaction {
                    try connection.execute("insert into \(schema).t values (1)")
                    throw Change()
                }
            }
        }
        try await lab.run { connection in
            try connection.transaction { _ = try connection.execute("insert into \(schema).t values (2)") }
        }
        let numbers: [Int] = try await lab.run { try $0.rows("select n from \(schema).t") { try $0[0] } }
        #expect(numbers == [2])
    }

    @Test func aTransactionWhoseErrorWasHiddenDoesNotClaimToBeDone() async throws {
        let lab = try await Lab()
        let schema = lab.schema
        let error = try await failure {
            try await lab.run { connection in
                try connection.transaction {
                    try connection.execute("create table \(schema).t (n bigint)")
                    do { try connection.execute("selec") } catch is LedgerError {}
                }
            }
        }
        #expect(error.code == .ledgerBadStatement)
        #expect(!error.mayHaveHappened)
    }

    @Test func aTransactionLeftOpenIsUndone() async throws {
        let lab = try await Lab { $0.connectionLimit = 1 }
        let schema = lab.schema
        try await lab.run { connection in
            try connection.script("begin")
            try connection.script("create table \(schema).t (n bigint)")
        }
        let exists: Bool = try await lab.run { try $0.value("select to_regclass('\(schema).t') is not null") }
        #expect(!exists)
    }

    @Test func rowsCanBeReadOneByOne() async throws {
        let lab = try await Lab()
        let sum = try await lab.run { connection in
            var sum = 0
            try connection.forEachRow("select n from generate_series(1::bigint, 200000) n") { sum += try $0[0] as Int }
            return sum
        }
        #expect(sum == 200_000 * 200_001 / 2)
        struct Enough: Error {}
        await #expect(throws: Enough.self) {
            try await lab.run { connection in
                try connection.forEachRow("select generate_series(1, 1000)") { _ in throw Enough() }
            }
        }
        let one: Int = try await lab.run { try $0.value("select 1") }
        #expect(one == 1)
    }

    @Test func aPipelineIsOneTransaction() async throws {
        let lab = try await Lab()
        let schema = lab.schema
        try await lab.run { connection in
            try connection.execute("create table \(schema).t (n bigint primary key, text text)")
            let text = String(repeating: "x", count: 1_000)
            // More than fits any buffer, in both directions.
            let counts = try connection.pipeline(
                (1...5_000).map { "insert into \(schema).t values (\($0), \(text)) returning text" }
            )
            #expect(counts == Array(repeating: 1, count: 5_000))
        }
        let error = try await failure {
            try await lab.run { connection in
                try connection.pipeline([
                    "delete from \(schema).t", "insert into \(schema).t values (1), (1)", "select 1",
                ])
            }
        }
        #expect(error.code == .ledgerConflict)
        let rows: Int = try await lab.run { try $0.value("select count(*) from \(schema).t") }
        #expect(rows == 5_000)
        let none = try await lab.run { try $0.pipeline([]) }
        #expect(none.isEmpty)
    }

    @Test func aTransactionThatOthersStandInTheWayOfIsTriedAgain() async throws {
        let lab = try await Lab()
        let schema = lab.schema
        let tries = Mutex(0)
        let result = try await lab.source.transaction("test") { connection in
            let number = tries.withLock {
                $0 += 1; return $0
            }
            if number < 3 { try connection.script("do $$ begin raise exception using errcode = '40001'; end $$") }
            try connection.execute("create table \(schema).t (n bigint)")
            return number
        }
        #expect(result == 3)
        let error = try await failure {
            try await lab.source.transaction("test", tries: 2) { connection in
                tries.withLock { $0 += 1 }
                try connection.script("do $$ begin raise exception using errcode = '40P01'; end $$")
            }
        }
        #expect(error.code == .ledgerContention)
        #expect(tries.withLock { $0 } == 5)
    }
}
