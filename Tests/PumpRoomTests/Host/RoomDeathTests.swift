import Conversion
import Foundation
import TestSupport
import Testing

@testable import PumpRoom

/// A slot whose rooms die, hang or exceed limits.
@Suite(.timeLimit(.minutes(15))) struct RoomDeathTests {
    let bench: SlotBench

    init() throws { bench = try SlotBench() }

    @Test(arguments: [(SIGSEGV, "SIGSEGV"), (SIGKILL, "SIGKILL"), (SIGABRT, "SIGABRT"), (SIGSYS, "SIGSYS")])
    func deathCostsTheJobUnderWayAndNoOther(signal: Int32, name: String) async throws {
        let slot = bench.slot()
        let long = SlotRun(try bench.long(), in: slot)
        let progress = try #require(await long.progress())
        let room = try #require(slot.process)
        let neighbours = try (0..<3).map { SlotRun(try bench.short("\($0).wav"), in: slot) }
        kill(-room, signal)

        let failure = try #require(await long.failure)
        #expect(failure.failure.code == "room_crash")
        #expect(failure.failure.kind == .transient)
        #expect(failure.failure.stage == "decode")
        #expect(failure.failure.message.contains(name), "\(failure.failure.message)")
        #expect(try #require(failure.failure.position) >= progress.position)
        #expect(try #require(failure.frames) >= progress.frames)
        #expect(failure.isRoomDeath)
        #expect(failure.lastWords == nil)
        #expect(try #require(failure.cost.cpu) > .zero)
        for neighbour in neighbours { #expect(await neighbour.isConverted) }
        #expect(slot.process != room)
        await slot.close()
    }

    @Test func roomThatDiesWithoutAJobIsReplaced() async throws {
        let slot = bench.slot()
        #expect(await SlotRun(try bench.short(), in: slot).isConverted)
        let room = try #require(slot.process)
        kill(-room, SIGKILL)
        #expect(ProcessFacts.waitForEnd(of: room))
        #expect(await SlotRun(try bench.short(), in: slot).isConverted)
        await slot.close()
    }

    @Test(arguments: [true, false])
    func roomWithoutProgressIsKilled(byRecipe: Bool) async throws {
        let slot = bench.slot { if !byRecipe { $0.stallLimit = .seconds(8) } }
        let start = ContinuousClock.now
        let work = try bench.long { if byRecipe { $0.limits = .init(stallSeconds: 8) } }
        let long = SlotRun(work, in: slot, signal: SIGSTOP)
        let neighbour = SlotRun(try bench.short(), in: slot)
        let failure = try #require(await long.failure)
        #expect(ContinuousClock.now - start > .seconds(8))
        let room = try #require(long.struckRoom)
        #expect(failure.failure.code == "room_stalled")
        #expect(failure.failure.kind == .transient)
        #expect(failure.isRoomDeath)
        #expect(!ProcessFacts.isThere(room))
        #expect(await neighbour.isConverted)
        await slot.close()
    }

    /// A room that is stopped between two jobs does not answer the next one.
    @Test func roomThatBeginsNothingIsReplaced() async throws {
        let slot = bench.slot { $0.stallLimit = .seconds(8) }
        #expect(await SlotRun(try bench.short(), in: slot).isConverted)
        let room = try #require(slot.process)
        ProcessFacts.stop(group: room)
        #expect(await SlotRun(try bench.short(), in: slot).isConverted)
        #expect(!ProcessFacts.isThere(room))
        await slot.close()
    }

    @Test func workThatMovesIsNotStalled() async throws {
        let slot = bench.slot { $0.stallLimit = .seconds(5) }
        let long = SlotRun(try bench.long { $0.limits = .init(wallSeconds: 8) }, in: slot)
        #expect(await long.failure?.failure.code == "deadline_exceeded")
        await slot.close()
    }

    @Test(arguments: [true, false])
    func workThatTakesTooLongIsStoppedAndItsRoomGoesOn(byRecipe: Bool) async throws {
        let slot = bench.slot { if !byRecipe { $0.wallLimit = .seconds(1) } }
        let long = SlotRun(try bench.long { if byRecipe { $0.limits = .init(wallSeconds: 1) } }, in: slot)
        let start = ContinuousClock.now
        let failure = try #require(await long.failure)
        let took = ContinuousClock.now - start
        #expect(took > .seconds(1))
        #expect(failure.failure.code == "deadline_exceeded")
        #expect(failure.failure.kind == .permanent)
        #expect(!failure.isRoomDeath)
        let room = slot.process
        #expect(await SlotRun(try bench.short(), in: slot).isConverted)
        #expect(slot.process == room)
        await slot.close()
    }

    @Test func roomThatDoesNotObeyIsKilled() async throws {
        let slot = bench.slot { $0.obedienceLimit = .milliseconds(500) }
        let long = SlotRun(try bench.long(), in: slot, signal: SIGSTOP)
        _ = await long.progress()
        long.cancel()
        let failure = try #require(await long.failure)
        let room = try #require(long.struckRoom)
        #expect(failure.failure.code == "cancelled")
        #expect(failure.isRoomDeath)
        #expect(!ProcessFacts.isThere(room))
        #expect(await SlotRun(try bench.short(), in: slot).isConverted)
        await slot.close()
    }

    @Test func deadlineThatIsNotObeyedKills() async throws {
        let slot = bench.slot { $0.obedienceLimit = .milliseconds(500) }
        let long = SlotRun(try bench.long { $0.limits = .init(wallSeconds: 3) }, in: slot, signal: SIGSTOP)
        let failure = try #require(await long.failure)
        #expect(failure.failure.code == "deadline_exceeded")
        #expect(failure.isRoomDeath)
        #expect(!ProcessFacts.isThere(try #require(long.struckRoom)))
        await slot.close()
    }

    @Test func closingDoesNotWaitForARoomThatDoesNotHear() async throws {
        let slot = bench.slot { $0.obedienceLimit = .milliseconds(500) }
        #expect(await SlotRun(try bench.short(), in: slot).isConverted)
        let room = try #require(slot.process)
        ProcessFacts.stop(group: room)
        await slot.close()
        #expect(!ProcessFacts.isThere(room))
    }
}
