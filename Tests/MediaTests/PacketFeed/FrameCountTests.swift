import Conversion
import Testing

@testable import Media

/// Counting frames without decoding, apart from any source.
@Suite struct FrameCountTests {
    /// Packets that hold a hundred frames for each of their bytes.
    private func count(_ codec: CodecTraits = CodecTraits(), timesAreRounded: Bool = false) -> FrameCount {
        FrameCount(PacketLength(.stated { $0.count * 100 }), .equal(1024), codec, timesAreRounded: timesAreRounded)
    }

    private func packet(_ bytes: Int, at time: Int64 = 0) throws -> Packet {
        var packet = try Packet()
        try packet.setBytes([UInt8](repeating: 1, count: bytes))
        packet.setTime(time)
        return packet
    }

    @Test func framesOfPacketsThatWereHandedOutAddUp() throws {
        var counts = count()
        for bytes in [3, 5] {
            counts.read(try packet(bytes), stated: nil)
            counts.give(from: nil, lost: 0)
        }
        #expect(counts.place == 800 && counts.frames == 500)
        #expect(counts.packets == 2 && counts.bytes == 8)
        counts.read(try packet(1), stated: nil)
        counts.give(from: nil, lost: 1000)
        #expect(counts.place == 1900)
    }

    @Test func packetThatWasOnlyReadAheadMovesNothing() throws {
        var counts = count()
        counts.read(try packet(3), stated: nil)
        #expect(counts.place == 0 && counts.frames == 300 && counts.isAtFirst)
    }

    @Test func placeIsLostBehindAPacketWithoutFrames() throws {
        var counts = FrameCount(PacketLength(.unknown), nil, CodecTraits(), timesAreRounded: false)
        counts.read(try packet(3), stated: nil)
        counts.give(from: nil, lost: 0)
        #expect(counts.place == nil)
        counts.read(try packet(3), stated: nil)
        counts.give(from: nil, lost: 0)
        #expect(counts.place == nil)
        counts.move(to: 4096)
        #expect(counts.place == 4096)
    }

    @Test func firstPacketThatFillsTheWindowHasNoFrames() throws {
        var counts = count(CodecTraits(firstFillsWindow: true))
        let first = try packet(3)
        first.duration = 300
        counts.read(first, stated: nil)
        #expect(counts.frames == 0)
        counts.give(from: nil, lost: 0)
        // Of the only page, libav drops as many at the end.
        #expect(counts.framesOfWindow == 300)
        counts.read(try packet(3, at: 300), stated: nil)
        #expect(counts.frames == 300)
        counts.give(from: 4096, lost: 0)
        #expect(counts.framesOfWindow == 0)
    }

    @Test func containerCountsFramesThatPacketsDoNotState() throws {
        var counts = count(CodecTraits(framesAreInContainer: true))
        counts.read(try packet(3), stated: 4096)
        #expect(counts.isByContainer && counts.frames == 4096)
        #expect(!count(CodecTraits(framesAreInContainer: true), timesAreRounded: true).isByContainer)
    }

    @Test func copyGoesOnFromItsPlace() throws {
        var counts = count()
        counts.read(try packet(3, at: 7), stated: nil)
        counts.give(from: nil, lost: 0)
        let mark = counts
        counts.read(try packet(5, at: 8), stated: nil)
        counts.give(from: nil, lost: 0)
        let frames = counts.frames(exact: 100, near: 100, own: 1000)
        #expect(frames == nil && counts.wholeFrames == 1024)
        counts = mark
        #expect(counts.place == 300 && counts.packets == 1 && counts.first.time == 7)
        #expect(counts.wholeFrames == nil && counts.knowsDurations)
    }
}
