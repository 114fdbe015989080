import Conversion
import Foundation
import TestSupport
import Testing

@testable import PumpRoom

/// A header in which libav spends its time without reading, so that no check inside the decoding process can stop it.
@Suite(.timeLimit(.minutes(15))) struct LateOpeningTests {
    private let bench: SlotBench

    init() throws { bench = try SlotBench() }

    /// A Matroska file with hundreds of thousands of tags after the sound. They are announced by a seek head that
    /// the limit on tags does not find, so libav reads them all and then sorts them without another read.
    private func lostHeader() throws -> String {
        func big(_ number: Int, _ count: Int) -> [UInt8] {
            (0..<count).map { UInt8(truncatingIfNeeded: number >> (8 * (count - 1 - $0))) }
        }
        func element(_ id: [UInt8], _ body: [UInt8]) -> [UInt8] { id + [0x01] + big(body.count, 7) + body }
        let path = bench.folder.path("lost.mka")
        try FFmpeg.encode(bench.clip, to: path)
        let file = try Bytes.read(path)
        let segment = try #require(Bytes.find([0x18, 0x53, 0x80, 0x67], in: file))
        let information = try #require(Bytes.find([0x15, 0x49, 0xA9, 0x66], in: file))
        let list: [UInt8] = [0x12, 0x54, 0xC3, 0x67]
        func places(_ tags: Int) -> [UInt8] {
            element(
                [0x11, 0x4D, 0x9B, 0x74],
                element([0x4D, 0xBB], element([0x53, 0xAB], list) + element([0x53, 0xAC], big(tags, 8)))
            )
        }
        let empty = (0..<100).flatMap { _ in [0xEC, 0x80] as [UInt8] }
        let before = empty.count + places(0).count + file.count - information
        let values = (0..<400_000).flatMap { number in
            element(
                [0x67, 0xC8],
                element([0x45, 0xA3], Array(String(10_000_000 + number).utf8)) + element([0x44, 0x87], [0x76])
            )
        }
        let head = Array(file[..<(segment + 4)]) + [0x01] + [UInt8](repeating: 0xFF, count: 7)
        let body = empty + places(before) + file[information...]
        try Bytes.write(head + body + element(list, element([0x73, 0x73], values)), to: path)
        return path
    }

    @Test func roomThatIsLostInAHeaderSaysSoAndEnds() async throws {
        let path = try lostHeader()
        let slot = bench.slot { $0.sandbox = .require }
        let limits = Recipe.Limits(openSeconds: 1)
        let work = try SlotWork(from: path, to: bench.folder.path("out.wav")) { $0.limits = limits }
        let lost = SlotRun(work, in: slot)
        // It waits in the same room, or moves to the next one.
        let innocent = SlotRun(try bench.short("innocent.wav"), in: slot)
        let failure = try #require(await lost.failure)
        #expect(failure.failure.code == "open_seconds_exceeded" && failure.failure.kind == .permanent, "\(failure)")
        #expect(!failure.isRoomDeath)
        // Processor time of the room, which does not depend on how busy the machine is.
        let spent = try #require(failure.cost.cpu)
        #expect(spent > .seconds(1) && spent < .seconds(4), "\(spent)")
        #expect(await innocent.isConverted)
        await slot.close()
    }

    @Test func probesEndInTheSameWay() async throws {
        let file = try OpenFile.reading(try lostHeader())
        let slot = bench.slot()
        let options = ProbeOptions(nameHint: "lost.mka", limits: .init(openSeconds: 1))
        guard case .failed(let failure) = await slot.describe(file.descriptor, options) else {
            Issue.record("it was described")
            return
        }
        #expect(failure.failure.code == "open_seconds_exceeded", "\(failure)")
        await slot.close()
    }

    @Test func openingHasALimitUnlessARecipeSaysOtherwise() {
        let configuration = RoomConfiguration()
        #expect(configuration.limits(for: nil).openSeconds == 10)
        #expect(configuration.limits(for: .init(openSeconds: 60)).openSeconds == 60)
    }
}
