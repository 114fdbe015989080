import Conversion
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import PumpRoom

/// Rooms and nurseries that are stopped and killed at any moment: between two jobs, before they are ready, while they are asked
/// for a room.
@Suite(.timeLimit(.minutes(5))) struct HavocTests {
    let bench: SlotBench

    init() throws { bench = try SlotBench() }

    /// Whether it is a room or a nursery, and not on its way to be one: who stops a process before it executes its program stops
    /// the thread that starts it, for as long.
    private func isRoom(_ process: Int32) -> Bool {
        // Of one that has ended there is nothing to read, and nothing to strike.
        let words = try? String(contentsOfFile: "/proc/\(process)/cmdline", encoding: .utf8)
        return words?.split(separator: "\0").dropFirst().first.map { $0 == RoomProcess.word } ?? false
    }

    /// Strikes twelve times, at moments that have nothing to do with what the rooms are at; how often there was one to strike.
    private func strike(_ signals: [Int32]) async throws -> Int {
        var count = 0
        var random = SeededGenerator(seed: 1)
        for _ in 0..<12 {
            try await Task.sleep(for: .milliseconds(Int.random(in: 20...400, using: &random)))
            if let process = try bench.family().sorted().filter(isRoom).randomElement(using: &random),
                let signal = signals.randomElement(using: &random)
            {
                kill(process, signal)
                count += 1
            }
        }
        return count
    }

    @Test(arguments: [[SIGSTOP], [SIGKILL], [SIGSTOP, SIGKILL, SIGSEGV]])
    func everyJobEndsAndTheSlotGoesOn(signals: [Int32]) async throws {
        let slot = bench.visibleSlot {
            ($0.stallLimit, $0.obedienceLimit, $0.startLimit) = (.milliseconds(300), .seconds(1), .seconds(3))
            $0.jobsPerRoom = 20
        }
        let isOver = Atomic<Bool>(false)
        async let havoc = {
            defer { isOver.store(true, ordering: .releasing) }
            return try await strike(signals)
        }()
        var (round, converted) = (0, 0)
        while !isOver.load(ordering: .acquiring) {
            round += 1
            for run in try (0..<4).map({ SlotRun(try bench.short("\(round)-\($0).wav"), in: slot) }) {
                switch await run.outcome {
                case .converted: converted += 1
                case .handedBack: break
                case .failed(let failure):
                    #expect(["room_crash", "room_stalled", "room_start"].contains(failure.failure.code), "\(failure)")
                }
            }
        }
        #expect(try await havoc > 6)
        #expect(converted > 0)
        // Nobody strikes any more: who was struck last is replaced, and then all goes on, or time runs out for this test.
        while await !SlotRun(try bench.short(), in: slot).isConverted {}
        await slot.close()
        #expect(try bench.family() == [])
    }
}
