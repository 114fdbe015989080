import Conversion
import Foundation
import TestSupport
import Testing

@testable import PumpRoom

/// Rooms that try to keep their slot, and rooms that must be gone when their job is done.
@Suite(.timeLimit(.minutes(15))) struct SlotHolderTests {
    private let liar: LyingBench

    init() throws { liar = try LyingBench() }

    /// A script that reports `count` more frames ten times a second until it is killed. The rate is the test's input.
    private func inventing(_ count: Int) -> String {
        """
        hello()
        job = begin()
        frames = 0
        while True:
            frames += \(count)
            progress(job, frames)
            time.sleep(0.1)  # the rate
        """
    }

    private func failure(
        of script: String,
        sourceBytes: Int64? = nil,
        _ limits: Recipe.Limits? = nil,
        _ change: (inout RoomConfiguration) -> Void = { _ in }
    ) async throws -> (failure: RoomFailure, took: Duration) {
        let slot = try liar.slot(script) {
            $0.obedienceLimit = .milliseconds(300)
            // Their reports come all the time. A busy machine may hold them up.
            $0.stallLimit = .seconds(60)
            change(&$0)
        }
        let start = ContinuousClock.now
        let work = try liar.bench.short { $0.limits = limits }
        let failure = try #require(await SlotRun(work, in: slot, sourceBytes: sourceBytes).failure)
        let took = ContinuousClock.now - start
        await slot.close()
        return (failure, took)
    }

    @Test func roomThatInventsAFrameNowAndThenIsEnded() async throws {
        let (failure, took) = try await failure(of: inventing(1)) { $0.speedGrace = .seconds(1) }
        // A faster machine might succeed.
        #expect(failure.failure.code == "too_slow")
        #expect(failure.failure.kind == .transient)
        #expect(failure.isRoomDeath)
        #expect(took > .seconds(1) && took < .seconds(300), "\(took)")
    }

    /// It reports 40 times the speed that it needs. But the size of the source, 1 kB, earns it only 8 seconds.
    @Test func roomThatInventsMoreThanItsSourceHoldsIsEnded() async throws {
        let (failure, took) = try await failure(of: inventing(8_000), sourceBytes: 1_024) {
            $0.speedGrace = .seconds(1)
        }
        #expect(failure.failure.code == "too_slow")
        #expect(took > .seconds(9) && took < .seconds(300), "\(took)")
    }

    /// If a user's limit was exceeded, a faster machine would not help.
    @Test func limitsThatAreSetEndAJobForGood() async throws {
        let (own, _) = try await failure(of: inventing(8_000), Recipe.Limits(wallSeconds: 1))
        #expect(own.failure.code == "deadline_exceeded" && own.failure.kind == .permanent)
        let (workers, _) = try await failure(of: inventing(8_000)) { $0.wallLimit = .seconds(1) }
        #expect(workers.failure.code == "deadline_exceeded" && workers.failure.kind == .permanent)
    }

    @Test func roomThatInventsMoreThanItsBudgetIsEnded() async throws {
        let script = "hello()\njob = begin()\nprogress(job, 8_000 * 3_600)"
        let (failure, _) = try await failure(of: script, Recipe.Limits(decodedSeconds: 60))
        #expect(failure.failure.code == "room_protocol")
    }

    @Test func defaultsEndWhatInventsFrames() {
        let configuration = RoomConfiguration()
        #expect(configuration.minimumSpeed == 0.25 && configuration.speedGrace == .seconds(600))
        #expect(configuration.limits(for: nil).cpuSeconds == 86_400)
    }

    /// The room claims to have used a microsecond.
    @Test func processorTimeIsCountedFromOutside() async throws {
        let script = """
            hello()
            job = begin()
            frames = 0
            said = time.monotonic()
            while True:
                if time.monotonic() - said < 0.1: continue
                said = time.monotonic()
                frames += 1
                progress(job, frames)
            """
        let (failure, _) = try await failure(of: script, Recipe.Limits(cpuSeconds: 1))
        #expect(failure.failure.code == "cpu_seconds_exceeded")
        #expect(failure.failure.kind == .permanent)
        #expect(failure.isRoomDeath)
    }

    @Test func workThatEndsItsRoomIsToldOfOnceThatIsGone() async throws {
        let slot = liar.bench.slot()
        var rooms: Set<Int32> = []
        for _ in 0..<3 {
            let run = SlotRun(try liar.bench.short(), in: slot, endsRoom: true)
            guard case .done(_, let cost) = await run.outcome else {
                Issue.record("it was not converted")
                return
            }
            let room = try #require(cost.process)
            #expect(!ProcessFacts.isThere(room))
            rooms.insert(room)
        }
        #expect(rooms.count == 3)
        await slot.close()
    }

    /// A waiting job goes to the next room, and the job that has begun is handed back. Neither spends an attempt.
    @Test func distrustedRoomIsReplacedWithoutSpendingAttempts() async throws {
        let slot = liar.bench.slot()
        guard case .done(_, let cost) = await SlotRun(try liar.bench.short(), in: slot).outcome else {
            Issue.record("it was not converted")
            return
        }
        let room = try #require(cost.process)
        #expect(room == slot.process)
        let begun = SlotRun(try liar.bench.long(), in: slot)
        _ = await begun.progress()
        let waiting = SlotRun(try liar.bench.short("waiting.wav"), in: slot)
        slot.distrust(room, because: "a test says so")
        #expect(await begun.outcome == .handedBack)
        #expect(await waiting.isConverted)
        #expect(!ProcessFacts.isThere(room))
        // No room has this process id any more.
        slot.distrust(room, because: "a test says so")
        #expect(await SlotRun(try liar.bench.short(), in: slot).isConverted)
        await slot.close()
    }
}
