import Conversion
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import PumpRoom

/// Sources that a slot fetches for its rooms, and what rooms may ask for.
@Suite(.timeLimit(.minutes(15))) struct RoomWindowTests {
    private let liar: LyingBench
    private let kept = Kept()

    private var bench: SlotBench { liar.bench }

    init() throws { liar = try LyingBench() }

    /// Bytes in memory, with a fault on demand.
    private final class Stock: FetchedBytes {
        let bytes: [UInt8]
        let fault: @Sendable (_ question: Int) -> Bool
        private let questions = Mutex<[Range<Int64>]>([])

        /// `fault` is called before each answer. The bytes cannot be had where it returns true.
        init(_ bytes: [UInt8], fault: @escaping @Sendable (_ question: Int) -> Bool = { _ in false }) {
            (self.bytes, self.fault) = (bytes, fault)
        }

        var byteCount: Int64 { Int64(bytes.count) }
        var asked: [Range<Int64>] { questions.withLock { $0 } }

        func read(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) -> Int? {
            // A store may give less than it is asked for.
            let count = min(bytes.count - Int(offset), max(1, buffer.count / 2 + 1), buffer.count)
            let number = questions.withLock { questions in
                questions.append(offset..<(offset + Int64(count)))
                return questions.count
            }
            if fault(number) { return nil }
            bytes.withUnsafeBytes { all in
                buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: all[Int(offset)..<(Int(offset) + count)]))
            }
            return count
        }
    }

    /// Keeps the files of works open until the test has ended.
    private final class Kept: Sendable {
        let works = Mutex<[SlotWork]>([])
    }

    /// The work on a clip that is fetched from `stock`.
    private func work(_ stock: Stock, _ name: String = "out.wav") throws -> (RoomWork<[ConversionReport]>, SlotWork) {
        let work = try bench.short(name)
        kept.works.withLock { $0.append(work) }
        let window = try RoomWindow(stock)
        var room = RoomWork(work.recipe, from: window.descriptor, to: work.destination.descriptor)
        (room.windows, room.sourceBytes) = ([0: window], stock.byteCount)
        return (room, work)
    }

    private func failure<Answer>(_ outcome: RoomOutcome<Answer>) -> RoomFailure? {
        if case .failed(let failure) = outcome { failure } else { nil }
    }

    private func clip(seconds: Int) throws -> [UInt8] {
        try WAVFile.bytes(Signal.noise(seed: 3, rate: 44_100, frames: 44_100 * seconds, channels: 2).pcm(.s16))
    }

    // MARK: - Honest rooms

    @Test(arguments: [1, 20])
    func soundThroughAWindowIsThatOfTheFile(seconds: Int) async throws {
        let bytes = try clip(seconds: seconds)
        try Bytes.write(bytes, to: bench.clip)
        let slot = bench.slot()
        let file = try bench.short("file.wav")
        #expect(await SlotRun(file, in: slot).isConverted)
        let stock = Stock(bytes)
        let (room, _) = try work(stock, "window.wav")
        let outcome = await slot.run(room)
        #expect(failure(outcome) == nil)
        #expect(try Bytes.read(bench.folder.path("window.wav")) == Bytes.read(bench.folder.path("file.wav")))
        #expect(stock.asked.count > seconds)
        await slot.close()
    }

    @Test func jobsWithAndWithoutWindowsFollowEachOther() async throws {
        let bytes = try Bytes.read(bench.clip)
        let slot = bench.slot()
        for round in 0..<3 {
            #expect(await SlotRun(try bench.short("file\(round).wav"), in: slot).isConverted)
            let (room, _) = try work(Stock(bytes), "window\(round).wav")
            #expect(failure(await slot.run(room)) == nil)
        }
        let expected = try Bytes.read(bench.folder.path("file0.wav"))
        for round in 0..<3 { #expect(try Bytes.read(bench.folder.path("window\(round).wav")) == expected) }
        await slot.close()
    }

    @Test func missingBytesFailTheJobAndNotTheRoom() async throws {
        let slot = bench.slot()
        let (room, _) = try work(Stock(try clip(seconds: 20)) { $0 > 3 })
        let failure = try #require(failure(await slot.run(room)))
        #expect(failure.failure.code == "io_source", "\(failure.failure)")
        #expect(!failure.isRoomDeath)
        let process = slot.process
        #expect(await SlotRun(try bench.short(), in: slot).isConverted)
        #expect(slot.process == process)
        await slot.close()
    }

    @Test func aRoomThatWaitsForBytesDoesNotStall() async throws {
        let slot = bench.slot { $0.stallLimit = .seconds(8) }
        let stock = Stock(try clip(seconds: 20)) { number in
            // No event ends the wait: it stands for a store that is slow.
            if number == 4 { sleep(12) }
            return false
        }
        let (room, _) = try work(stock)
        #expect(failure(await slot.run(room)) == nil)
        await slot.close()
    }

    /// While the source is opened, and while it is converted.
    @Test(arguments: [1, 4])
    func aStopDoesNotWaitForBytes(question: Int) async throws {
        let (reached, gate) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let stock = Stock(try clip(seconds: 20)) { number in
            guard number == question else { return false }
            reached.signal()
            gate.wait()
            return false
        }
        let slot = bench.slot()
        let (room, _) = try work(stock)
        let run = Task { await slot.run(room) }
        try await SeparateThread.run { reached.wait() }
        run.cancel()
        let failure = try #require(failure(await run.value))
        #expect(failure.failure.code == "cancelled" && !failure.isRoomDeath, "\(failure)")
        gate.signal()
        // The late answer is meant for no later job.
        #expect(await SlotRun(try bench.short(), in: slot).isConverted)
        await slot.close()
    }

    // MARK: - Rooms that lie

    private static let ask = """
        def ask(number, offset, count, source=0, of=0):
            question = {"number": number, "source": source, "offset": offset, "count": count}
            say({"wants": {"job": job + of, "_1": question}})

        """

    @Test(arguments: [
        "ask(1, -1, 1)", "ask(1, 0, 0)", "ask(1, 0, -1)", "ask(1, 1000000, 1)", "ask(1, 999999, 2)", "ask(1, 2**62, 1)",
        "ask(1, 0, 262145)", "ask(1, 0, 1, source=1)", "ask(1, 0, 1, source=-1)", "ask(1, 0, 1, of=1)",
        // The slot answers each question before the next.
        "ask(1, 0, 1); ask(2, 0, 1)",
        "number = 0\nwhile True: number += 1; ask(number, 0, 262144); hear()",
        "number = 0\nwhile True: number += 1; ask(number, number % 9, 1); hear()",
    ])
    func roomThatAsksForTooMuchIsKilled(lie: String) async throws {
        let slot = try liar.slot("hello()\nhear()\njob = begin()\n\(Self.ask)\(lie)") {
            $0.obedienceLimit = .milliseconds(500)
        }
        let stock = Stock([UInt8](repeating: 1, count: 1_000_000)) { number in
            // A pause, because no event shows that the slot has read the room's second question before the first answer.
            if number == 1 { usleep(500_000) }
            return false
        }
        let (room, _) = try work(stock)
        let failure = try #require(failure(await slot.run(room)))
        #expect(failure.failure.code == "room_protocol", "\(failure.failure)")
        #expect(failure.isRoomDeath)
        await slot.close()
    }

    /// How often the sound of a piece is read again depends on its length, which only the room knows.
    @Test(arguments: [nil, Piece.Repetition.times(100), .until(MediaTime(value: 3_600, timescale: 1))])
    func roomsMayReadRepeatedPiecesAgain(repetition: Piece.Repetition?) throws {
        let (room, work) = try work(Stock([UInt8](repeating: 1, count: 1_000_000)))
        var recipe = work.recipe
        recipe.timeline = Timeline(tracks: [.init(pieces: [Piece(.source("a"), repeats: repetition)])])
        var repeated = RoomWork(recipe, from: -1, to: -1)
        repeated.windows = room.windows
        let job = RoomJob(id: 1, work: repeated, report: { _ in }, finish: { _ in }, ticket: RoomTicket())
        var account = job.windowAccount
        var answered: Int64 = 0
        while answered < 10_000 {
            let question = WindowQuestion(number: answered + 1, source: 0, offset: 0, count: 1)
            guard account.take(question) == nil, account.end(question.number) else { break }
            answered += 1
        }
        #expect((answered == 10_000) == (repetition != nil), "\(answered)")
    }

    @Test func aQuestionForAFileIsALie() async throws {
        let slot = try liar.slot("hello()\njob = begin()\n\(Self.ask)ask(1, 0, 1)")
        let failure = try #require(await SlotRun(try bench.short(), in: slot).failure)
        #expect(failure.failure.code == "room_protocol")
        await slot.close()
    }

    @Test func aRoomCannotChangeTheLengthOfItsWindow() async throws {
        let script = """
            hello()
            hear()
            data, descriptors, flags, address = socket.recv_fds(wire, 1 << 18, 8)
            job = json.loads(data)["convert"]["job"]
            say({"begun": {"job": job, "spent": spent}})
            problems = 0
            for size in (0, 1 << 30):
                try: os.ftruncate(descriptors[0], size)
                except PermissionError: problems += 1
            try: os.pwrite(descriptors[0], b"x", 1 << 20)
            except PermissionError: problems += 1
            if problems == 3: convert(job, report)
            """
        let slot = try liar.slot(script)
        let (room, _) = try work(Stock([UInt8](repeating: 1, count: 1_000_000)))
        #expect(failure(await slot.run(room)) == nil)
        await slot.close()
    }
}
