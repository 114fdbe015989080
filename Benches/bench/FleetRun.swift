import Foundation
import Ledger
import Synchronization
import TestSupport

/// A fleet of simulated workers to measure.
struct FleetScenario: Sendable {
    let name: String
    let workers: Int
    let slots: Int
    /// The mean length of a job.
    let jobSeconds: Double
    let calls: FleetOrder.Calls
    /// Whether the workers connect through PgBouncer.
    let isBounced: Bool
    /// Whether there is any work.
    let hasJobs: Bool
    /// How long the workers take to start, and then to settle, before the measurement.
    let startSeconds: Double
    let settleSeconds: Double
    let seconds: Double

    /// The jobs a second that keep all slots busy.
    var demand: Double { hasJobs ? Double(workers * slots) / jobSeconds : 0 }

    /// How many workers one process simulates. Dispatch has 255 threads for connections, and one that listens keeps
    /// its thread.
    var workersPerProcess: Int { isBounced || calls == .beats ? 1_250 : 200 }
}

/// What a fleet did to the server while it was measured.
struct FleetOutcome: Sendable {
    struct Call: Sendable {
        let name: String
        let perSecond: Double
        /// The mean time of a call in the server, with its waits.
        let milliseconds: Double
    }

    let scenario: FleetScenario
    let tally: FleetTally
    let seconds: Double
    /// Processor time of the server's processes, and of PgBouncer.
    let serverSeconds: Double
    let bouncerSeconds: Double
    /// The most connections that the server had at once.
    let connections: Int
    /// Memory that belongs to one connection alone, on average, by the use of the connection. Behind PgBouncer each
    /// connection has all uses.
    let mebibytes: [String: Double]
    let writtenAhead: Double
    let calls: [Call]

    var jobsPerSecond: Double { Double(tally.finishedJobs) / seconds }
    var busyShare: Double { tally.slotCounts == 0 ? 0 : Double(tally.busySlots) / Double(tally.slotCounts) }
}

/// One server with one ledger, and the processes that simulate its workers.
struct FleetRun {
    private let scenario: FleetScenario
    private let server: LedgerServer
    private let bouncer: PrivatePostgresBouncer?
    private let bench: BenchLedger

    static func run(_ scenario: FleetScenario) async throws -> FleetOutcome {
        let direct = scenario.isBounced ? 100 : scenario.workers * 3 + 100
        let server = try LedgerServer.start(
            settings: ["max_connections": "\(direct)", "shared_preload_libraries": "pg_stat_statements"]
        )
        let bouncer =
            scenario.isBounced
            ? try PrivatePostgresBouncer.start(
                before: server.postgres,
                poolSize: 20,
                clients: scenario.workers * 3 + 100
            ) : nil
        let bench = try await BenchLedger.create(on: server.postgres, lease: "30 s")
        try server.postgres.run("create extension pg_stat_statements", database: bench.database)
        let run = FleetRun(scenario: scenario, server: server, bouncer: bouncer, bench: bench)
        let outcome = try await run.measure()
        await bench.ledger.close()
        return outcome
    }

    private func measure() async throws -> FleetOutcome {
        if scenario.hasJobs {
            // More than the workers can finish, so that no claim finds too little.
            let seconds = scenario.startSeconds + scenario.settleSeconds + scenario.seconds
            try await bench.submit(scenario.workers * scenario.slots * 2 + Int(scenario.demand * seconds))
        }
        try server.postgres.run("vacuum analyze", database: bench.database)
        try server.settle()
        let begin = Date().timeIntervalSince1970
        let from = begin + scenario.startSeconds + scenario.settleSeconds
        let until = from + scenario.seconds
        return try await bench.keepingHouse {
            async let tallies = simulate(from: from, until: until)
            async let submitting: Void = submitEverySecond(until: until)
            async let watched = watch(from: from, until: until)
            let (tally, found) = try await (tallies, watched)
            try await submitting
            return outcome(tally, found)
        }
    }

    // MARK: - Workers

    private func simulate(from: Double, until: Double) async throws -> FleetTally {
        let url = bouncer?.url(database: bench.database) ?? server.postgres.url(database: bench.database)
        let program = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        return try await withThrowingTaskGroup { group in
            for first in stride(from: 0, to: scenario.workers, by: scenario.workersPerProcess) {
                let order = FleetOrder(
                    url: url,
                    first: first,
                    workers: min(scenario.workersPerProcess, scenario.workers - first),
                    slots: scenario.slots,
                    jobSeconds: scenario.jobSeconds,
                    calls: scenario.calls,
                    startSeconds: scenario.startSeconds,
                    from: from,
                    until: until
                )
                let text = String(decoding: try JSONEncoder().encode(order), as: UTF8.self)
                group.addTask {
                    let run = try await Self.onThread {
                        try Run.program(program, [FleetWorkers.word, text], limit: .seconds(3_600)).checked()
                    }
                    return try JSONDecoder().decode(FleetTally.self, from: run.stdout)
                }
            }
            return try await group.reduce(into: FleetTally()) { $0.add($1) }
        }
    }

