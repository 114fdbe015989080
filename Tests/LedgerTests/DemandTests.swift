import Conversion
import Foundation
import TestSupport
import Testing

@testable import Ledger

/// How many jobs want a slot, for programs that start and stop workers.
struct DemandTests {
    private func demand(_ lab: LedgerLab, _ queue: String? = nil, waitingOnly: Bool = false) async throws -> Int {
        try await lab.value("select \(lab.schema).demand(\(queue), \(waitingOnly))")
    }

    @Test func jobsThatWaitRunOrArePublishedWantASlot() async throws {
        let lab = try await LedgerLab()
        #expect(try await demand(lab) == 0)
        try await lab.submit(5, Submission(queue: "day"))
        try await lab.submit(3, Submission(queue: "night"))
        let worker = try await lab.worker()
        let claims = try await lab.claim(3, for: worker, from: ["day"])
        try await lab.ledger.publish([LedgerLab.publication(claims[0].fence)])
        for _ in 0..<2 {
            #expect(try await demand(lab) == 8)
            #expect(try await demand(lab, "day") == 5)
            #expect(try await demand(lab, "night") == 3)
            #expect(try await demand(lab, waitingOnly: true) == 5)
            #expect(try await demand(lab, "day", waitingOnly: true) == 2)
            // Folding must not change it.
            _ = try await lab.ledger.keepHouse()
        }
        try await lab.ledger.finish([claims[0].fence])
        #expect(try await demand(lab, "day") == 4)
    }

    @Test func jobsThatEndedOrAreDelayedDoNot() async throws {
        let lab = try await LedgerLab()
        let now = try await lab.ledger.time()
        try await lab.submit(4, Submission(runAt: now + 3_600))
        let receipt = try await lab.submit(2)
        #expect(try await demand(lab) == 2)
        try await lab.ledger.apply(.cancel, to: JobFilter(batch: receipt.batch))
        #expect(try await demand(lab) == 0)
        try await lab.age(by: .seconds(3_700))
        _ = try await lab.ledger.keepHouse()
        #expect(try await demand(lab, waitingOnly: true) == 4)
    }

    @Test func pausedQueueWantsOnlyTheSlotsThatItHas() async throws {
        let lab = try await LedgerLab()
        try await lab.submit(5)
        _ = try await lab.claim(2, for: lab.worker())
        try await lab.ledger.setPaused(true, queue: "default")
        #expect(try await demand(lab) == 2)
        #expect(try await demand(lab, "default", waitingOnly: true) == 0)
        try await lab.ledger.setPaused(false, queue: "default")
        #expect(try await demand(lab) == 5)
    }

    @Test func limitedQueueWantsNoMoreThanItsLimit() async throws {
        let lab = try await LedgerLab()
        try await lab.submit(9)
        try await lab.ledger.setRunningLimit(4, queue: "default")
        #expect(try await demand(lab) == 4)
        _ = try await lab.claim(3, for: lab.worker())
        #expect(try await demand(lab) == 4)
        #expect(try await demand(lab, waitingOnly: true) == 1)
        // A limit below what runs already takes no slot away.
        try await lab.ledger.setRunningLimit(2, queue: "default")
        #expect(try await demand(lab) == 3)
        #expect(try await demand(lab, waitingOnly: true) == 0)
        try await lab.ledger.setRunningLimit(nil, queue: "default")
        #expect(try await demand(lab) == 9)
    }

    @Test func queueThatDoesNotExistWantsNone() async throws {
        let lab = try await LedgerLab()
        try await lab.submit(1)
        #expect(try await demand(lab, "nowhere") == 0)
    }

    /// An autoscaler has a login that may only list, and names the schema but sets no search path.
    @Test func viewerAsksWithoutASearchPath() async throws {
        let lab = try await LedgerLab()
        try await lab.submit(2)
        let user = PrivatePostgres.freshName("user")
        try lab.lab.server.run("create role \(user) login in role sluice_viewer")
        let viewer = try lab.ledger(as: user)
        let asked: Int = try await viewer.source.run("test") { connection in
            try connection.value("select \(lab.schema).demand('default')")
        }
        #expect(asked == 2)
    }
}
