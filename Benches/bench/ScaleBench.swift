import Foundation
import Ledger
import TestSupport

/// Claims from a ledger with ten million finished jobs, compared with claims from one that has hardly any.
enum ScaleBench {
    private static let mostTimesEmpty = 1.2

    static func run(isQuick: Bool) async throws -> Section {
        let server = try LedgerServer.start()
        let finished = isQuick ? 200_000 : 10_000_000
        let waiting = isQuick ? 50_000 : 1_000_000
        let claims = isQuick ? 50 : 300
        let small = try await BenchLedger.create(on: server.postgres)
        try await small.submit((claims + 60) * Int(Drain.group))
        let large = try await BenchLedger.create(on: server.postgres)
        Bench.complain("\(finished) finished jobs")
        try large.writePast(finished)
        Bench.complain("\(waiting) waiting jobs")
        try await large.submit(waiting)
        for bench in [small, large] { try server.postgres.run("vacuum analyze", database: bench.database) }
        try server.settle()

        let ledgers = try [small, large].map { try $0.opened(connections: 1) }
        var workers: [Int64] = []
        for ledger in ledgers { workers.append(try await BenchLedger.register("worker", in: ledger).worker) }
        let times = try await small.keepingHouse { [workers] in
            try await large.keepingHouse { try await claim(claims, ledgers, workers) }
        }
        let blocks = try zip([small, large], workers).map { try Self.blocks(of: $0, worker: $1) }
        for ledger in ledgers { await ledger.close() }

        var section = Section(
            "scale",
            """
            A claim of \(Drain.group) jobs, \(claims) times in turns on both ledgers;
            PostgreSQL \(try server.version), \(server.place). Milliseconds until the jobs are there as values, and pages that the
            server touches for a claim. Target: at most \(mostTimesEmpty) times the empty one.
            """,
            columns: ["ledger", "ms", "p95 ms", "pages", "times empty"]
        )
        let names = ["nothing finished", "\(finished) finished, \(waiting) waiting"]
        let ratio = Ratio(times.map { $0[1] / $0[0] }).median
        for index in 0...1 {
            let sorted = times.map { $0[index] }.sorted()
            section.add(
                [
                    names[index], sorted.quantile(0.5).fixed(2), sorted.quantile(0.95).fixed(2), "\(blocks[index])",
                    index == 0 ? "" : ratio.fixed(2),
                ],
                numbers: [
                    "milliseconds": sorted.quantile(0.5), "p95": sorted.quantile(0.95), "pages": Double(blocks[index]),
                    "timesEmpty": index == 0 ? 1 : ratio,
                ],
                isWithin: index == 0 ? nil : ratio <= mostTimesEmpty
            )
        }
        try await small.remove()
        try await large.remove()
        return section
    }

    /// Milliseconds of a claim in each of the ledgers, in turns; completing the jobs is not counted.
    private static func claim(_ count: Int, _ ledgers: [JobLedger], _ workers: [Int64]) async throws -> [[Double]] {
        // The first claims make plans and load pages.
        let warmUp = 20
        var times: [[Double]] = []
        for number in 0..<(warmUp + count) {
            var round: [Double] = []
            for (ledger, worker) in zip(ledgers, workers) {
                let began = ContinuousClock.now
                let taken = try await ledger.claim(Drain.group, for: worker).jobs
                round.append((ContinuousClock.now - began) / .milliseconds(1))
                guard taken.count == Int(Drain.group) else {
                    throw SupportError("claim \(Drain.group) jobs", "\(taken.count) came")
                }
                try await BenchLedger.complete(taken, in: ledger)
            }
            if number >= warmUp { times.append(round) }
        }
        return times
    }

    /// The number of pages that a claim touches, in a session that has claimed before.
    private static func blocks(of bench: BenchLedger, worker: Int64) throws -> Int {
        let secret = "(select secret from sluice.worker where id = \(worker))"
        let claim = "select count(*) from sluice.claim(\(worker), \(secret), \(Drain.group))"
        let warmUp = Array(repeating: claim, count: 8)
        let plan = try bench.server.run(
            each: warmUp + ["explain (analyze, buffers, format json) \(claim)"],
            database: bench.database
        )
        func number(_ name: String) -> Int {
            let line = plan.split(separator: "\n").first { $0.contains("\"\(name)\"") }
            return line.flatMap { Int($0.filter(\.isNumber)) } ?? 0
        }
        let count = number("Shared Hit Blocks") + number("Shared Read Blocks")
        guard count > 0 else { throw SupportError("read the plan of a claim", plan) }
        return count
    }
}
