import Conversion
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import PumpRoom

/// Rooms and fork servers are stopped and killed at random moments: between two jobs, before they are ready,
/// while a room is being forked.
@Suite(.timeLimit(.minutes(15))) struct HavocTests {
    let bench: SlotBench

    init() throws { bench = try SlotBench() }

    /// Whether the process runs our program as a room or fork server. Stopping a process before its exec would also
    /// stop the thread that spawns it.
    private func isRoom(_ process: Int32) -> Bool {
        // A process that has ended has no command line, and needs no signal.
        let words = try? String(contentsOfFile: "/proc/\(process)/cmdline", encoding: .utf8)
        return words?.split(separator: "\0").first.map { $0 == RoomStart.name } ?? false
    }

    /// Sends twelve signals at random moments, up to `longest` apart. A moment without a process, such as a start on a
    /// slow machine, does not count.
    private func strike(_ signals: [Int32], upTo longest: Duration) async throws {
        var count = 0
        var random = SeededGenerator(seed: 1)
        while count < 12 {
            // The random moment is the test's input. It must not depend on any event in the rooms.
            try await Task.sleep(for: longest * Double.random(in: 0.05...1, using: &random))
            if let process = try bench.family().sorted().filter(isRoom).randomElement(using: &random),
                let signal = signals.randomElement(using: &random)
            {
                kill(process, signal)
                count += 1
            }
        }
    }

    @Test(arguments: [[SIGSTOP], [SIGKILL], [SIGSTOP, SIGKILL, SIGSEGV]])
    func everyJobEndsAndTheSlotGoesOn(signals: [Int32]) async throws {
        let slot = bench.visibleSlot {
            ($0.stallLimit, $0.obedienceLimit, $0.startLimit) = (.milliseconds(300), .seconds(1), .seconds(3))
            $0.jobsPerRoom = 20
        }
        // On a slow machine, signals that come faster than a room starts would let none begin.
        let began = ContinuousClock.now
        while await !SlotRun(try bench.short(), in: slot).isConverted {}
        let longest = max(.milliseconds(400), (.now - began) * 4)
        let isOver = Atomic<Bool>(false)
        async let havoc: Void = {
            defer { isOver.store(true, ordering: .releasing) }
            try await strike(signals, upTo: longest)
        }()
        var (round, converted) = (0, 0)
        while !isOver.load(ordering: .acquiring) {
            round += 1
            for run in try (0..<4).map({ SlotRun(try bench.short("\(round)-\($0).wav"), in: slot) }) {
                switch await run.outcome {
                case .done: converted += 1
                case .handedBack: break
                case .failed(let failure):
                    #expect(["room_crash", "room_stalled", "room_start"].contains(failure.failure.code), "\(failure)")
                }
            }
        }
        try await havoc
        #expect(converted > 0)
        // No more signals are sent: the slot replaces the last victim and then works normally, or this test times out.
        while await !SlotRun(try bench.short(), in: slot).isConverted {}
        await slot.close()
        #expect(try bench.family() == [])
    }
}
