import Conversion
import TestSupport
import Testing

@testable import Media

/// Sound in MPEG-TS that the table of the program calls private, without a word about what it is.
@Suite struct PrivateStreamTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder.create() }

    @Test(arguments: ["ac3", "eac3", "aac", "mp2", "libmp3lame", "dca"]) func isReadAsLibavReadsIt(codec: String) throws
    {
        let (plain, path) = (folder.path("plain.ts"), folder.path("a.ts"))
        let clip = Signal.tone(440, rate: 48_000, frames: 96_000, channels: 2).pcm(.s16)
        try FFmpeg.encode(clip, to: plain, ["-c:a", codec, "-strict", "-2"])
        try Bytes.write(Self.withoutStreamType(Bytes.read(plain)), to: path)
        let (read, expected) = (try ReadBack.file(path), try ReadBack.file(plain))
        let codecs = try FFmpeg.probe(path).audio.map(\.codec)
        #expect(codecs == [read.track.codecName])
        #expect(try read.pcm == expected.pcm && read.damage.isEmpty)
    }

    /// Writes type 6, and no descriptors, into the tables of the program.
    private static func withoutStreamType(_ file: [UInt8]) -> [UInt8] {
        var file = file
        for start in stride(from: 0, to: file.count, by: 188) {
            // FFmpeg's packets with such a table.
            guard file[start + 1] == 0x50, file[start + 2] == 0 else { continue }
            let table = start + 5 + Int(file[start + 4])
            let entry = table + 12 + (Int(file[table + 10] & 15) << 8 | Int(file[table + 11]))
            var section = Array(file[table..<entry]) + [6, file[entry + 1], file[entry + 2], 0xF0, 0]
            section[1] = 0xB0
            section[2] = UInt8(section.count - 3 + 4)
            section.append(big: checksum(of: section))
            let rest = [UInt8](repeating: 0xFF, count: start + 188 - table - section.count)
            file.replaceSubrange(table..<start + 188, with: section + rest)
        }
        return file
    }

    /// The CRC of MPEG's tables.
    private static func checksum(of section: [UInt8]) -> UInt32 {
        var sum = UInt32.max
        for byte in section {
            sum ^= UInt32(byte) << 24
            for _ in 0..<8 {
                let overflows = sum & 1 << 31 != 0
                sum <<= 1
                if overflows { sum ^= 0x04C1_1DB7 }
            }
        }
        return sum
    }
}
