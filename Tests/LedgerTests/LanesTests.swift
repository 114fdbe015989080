import Conversion
import Foundation
import TestSupport
import Testing

@testable import Ledger

/// Thousands of lanes: a queue for each customer, and lanes that were used only once.
struct LanesTests {
    /// The pages that a call touches at least.
    private func pages(of call: String, _ lab: LedgerLab) async throws -> Int {
        let calls = (0..<6).map { call.replacing("#", with: "\($0)") }
        return try #require(try await lab.pages(of: calls).min())
    }

    private func run(_ sql: String, _ lab: LedgerLab) async throws {
        let (server, database) = (lab.lab.server, lab.lab.database)
        try await onOwnThread { _ = try server.run(sql, database: database) }
    }

    private func claim(_ wanted: Int, by worker: WorkerEntry) throws -> String {
        let secret = try #require(WorkerSecrets[worker.worker]).uuidString
        return "select count(*) as call_# from sluice.claim(\(worker.worker), '\(secret)', \(wanted))"
    }

    /// Submits one job to each queue, each in a separate submission.
    private func submitToQueues(_ numbers: ClosedRange<Int>, _ lab: LedgerLab) async throws {
        try await run(
            """
            select count(*) from generate_series(\(numbers.lowerBound), \(numbers.upperBound)) i
            cross join lateral sluice.submit(
                '[{"recipe": {"version": 1, "sources": [{"location": "in:a"}], "outputs": [{"location": "out:a"}]}}]',
                'customer-' || i) s
            """,
            lab
        )
    }

    @Test func neitherTheOrderOfNeedsNorDoublesMakeAnotherLine() async throws {
        let lab = try await LedgerLab()
        let wishes = [["root:a", "codec:x"], ["codec:x", "root:a"], ["codec:x", "root:a", "codec:x", "recipe:1"]]
        for needs in wishes {
            _ = try await lab.ledger.submit(Submission(), [JobRequest(LedgerLab.recipe("a"), needs: needs)])
        }
        _ = try await lab.ledger.submit(
            Submission(),
            (0..<300).map { JobRequest(LedgerLab.recipe("\($0)"), needs: wishes[$0 % 3]) }
        )
        let lanes: Int = try await lab.value("select count(distinct lane) from \(lab.schema).waiting")
        #expect(lanes == 1)
        let worker = try await lab.worker(abilities: ["root:a", "codec:x"])
        #expect(try await lab.claim(400, for: worker).count == 303)
    }

    @Test func aLineThatIsClosedCostsNothing() async throws {
        let lab = try await LedgerLab()
        let worker = try await lab.worker()
        try await lab.submit(100)
        let submission = """
            select count(*) as call_# from sluice.submit(
                '[{"needs": ["fresh-#"], "recipe": {"version": 1, "sources": [{"location": "in:a"}]}}]')
            """
        let calls = [
            try claim(8, by: worker), submission, "select sluice.raise_floors() as call_#",
            "select count(*) as call_# from sluice.status()", "select count(*) as call_# from sluice.list_unable()",
        ]
        var before: [Int] = []
        for call in calls { before.append(try await pages(of: call, lab)) }
        // All lanes belong to the same submitter and queue, as if each named one of many customers in its needs.
        try await run(
            """
            insert into sluice.lane (queue, share, priority, needs)
            select 1, (select id from sluice.share), 0, array['recipe:1', 'word:' || i] from generate_series(1, 20000) i;
            analyze sluice.lane
            """,
            lab
        )
        for (call, pages) in zip(calls, before) {
            let now = try await self.pages(of: call, lab)
            // Index depth grows by one level.
            #expect(now <= pages + pages / 5 + 20, "\(call): \(pages), then \(now)")
        }
    }

    @Test func aClaimReadsAsMuchWithThousandsOfQueuesAsWithHundreds() async throws {
        let lab = try await LedgerLab()
        try await lab.set("queues_allowed = 25000, lanes_per_submitter = null")
        let worker = try await lab.worker()
        let call = try claim(8, by: worker)
        try await submitToQueues(1...300, lab)
        let few = try await pages(of: call, lab)
        try await submitToQueues(301...3_000, lab)
        #expect(try await pages(of: call, lab) <= few * 3 / 2)
        _ = try await lab.ledger.keepHouse()
        // Now that the lanes have ranks, it reads those of the first queues only.
        #expect(try await pages(of: call, lab) <= few / 2)
        // A claim does not look at lanes that earlier claims have emptied either.
        var taken: Set<String> = []
        for _ in 0..<125 { for job in try await lab.claim(8, for: worker) { taken.insert(job.queue) } }
        #expect(taken.count == 1_000)
        #expect(try await pages(of: call, lab) <= few * 3 / 2)
        // A lane that a claim has closed takes the next job.
        try await submitToQueues(1...3_000, lab)
        var left = 0
        while true {
            let jobs = try await lab.claim(500, for: worker).count
            if jobs == 0 { break }
            left += jobs
        }
        #expect(left == 5_000)
        for _ in 0..<4 {
            try await lab.age(by: .seconds(6))
            _ = try await lab.keepWholeHouse()
        }
        let open: Int = try await lab.value(
            """
            select count(*) from \(lab.schema).lane l
            where l.is_open or exists (select from \(lab.schema).opened o where o.lane = l.id)
            """
        )
        #expect(open <= 201, "where lanes are many, the ledger closes empty ones soon")
        // Autovacuum is off here. What a claim reads of dead rows depends on the snapshots that are open at the moment.
        try await run("vacuum", lab)
        let closed = try await pages(of: call, lab)
        #expect(closed <= few * 2)
    }

    @Test func aClaimCountsRunningJobsOnlyForQueuesThatItMayTakeFrom() async throws {
        let lab = try await LedgerLab()
        let worker = try await lab.worker()
        let call = try claim(8, by: worker)
        try await submitToQueues(1...180, lab)
        _ = try await lab.ledger.keepHouse()
        let unlimited = try await pages(of: call, lab)
        try await run("update sluice.queue set running_limit = 100", lab)
        // To count for all of them takes three pages for each.
        #expect(try await pages(of: call, lab) <= unlimited + 180)
    }

    @Test func aSubmissionToANewQueueReadsAsMuchAsTheThousandBeforeIt() async throws {
        let lab = try await LedgerLab()
        try await lab.set("queues_allowed = 25000, lanes_per_submitter = null")
        try await submitToQueues(1...200, lab)
        let submission = """
            select count(*) as call_# from sluice.submit(
                '[{"recipe": {"version": 1, "sources": [{"location": "in:a"}]}}]', 'fresh-#')
            """
        let few = try await pages(of: submission, lab)
        try await submitToQueues(201...4_000, lab)
        #expect(try await pages(of: submission, lab) <= few * 3 / 2)
        _ = try await lab.ledger.keepHouse()
        #expect(try await pages(of: submission, lab) <= few * 3 / 2)
    }
}
