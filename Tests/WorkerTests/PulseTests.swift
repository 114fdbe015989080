import Foundation
import Ledger
import Synchronization
import TestSupport
import Testing

@testable import Worker

/// The heartbeat's thread, and what must not delay it.
@Suite(.serialized)
struct PulseTests {
    private final class Beating: Sendable {
        let isOver = Atomic(false)
    }

    @Test func beatGoesOnWhileAllSharedThreadsAreBusy() async throws {
        let lab = try await WorkerLab()
        let heartbeat = try Heartbeat(lab.configuration)
        let entry = try await lab.ledger.register(
            WorkerRegistration(name: "busy", host: "h", build: "1", slots: 1)
        )
        let pulse = PulseThread()
        defer { pulse.end() }
        // Keeps all shared threads busy until the beats are done, or until they are late.
        let end = ContinuousClock.now + .seconds(120)
        let beating = Beating()
        let spinners = (0..<4 * ProcessInfo.processInfo.activeProcessorCount).map { _ in
            // A pause would give the thread to other tasks, and to the beats.
            Task.detached { while ContinuousClock.now < end, !beating.isOver.load(ordering: .relaxed) {} }
        }
        let beats = Task(executorPreference: pulse) { () async throws -> [ContinuousClock.Instant] in
            var answered: [ContinuousClock.Instant] = []
            // A beat that fails must not keep the threads busy either.
            defer { beating.isOver.store(true, ordering: .relaxed) }
            for _ in 0..<20 {
                // The rate of the beats.
                await pulse.sleep(until: .now + .milliseconds(100))
                _ = try await heartbeat.beat(entry.worker)
                answered.append(.now)
            }
            return answered
        }
        let answered = try await beats.value
        for spinner in spinners { await spinner.value }
        // On a shared thread, the beats would have come at the end only.
        #expect(answered.allSatisfy { $0 < end }, "\(answered.map { end - $0 })")
        await heartbeat.close()
    }

    @Test func pokeEndsAWaitAndSoDoesCancelling() async {
        let pulse = PulseThread()
        defer { pulse.end() }
        let start = ContinuousClock.now
        let waiting = Task { await pulse.sleep(until: start + .seconds(3_600)) }
        let poking = Task {
            while !Task.isCancelled, ContinuousClock.now - start < .seconds(60) {
                pulse.poke()
                // Whether the other task waits yet cannot be observed, so poke it until it has ended.
                await Task.yield()
            }
        }
        await waiting.value
        poking.cancel()
        let cancelled = Task { await pulse.sleep(until: start + .seconds(3_600)) }
        cancelled.cancel()
        await cancelled.value
        #expect(.now - start < .seconds(600))
    }

    @Test func pokeThatCameBeforeTheWaitIsNotMissed() async {
        let pulse = PulseThread()
        defer { pulse.end() }
        let (seen, start) = (pulse.calls, ContinuousClock.now)
        pulse.poke()
        await pulse.sleep(until: start + .seconds(3_600), since: seen)
        #expect(.now - start < .seconds(600))
        // There was no poke since, so it waits. This pause is what the test is about.
        await pulse.sleep(until: .now + .milliseconds(50), since: pulse.calls)
        #expect(.now - start >= .milliseconds(50))
    }

    @Test func callToLookAgainEndsAWaitAndIsNoPoke() async {
        let pulse = PulseThread()
        defer { pulse.end() }
        let (pokes, calls, start) = (pulse.pokes, pulse.calls, ContinuousClock.now)
        pulse.lookAgain()
        await pulse.sleep(until: start + .seconds(3_600), since: calls)
        #expect(.now - start < .seconds(600))
        #expect(pulse.pokes == pokes && pulse.calls != calls)
    }

    /// Each wait sets the thread's timer anew.
    @Test func waitsOfManyLengthsEndInTime() async {
        let pulse = PulseThread()
        defer { pulse.end() }
        let start = ContinuousClock.now
        let ended = await withTaskGroup(of: (Int, Duration).self) { group in
            for length in [300, 50, 200, 100, 250, 150] {
                group.addTask {
                    await pulse.sleep(until: start + .milliseconds(length))
                    return (length, ContinuousClock.now - start)
                }
            }
            var ended: [(Int, Duration)] = []
            for await one in group { ended.append(one) }
            return ended
        }
        #expect(ended.count == 6)
        // Without the timer, the thread would look after a minute.
        let areInTime = ended.allSatisfy { length, took in took >= .milliseconds(length) && took < .seconds(30) }
        #expect(areInTime, "\(ended)")
    }
}
