import Conversion
import Foundation
import TestSupport
import Testing

@testable import PumpRoom
@testable import RoomProgram

/// Rooms made by a fork server behave like rooms started as programs.
@Suite(.timeLimit(.minutes(15))) struct ForkServerTests {
    let bench: SlotBench

    init() throws { bench = try SlotBench() }

    /// How the room under test was made.
    enum Maker: CaseIterable { case program, forkServer }

    /// A slot whose room has done a job. If `maker` is the fork server, that room is not the first.
    private func slot(
        roomBy maker: Maker,
        _ change: (inout RoomConfiguration) -> Void = { _ in }
    ) async throws -> RoomSlot {
        let slot = bench.visibleSlot(change)
        #expect(await SlotRun(try bench.short(), in: slot).isConverted)
        if maker == .forkServer { try await replaceRoom(of: slot) }
        return slot
    }

    /// Crashes the slot's room and has its successor do a job.
    private func replaceRoom(of slot: RoomSlot) async throws {
        let crashed = SlotRun(try bench.long(), in: slot, signal: SIGSEGV)
        #expect(await crashed.failure?.failure.code == "room_crash")
        #expect(await SlotRun(try bench.short("after.wav"), in: slot).isConverted)
        #expect(slot.process != crashed.struckRoom)
    }

    /// The fork server: the only child that is not the room.
    private func forkServer(beside slot: RoomSlot) throws -> Int32 {
        let rest = try bench.family().subtracting([try #require(slot.process)])
        #expect(rest.count == 1)
        return try #require(rest.first)
    }

    /// The address of the program in memory, which the kernel randomises at each exec; `nil` if the process has ended.
    private func place(of process: Int32) -> String? {
        // A reaped process cannot be read, and a zombie has no memory.
        let maps = try? String(contentsOfFile: "/proc/\(process)/maps", encoding: .utf8)
        return maps?.split(separator: "-").first.map(String.init)
    }

    @Test(arguments: Maker.allCases) func roomHasNothingButItsSocket(by maker: Maker) async throws {
        let slot = try await slot(roomBy: maker)
        let room = try #require(slot.process)
        #expect(room != getpid())
        let descriptors = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(room)/fd").sorted()
        #expect(descriptors == ["0", "1", "2", "3"])
        // The slot reads its standard error.
        let standardError = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(room)/fd/2")
        #expect(standardError.hasPrefix("pipe:"), "its standard error is \(standardError)")
        #expect(try Bytes.read("/proc/\(room)/environ") == [])
        #expect(getpgid(room) == room)
        let kind = __priority_which_t(PRIO_PROCESS.rawValue)
        let niceness = getpriority(kind, id_t(room)) - getpriority(kind, 0)
        #expect(niceness == min(5, 19 - getpriority(kind, 0)))
        await slot.close()
        #expect(!ProcessFacts.isThere(room))
        #expect(try bench.family() == [])
    }

    @Test func everyRoomAfterTheFirstIsMadeByTheForkServer() async throws {
        let slot = try await slot(roomBy: .program)
        let forkServer = try forkServer(beside: slot)
        for _ in 0..<3 {
            try await replaceRoom(of: slot)
            let room = try #require(slot.process)
            let home = try #require(place(of: forkServer))
            #expect(place(of: room) == home)
            #expect(try bench.family() == [room, forkServer])
        }
        await slot.close()
    }

    @Test func roomOfTheForkServerIsLockedAsTheFirst() async throws {
        let slot = try await slot(roomBy: .program) { $0.sandbox = .require }
        var expected = try #require(slot.level)
        for _ in 0..<2 {
            try await replaceRoom(of: slot)
            if geteuid() == 0 { expected.user = 0x7000_0000 + UInt32(try #require(slot.process)) }
            #expect(slot.level == expected)
        }
        await slot.close()
    }

    /// FLAC's encoder has seven megabytes. Mapping them in pages of four kilobytes takes a new room
    /// longer than a short clip does.
    @Test(.enabled(if: Self.hasLargePages, "this kernel has no large pages"), arguments: Maker.allCases)
    func encoderLiesInLargePages(ofRoomBy maker: Maker) async throws {
        var kilobytes = 0
        // Where the kernel finds no large page at once, it gives small ones: then look at another room.
        for _ in 0..<50 {
            let refused = try Self.refusedLargePages()
            kilobytes = try await largePages(ofRoomBy: maker)
            if try kilobytes >= 8 << 10 || Self.refusedLargePages() == refused { break }
        }
        // All four large pages. A region that began with a small page would become large later, and
        // the room would seem to grow.
        #expect(kilobytes >= 8 << 10)
    }

    /// The kilobytes in large pages of a new room that has encoded FLAC.
    private func largePages(ofRoomBy maker: Maker) async throws -> Int {
        let slot = try await slot(roomBy: maker)
        let work = try bench.short("out.flac") { $0.outputs[0].format = AudioFormat(container: .flac, codec: .flac) }
        #expect(await SlotRun(work, in: slot).isConverted)
        let map = try String(contentsOfFile: "/proc/\(try #require(slot.process))/smaps_rollup", encoding: .utf8)
        await slot.close()
        let line = try #require(map.split(separator: "\n").first { $0.hasPrefix("AnonHugePages:") })
        return try #require(line.split(separator: " ").compactMap { Int($0) }.first)
    }

    /// How often the kernel of this machine had no large page at hand.
    private static func refusedLargePages() throws -> Int {
        let counts = try String(contentsOfFile: "/proc/vmstat", encoding: .utf8)
        let line = try #require(counts.split(separator: "\n").first { $0.hasPrefix("thp_fault_fallback ") })
        return try #require(line.split(separator: " ").last.flatMap { Int($0) })
    }

    private static var hasLargePages: Bool {
        // If the file is missing, the kernel has no large pages.
        let choice = try? String(contentsOfFile: "/sys/kernel/mm/transparent_hugepage/enabled", encoding: .utf8)
        return choice.map { !$0.contains("[never]") } ?? false
    }

    @Test func roomThatIsDueToBeReplacedIsReplacedByTheForkServer() async throws {
        let slot = bench.visibleSlot { $0.jobsPerRoom = 1 }
        var rooms: [Int32: String] = [:]
        for number in 0..<20 {
            #expect(await SlotRun(try bench.short("\(number).wav"), in: slot).isConverted)
            // Between two rooms there may be none, or one that has just ended.
            if let room = slot.process, let place = place(of: room) { rooms[room] = place }
        }
        #expect(rooms.count > 2)
        #expect(Set(rooms.values).count == 1)
        await slot.close()
        #expect(try bench.family() == [])
    }

    /// The fork server ignores errors of a rehearsal, which would only make rooms slower; so check here.
    @Test func rehearsalIsPlayedToItsEnd() throws { try Rehearsal.play() }

    @Test func forkServerThatHasEndedIsBuriedAtOnce() async throws {
        let slot = try await slot(roomBy: .forkServer)
        let (room, killed) = (try #require(slot.process), try forkServer(beside: slot))
        kill(killed, SIGKILL)
        let deadline = ContinuousClock.now + .seconds(600)
        // A pidfd reports the end of a process, but the slot's thread reaps it later, and that is no event.
        while ProcessFacts.isThere(killed), .now < deadline { try await Task.sleep(for: .milliseconds(5)) }
        #expect(try bench.family() == [room])
        #expect(await SlotRun(try bench.short("on.wav"), in: slot).isConverted)
        #expect(slot.process == room)
        await slot.close()
    }

    @Test func forkServerThatWasKilledIsReplaced() async throws {
        let slot = try await slot(roomBy: .forkServer)
        let killed = try forkServer(beside: slot)
        kill(killed, SIGKILL)
        try await replaceRoom(of: slot)
        let successor = try forkServer(beside: slot)
        #expect(successor != killed)
        #expect(!ProcessFacts.isThere(killed))
        try await replaceRoom(of: slot)
        let (room, home) = (try #require(slot.process), try #require(place(of: successor)))
        #expect(place(of: room) == home)
        await slot.close()
    }

    @Test func forkServerThatDoesNotAnswerIsReplaced() async throws {
        let slot = try await slot(roomBy: .forkServer) { $0.obedienceLimit = .seconds(1) }
        let stopped = try forkServer(beside: slot)
        kill(stopped, SIGSTOP)
        try await replaceRoom(of: slot)
        #expect(!ProcessFacts.isThere(stopped))
        #expect(try forkServer(beside: slot) != stopped)
        await slot.close()
        #expect(try bench.family() == [])
    }

    @Test func withoutOneEachRoomIsAProgramOfItsOwn() async throws {
        let slot = try await slot(roomBy: .program) { $0.usesForkServer = false }
        let firstRoom = try #require(slot.process)
        let first = try #require(place(of: firstRoom))
        try await replaceRoom(of: slot)
        let room = try #require(slot.process)
        let second = try #require(place(of: room))
        #expect(second != first)
        #expect(try bench.family() == [room])
        await slot.close()
    }
}
