import Conversion
import Foundation
import Ledger
import TestSupport
import Testing

/// Files that break the room that reads them, with a real worker and a real ledger.
@Suite(.timeLimit(.minutes(15))) struct PoisonTests {
    private let neighbours = 12

    /// Runs one poisoned job between good ones, all on one worker with one slot.
    private func run(_ poison: Poison, behind: [String] = []) async throws -> (story: JobStory, lab: WorkerLab) {
        let lab = try await WorkerLab()
        try lab.addSource()
        try poison.write(to: lab.path("in/poison.wav"))
        var poisoned = WorkerLab.recipe("in:poison.wav", to: "out:poison.flac")
        // The other poisons end by themselves, however slow the machine is.
        if [.hang, .spin].contains(poison) { poisoned.limits = Recipe.Limits(stallSeconds: 2) }
        let good = (0..<neighbours).map { WorkerLab.recipe(to: "out:good\($0).flac") }
        let jobs = try await lab.submit(Array(good.prefix(2)) + [poisoned] + good.dropFirst(2))
        let worker = try lab.worker("--slots", "1", behind: behind, program: WorkerProcess.poisoned)
        try await lab.wait("all have ended", within: .seconds(600)) {
            try lab.truth() == ["completed": neighbours, "failed": 1]
        }
        // The same worker process ran from start to end.
        #expect(worker.lines("started").count == 1)
        #expect(worker.lines("lease_lost").isEmpty && worker.lines("paused").isEmpty)
        try await worker.stopsWell()
        // No other job has lost an attempt, whichever room it was in.
        let spent = try lab.sql("select max(spent) from \(lab.schema).finished where state = 'completed'")
        #expect(spent == "1")
        #expect(try lab.outputs() == (0..<neighbours).map { "good\($0).flac" }.sorted())
        // The log has one line for each event, whatever the room wrote.
        #expect(!worker.text.contains("\u{1B}"))
        let textLines: [Substring] = worker.text.split(separator: "\n")
        #expect(worker.lines.count == textLines.count)
        return (try #require(try await lab.ledger.story(of: jobs[2])), lab)
    }

    /// Expects two attempts in two rooms, and a final failure with the facts of both.
    private func expectQuarantine(_ story: JobStory, _ poison: Poison, codes: Set<String>, says: [String]) throws {
        #expect(story.summary.state == .failed)
        #expect(story.summary.code == "rooms_crashed" && story.summary.kind == .permanent)
        #expect(story.attempts.count == 2)
        for attempt in story.attempts {
            let failure = try #require(attempt.failure)
            #expect(codes.contains(failure.code), "\(failure)")
            #expect(says.contains { failure.message.contains($0) }, "\(failure.message)")
            #expect(failure.stage == "decode")
            #expect(try #require(failure.position) > .zero)
            #expect(try #require(attempt.facts.framesIn) > 0)
            #expect(
                attempt.lastWords?.contains("poison: \(poison.rawValue)") == true,
                "\(attempt.lastWords ?? "nothing")"
            )
        }
        let rooms = story.attempts.compactMap { $0.lastWords?.split(separator: "\n")[1] }
        #expect(Set(rooms).count == 2, "not two rooms: \(rooms)")
    }

    @Test(arguments: [Poison.segmentationFault, .abort, .forbiddenCall])
    func fileThatKillsItsRoomIsPutAwayAfterTwo(poison: Poison) async throws {
        let (story, _) = try await run(poison)
        try expectQuarantine(story, poison, codes: ["room_crash"], says: [poison.rawValue])
        if poison == .forbiddenCall {
            #expect(story.attempts[0].failure?.message.contains("the sandbox forbids the system call socket") == true)
        }
    }

    @Test(arguments: [Poison.hang, .spin])
    func fileThatMovesNoMoreIsPutAwayAfterTwo(poison: Poison) async throws {
        let (story, _) = try await run(poison)
        try expectQuarantine(story, poison, codes: ["room_stalled"], says: ["no frame was read for 2 s"])
    }

    /// If the failing allocation is libav's, the room reports an error; if it is Swift's, the room crashes.
    @Test func fileThatTakesAllAddressesHasACode() async throws {
        let (story, _) = try await run(.addresses)
        let failures = story.attempts.compactMap(\.failure)
        #expect(failures.count == story.attempts.count && failures.count >= 2)
        #expect(failures.allSatisfy { ["room_crash", "out_of_memory"].contains($0.code) }, "\(failures)")
        #expect(["rooms_crashed", "out_of_memory"].contains(story.summary.code))
    }

    @Test(.enabled(if: MemoryGroup.isPossible, "no memory can be accounted for here"))
    func kernelThatRunsOutOfMemoryTakesARoomAndNothingElse() async throws {
        // More than the worker and an honest room need, and less than a room's own limit.
        let group = try #require(MemoryGroup.make(bytes: 512 << 20))
        defer { group.remove() }
        let (story, _) = try await run(.memory, behind: group.command)
        try expectQuarantine(story, .memory, codes: ["room_crash"], says: ["SIGKILL"])
    }
}
