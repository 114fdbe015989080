import Conversion
import TestSupport
import Testing

@testable import Media

/// Musepack, compared with `mpcdec`.
@Suite struct MusepackTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder.create() }

    private func encoded(frames: Int) throws -> (path: String, bytes: [UInt8]) {
        let (source, path) = (folder.path("in.wav"), folder.path("a.mpc"))
        try WAVFile.write(Signal.sweep(to: 4_000, rate: 44_100, frames: frames, channels: 2).pcm(.s16), to: source)
        try Run.program("mpcenc", ["--silent", "--overwrite", source, path]).checked()
        return (path, try Bytes.read(path))
    }

    private func expectSoundOfReference(_ path: String, frames: Int) throws {
        let read = try ReadBack.file(path)
        let (pcm, heard) = (try read.pcm.converted(to: .s16), try Player.mpcdec.decode(path, in: folder))
        #expect(read.damage.isEmpty && pcm.frames == frames && heard.frames == frames)
        #expect(try pcm.snr(against: heard).min()! > 60)
    }

    /// The encoder makes silence of so few frames, in a file of less than 64 bytes.
    @Test func shortFileHasItsLength() throws {
        let read = try ReadBack.file(encoded(frames: 92).path)
        #expect(try read.track.length == .exact(92) && read.pcm.frames == 92)
    }

    @Test(arguments: [1_151, 1_153, 50_123]) func soundIsThatOfTheReference(frames: Int) throws {
        try expectSoundOfReference(try encoded(frames: frames).path, frames: frames)
    }

    /// The stream header may lie behind a tag and behind other packets.
    @Test func headerIsFound() throws {
        let (path, bytes) = try encoded(frames: 50_123)
        let whole = try ReadBack.file(path).pcm
        let tag: [UInt8] = Array("ID3".utf8) + [3, 0, 0, 0, 0, 0, 10] + [UInt8](repeating: 0, count: 10)
        try Bytes.write(tag + bytes, to: folder.path("tag.mpc"))
        // A packet of an unknown kind: its name, its size and one byte.
        let packet: [UInt8] = Array("XX".utf8) + [4, 0]
        try Bytes.write(Array(bytes[..<4]) + packet + Array(bytes[4...]), to: folder.path("packet.mpc"))
        for name in ["tag.mpc", "packet.mpc"] {
            let read = try ReadBack.file(folder.path(name))
            #expect(try read.pcm == whole && read.track.length == .exact(50_123), "\(name)")
        }
        let pipe = try FilledPipe.holding(bytes)
        let read = try ReadBack(descriptor: pipe.reading)
        #expect(try read.pcm == whole && read.track.length == .exact(50_123))
    }

    /// Some encoders wrote no packet for what the decoder still holds.
    @Test(arguments: [(300, true), (600, false)]) func endThatNoPacketGivesIsNoLoss(more: Int, isInDecoder: Bool) throws
    {
        let frames = 50_123
        let bytes = try encoded(frames: frames).bytes
        // Each packet has 1,152 frames, and the decoder keeps 481.
        let given = (frames + 481 + 1_151) / 1_152 * 1_152 - 481
        let path = folder.path("more.mpc")
        try Bytes.write(Self.promising(given + more, in: bytes), to: path)
        guard isInDecoder else {
            return #expect(Converted.code { _ = try ReadBack.file(path) } == .truncated)
        }
        // mpcdec fails at the end of such a file.
        let counted = folder.path("counted.mpc")
        try Bytes.write(Self.promising(given, in: bytes), to: counted)
        try expectSoundOfReference(counted, frames: given)
        #expect(try ReadBack.file(path).pcm == ReadBack.file(counted).pcm)
    }

    /// Regression: the decoder's delay was heard at the start, and padding at the end.
    @Test(arguments: [(10, 324), (10, 671), (10, nil), (1, 600)] as [(Int, Int?)])
    func version7SoundsAsInTheReference(packets: Int, last: Int?) throws {
        let (path, bytes) = (folder.path("a.mpc"), MusepackFile.version7(packets: packets, lastSamples: last))
        try Bytes.write(bytes, to: path)
        let frames = last.map { (packets - 1) * 1_152 + $0 } ?? packets * 1_152 - 481
        try expectSoundOfReference(path, frames: frames)
        let (read, pipe) = (try ReadBack.file(path), try FilledPipe.holding(bytes))
        #expect(read.track.length == .exact(Int64(frames)) && read.track.primingFrames == 481)
        #expect(try ReadBack(descriptor: pipe.reading).pcm == read.pcm)
    }

    /// libav does not read the packet that only ends the filters. What is missing is no loss of the source.
    @Test(arguments: [1_000, 0]) func endOfTheFiltersIsLeftOut(last: Int) throws {
        let path = folder.path("a.mpc")
        try Bytes.write(MusepackFile.version7(packets: 10, lastSamples: last), to: path)
        let (read, heard) = (try ReadBack.file(path), try Player.mpcdec.decode(path, in: folder))
        let frames = 10 * 1_152 - 481
        #expect(try read.damage.isEmpty && read.pcm.frames == frames)
        #expect(heard.frames == 9 * 1_152 + (last == 0 ? 1_152 : last))
        #expect(try read.pcm.converted(to: .s16).snr(against: heard.cut(0..<frames)).min()! > 60)
    }

    @Test func version7WithoutItsEndIsTruncated() throws {
        let path = folder.path("a.mpc")
        try Bytes.write(Array(MusepackFile.version7(packets: 10, lastSamples: 324).dropLast(700)), to: path)
        #expect(Converted.code { _ = try ReadBack.file(path) } == .truncated)
    }

    /// The file with a header that states so many frames.
    private static func promising(_ frames: Int, in file: [UInt8]) -> [UInt8] {
        var bytes = file
        // Behind the marks, the size, the checksum and the version: three bytes of seven bits.
        for (place, shift) in [14, 7, 0].enumerated() {
            bytes[12 + place] = UInt8(frames >> shift & 0x7F) | (shift > 0 ? 0x80 : 0)
        }
        let end = 4 + Int(bytes[6])
        var sum: [UInt8] = []
        sum.append(big: checksum(bytes[11..<end]))
        bytes.replaceSubrange(7..<11, with: sum)
        return bytes
    }

    /// CRC-32 as in Ethernet.
    private static func checksum(_ bytes: ArraySlice<UInt8>) -> UInt32 {
        var sum = UInt32.max
        for byte in bytes {
            sum ^= UInt32(byte)
            for _ in 0..<8 {
                let isOdd = sum & 1 == 1
                sum >>= 1
                if isOdd { sum ^= 0xEDB8_8320 }
            }
        }
        return ~sum
    }
}
