import Conversion
import Foundation
import TestSupport
import Testing

@testable import PumpRoom

/// Rooms and nurseries that are stopped and killed at any moment: between two jobs, before they are ready, while they are asked
/// for a room.
@Suite(.timeLimit(.minutes(5))) struct HavocTests {
    let bench: SlotBench

    init() throws { bench = try SlotBench() }

    /// Whether it is what it was started to be: who stops a process before stops the thread that starts it, for as long.
    private func hasStarted(_ process: Int32) -> Bool {
        let program = { (process: Int32) in
            try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(process)/exe")
        }
        // Of one that has ended there is nothing to read, and nothing to strike.
        return program(process).map { $0 != program(getpid()) } ?? false
    }

    /// Strikes one after another, until it is cancelled.
    private func strike(_ signals: [Int32], _ random: inout SeededGenerator) async throws {
        while !Task.isCancelled {
            if let process = try bench.family().sorted().filter(hasStarted).randomElement(using: &random),
                let signal = signals.randomElement(using: &random)
            {
                kill(process, signal)
            }
            // Cancelled in its sleep, it has nothing left to do.
            try? await Task.sleep(for: .milliseconds(Int.random(in: 20...400, using: &random)))
        }
    }

    @Test(arguments: [[SIGSTOP], [SIGKILL], [SIGSTOP, SIGKILL, SIGSEGV]])
    func everyJobEndsAndTheSlotGoesOn(signals: [Int32]) async throws {
        let slot = bench.visibleSlot {
            ($0.stallLimit, $0.obedienceLimit, $0.startLimit) = (.milliseconds(300), .milliseconds(300), .seconds(3))
            $0.jobsPerRoom = 20
        }
        let havoc = Task {
            var random = SeededGenerator(seed: 1)
            try await strike(signals, &random)
        }
        var converted = 0
        for round in 0..<30 {
            for run in try (0..<4).map({ SlotRun(try bench.short("\(round)-\($0).wav"), in: slot) }) {
                switch await run.outcome {
                case .converted: converted += 1
                case .handedBack: break
                case .failed(let failure):
                    #expect(["room_crash", "room_stalled", "room_start"].contains(failure.failure.code), "\(failure)")
                }
            }
        }
        havoc.cancel()
        try await havoc.value
        #expect(converted > 0)
        // That somebody was struck last may be found out only now.
        while case .failed = await SlotRun(try bench.short(), in: slot).outcome {}
        #expect(await SlotRun(try bench.short(), in: slot).isConverted)
        await slot.close()
        #expect(try bench.family() == [])
    }
}
