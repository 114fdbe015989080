import Conversion
import FoundationEssentials
import TestSupport
import Testing

@testable import Ledger

/// The main facts of connections again, behind PgBouncer in transaction mode, with two server connections for all
/// clients.
struct BouncerTests {
    @Test func allThatALedgerDoesGoesThroughPgBouncer() async throws {
        let bouncer = try PrivatePostgresBouncer.start(before: .shared())
        var configuration = try LedgerConfiguration.patient(url: bouncer.url())
        configuration.connectionLimit = 8
        let source = try ConnectionSource(configuration)
        let schema = try SchemaName(PrivatePostgres.freshName())
        try await source.transaction("prepare") { connection in
            try connection.execute("create schema \(schema)")
            try connection.execute("create table \(schema).job (id bigint primary key, name text)")
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for worker in 0..<16 {
                group.addTask {
                    for turn in 0..<20 {
                        let base = (worker * 20 + turn) * 100
                        try await source.transaction("submit") { connection in
                            _ = try connection.copy(base..<base + 100, into: "\(schema).job", columns: ["id", "name"]) {
                                $1.append($0)
                                $1.append("job \($0)")
                            }
                        }
                        let ids = Array(base..<base + 100)
                        let names: [String] = try await source.run("read") { connection in
                            try connection.rows("select name from \(schema).job where id = any(\(ids)) order by id") {
                                try $0["name"]
                            }
                        }
                        let expected: [String] = ids.map { (id: Int) -> String in "job \(id)" }
                        #expect(names == expected)
                        let counts: [Int] = try await source.run("pipeline") { connection in
                            try connection.pipeline(ids.map { "update \(schema).job set name = null where id = \($0)" })
                        }
                        let changed: Int = counts.reduce(0, +)
                        #expect(changed == 100)
                    }
                }
            }
            try await group.waitForAll()
        }
        let left: Int = try await source.run("count") { connection in
            try connection.value("select count(*) from \(schema).job where name is null")
        }
        #expect(left == 32_000)
    }

    @Test func errorsCancellationsAndTimesWorkThroughPgBouncer() async throws {
        let bouncer = try PrivatePostgresBouncer.start(before: .shared())
        let source = try ConnectionSource(try LedgerConfiguration.patient(url: bouncer.url()))
        let wrong = try await failure { try await source.run("test") { try $0.execute("select 1 / 0") } }
        #expect(wrong.code == .ledgerRefused)
        let late = try await failureInTime({ $0.sqlState != nil }) { limit in
            try await source.run("test", within: limit) { try $0.execute("select pg_sleep(600)") }
        }
        #expect(late.code == .ledgerTimedOut)
        #expect(late.sqlState == "57014")
        let lost = try await failure {
            try await source.run("test") { try $0.execute("select pg_terminate_backend(pg_backend_pid())") }
        }
        #expect(lost.code == .ledgerConnectionLost)
        let one: Int = try await source.run("test") { try $0.value("select 1") }
        #expect(one == 1)
    }

    @Test func aPoolerIsRecognised() async throws {
        let bouncer = try PrivatePostgresBouncer.start(before: .shared())
        for (url, isDirect) in [(bouncer.url(), false), (try PrivatePostgres.shared().url(), true)] {
            let source = try ConnectionSource(try LedgerConfiguration.patient(url: url))
            #expect(try await source.run("test") { try $0.isDirect() } == isDirect)
        }
    }

    @Test func wakeUpsGoByTheClockThroughPgBouncer() async throws {
        let bouncer = try PrivatePostgresBouncer.start(before: .shared())
        var configuration = try LedgerConfiguration.patient(url: bouncer.url())
        configuration.pollInterval = .milliseconds(20)
        var looks = 0
        for await wakeUp in WakeUps(configuration: configuration, channel: "news") {
            #expect(wakeUp == .timePassed)
            looks += 1
            if looks == 5 { break }
        }
        #expect(looks == 5)
    }
}