    /// Runs blocking work on a thread that Swift's tasks do not share.
    private static func onThread<Answer: Sendable>(
        _ body: @escaping @Sendable () throws -> Answer
    ) async throws -> Answer {
        try await withCheckedThrowingContinuation { continuation in
            DispatchQueue(label: "fleet").async { continuation.resume(with: Result(catching: body)) }
        }
    }

    // MARK: - Submitter

    /// Submits as many jobs each second as end in it, as a batch that wakes the workers.
    private func submitEverySecond(until: Double) async throws {
        guard scenario.hasJobs else { return }
        while Date().timeIntervalSince1970 < until {
            try await bench.submit(max(1, Int(scenario.demand)))
            // The interval is part of what is measured.
            try await Task.sleep(for: .seconds(1))
        }
    }

    // MARK: - Server

    private struct Found: Sendable {
        var seconds = 0.0
        var serverSeconds = 0.0
        var bouncerSeconds = 0.0
        var connections = 0
        var mebibytes: [String: Double] = [:]
        var writtenAhead = 0.0
        var calls: [FleetOutcome.Call] = []
    }

    private func watch(from: Double, until: Double) async throws -> Found {
        var found = Found()
        found.connections = try await mostConnections(until: from)
        // Before the measurement: afterwards the workers are gone.
        found.mebibytes = try mebibytes()
        try ask("select pg_stat_statements_reset()")
        let (began, server, bouncer) = (ContinuousClock.now, try self.server.cpuSeconds(), try bouncerSeconds())
        let written = try self.server.writtenAhead()
        found.connections = max(found.connections, try await mostConnections(until: until))
        found.seconds = (.now - began) / .seconds(1)
        found.serverSeconds = try self.server.cpuSeconds() - server
        found.bouncerSeconds = try bouncerSeconds() - bouncer
        found.writtenAhead = try self.server.writtenAhead() - written
        found.calls = try calls(in: found.seconds)
        return found
    }

    @discardableResult
    private func ask(_ sql: String) throws -> String { try server.postgres.ask(sql, database: bench.database) }

    private func mostConnections(until end: Double) async throws -> Int {
        var most = 0
        while Date().timeIntervalSince1970 < end {
            most = max(most, try connections())
            let left = end - Date().timeIntervalSince1970
            // The server does not report when a session begins, so this looks every two seconds.
            try await Task.sleep(for: .seconds(max(0, min(2, left))))
        }
        return most
    }

    private func connections() throws -> Int {
        let text = try ask("select count(*) from pg_stat_activity where backend_type = 'client backend'")
        guard let count = Int(text) else { throw SupportError("count the server's connections", text) }
        // Without the session that asks.
        return count - 1
    }

    private func bouncerSeconds() throws -> Double {
        guard let bouncer else { return 0 }
        return try LedgerServer.cpuSeconds(ofProcess: bouncer.processNumber)
    }

    /// The calls of the ledger's functions since the last reset of the statistics, the most expensive first.
    private func calls(in seconds: Double) throws -> [FleetOutcome.Call] {
        let text = try ask(
            """
            select coalesce(substring(query from '\\.([a-z_]+)\\('), 'other') as name, sum(calls), sum(total_exec_time)
            from pg_stat_statements group by 1 order by 3 desc
            """
        )
        return try text.split(separator: "\n").map { line in
            let cells = line.split(separator: "|")
            guard cells.count == 3, let count = Double(cells[1]), let took = Double(cells[2]) else {
                throw SupportError("read the statistics of calls", text)
            }
            return FleetOutcome.Call(name: String(cells[0]), perSecond: count / seconds, milliseconds: took / count)
        }
    }

    /// The memory that only one process uses, on average over some sessions of each use.
    private func mebibytes() throws -> [String: Double] {
        let text = try ask(
            """
            select use, pid from (
                select *, row_number() over (partition by use order by random()) as place from (
                    select pid, case when query ilike '%listen%' then 'listen' when query like '%.beat(%' then 'beat'
                                     else 'work' end as use
                    from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()
                      and application_name <> 'psql'
                ) a
            ) b where place <= 40
            """
        )
        var found: [String: [Double]] = [:]
        for line in text.split(separator: "\n") {
            let cells = line.split(separator: "|").map(String.init)
            guard cells.count == 2 else { throw SupportError("read the list of sessions", text) }
            let path = "/proc/\(cells[1])/smaps_rollup"
            let parts = try ["Private_Clean", "Private_Dirty"].map { try ProcFile.value($0, in: path) }
            let kibibytes = parts.compactMap { $0?.split(separator: " ").first.flatMap { Double($0) } }
            // A session may have ended since.
            guard kibibytes.count == 2 else { continue }
            found[cells[0], default: []].append((kibibytes[0] + kibibytes[1]) / 1_024)
        }
        return found.mapValues { $0.reduce(0, +) / Double($0.count) }
    }

    private func outcome(_ tally: FleetTally, _ found: Found) -> FleetOutcome {
        FleetOutcome(
            scenario: scenario,
            tally: tally,
            seconds: found.seconds,
            serverSeconds: found.serverSeconds,
            bouncerSeconds: found.bouncerSeconds,
            connections: found.connections,
            mebibytes: found.mebibytes,
            writtenAhead: found.writtenAhead,
            calls: found.calls
        )
    }
}
