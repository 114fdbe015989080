import Conversion
import Glibc
import TestSupport
import Testing

@testable import Ledger

struct InterruptionTests {
    @Test func cancellingTheTaskEndsTheStatementOnTheServer() async throws {
        let lab = try await Lab()
        let task = Task { try await lab.run { try $0.execute("select pg_sleep(600)") } }
        try await lab.untilRunning("%pg_sleep(600)%")
        let start = ContinuousClock.now
        task.cancel()
        let error = try await failure { try await task.value }
        #expect(error.code == .cancelled)
        #expect(!error.mayHaveHappened)
        #expect(error.sqlState == "57014")
        #expect(ContinuousClock.now - start < Lab.farTooLong)
        // The next run gets a connection that no late cancellation can reach.
        let one: Int = try await lab.run { try $0.value("select 1") }
        #expect(one == 1)
    }

    @Test func aStatementPastItsTimeIsEndedOnTheServer() async throws {
        let lab = try await Lab()
        let start = ContinuousClock.now
        let error = try await failureInTime({ $0.sqlState != nil }) { limit in
            try await lab.source.run("dawdle", within: limit) { try $0.execute("select pg_sleep(600)") }
        }
        #expect(error.code == .ledgerTimedOut)
        #expect(error.operation == "dawdle")
        #expect(!error.mayHaveHappened)
        #expect(ContinuousClock.now - start < Lab.farTooLong)
        let running: Int = try await lab.run { connection in
            try connection.value(
                """
                select count(*) from pg_stat_activity
                where application_name = \(lab.name) and state = 'active' and pid <> pg_backend_pid()
                """
            )
        }
        #expect(running == 0)
    }

    /// As behind an unplugged cable: not even the request to end the statement has an answer.
    @Test func aServerThatStopsAnsweringCannotBeReached() async throws {
        let lab = try await Lab {
            $0.connectionLimit = 1
            $0.cancelGrace = .milliseconds(200)
        }
        let backend: Int = try await lab.run { try $0.value("select pg_backend_pid()") }
        try #require(kill(pid_t(backend), SIGSTOP) == 0)
        defer { kill(pid_t(backend), SIGCONT) }
        let error = try await failure {
            try await lab.source.run("look", within: .milliseconds(500)) { try $0.execute("select 1") }
        }
        #expect(error.code == .ledgerCannotReach)
        #expect(error.detail.hasSuffix("does not answer any more"))
    }

    @Test func aTaskThatIsCancelledAlreadySendsNothing() async throws {
        let lab = try await Lab()
        let schema = lab.schema
        let task = Task {
            // The iteration ends when the task is cancelled.
            for await _ in AsyncStream.makeStream(of: Void.self).stream {}
            return try await lab.run { try $0.execute("create table \(schema).t (n bigint)") }
        }
        task.cancel()
        let error = try await failure { try await task.value }
        #expect(error.code == .cancelled)
        let exists: Bool = try await lab.run { try $0.value("select to_regclass('\(schema).t') is not null") }
        #expect(!exists)
    }

    @Test func cancellingOneWhoWaitsLeavesTheOtherAlone() async throws {
        let lab = try await Lab { $0.connectionLimit = 1 }
        let connection = try await Connection.open(lab.configuration, until: .now + Lab.farTooLong)
        let schema = lab.schema
        // The first task waits at a gate. The second waits for the same connection.
        let gate = try await Connection.open(lab.configuration, until: .now + Lab.farTooLong)
        try await gate.run("keep the gate", within: Lab.farTooLong) { gate in
            _ = try gate.execute("select pg_advisory_lock(hashtext('\(schema)'))")
        }
        let first = Task {
            try await connection.run("first", within: Lab.farTooLong) {
                try $0.value("select 1 from pg_advisory_xact_lock(hashtext('\(schema)'))", as: Int.self)
            }
        }
        try await lab.untilRunning("%pg_advisory_xact_lock%", waitsFor: "advisory")
        let second = Task { try await connection.run("second", within: Lab.farTooLong) { try $0.execute("select 2") } }
        second.cancel()
        try await gate.run("open the gate", within: Lab.farTooLong) { gate in
            _ = try gate.execute("select pg_advisory_unlock_all()")
        }
        #expect(try await first.value == 1)
        #expect(try await failure { try await second.value }.code == .cancelled)
    }

    @Test func cancellingDuringCommitTellsWhatBecameOfIt() async throws {
        let lab = try await Lab()
        let schema = lab.schema
        try await lab.run { try $0.script(slowCommit(schema)) }
        let task = Task {
            try await lab.run { connection in
                try connection.transaction { _ = try connection.execute("insert into \(schema).t values (1)") }
            }
        }
        try await lab.untilRunning("commit")
        task.cancel()
        let error = try await failure { try await task.value }
        // The cancellation reached the server before COMMIT ended, so the server rolled everything back.
        #expect(error.code == .cancelled)
        #expect(!error.mayHaveHappened)
        let rows: Int = try await lab.run { try $0.value("select count(*) from \(schema).t") }
        #expect(rows == 0)
    }

    @Test func aChangeThatIsDoneStaysDoneThoughItsTaskWasCancelled() async throws {
        let lab = try await Lab()
        let schema = lab.schema
        try await lab.run { try $0.execute("create table \(schema).t (n bigint)") }
        let (told, tell) = AsyncStream.makeStream(of: Void.self)
        let task = Task {
            try await lab.run { connection in
                try connection.execute("insert into \(schema).t values (1)")
                tell.yield()
                // A synchronous closure cannot suspend until its task is cancelled.
                while !Task.isCancelled {}
                try connection.execute("insert into \(schema).t values (2)")
            }
        }
        for await _ in told { break }
        task.cancel()
        #expect(try await failure { try await task.value }.code == .cancelled)
        let numbers: [Int] = try await lab.run { try $0.rows("select n from \(schema).t") { try $0[0] } }
        #expect(numbers == [1])
    }

    @Test func connectionsDoNotWaitForOneAnother() async throws {
        let lab = try await Lab {
            $0.connectionLimit = 40
        }
        let gate = try await Connection.open(lab.configuration, until: .now + Lab.farTooLong)
        let schema = lab.schema
        try await gate.run("close the gate", within: Lab.farTooLong) { gate in
            _ = try gate.execute("select pg_advisory_lock(hashtext('\(schema)'))")
        }
        try await withThrowingTaskGroup { group in
            for _ in 0..<40 {
                group.addTask {
                    try await lab.run {
                        _ = try $0.execute("select pg_advisory_xact_lock_shared(hashtext('\(schema)'))")
                    }
                }
            }
            // All forty wait at the gate at once.
            try await lab.untilRunning("%pg_advisory_xact_lock_shared%", waitsFor: "advisory", sessions: 40)
            try await gate.run("open the gate", within: Lab.farTooLong) { gate in
                _ = try gate.execute("select pg_advisory_unlock_all()")
            }
            try await group.waitForAll()
        }
    }
}

/// Creates a table `t` whose rows make COMMIT take ten minutes.
func slowCommit(_ schema: SchemaName) -> String {
    """
    create table \(schema).t (n bigint);
    create function \(schema).dawdle() returns trigger language plpgsql as
        'begin perform pg_sleep(600); return null; end';
    create constraint trigger dawdle after insert on \(schema).t deferrable initially deferred
        for each row execute function \(schema).dawdle();
    """
}
