import Conversion
import Foundation
import TestSupport
import Testing

@testable import PumpRoom
@testable import RoomProgram

/// A slot whose rooms do not die.
@Suite(.timeLimit(.minutes(15))) struct RoomSlotTests {
    let bench: SlotBench

    init() throws { bench = try SlotBench() }

    @Test func roomGivesTheBytesAndTheReportOfAConversionHere() async throws {
        let slot = bench.slot()
        let (there, here) = (try bench.short("there.flac"), try bench.short("here.flac"))
        let outcome = await slot.run(there.room)
        let report = try RecipeConversion(here.recipe).run(
            from: here.source.descriptor,
            to: here.destination.descriptor
        )
        guard case .done(let told, let cost) = outcome else {
            Issue.record("\(outcome)")
            return
        }
        #expect(told == [report])
        #expect(try Bytes.read(bench.folder.path("there.flac")) == Bytes.read(bench.folder.path("here.flac")))
        #expect(try #require(cost.cpu) > .zero)
        #expect(try #require(cost.peakBytes) > 1 << 20)
        await slot.close()
    }

    @Test func roomFailsInTheWordsOfAConversionHere() async throws {
        let slot = bench.slot()
        let junk = bench.folder.path("junk.wav")
        try Bytes.write(Array("this is no sound, and was never meant to be".utf8), to: junk)
        let (there, here) = (
            try SlotWork(from: junk, to: bench.folder.path("a.wav")),
            try SlotWork(from: junk, to: bench.folder.path("b.wav"))
        )
        let failure = try #require(await SlotRun(there, in: slot).failure)
        #expect(throws: failure.failure) {
            try RecipeConversion(here.recipe).run(from: here.source.descriptor, to: here.destination.descriptor)
        }
        #expect(!failure.isRoomDeath)
        #expect(await SlotRun(try bench.short(), in: slot).isConverted)
        await slot.close()
    }

    @Test(arguments: [1, 8]) func roomWorksForOnePartyOnly(jobsInRoom: Int) async throws {
        let parties = ["a", "a", "a", "b", "b", nil, nil, "a", "b", "a", nil, "a", "a"]
        let works = try parties.indices.map { try bench.short("\($0).wav") }
        // Post to the keeper from one thread, as `run` does, so that the jobs have an order.
        let keeper = RoomKeeper(1, SlotBench.configuration { $0.inFlightLimit = jobsInRoom })
        let (ended, continuation) = AsyncStream<(Int, RoomOutcome<[ConversionReport]>)>.makeStream()
        for (place, (work, party)) in zip(works, parties).enumerated() {
            var wanted = work.room
            wanted.party = party
            let finish: @Sendable (RoomOutcome<[ConversionReport]>) -> Void = { continuation.yield((place, $0)) }
            keeper.post(
                .run(RoomJob(id: Int64(place), work: wanted, report: { _ in }, finish: finish, ticket: RoomTicket()))
            )
        }
        var rooms: [Int32] = []
        for await (place, answer) in ended.prefix(works.count) {
            guard case .done(_, let cost) = answer, let process = cost.process else {
                Issue.record("job \(place) ended otherwise: \(answer)")
                return
            }
            rooms.append(process)
        }
        // A change of party is a change of room, and nothing else is.
        let changes = zip(parties, parties.dropFirst()).map { $0 != $1 }
        #expect(zip(rooms, rooms.dropFirst()).map { $0 != $1 } == changes)
        #expect(Set(rooms).count == 1 + changes.count { $0 })
        await withCheckedContinuation { closed in
            #expect(keeper.post(.close({ closed.resume() })))
        }
    }

    @Test func jobsEndInTheOrderInWhichTheyCame() async throws {
        let works = try (0..<40).map { try bench.short("\($0).wav") }
        // Post to the keeper from one thread, as `run` does, so that the jobs have an order.
        let keeper = RoomKeeper(1, SlotBench.configuration())
        let (ended, continuation) = AsyncStream<Int>.makeStream()
        for (place, work) in works.enumerated() {
            let finish: @Sendable (RoomOutcome<[ConversionReport]>) -> Void = { _ in continuation.yield(place) }
            keeper.post(
                .run(
                    RoomJob(
                        id: Int64(place),
                        work: work.room,
                        report: { _ in },
                        finish: finish,
                        ticket: RoomTicket()
                    )
                )
            )
        }
        var order: [Int] = []
        for await place in ended.prefix(works.count) { order.append(place) }
        #expect(order == Array(0..<works.count))
        await withCheckedContinuation { closed in
            #expect(keeper.post(.close({ closed.resume() })))
        }
    }

    @Test func severalJobsAreInFlightToOneRoom() async throws {
        let slot = bench.visibleSlot { $0.inFlightLimit = 4 }
        let long = SlotRun(try bench.long(), in: slot)
        _ = await long.progress()
        let room = try #require(slot.process)
        let waiting = try (0..<6).map { SlotRun(try bench.short("\($0).wav"), in: slot) }
        // Four jobs hold eight descriptors, in addition to the socket and the standard three.
        let deadline = ContinuousClock.now + .seconds(600)
        var count = 0
        while count != 12, ContinuousClock.now < deadline {
            count = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(room)/fd").count
            // /proc sends no event when a process receives a descriptor.
            try await Task.sleep(for: .milliseconds(5))
        }
        #expect(count == 12)
        long.cancel()
        for run in waiting { #expect(await run.isConverted) }
        #expect(slot.process == room)
        await slot.close()
    }

    @Test func cancelledJobEndsAndItsRoomGoesOn() async throws {
        let slot = bench.slot()
        let long = SlotRun(try bench.long(), in: slot)
        let progress = try #require(await long.progress())
        let room = slot.process
        long.cancel()
        let failure = try #require(await long.failure)
        #expect(failure.failure.code == "cancelled")
        #expect(failure.failure.kind == .infrastructure)
        #expect(!failure.isRoomDeath)
        #expect(try #require(failure.frames) >= progress.frames)
        #expect(await SlotRun(try bench.short(), in: slot).isConverted)
        #expect(slot.process == room)
        await slot.close()
    }

    @Test func cancelledJobThatWaitsEndsAtOnce() async throws {
        let slot = bench.slot { $0.inFlightLimit = 2 }
        let long = SlotRun(try bench.long(), in: slot)
        _ = await long.progress()
        // One job is in the room, the other is not. The room is stopped, so it cannot be what ends them.
        let room = try #require(slot.process)
        let (sent, unsent) = (SlotRun(try bench.short("1.wav"), in: slot), SlotRun(try bench.short("2.wav"), in: slot))
        ProcessFacts.stop(group: room)
        for run in [sent, unsent] {
            run.cancel()
            #expect(await run.failure?.failure == .cancelledBeforeItBegan)
        }
        kill(room, SIGCONT)
        #expect(await long.progress() != nil)
        long.cancel()
        #expect(await long.failure?.failure.code == "cancelled")
        #expect(await SlotRun(try bench.short(), in: slot).isConverted)
        #expect(slot.process == room)
        await slot.close()
    }

    @Test func cancelledBeforeItIsGivenNeverReachesARoom() async throws {
        let slot = bench.slot()
        let work = try bench.short()
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return await slot.run(work.room)
        }
        #expect(await task.value == .failed(RoomFailure(.cancelledBeforeItBegan)))
        await slot.close()
    }

    @Test func roomIsReplacedAfterItsShareOfJobs() async throws {
        let slot = bench.slot {
            $0.jobsPerRoom = 3
            $0.inFlightLimit = 2
        }
        var rooms: [Int32] = []
        for _ in 0..<10 {
            #expect(await SlotRun(try bench.short(), in: slot).isConverted)
            let room = try #require(slot.process)
            if rooms.last != room { rooms.append(room) }
        }
        // The successor takes over as soon as a room has done its share.
        #expect((4...5).contains(rooms.count), "\(rooms)")
        await slot.close()
        for room in rooms { #expect(!ProcessFacts.isThere(room)) }
    }

    @Test func roomThatHasGrownIsReplaced() async throws {
        let slot = bench.slot { $0.growthLimitBytes = 1 << 20 }
        #expect(await SlotRun(try bench.short(), in: slot).isConverted)
        let room = try #require(slot.process)
        // FLAC's encoder takes seven megabytes, which the room keeps for the next job.
        for place in 0..<20 where slot.process == room {
            #expect(await SlotRun(try bench.short("\(place).flac"), in: slot).isConverted)
        }
        #expect(await SlotRun(try bench.short(), in: slot).isConverted)
        #expect(slot.process != room)
        #expect(ProcessFacts.waitForEnd(of: room))
        await slot.close()
    }

    @Test func closingEndsWhatRunsAndHandsBackWhatWaits() async throws {
        let slot = bench.slot { $0.inFlightLimit = 2 }
        let long = SlotRun(try bench.long(), in: slot)
        _ = await long.progress()
        let room = try #require(slot.process)
        let waiting = try (0..<4).map { SlotRun(try bench.short("\($0).wav"), in: slot) }
        await slot.close()
        #expect(await long.failure?.failure.code == "cancelled")
        for run in waiting { #expect(await run.outcome == .handedBack) }
        #expect(!ProcessFacts.isThere(room))
        #expect(await SlotRun(try bench.short(), in: slot).outcome == .handedBack)
        await slot.close()
    }

    @Test func recipeThatIsTooLargeForAMessageIsRefused() async throws {
        let slot = bench.slot()
        let work = try bench.short { $0.tags = ["comment": .init(String(repeating: "x", count: 200_000))] }
        let failure = await SlotRun(work, in: slot).failure?.failure
        #expect(failure?.code == "recipe_refused")
        #expect(failure?.kind == .permanent)
        #expect(await SlotRun(try bench.short(), in: slot).isConverted)
        await slot.close()
    }

    @Test func descriptorThatIsNotOpenFailsItsJobOnly() async throws {
        let slot = bench.slot()
        let work = try bench.short()
        let outcome = await slot.run(RoomWork(work.recipe, from: -1, to: work.destination.descriptor))
        guard case .failed(let failure) = outcome else {
            Issue.record("\(outcome)")
            return
        }
        #expect(failure.failure.code == "unexpected")
        #expect(await SlotRun(work, in: slot).isConverted)
        await slot.close()
    }

    @Test func startedByHandARoomSaysWhatItIsNot() throws {
        let run = try Run.program(SlotBench.program, [])
        #expect(run.status == .exited(64))
        #expect(run.errorText.hasPrefix("sluice-room: internal program"))
    }
}
