import Conversion
import Foundation
import TestSupport
import Testing

@testable import Ledger

/// The ledger maintains counts instead of counting rows. They must equal a count at any time.
struct CountsTests {
    @Test(arguments: [1, 2, 3] as [UInt64])
    func countsAreTheTruthAfterARandomWorkload(seed: UInt64) async throws {
        var generator = SeededGenerator(seed: seed)
        let lab = try await LedgerLab()
        try await lab.set("lease = '1 h', retry_base = '1 s', retry_cap = '20 s', max_attempts = 2")
        var workers = [try await lab.worker("a"), try await lab.worker("b")]
        var running: [Fence] = []
        var publishing: [Fence] = []
        func some(_ fences: inout [Fence]) -> [Fence] {
            fences.shuffle(using: &generator)
            let taken = Array(fences.prefix(generator.whole(in: 1..<8)))
            fences.removeFirst(taken.count)
            return taken
        }
        for _ in 0..<150 {
            switch generator.whole(in: 0..<14) {
            case 0, 1:
                let queue = "q\(generator.whole(in: 0..<3))"
                try await lab.submit(generator.whole(in: 1..<20), Submission(queue: queue))
            case 2:
                let later = try await lab.ledger.time() + generator.number(in: 0..<30)
                try await lab.submit(generator.whole(in: 1..<5), Submission(runAt: later))
            case 3, 4, 5:
                let worker = workers[generator.whole(in: 0..<2)]
                running += try await lab.claim(Int32(generator.whole(in: 1..<20)), for: worker).map(\.fence)
            case 6, 7:
                let fences = some(&running)
                let answers = try await lab.ledger.publish(fences.map(LedgerLab.publication))
                publishing += zip(fences, answers).filter { $1 == .done }.map(\.0)
            case 8: try await lab.ledger.finish(some(&publishing))
            case 9:
                let kinds = Failure.Kind.allCases
                try await lab.ledger.fail(
                    some(&running).map { fence in
                        AttemptFailure(fence, LedgerLab.failure(kinds[generator.whole(in: 0..<kinds.count)]))
                    }
                )
            case 10: try await lab.ledger.release(some(&running), after: .seconds(generator.whole(in: 0..<2) * 5))
            case 11:
                let priority = Int32(generator.whole(in: 0..<3))
                let change: [JobChange] = [.cancel, .retry, .prioritize(priority), .accept(), .accept(undo: true)]
                let ids = (0..<6).map { _ in Int64(generator.whole(in: 1..<400)) }
                try await lab.ledger.apply(change[generator.whole(in: 0..<5)], to: JobFilter(ids: ids), chunk: 4)
            case 12:
                try await lab.ledger.stop(workers.removeFirst().worker)
                workers.append(try await lab.worker("new"))
            default:
                try await lab.age(by: .seconds(5))
                let report = try await lab.ledger.keepHouse()
                #expect(report.chores.allSatisfy { $0.error == nil }, "\(report)")
            }
        }
        for _ in 0..<2 {
            try await compare(lab)
            // Folding must not change them.
            try await lab.age(by: .seconds(5))
            _ = try await lab.ledger.keepHouse()
        }
        let failed = try await lab.ledger.failures().reduce(0) { $0 + $1.jobs }
        #expect(try await lab.truth()["failed"] ?? 0 == failed)
        let accepted = try await lab.ledger.failures().reduce(0) { $0 + $1.accepted }
        #expect(try await lab.truth()["accepted"] ?? 0 == accepted)
    }

    private func compare(_ lab: LedgerLab) async throws {
        let truth = try await lab.truth()
        let counts = try await lab.ledger.counts()
        let status = try await lab.ledger.status().jobs
        let batches = try await lab.ledger.batches(limit: 1_000)
        let total: Int = truth.values.reduce(0, +)
        let demand: Int = try await lab.value("select \(lab.schema).demand()")
        let demanding: [String] = ["waiting", "running", "publishing"]
        let expectedDemand: Int = demanding.reduce(0) { $0 + truth[$1, default: 0] }
        #expect(demand == expectedDemand)
        #expect(total == batches.reduce(0) { $0 + Int($1.jobs.total) })
        for state in JobState.allCases {
            let counted = truth[state.rawValue] ?? 0
            #expect(counts.values.reduce(0) { $0 + $1[state] } == counted, "\(state) in the queues")
            #expect(batches.reduce(0) { $0 + $1.jobs[state] } == counted, "\(state) in the batches")
            #expect(status[state] == counted, "\(state) in the status")
            #expect(try await lab.ledger.count(matching: JobFilter(states: [state])) == counted)
            #expect(try await lab.ledger.count(matching: JobFilter(states: [state], sourcePrefix: "")) == counted)
        }
    }
}
