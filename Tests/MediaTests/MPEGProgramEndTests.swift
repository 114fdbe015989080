import Conversion
import TestSupport
import Testing

@testable import Media

/// MPEG-PS states no length. Only its last packet shows that the source was cut.
@Suite struct MPEGProgramEndTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder.create() }

    private static let makers: [(name: String, codec: String, stream: UInt8)] = [
        ("a.mpg", "-c:a mp2", 0xC0), ("a.vob", "-c:a mp2", 0xC0), ("b.vob", "-c:a ac3", 0xBD),
    ]

    /// A clip, and the place and size of its last packet of sound.
    private func clip(_ name: String, _ codec: String, _ stream: UInt8) throws -> ([UInt8], Range<Int>) {
        let line = "ffmpeg -v error -f lavfi -i sine=d=2:r=48000 \(codec) -bitexact \(name)"
        try Run.program("sh", ["-c", line], folder: folder.path).checked()
        let bytes = try Bytes.read(folder.path(name))
        var last = 0
        while let next = Bytes.find([0, 0, 1, stream], in: bytes, from: last + 1) { last = next }
        return (bytes, last..<(last + 6 + Int(bytes[last + 4]) << 8 + Int(bytes[last + 5])))
    }

    private func outcome(_ name: String, _ bytes: ArraySlice<UInt8>) throws -> Converter.Outcome {
        try Bytes.write(Array(bytes), to: folder.path(name))
        return try Converted.file(folder.path(name), to: folder.path("out.wav"), as: AudioFormat(container: .wav))
    }

    @Test(arguments: makers) func cutInsideTheLastPacketIsNoticed(name: String, codec: String, stream: UInt8) throws {
        let (bytes, last) = try clip(name, codec, stream)
        let places = [4, 5, 9, 30, last.count / 3, last.count / 2, last.count - 1].map { last.lowerBound + $0 }
        for place in places where last.contains(place) {
            // libav marks a packet of sound that it cut short, before the end of the source is looked at.
            #expect(Converted.code { _ = try outcome(name, bytes[..<place]) } == .truncated, "cut to \(place)")
        }
    }

    /// The last packet, an end mark and padding of zeros are all ends of an intact source.
    @Test(arguments: makers) func wholePacketsAreAnEnd(name: String, codec: String, stream: UInt8) throws {
        let (bytes, last) = try clip(name, codec, stream)
        let frames = try FFmpeg.decode(folder.path(name)).frames
        let whole = bytes[..<last.upperBound]
        for end in [[], [0, 0, 1, 0xB9], [0], [UInt8](repeating: 0, count: 5000)] {
            let outcome = try outcome(name, whole + end)
            #expect(outcome.sourceFrames == Int64(frames) && outcome.damage.isEmpty, "\(end.count) bytes behind it")
        }
    }
}
