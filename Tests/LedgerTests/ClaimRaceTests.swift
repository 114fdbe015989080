import Conversion
import Foundation
import TestSupport
import Testing

@testable import Ledger

/// What a claim takes while other transactions are open: all that it may, and never less because others hold its first
/// choice.
struct ClaimRaceTests {
    private func lab() async throws -> LedgerLab {
        let lab = try await LedgerLab { $0.connectionLimit = 12 }
        try await lab.set("queues_allowed = 25000, lanes_per_submitter = null")
        return lab
    }

    private func claim(_ wanted: Int, by worker: WorkerEntry) throws -> String {
        let secret = try #require(WorkerSecrets[worker.worker]).uuidString
        return "select from sluice.claim(\(worker.worker), '\(secret)', \(wanted))"
    }

    /// Submits one job to each queue. Housekeeping then opens the lanes.
    private func submitToQueues(_ numbers: Range<Int>, _ lab: LedgerLab) async throws {
        for number in numbers { try await lab.submit(1, Submission(queue: "q\(number)")) }
        try await lab.age(by: .seconds(2))
        _ = try await lab.ledger.keepHouse()
    }

    /// Few queues, and so many that a claim does not look at all of them.
    @Test(arguments: [40, 240])
    func aClaimWhoseFirstChoiceOthersHoldTakesOtherJobs(queues: Int) async throws {
        let lab = try await lab()
        try await submitToQueues(0..<queues, lab)
        let workers = try await [lab.worker("a"), lab.worker("b"), lab.worker("c"), lab.worker("d")]
        try await lab.whileOpen([try claim(8, by: workers[0])]) {
            try await lab.whileOpen([try claim(8, by: workers[1])]) {
                try await lab.whileOpen([try claim(8, by: workers[2])]) {
                    #expect(try await lab.claim(8, for: workers[3]).count == 8)
                    let running: Int = try await lab.value("select count(*) from \(lab.schema).running")
                    #expect(running == 8)
                }
            }
        }
        #expect(try await lab.truth() == ["running": 32, "waiting": queues - 32])
        var queuesLeft: Set<String> = []
        while case let jobs = try await lab.claim(50, for: workers[0]), !jobs.isEmpty {
            queuesLeft.formUnion(jobs.map(\.queue))
        }
        #expect(queuesLeft.count == queues - 32)
    }

    /// The lanes of one submitter and queue, which are merged by turns.
    @Test func aClaimTakesFromAnotherLaneWhatOthersHoldInTheFirst() async throws {
        let lab = try await lab()
        for need in ["root:a", "root:b"] {
            _ = try await lab.ledger.submit(Submission(), [JobRequest(LedgerLab.recipe(need), needs: [need])])
        }
        let workers = try await [
            lab.worker("a", abilities: ["root:a", "root:b"]), lab.worker("b", abilities: ["root:a", "root:b"]),
        ]
        try await lab.whileOpen([try claim(1, by: workers[0])]) {
            let taken = try await [lab.claim(1, for: workers[1]).count, lab.claim(1, for: workers[1]).count]
            #expect(taken == [1, 0])
        }
        #expect(try await lab.truth() == ["running": 2])
    }

    /// A lower priority is better than nothing.
    @Test func aClaimGoesOnToTheNextPriorityIfOthersHoldTheFirst() async throws {
        let lab = try await lab()
        for (queue, priority) in [("a", 5), ("b", 5), ("a", 0)] as [(String, Int32)] {
            try await lab.submit(2, Submission(queue: queue, priority: priority))
        }
        let workers = try await [lab.worker("a"), lab.worker("b")]
        try await lab.whileOpen([try claim(3, by: workers[0])]) {
            let priorities = try await lab.claim(4, for: workers[1]).map(\.priority)
            #expect(priorities == [5, 0, 0])
        }
    }

    @Test func claimsThatWaitForLimitedQueuesFillThemExactly() async throws {
        let lab = try await lab()
        for queue in ["first", "second", "third"] { try await lab.submit(4, Submission(queue: queue)) }
        for queue in ["first", "second"] { try await lab.ledger.setRunningLimit(2, queue: queue) }
        let workers = try await [lab.worker("a"), lab.worker("b"), lab.worker("c")]
        var waiting: [Task<[Claim], any Error>] = []
        try await lab.whileOpen([try claim(4, by: workers[0])]) {
            waiting = workers.dropFirst().map { worker in Task { try await lab.claim(4, for: worker) } }
            try await lab.lab.untilRunning("%claim(%", waitsFor: "t%", sessions: 2)
        }
        var taken = 0
        for claims in waiting { taken += try await claims.value.count }
        #expect(taken == 4)
        let running: [String] = try await lab.lab.run { [schema = lab.schema] connection in
            try connection.rows(
                """
                select q.name || ' ' || count(*) from \(schema).running r join \(schema).lane l on l.id = r.lane
                join \(schema).queue q on q.id = l.queue group by q.name order by 1
                """
            ) { try $0[0] }
        }
        #expect(running == ["first 2", "second 2", "third 4"])
    }

    /// The limit falls, and the queue is paused, in transactions for which the claim waits.
    @Test(arguments: [
        "update sluice.queue set running_limit = 2 where name = 'q'",
        "update sluice.queue set paused = true where name = 'q'",
    ])
    func aClaimThatWaitsForAQueueKeepsToWhatItFinds(change: String) async throws {
        let lab = try await lab()
        try await lab.submit(9, Submission(queue: "q"))
        try await lab.ledger.setRunningLimit(8, queue: "q")
        let worker = try await lab.worker()
        var claiming: Task<[Claim], any Error>?
        try await lab.whileOpen([change]) {
            claiming = Task { try await lab.claim(8, for: worker) }
            try await lab.lab.untilRunning("%claim(%", waitsFor: "transactionid")
        }
        #expect(try await claiming?.value.count == (change.contains("paused") ? 0 : 2))
    }

    /// Housekeeping opens lanes, and deletes the rows by which submissions had opened them. A claim that empties such a
    /// lane meanwhile must not close it: the next submission sees a row that is about to go.
    @Test func aLaneThatIsEmptiedWhileHousekeepingOpensLanesIsNotLost() async throws {
        let lab = try await lab()
        let worker = try await lab.worker()
        try await submitToQueues(0..<210, lab)
        // As two submissions leave it that opened the lane at once, if housekeeping has seen only one of them.
        try await lab.lab.run { [schema = lab.schema] connection in
            try connection.execute("insert into \(schema).opened (lane, share) select id, share from \(schema).lane")
        }
        try await lab.whileOpen(["select sluice.raise_floors()"]) {
            #expect(try await lab.claim(8, for: worker).count == 8)
            for number in 0..<210 { try await lab.submit(1, Submission(queue: "q\(number)")) }
        }
        var taken = 0
        while case let jobs = try await lab.claim(100, for: worker), !jobs.isEmpty { taken += jobs.count }
        #expect(taken == 412)
        #expect(try await lab.truth() == ["running": 420])
    }
}
