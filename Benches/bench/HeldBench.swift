import Foundation
import Ledger
import TestSupport

/// The ledger while a long transaction keeps dead rows from being vacuumed.
enum HeldBench {
    private static let leastShare = 0.9

    static func run(isQuick: Bool) async throws -> Section {
        let server = try LedgerServer.start()
        let rounds = isQuick ? 3 : 18
        let step = isQuick ? 5 : 15
        let connections = 2
        // A transaction holds only the dead rows of its own database, so the second ledger is free of it.
        let held = try await BenchLedger.create(on: server.postgres)
        let free = try await BenchLedger.create(on: server.postgres)
        for bench in [held, free] {
            try await top(bench, to: 20_000)
            _ = try await Drain.run(bench, on: server, connections: connections)
        }
        let transaction = try HeldTransaction.begin(in: held)
        let began = ContinuousClock.now
        var pairs: [(held: Drain.Outcome, free: Drain.Outcome)] = []
        var jobs = 0
        var expected = 15_000.0
        for round in 1...rounds {
            try await top(held, to: Int(expected * Double(step) * 1.3))
            try await top(free, to: Int(expected * Double(step) * 1.3))
            let first = try await Drain.run(held, on: server, connections: connections, for: .seconds(step))
            let second = try await Drain.run(free, on: server, connections: connections, for: .seconds(step))
            jobs += first.jobs
            expected = max(first.rate, second.rate)
            pairs.append((first, second))
            Bench.complain("round \(round): \(first.words) held, \(second.words) free")
        }
        let lasted = (ContinuousClock.now - began) / .seconds(1)
        try transaction.end()
        try await held.remove()
        try await free.remove()

        var section = Section(
            "held",
            """
            Jobs that do nothing, with \(connections) connections, while a transaction is held open for \(Int(lasted)) s,
            in which \(jobs) jobs went through; in turns with a ledger in another database, whose dead
            rows it does not hold; PostgreSQL \(try server.version), \(server.place). Target: at least \(leastShare) of the free rate at the end.
            """,
            columns: ["part", "held jobs/s", "free jobs/s", "held/free [min..max]", "CPU held/free"]
        )
        let parts = isQuick ? 1 : 3
        for part in 0..<parts {
            let these = pairs[(part * rounds / parts)..<((part + 1) * rounds / parts)]
            let ratio = Ratio(these.map { $0.held.rate / $0.free.rate })
            let times = Ratio(these.map { $0.held.cpuMicrosecondsPerJob / $0.free.cpuMicrosecondsPerJob })
            let rates = (held: Ratio(these.map(\.held.rate)).median, free: Ratio(these.map(\.free.rate)).median)
            section.add(
                ["\(part + 1) of \(parts)", rates.held.fixed(0), rates.free.fixed(0), ratio.text, times.text],
                numbers: [
                    "heldPerSecond": rates.held, "freePerSecond": rates.free, "share": ratio.median,
                    "lowest": ratio.lowest, "highest": ratio.highest, "cpuTimes": times.median,
                ],
                isWithin: part == parts - 1 ? ratio.median >= leastShare : nil
            )
        }
        return section
    }

    /// Submits jobs until about `count` are waiting.
    private static func top(_ bench: BenchLedger, to count: Int) async throws {
        _ = try await bench.ledger.keepHouse()
        let text = try bench.server.run("select waiting from sluice.status()", database: bench.database)
        guard let waiting = Int(text) else { throw SupportError("ask how many jobs wait", text) }
        if waiting < count { try await bench.submit(count - waiting) }
    }
}
