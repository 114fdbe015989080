import Conversion
import Foundation
import Ledger
import TestSupport

/// Measures claims with many or limited queues, and throughput by the number of jobs in a call.
enum LinesBench {
    static func run(isQuick: Bool) async throws -> [Section] {
        let server = try LedgerServer.start()
        let place = "PostgreSQL \(try server.version), \(server.place)"
        return try await [claims(on: server, place, isQuick), groups(on: server, place, isQuick)]
    }

    // MARK: - Claims

    private static func claims(on server: LedgerServer, _ place: String, _ isQuick: Bool) async throws -> Section {
        let (queues, running, claims) = isQuick ? (1_000, 2_000, 40) : (20_000, 20_000, 400)
        let one = try await BenchLedger.create(on: server.postgres)
        try await one.submit(claims * 16)
        let limited = try await BenchLedger.create(on: server.postgres)
        try await fill(limited, queues: 50, jobsOfEach: running / 50 + claims)
        try server.postgres.run("update sluice.queue set running_limit = \(running)", database: limited.database)
        let holder = try await BenchLedger.register("holder", in: limited.ledger)
        for _ in 0..<(running / 1_000) { _ = try await limited.ledger.claim(1_000, for: holder.worker) }
        let many = try await BenchLedger.create(on: server.postgres)
        try await fill(many, queues: queues, jobsOfEach: 1)

        let ledgers: [(name: String, bench: BenchLedger, most: Double?)] = [
            ("one queue", one, nil), ("50 limited queues", limited, 3), ("\(queues) queues", many, 5),
        ]
        var section = Section(
            "lines",
            """
            A claim of 8 jobs by one worker, \(claims) times, where the completion does not count; \(place). Milliseconds until the
            jobs are decoded. \(running) jobs run in the limited queues. Targets for 95 of 100: 3 ms there and 5 ms with
            many queues of a job each.
            """,
            columns: ["ledger", "ms", "p95 ms"]
        )
        for (name, bench, most) in ledgers {
            // Brings the ledger into the state that it has some minutes after its queues were created.
            _ = try await bench.ledger.keepHouse()
            try server.postgres.run("vacuum analyze", database: bench.database)
            try server.settle()
            let times = try await bench.keepingHouse { try await Self.times(of: claims, in: bench) }.sorted()
            section.add(
                [name, times.quantile(0.5).fixed(2), times.quantile(0.95).fixed(2)],
                numbers: ["milliseconds": times.quantile(0.5), "p95": times.quantile(0.95)],
                isWithin: most.map { times.quantile(0.95) <= $0 }
            )
            try await bench.remove()
        }
        return section
    }

    /// Jobs in `queues` queues, with one submission for each queue.
    private static func fill(_ bench: BenchLedger, queues: Int, jobsOfEach: Int) async throws {
        let settings = "update sluice.setting set queues_allowed = 1000000, lanes_per_submitter = null"
        try bench.server.run(settings, database: bench.database)
        let ledger = try bench.opened(connections: 8)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for first in 0..<8 {
                group.addTask {
                    for queue in stride(from: first, to: queues, by: 8) {
                        let submission = Submission(queue: "customer-\(queue)")
                        _ = try await ledger.submit(submission, BenchLedger.requests(jobsOfEach))
                    }
                }
            }
            try await group.waitForAll()
        }
        await ledger.close()
    }

    private static func times(of count: Int, in bench: BenchLedger) async throws -> [Double] {
        let ledger = try bench.opened(connections: 1)
        let worker = try await BenchLedger.register("worker", in: ledger).worker
        // The first claims make plans and load pages.
        let warmUp = 20
        var times: [Double] = []
        for number in 0..<(warmUp + count) {
            let began = ContinuousClock.now
            let taken = try await ledger.claim(8, for: worker).jobs
            let time = (ContinuousClock.now - began) / .milliseconds(1)
            guard taken.count == 8 else { throw SupportError("claim 8 jobs", "\(taken.count) came") }
            try await BenchLedger.complete(taken, in: ledger)
            if number >= warmUp { times.append(time) }
        }
        await ledger.close()
        return times
    }

    // MARK: - Groups

    private static func groups(on server: LedgerServer, _ place: String, _ isQuick: Bool) async throws -> Section {
        let sizes: [Int32] = [1, 2, 5, 10, 20, 50, 100, 200, 500]
        let rounds = isQuick ? 1 : 3
        let bench = try await BenchLedger.create(on: server.postgres)
        var outcomes: [[Drain.Outcome]] = []
        for round in 1...rounds {
            Bench.complain("round \(round) of \(rounds)")
            var found: [Drain.Outcome] = []
            for size in sizes {
                try await bench.submit((isQuick ? 200 : 1_000) * min(50, max(2, Int(size))))
                found.append(try await Drain.run(bench, on: server, connections: 2, group: size))
            }
            outcomes.append(found)
        }
        try await bench.remove()
        var section = Section(
            "groups",
            """
            Jobs a second, and microseconds of processor time for each, by how many go into each claim, publish and finish; two
            workers with a connection each; \(place). Medians of \(Plural.count(rounds, "round")).
            """,
            columns: ["jobs in a call", "jobs/s [min..max]", "CPU us"]
        )
        for (index, size) in sizes.enumerated() {
            let rate = Ratio(outcomes.map { $0[index].rate })
            let time = Ratio(outcomes.map { $0[index].cpuMicrosecondsPerJob }).median
            section.add(
                [
                    "\(size)", "\(rate.median.fixed(0)) [\(rate.lowest.fixed(0))..\(rate.highest.fixed(0))]",
                    time.fixed(0),
                ],
                numbers: ["group": Double(size), "jobsPerSecond": rate.median, "cpuMicroseconds": time],
                isWithin: nil
            )
        }
        return section
    }
}
