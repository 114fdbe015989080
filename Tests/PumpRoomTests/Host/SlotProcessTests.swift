import Foundation
import TestSupport
import Testing

@testable import PumpRoom

/// What happens to rooms when their slot's process is killed or stopped, and what that process
/// still holds after many jobs.
@Suite(.timeLimit(.minutes(15))) struct SlotProcessTests {
    let bench: SlotBench

    init() throws { bench = try SlotBench() }

    @Test(arguments: [false, true])
    func killedParentLeavesNoRoom(evenIfStopped: Bool) throws {
        let parent = try Parent(bench, stallMilliseconds: 60_000)
        let room = try parent.room()
        // A stopped room cannot notice that the other end is closed. The kernel must kill it: by the parent death
        // signal that the room asked for, or because its process group is orphaned.
        if evenIfStopped { kill(room, SIGSTOP) }
        #expect(ProcessFacts.isAlive(room))
        parent.kill()
        #expect(ProcessFacts.waitForEnd(of: room))
    }

    @Test(arguments: [false, true])
    func killedParentLeavesNoRoomOfAForkServer(evenIfStopped: Bool) throws {
        let parent = try Parent(bench, "hold-second", stallMilliseconds: 60_000)
        let room = try parent.room()
        let family = try ProcessFacts.children(of: parent.id)
        #expect(family.count == 2 && family.contains(room))
        if evenIfStopped { for process in family { kill(process, SIGSTOP) } }
        parent.kill()
        for process in family { #expect(ProcessFacts.waitForEnd(of: process)) }
    }

    @Test func sleepOfTheParentIsNoStallOfTheRoom() throws {
        let parent = try Parent(bench, stallMilliseconds: 2_500)
        let room = try parent.room()
        for process in [parent.id, room] { kill(process, SIGSTOP) }
        // Longer than the stall limit, which the parent measures in real time.
        poll(nil, 0, 3_500)
        // Continue the parent first: it finds a room that has been silent for longer than allowed.
        kill(parent.id, SIGCONT)
        // No event shows that the parent does not kill the room. It would kill it at its first look.
        poll(nil, 0, 200)
        #expect(ProcessFacts.isAlive(room))
        kill(room, SIGCONT)
        #expect(try parent.end() == "ended cancelled")
    }

    @Test func twoHundredJobsAndTwentyCrashesLeakNothing() throws {
        let many = try run("many", 200, source: bench.clip, destination: "out.wav")
        let counts = try #require(many["descriptors"])
        #expect(counts[0] == counts[1], "\(many)")
        let crash = try run("crash", 20, source: bench.endless, destination: "out.opus")
        let crashCounts = try #require(crash["descriptors"])
        #expect(crashCounts[0] == crashCounts[1], "\(crash)")
        #expect(crash["children"] == [0])
    }

    @Test func memoryIsFlatOverThousandsOfJobs() throws {
        // Enough that half a kilobyte for each job would show.
        let many = try run("many", 4_000, source: bench.clip, destination: "out.wav")
        for name in ["kilobytes", "room-kilobytes"] {
            let counts = try #require(many[name])
            #expect(counts[1] - counts[0] < 2_048, "\(name) \(counts)")
        }
    }

    /// The helper's output: the numbers of each line, by its first word.
    private func run(_ mode: String, _ count: Int, source: String, destination: String) throws -> [String: [Int]] {
        let words = ["slot", mode, SlotBench.program, source, bench.folder.path(destination), "\(count)"]
        let text = try Run.program(BuiltProgram.testProgram, words).checked().outputText
        let lines = text.split(separator: "\n").map { $0.split(separator: " ") }
        return Dictionary(lines.map { (String($0[0]), $0.dropFirst().compactMap { Int($0) }) }) { $1 }
    }
}

/// A process with a slot that is in the middle of a long job.
private final class Parent {
    private let child: ChildProcess
    private let feed: OpenPipe
    private let output: OpenPipe
    private var heard = ""
    private var hasEnded = false

    init(_ bench: SlotBench, _ mode: String = "hold", stallMilliseconds: Int) throws {
        (feed, output) = (try OpenPipe.open(), try OpenPipe.open())
        child = try ChildProcess.spawn(
            BuiltProgram.testProgram,
            ["slot", mode, SlotBench.program, bench.endless, bench.folder.path("out.opus"), "\(stallMilliseconds)"],
            environment: nil,
            folder: nil,
            input: feed.reading,
            output: output.writing,
            errors: 2
        )
        feed.closeReading()
        output.closeWriting()
    }

    deinit { kill() }

    var id: pid_t { child.id }

    /// Kills this process only.
    func kill() {
        guard !hasEnded else { return }
        hasEnded = true
        child.kill()
    }

    /// The room's process id; waits until it works.
    func room() throws -> Int32 {
        let text = try line("room ").dropFirst(5)
        guard let room = Int32(text) else { throw SupportError("read a room's number", String(text)) }
        return room
    }

    /// Asks the process to end, and returns how the job ended.
    func end() throws -> String {
        feed.closeWriting()
        return try line("ended ")
    }

    /// The next line that begins with `prefix`.
    private func line(_ prefix: String) throws -> String {
        while true {
            while let end = heard.firstIndex(of: "\n") {
                let line = String(heard[..<end])
                heard = String(heard[heard.index(after: end)...])
                if line.hasPrefix(prefix) { return line }
            }
            var bytes = [UInt8](repeating: 0, count: 4_096)
            let count = read(output.reading, &bytes, bytes.count)
            guard count > 0 else { throw SupportError("wait for \(prefix)", heard) }
            heard += String(decoding: bytes[..<count], as: UTF8.self)
        }
    }
}
