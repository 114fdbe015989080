import Foundation
import Ledger
import TestSupport
import Testing

/// `sluice worker --until-idle` ends by itself when its work is done.
struct UntilIdleTests {
    @Test func endsAtOnceWhenThereIsNothingToDo() async throws {
        let lab = try await WorkerLab()
        let worker = try lab.worker("--until-idle")
        try await worker.endsWell()
        #expect(worker.lines("idle").count == 1 && worker.lines("draining").isEmpty)
        #expect(worker.lines("stopped").first?.handed_back == 0)
        #expect(try lab.sql("select end_reason from \(lab.schema).worker") == "stopped")
    }

    @Test func everyJobIsPublishedBeforeItEnds() async throws {
        let lab = try await WorkerLab()
        try lab.addSource()
        try await lab.submit(300)
        let worker = try lab.worker("--until-idle", "--slots", "2")
        try await worker.endsWell()
        #expect(try lab.truth() == ["completed": 300])
        #expect(try lab.outputs().count == 300)
        #expect(worker.lines("attempt").count == 300)
    }

    @Test func severalShareTheWorkAndAllEnd() async throws {
        let lab = try await WorkerLab()
        try lab.addSource()
        try await lab.submit(200)
        let workers = try (0..<3).map { _ in try lab.worker("--until-idle", "--slots", "1") }
        for worker in workers { try await worker.endsWell() }
        #expect(try lab.truth() == ["completed": 200])
    }

    @Test func workElsewhereIsNotItsOwn() async throws {
        let lab = try await WorkerLab()
        try lab.addSource()
        try await lab.submit([WorkerLab.recipe(to: "out:day.flac")], Submission(queue: "day"))
        try await lab.submit([WorkerLab.recipe(to: "out:night.flac")], Submission(queue: "night"))
        let later = try await lab.ledger.time() + 3_600
        try await lab.submit([WorkerLab.recipe(to: "out:later.flac")], Submission(queue: "day", runAt: later))
        let worker = try lab.worker("--until-idle", "--queue", "day")
        try await worker.endsWell()
        #expect(try lab.truth() == ["completed": 1, "waiting": 1, "delayed": 1])
        #expect(try lab.outputs() == ["day.flac"])
    }

    @Test func stopCutsItShort() async throws {
        let lab = try await WorkerLab()
        try await lab.submitLong(1)
        let worker = try lab.worker("--until-idle", "--grace", "0s")
        try await lab.waitForMovement()
        try await worker.stopsWell()
        #expect(try lab.truth() == ["waiting": 1])
        #expect(worker.lines("idle").isEmpty && worker.lines("draining").count == 1)
    }
}
