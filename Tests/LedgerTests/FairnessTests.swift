import Conversion
import Foundation
import TestSupport
import Testing

@testable import Ledger

/// How a busy fleet divides its work: among queues by their weights, and among the submitters of a queue by theirs.
struct FairnessTests {
    /// A submitter with jobs in a queue, and its weight there.
    private struct Party {
        let queue: String
        let ledger: JobLedger
        let weight: Int32
    }

    private func login(_ lab: LedgerLab) throws -> (name: String, ledger: JobLedger) {
        let name = PrivatePostgres.freshName("user")
        try lab.lab.server.run("create role \(name) login in role sluice_submitter")
        return (name, try lab.ledger(as: name))
    }

    /// Submits `count` jobs in batches of random sizes: many of one job, some of a few, some of hundreds.
    private func submit(_ count: Int, by party: Party, _ generator: inout SeededGenerator) async throws {
        var left = count
        while left > 0 {
            let size = min(left, [1, 1, 1, generator.whole(in: 2..<30), 300][generator.whole(in: 0..<5)])
            _ = try await party.ledger.submit(Submission(queue: party.queue), LedgerLab.requests(size))
            left -= size
        }
    }

    /// Claims the next `count` jobs in groups of random sizes. Returns the number of jobs by batch.
    private func claim(
        _ count: Int,
        _ lab: LedgerLab,
        _ worker: WorkerEntry,
        groups: ClosedRange<Int>,
        _ generator: inout SeededGenerator
    )
        async throws -> [Int64: Int]
    {
        var claimed: [Int64: Int] = [:]
        var left = count
        while left > 0 {
            let wanted = min(left, generator.whole(in: groups.lowerBound..<groups.upperBound + 1))
            let jobs = try await lab.claim(Int32(wanted), for: worker)
            try #require(jobs.count == wanted, "\(left) of \(count) jobs left")
            for job in jobs { claimed[job.batch, default: 0] += 1 }
            left -= wanted
        }
        return claimed
    }

    private struct Whose: Hashable {
        let queue: String
        let submitter: String
    }

    private func owners(_ claimed: [Int64: Int], _ lab: LedgerLab) async throws -> [Whose: Int] {
        let rows: [(Int64, Whose)] = try await lab.lab.run { connection in
            try connection.rows(
                "select b.id, q.name, b.submitter from \(lab.schema).batch b join \(lab.schema).queue q on q.id = b.queue"
            ) { (try $0[0], Whose(queue: try $0[1], submitter: try $0[2])) }
        }
        let owner = Dictionary(uniqueKeysWithValues: rows)
        return claimed.reduce(into: [:]) { sums, entry in
            if let whose = owner[entry.key] { sums[whose, default: 0] += entry.value }
        }
    }

