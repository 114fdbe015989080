import Conversion
import TestSupport
import Testing

@testable import Media

/// Bare streams that stop in the middle of a frame. All promised sound is present without it.
@Suite struct PartialFrameTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder.create() }

    private func outcome(_ bytes: [UInt8], _ name: String) throws -> Converter.Outcome {
        let path = folder.path(name)
        try Bytes.write(bytes, to: path)
        return try Converted.file(path, to: folder.path("out.wav"), as: AudioFormat(container: .wav))
    }

    @Test(
        arguments: [
            SampleFile.Kind.mp3CBRWithoutHeader, .mp3VBRWithoutHeader, .mp2, .ac3, .eac3, .adts,
        ],
        [7, 60, 100]
    )
    func partialLastFrameIsLeftOutAndTold(kind: SampleFile.Kind, kept: Int) throws {
        let sample = try SampleFile.of(kind)
        let last = try #require(try sample.packets().last)
        // libav's parsers need seven or eight bytes to recognise a frame.
        let bytes = Array(sample.bytes[..<(last.lowerBound + kept)])
        let outcome = try self.outcome(bytes, kind.fileName)
        let one =
            switch kind {
            case .ac3, .eac3: 1536
            case .adts: 1024
            default: 1152
            }
        #expect(outcome.damage.isEmpty && outcome.sourceFrames == Int64(sample.clean.frames - one))
        #expect(outcome.remarks.map(\.kind) == [.partialFrame])
        if [.mp3CBRWithoutHeader, .mp3VBRWithoutHeader, .mp2].contains(kind) {
            #expect(
                try Player.mpg123.decode(folder.path(kind.fileName), in: folder).frames == Int(outcome.sourceFrames)
            )
        }
        // A tag after it changes nothing.
        guard kind != .ac3, kind != .eac3 else { return }
        let tag = Array("TAG".utf8) + [UInt8](repeating: 0x20, count: 125)
        let tagged = try self.outcome(bytes + tag, "tagged-\(kind.fileName)")
        #expect(tagged.sourceFrames == outcome.sourceFrames && tagged.remarks.map(\.kind) == [.partialFrame])
    }

    /// At the end of a pipe, libav's parser hands out the beginning of an incomplete frame.
    @Test(arguments: [SampleFile.Kind.mp3CBRWithoutHeader, .mp2, .ac3, .adts])
    func pipeGivesTheSame(kind: SampleFile.Kind) throws {
        let sample = try SampleFile.of(kind)
        let last = try #require(try sample.packets().last)
        let bytes = Array(sample.bytes[..<(last.lowerBound + 100)])
        let pipe = try FilledPipe.holding(bytes)
        let read = try Decoded.descriptor(pipe.reading, nameHint: kind.fileName)
        #expect(read.damage.isEmpty)
        #expect(read.frames == (try outcome(bytes, kind.fileName)).sourceFrames)
    }

    @Test(arguments: [SampleFile.Kind.mp3CBR, .mp3VBR]) func promisedSoundInItIsMissed(kind: SampleFile.Kind) throws {
        let sample = try SampleFile.of(kind)
        let packets = try sample.packets()
        // The last two packets may be all padding; the cut is in the one before them.
        let place = packets[packets.count - 3].lowerBound + 90
        #expect(Converted.code { _ = try outcome(Array(sample.bytes[..<place]), kind.fileName) } == .truncated)
    }

    /// The alpha versions of LAME 3.94 count the header's own frame.
    @Test(arguments: [1, 2]) func countThatIncludesTheHeaderCostsNothing(excess: UInt32) throws {
        let path = folder.path("a.mp3")
        try WAVFile.write(Signal.sweep(rate: 44_100, frames: 50_000).pcm(.s16), to: folder.path("a.wav"))
        try Run.program("lame", ["--quiet", "-b", "128", folder.path("a.wav"), path]).checked()
        var bytes = try Bytes.read(path)
        let info = try #require(Bytes.find("Info", in: bytes))
        let count = try Bytes.big(UInt32.self, in: bytes, at: info + 8) + excess
        for (offset, byte) in withUnsafeBytes(of: count.bigEndian, Array.init).enumerated() {
            bytes[info + 8 + offset] = byte
        }
        guard excess == 1 else {
            #expect(Converted.code { _ = try self.outcome(bytes, "a.mp3") } == .truncated)
            return
        }
        let outcome = try self.outcome(bytes, "a.mp3")
        #expect(outcome.damage.isEmpty && outcome.remarks.isEmpty)
        #expect(try Player.mpg123.decode(path, in: folder).frames == Int(outcome.sourceFrames))
        #expect(try FFmpeg.decode(path).frames == Int(outcome.sourceFrames))
        // If the bytes that the header counts are missing as well, the frame is missing.
        let cut = bytes.count - 418
        #expect(Converted.code { _ = try self.outcome(Array(bytes[..<cut]), "a.mp3") } == .truncated)
    }
}
