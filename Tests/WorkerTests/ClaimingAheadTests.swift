import Conversion
import Foundation
import Ledger
import TestSupport
import Testing

/// How many jobs a worker holds.
struct ClaimingAheadTests {
    @Test func shortJobsAreClaimedAhead() async throws {
        let lab = try await WorkerLab()
        try lab.addSource(frames: 200)
        try await lab.submit(1_000)
        let worker = try lab.worker("--slots", "2")
        var most = 0
        try await lab.wait("all are done") {
            let truth = try lab.truth()
            most = max(most, truth["running", default: 0])
            return truth["completed"] == 1_000
        }
        #expect(most > 20, "the worker held about a second of work")
        try await worker.stopsWell()
    }

    @Test func jobsThatAreDoneDuringAPublicationArePublishedTogether() async throws {
        let lab = try await WorkerLab()
        try lab.addSource(frames: 200)
        try await lab.submit(200)
        let worker = try await lab.whilePublicationsWait {
            let worker = try lab.worker("--slots", "2")
            try await lab.wait("it has converted 20 jobs") { try worker.unnamedFiles(below: lab.path("out")) >= 20 }
            return worker
        }
        try await lab.wait(for: 200, "completed")
        // The jobs of one group have the same end time. Of the twenty, up to four may still be in the slots; the rest are
        // the group whose publication waits, and one more group that has gathered meanwhile: one of the two has eight.
        let counts = "(select count(*) as jobs from \(lab.schema).finished group by ended_at) as groups"
        let largest = try #require(Int(try lab.sql("select max(jobs) from \(counts)")))
        #expect(largest >= 8)
        try await worker.stopsWell()
    }

    @Test func longJobsAreClaimedWhenASlotIsFree() async throws {
        let lab = try await WorkerLab(lease: "15 s")
        try await lab.submitLong(10)
        let worker = try lab.worker("--slots", "2", "--grace", "0s")
        try await lab.waitForMovement(2)
        // When there is more work, the busy worker leaves it to others.
        try await lab.submitLong(10, "more")
        let seen = try lab.sql("select max(beat_at) from \(lab.schema).worker")
        try await lab.wait("it has sent two heartbeats") {
            try lab.sql("select max(beat_at) > '\(seen)'::timestamptz + interval '6 s' from \(lab.schema).worker")
                == "t"
        }
        #expect(try lab.truth() == ["running": 2, "waiting": 18])
        try await worker.stopsWell()
        #expect(try lab.truth() == ["waiting": 20])
    }

    @Test func jobsThatItDoesNotKnowOfGoBack() async throws {
        let lab = try await WorkerLab(lease: "15 s")
        try lab.addSource()
        let worker = try lab.worker("--queue", "another")
        try await worker.waits(for: "started")
        let number = try #require(worker.lines("started").first?.worker)
        try await lab.submit(1)
        // Claim in the worker's name, as if the answer to its claim was lost for good.
        let secret = "(select secret from \(lab.schema).worker where id = \(number))"
        #expect(try lab.sql("select count(*) from \(lab.schema).claim(\(number), \(secret), 1)") == "1")
        try await lab.wait(for: 1, "waiting")
        #expect(try lab.attempts().keys.allSatisfy { $0.hasPrefix("released") })
        try await worker.stopsWell()
        #expect(try lab.outputs().isEmpty)
    }

    @Test func pausedQueueGetsItsUnbegunJobsBack() async throws {
        let lab = try await WorkerLab(lease: "3 s")
        try lab.addSource(frames: 200)
        try await lab.submit(1_500)
        let worker = try lab.worker("--slots", "1")
        try await lab.wait("it works") { try lab.truth()["completed", default: 0] > 100 }
        try await lab.ledger.setPaused(true, queue: "default")
        try await lab.wait("it holds no jobs") { try lab.truth()["running"] == nil }
        #expect(try #require(try lab.truth()["waiting"]) > 0)
        try await lab.ledger.setPaused(false, queue: "default")
        try await lab.wait(for: 1_500, "completed")
        try await worker.stopsWell()
    }
}
