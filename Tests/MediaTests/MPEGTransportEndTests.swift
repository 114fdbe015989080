import Conversion
import TestSupport
import Testing

@testable import Media

/// MPEG-TS states no length. Only its last packet of sound shows that the source was cut.
@Suite struct MPEGTransportEndTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder.create() }

    private static let makers: [(name: String, codec: String, packet: Int)] = [
        ("m.ts", "-c:a mp2", 188), ("o.ts", "-c:a libopus -b:a 256k", 188), ("c.ts", "-c:a ac3", 188),
        ("m.m2ts", "-c:a mp2 -mpegts_m2ts_mode 1", 192),
        ("v.ts", "-f lavfi -i testsrc=d=2:s=320x240 -c:v mpeg2video -c:a mp2", 188),
    ]

    private func clip(_ name: String, _ codec: String) throws -> [UInt8] {
        let line = "ffmpeg -v error -f lavfi -i sine=d=2:r=48000 \(codec) -bitexact -f mpegts \(name)"
        try Run.program("sh", ["-c", line], folder: folder.path).checked()
        return try Bytes.read(folder.path(name))
    }

    private func outcome(_ name: String, _ bytes: ArraySlice<UInt8>) throws -> Converter.Outcome {
        try Bytes.write(Array(bytes), to: folder.path(name))
        return try Converted.file(folder.path(name), to: folder.path("out.wav"), as: AudioFormat(container: .wav))
    }

    /// Where packets of sound begin.
    private func starts(in bytes: [UInt8], _ name: String, _ packet: Int) -> [Int] {
        let programID =
            switch name {
            case "m.m2ts": 0x1100
            // The second of two streams.
            case "v.ts": 0x0101
            default: 0x0100
            }
        return stride(from: 0, to: bytes.count, by: packet).filter { place in
            let head = place + packet - 188
            return bytes[head + 1] & 0x40 != 0 && Int(bytes[head + 1] & 0x1F) << 8 + Int(bytes[head + 2]) == programID
        }
    }

    @Test(arguments: makers) func cutInsideAPacketOfSoundIsNoticed(name: String, codec: String, packet: Int) throws {
        let bytes = try clip(name, codec)
        for start in starts(in: bytes, name, packet).suffix(2) {
            for place in [start + packet, start + packet + 50] {
                #expect(Converted.code { _ = try outcome(name, bytes[..<place]) } == .truncated, "cut to \(place)")
            }
        }
    }

    @Test(arguments: makers) func wholePacketsAreAnEnd(name: String, codec: String, packet: Int) throws {
        let bytes = try clip(name, codec)
        let whole = try outcome(name, bytes[...])
        #expect(whole.damage.isEmpty && whole.sourceFrames > 94_000)
        // The sound goes on after the last picture, so no other stream lies between its last packets.
        let last = try #require(starts(in: bytes, name, packet).last)
        let less = try outcome(name, bytes[..<last])
        #expect(less.damage.isEmpty && less.sourceFrames < whole.sourceFrames)
    }
}
