import Conversion
import TestSupport
import Testing
import System

@testable import Ledger

struct ConnectionSourceTests {
    @Test func noMoreConnectionsThanAllowedAreOpened() async throws {
        let lab = try await Lab { $0.connectionLimit = 3 }
        let processes = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<200 { group.addTask { try await lab.run { try $0.value("select pg_backend_pid()") } } }
            return try await group.reduce(into: Set()) { $0.insert($1) }
        }
        #expect((1...3).contains(processes.count))
        let open: Int = try await lab.run { connection in
            try connection.value("select count(*) from pg_stat_activity where application_name = \(lab.name)")
        }
        #expect(open <= 3)
    }

    @Test func whoFindsNoFreeConnectionInTimeIsTold() async throws {
        let lab = try await Lab {
            $0.connectionLimit = 1
            $0.reachTimeout = .seconds(1)
        }
        // Connect first: opening a connection may take longer than this limit.
        try await lab.untilReached()
        let holder = Task { try await lab.run { try $0.execute("select pg_sleep(600)") } }
        try await lab.untilRunning("%pg_sleep(600)%")
        let error = try await failure { try await lab.run { try $0.execute("select 1") } }
        #expect(error.code == .ledgerExhausted)
        holder.cancel()
        #expect(try await failure { try await holder.value }.code == .cancelled)
        try await lab.untilReached()
    }

    @Test func waitingForAConnectionCanBeCancelled() async throws {
        let lab = try await Lab { $0.connectionLimit = 1 }
        let holder = Task { try await lab.run { try $0.execute("select pg_sleep(600)") } }
        try await lab.untilRunning("%pg_sleep(600)%")
        let tasks = (0..<20).map { _ in Task { try await lab.run { try $0.execute("select 1") } } }
        for task in tasks { task.cancel() }
        for task in tasks { #expect(try await failure { try await task.value }.code == .cancelled) }
        holder.cancel()
        _ = try await failure { try await holder.value }
    }

    @Test func closingEndsTheConnections() async throws {
        let lab = try await Lab()
        try await lab.run { try $0.execute("select 1") }
        await lab.source.close()
        #expect(try await failure { try await lab.run { try $0.execute("select 1") } }.code == .cancelled)
        let watcher = try await Lab()
        let deadline = ContinuousClock.now + Lab.farTooLong
        // The server ends the session after the client has gone, and sends no event.
        while try await watcher.run({ connection in
            try connection.value(
                "select count(*) from pg_stat_activity where application_name = \(lab.name)",
                as: Int.self
            )
        }) > 0 {
            try #require(ContinuousClock.now < deadline)
        }
    }

    @Test func waitsGrowToTheirBoundAndAreDrawnFromAllOfIt() {
        var backoff = BackOff(first: .milliseconds(100), longest: .seconds(2))
        var generator = SeededGenerator(seed: 1)
        var bounds: [Duration] = []
        for _ in 0..<1_000 {
            let bound = backoff.bound
            let wait = backoff.next(using: &generator)
            #expect(wait >= .zero && wait <= bound)
            bounds.append(bound)
        }
        #expect(
            bounds.prefix(6) == [
                .milliseconds(100), .milliseconds(200), .milliseconds(400), .milliseconds(800), .milliseconds(1_600),
                .seconds(2),
            ]
        )
        let waits = (0..<1_000).map { _ in backoff.next(using: &generator) }
        let mean = waits.reduce(.zero, +) / 1_000
        #expect(mean > .milliseconds(900) && mean < .milliseconds(1_100))
    }
}

extension Lab {
    /// Opens a connection. Retries, because the source's time limit may be too short on a busy machine.
    fileprivate func untilReached() async throws {
        let deadline = ContinuousClock.now + Self.farTooLong
        while true {
            do {
                let one: Int = try await run { try $0.value("select 1") }
                return #expect(one == 1)
            } catch let error as LedgerError where error.code == .ledgerCannotReach && .now < deadline {}
        }
    }
}