    @Test(arguments: 0..<6 as Range<UInt64>)
    func sharesFollowWeightsHoweverWorkIsCut(seed: UInt64) async throws {
        var generator = SeededGenerator(seed: seed)
        let lab = try await LedgerLab()
        let worker = try await lab.worker()
        let (total, queueCount) = (1_000, generator.whole(in: 2..<4))
        var expected: [Whose: Double] = [:]
        var parties: [(Party, String)] = []
        let queueWeights = (0..<queueCount).map { _ in Int32(generator.whole(in: 50..<400)) }
        for (number, queueWeight) in queueWeights.enumerated() {
            let queue = "q\(number)"
            let weights = (0..<generator.whole(in: 1..<4)).map { _ in Int32(generator.whole(in: 50..<300)) }
            for weight in weights {
                let user = try login(lab)
                parties.append((Party(queue: queue, ledger: user.ledger, weight: weight), user.name))
                let ofQueue = Double(queueWeight) / Double(queueWeights.reduce(0, +))
                expected[Whose(queue: queue, submitter: user.name)] =
                    Double(total) * ofQueue * Double(weight) / Double(weights.reduce(0, +))
            }
        }
        for (party, name) in parties {
            let share = try #require(expected[Whose(queue: party.queue, submitter: name)])
            try await submit(Int(share * 1.3) + 20, by: party, &generator)
            try await lab.ledger.setWeight(party.weight, queue: party.queue, submitter: name)
        }
        for (number, weight) in queueWeights.enumerated() {
            try await lab.ledger.setWeight(weight, queue: "q\(number)")
        }

        let groups = [1...1, 1...10, 1...60][generator.whole(in: 0..<3)]
        let got = try await owners(claim(total, lab, worker, groups: groups, &generator), lab)
        for (whose, jobs) in expected {
            #expect(
                abs(Double(got[whose, default: 0]) - jobs) <= max(0.05 * jobs, 2),
                "\(got) of \(expected), \(groups)"
            )
        }
    }

    @Test func manySmallBatchesTakeNothingFromAHeavyQueue() async throws {
        let lab = try await LedgerLab()
        let worker = try await lab.worker()
        try await lab.submit(500, Submission(queue: "heavy"))
        for _ in 0..<240 { try await lab.submit(1, Submission(queue: "light")) }
        try await lab.ledger.setWeight(10_000, queue: "heavy")
        try await lab.ledger.setWeight(1, queue: "light")
        var generator = SeededGenerator(seed: 1)
        let got = try await owners(claim(400, lab, worker, groups: 1...4, &generator), lab)
        #expect(got.filter { $0.key.queue == "light" }.values.reduce(0, +) <= 1)
    }

    @Test func aSmallBatchBehindAHugeOneOfTheSameSubmitterStartsWithinAJobPerSlot() async throws {
        let lab = try await LedgerLab()
        let worker = try await lab.worker()
        let (mine, other) = (try login(lab), try login(lab))
        for ledger in [mine.ledger, other.ledger] {
            _ = try await ledger.submit(Submission(), LedgerLab.requests(5_000))
        }
        // The jobs that eight slots have started.
        _ = try await lab.claim(8, for: worker)
        let small = try await mine.ledger.submit(Submission(), LedgerLab.requests(4))
        var batches: [Int64] = []
        for _ in 0..<16 { batches += try await lab.claim(1, for: worker).map(\.batch) }
        #expect(batches.prefix(8).contains(small.batch), "\(batches)")
        // The other submitter still gets half.
        let rest = try await owners(batches.reduce(into: [:]) { $0[$1, default: 0] += 1 }, lab)
        #expect(rest.first { $0.key.submitter == mine.name }?.value == 8)
    }

    @Test func whoComesLateOrComesBackIsOwedNothingAndOwesNothing() async throws {
        let lab = try await LedgerLab()
        let worker = try await lab.worker()
        var generator = SeededGenerator(seed: 3)
        func shares(_ count: Int) async throws -> [String: Int] {
            let got = try await owners(claim(count, lab, worker, groups: 1...5, &generator), lab)
            return Dictionary(uniqueKeysWithValues: got.map { ($0.key.queue, $0.value) })
        }
        try await lab.submit(2_000, Submission(queue: "a"))
        #expect(try await shares(500) == ["a": 500])
        try await lab.submit(60, Submission(queue: "b"))
        let late = try await shares(100)
        #expect(abs(late["a", default: 0] - 50) <= 3, "\(late)")
        // This takes the rest of `b`, and then `a` runs alone for long.
        _ = try await shares(400)
        for queue in ["b", "c"] { try await lab.submit(200, Submission(queue: queue)) }
        let back = try await shares(150)
        for queue in ["a", "b", "c"] { #expect(abs(back[queue, default: 0] - 50) <= 4, "\(back)") }
        try await lab.ledger.setPaused(true, queue: "b")
        _ = try await shares(100)
        try await lab.ledger.setPaused(false, queue: "b")
        let resumed = try await shares(90)
        for queue in ["a", "b", "c"] { #expect(abs(resumed[queue, default: 0] - 30) <= 4, "\(resumed)") }
    }

    /// Among so many queues a claim looks only at the first in the order of their ranks.
    @Test func aCrowdOfQueuesTakesTurns() async throws {
        let lab = try await LedgerLab()
        let worker = try await lab.worker()
        let queues = 240
        for queue in 0..<queues { try await lab.submit(5, Submission(queue: "q\(queue)")) }
        try await lab.ledger.setWeight(200, queue: "q7")
        // Housekeeping opens the lanes, and later ranks those that were served.
        _ = try await lab.ledger.keepHouse()
        var claimed: [String: Int] = [:]
        for round in 1...2 {
            for _ in 0..<((queues + 1) / 8) {
                for job in try await lab.claim(8, for: worker) { claimed[job.queue, default: 0] += 1 }
            }
            #expect(claimed.count == queues)
            // All start at the same time, so the queue with twice the weight may be one job ahead.
            #expect(claimed.allSatisfy { abs($0.value - ($0.key == "q7" ? 2 : 1) * round) <= 1 }, "\(claimed)")
            try await lab.age(by: .seconds(2))
            _ = try await lab.keepWholeHouse()
        }
        #expect(claimed.values.count { $0 == 2 } >= queues - 3, "\(claimed)")
    }

    /// Concurrent claims do not see what the others take.
    @Test func workersThatClaimAtOnceShareFairlyTogether() async throws {
        let lab = try await LedgerLab()
        for (queue, weight) in [("a", 300), ("b", 100)] as [(String, Int32)] {
            for _ in 0..<30 { try await lab.submit(60, Submission(queue: queue)) }
            try await lab.ledger.setWeight(weight, queue: queue)
        }
        let claimed = try await withThrowingTaskGroup(of: [String].self) { group in
            for number in 0..<6 {
                group.addTask {
                    let worker = try await lab.worker("w\(number)")
                    var queues: [String] = []
                    while queues.count < 200 { queues += try await lab.claim(4, for: worker).map(\.queue) }
                    return queues
                }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        #expect(abs(claimed.count { $0 == "a" } - 900) <= 45, "\(claimed.count { $0 == "a" })")
    }
}
