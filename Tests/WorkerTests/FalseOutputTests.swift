import Conversion
import Foundation
import Ledger
import TestSupport
import Testing

/// Rooms that were taken over and change an output after they have reported its end, with a
/// real worker and a real ledger.
@Suite(.timeLimit(.minutes(15))) struct FalseOutputTests {
    private let neighbours = 8

    /// The digests of the output files, and those that the ledger has recorded.
    private func digests(in lab: WorkerLab) throws -> (found: [String], recorded: [String]) {
        let found = try lab.outputs().map {
            String(try Run.program("sha256sum", [lab.path("out/\($0)")]).checked().outputText.prefix(64))
        }
        let recorded = try lab.sql(
            "select encode(digest, 'hex') from \(lab.schema).finished where state = 'completed'"
        )
        return (found.sorted(), recorded.split(separator: "\n").map(String.init).sorted())
    }

    @Test(arguments: Poison.afterTheEnd)
    func outputThatItsRoomCanStillAlterIsNotPublished(poison: Poison) async throws {
        let lab = try await WorkerLab()
        try lab.addSource()
        try poison.write(to: lab.path("in/poison.wav"))
        let good = (0..<neighbours).map { WorkerLab.recipe(to: "out:good\($0).flac") }
        let poisoned = WorkerLab.recipe("in:poison.wav", to: "out:poison.flac")
        let jobs = try await lab.submit(Array(good.prefix(2)) + [poisoned] + good.dropFirst(2))
        let worker = try lab.worker("--slots", "1", program: WorkerProcess.poisoned)
        try await lab.wait("all have ended", within: .seconds(600)) {
            try lab.truth().filter { ["completed", "failed"].contains($0.key) }.values.reduce(0, +) == neighbours + 1
        }
        try await worker.stopsWell()
        // The room has finished its tampering, because the jobs behind this one waited for it.
        let (found, recorded) = try digests(in: lab)
        #expect(found == recorded)
        #expect(try lab.outputs() == (0..<neighbours).map { "good\($0).flac" }.sorted())
        let story = try #require(try await lab.ledger.story(of: jobs[2]))
        #expect(story.summary.state == .failed && story.summary.code == "rooms_crashed")
        #expect(story.attempts.map { $0.failure?.code } == ["room_protocol", "room_protocol"])
        #expect(story.attempts.allSatisfy { $0.failure?.stage == "finish" })
        let spent = try lab.sql("select max(spent) from \(lab.schema).finished where state = 'completed'")
        #expect(spent == "1", "another job lost an attempt")
    }

    /// On such a file system the room must be gone before the worker checks its output, so it can change nothing.
    @Test(.enabled(if: Attributeless.isPossible, "only root mounts a file system that is not known to be local"))
    func outputIsAsRecordedWhereTheFileSystemTellsOfNoWriters() async throws {
        let lab = try await WorkerLab()
        try lab.addSource()
        try Attributeless.mount(at: lab.path("out"))
        defer { Attributeless.unmount(lab.path("out")) }
        try Poison.rewrite.write(to: lab.path("in/poison.wav"))
        let poisoned = WorkerLab.recipe("in:poison.wav", to: "out:poison.flac")
        try await lab.submit([poisoned] + (0..<neighbours).map { WorkerLab.recipe(to: "out:good\($0).flac") })
        let worker = try lab.worker("--slots", "1", program: WorkerProcess.poisoned)
        try await lab.wait(for: neighbours + 1, "completed")
        try await worker.stopsWell()
        let (found, recorded) = try digests(in: lab)
        #expect(found == recorded)
        #expect(try lab.sql("select max(spent) from \(lab.schema).finished") == "1")
        #expect(try lab.attempts() == ["completed": neighbours + 1])
    }

    /// An honest room can exceed its recipe's limit, because the end of an output is written last.
    @Test func outputThatIsLargerThanItsRecipeAllowsIsNotPublished() async throws {
        let lab = try await WorkerLab()
        try lab.addSource(frames: 40_000)
        var recipe = WorkerLab.recipe(to: "out:large.wav")
        recipe.limits = Recipe.Limits(outputBytes: 80_000)
        let job = try await lab.submit([recipe])[0]
        let worker = try lab.worker("--slots", "1")
        try await lab.wait(for: 1, "failed")
        #expect(try await lab.ledger.story(of: job)?.summary.code == "output_bytes_exceeded")
        #expect(try lab.outputs() == [])
        try await worker.stopsWell()
    }
}
