import Conversion
import TestSupport
import Testing

@testable import Media

/// FLAC files of which one follows the other. libav reads on in the second, and the header of the first knows nothing of
/// it.
@Suite struct JoinedFLACTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder.create() }

    /// A file of FLAC, and its samples.
    private func part(_ frames: Int, seed: UInt64, rate: Int = 44_100) throws -> (bytes: [UInt8], pcm: PCM) {
        let pcm = Signal.noise(seed: seed, rate: rate, frames: frames).pcm(.s16)
        let path = folder.path("part.flac")
        try FFmpeg.encode(pcm, to: path, ["-c:a", "flac"])
        return (try Bytes.read(path), pcm)
    }

    private func read(_ bytes: [UInt8], damage: DamageMode = .strict) throws -> Decoded {
        try Bytes.write(bytes, to: folder.path("joined.flac"))
        return try Decoded.file(folder.path("joined.flac"), damage: damage)
    }

    /// A file of one frame has the same number as the first frame of the next file.
    @Test(arguments: [[2000, 3000], [2000, 3000, 1500], [30_000, 50_001], [4096, 1, 4097]])
    func allFilesAreRead(lengths: [Int]) throws {
        let parts = try lengths.enumerated().map { try part($0.element, seed: UInt64($0.offset + 1)) }
        let decoded = try read(parts.flatMap(\.bytes))
        #expect(decoded.damage.isEmpty)
        #expect(try decoded.pcm == PCM.joined(parts.map(\.pcm)))
        let pipe = try FilledPipe.holding(parts.flatMap(\.bytes))
        #expect(try Decoded.descriptor(pipe.reading).pcm == decoded.pcm)
    }

    private func lastPacket(_ path: String) throws -> Int {
        let file = try OpenFile.reading(path)
        let reader = try Reader(descriptor: file.descriptor)
        let output = try reader.packets(of: reader.track())
        var packet = try Packet()
        var place: Int64 = 0
        while try output.next(into: &packet) { place = packet.place ?? place }
        return Int(place)
    }

    @Test func cutSecondFileIsTruncated() throws {
        let (first, second) = (try part(30_000, seed: 1), try part(30_000, seed: 2))
        let sizes = [8, 20, 41, 60, 300, 9_000, second.bytes.count / 2, second.bytes.count - 1]
        // The last place is that of a frame, so that no frame is cut.
        let (path, bytes) = (folder.path("second.flac"), second.bytes)
        try Bytes.write(bytes, to: path)
        let last = try lastPacket(path)
        for kept in sizes + [last] {
            let cut = first.bytes + bytes[..<kept]
            // libav puts the first frame of the second file into one packet with the last of the first. That packet
            // cannot be decoded if it is cut.
            let code = Converted.code { _ = try read(cut) }
            #expect(code == .truncated || code == .corruptStream && kept == 9_000, "\(kept) bytes")
            let skipped = try read(cut, damage: .skip)
            #expect(!skipped.damage.isEmpty && skipped.frames >= 30_000)
            #expect(try skipped.pcm.cut(0..<30_000) == first.pcm)
        }
        #expect(try read(first.bytes + bytes, damage: .conceal).frames == 60_000)
    }

    @Test func tagsBehindTheLastFileAreNoDamage() throws {
        let (first, second) = (try part(30_000, seed: 1), try part(20_000, seed: 2))
        let tag = Array("TAG".utf8) + [UInt8](repeating: 0x20, count: 125)
        let decoded = try read(first.bytes + second.bytes + tag)
        #expect(decoded.frames == 50_000 && decoded.damage.isEmpty)
    }

    /// A search by the number of a frame must not end in the other file, not even if both are of one length.
    @Test(arguments: [1_500_000, 1_400_000, 40_000, 3_000_000]) func rangesAreThoseOfTheFirstFile(other: Int) throws {
        let (first, second) = (try part(1_500_000, seed: 1, rate: 8_000), try part(other, seed: 2, rate: 8_000))
        let path = folder.path("joined.flac")
        try Bytes.write(first.bytes + second.bytes, to: path)
        for start in [200_000, 700_000, 1_000_000, 1_450_000] {
            let range = try MediaTimeRange(
                start: MediaTime(frames: Int64(start), rate: 8_000),
                end: MediaTime(frames: Int64(start) + 1_000, rate: 8_000)
            )
            #expect(try ReadBack.file(path, [range]).pcm == first.pcm.cut(start..<start + 1_000), "\(start)")
        }
    }
}
