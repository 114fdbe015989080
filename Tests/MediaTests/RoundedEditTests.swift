import Conversion
import TestSupport
import Testing

@testable import Media

/// Edits whose length is rounded to ticks of the movie, so that they end before the last packet begins.
@Suite struct RoundedEditTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder.create() }

    struct Format: Sendable, CustomTestStringConvertible {
        var suffix = "m4a"
        var rate = 44_100
        var testDescription: String { "\(suffix) \(rate)" }
    }

    /// Encodes `lengths` frames in one run of `ffmpeg`, and returns the files.
    private func encode(_ lengths: [Int], _ format: Format, _ arguments: [String] = []) throws -> [String] {
        let sound = Signal.noise(seed: 72, rate: format.rate, frames: lengths.max() ?? 0, amplitude: 0.2)
        let source = folder.path("in.wav")
        try WAVFile.write(sound.pcm(.s16), to: source)
        let paths = lengths.map { folder.path("\($0).\(format.suffix)") }
        var all: [String] = ["-y", "-i", source]
        for (length, path) in zip(lengths, paths) {
            all.append(contentsOf: ["-af", "atrim=end_sample=\(length)", "-c:a", "aac"])
            all.append(contentsOf: arguments)
            all.append(path)
        }
        try FFmpeg.run(all)
        return paths
    }

    /// Regression: with 1 to 31 frames in the last packet, a file was refused as truncated. libav drops that packet.
    @Test(
        arguments: [
            Format(), Format(suffix: "mp4"), Format(suffix: "mov"), Format(suffix: "3gp"), Format(rate: 8_000),
            Format(rate: 16_000), Format(rate: 22_050), Format(rate: 48_000), Format(rate: 96_000),
        ]
    )
    func aFewFramesInTheLastPacketAreSound(format: Format) throws {
        let lengths = [1, 2, 7, 8, 20, 31, 32, 45, 95, 512, 1_023, 1_024].map { 10_240 + $0 }
        for (length, path) in zip(lengths, try encode(lengths, format)) {
            let read = try Decoded.file(path)
            #expect(read.frames == length && read.track.length == .exact(Int64(length)))
            // The same packets, without any list of edits, behind the priming.
            var bytes = try Bytes.read(path)
            let edits = try #require(Bytes.find("edts", in: bytes))
            bytes.replaceSubrange(edits..<(edits + 4), with: Array("free".utf8))
            let plain = folder.path("plain.\(format.suffix)")
            try Bytes.write(bytes, to: plain)
            let whole = try FFmpeg.decode(plain, to: .f32)
            let isSame = try read.pcm.converted(to: .f32) == whole.cut(1_024..<(1_024 + length))
            #expect(isSame)
        }
    }

    /// All remainders of a packet, in one encoder's files.
    @Test func everyRemainderIsRead() throws {
        for start in stride(from: 0, to: 1_024, by: 64) {
            let lengths = Array((4_096 + start)..<(4_096 + start + 64))
            for (length, path) in zip(lengths, try encode(lengths, Format(rate: 44_100))) {
                let output = try ReadBack.file(path)
                #expect(output.deliveredFrames == Int64(length), "\(length)")
            }
        }
    }

    @Test(arguments: [600, 1_000, 44_100]) func ticksOfAnyLengthEndBehindTheSound(scale: Int) throws {
        let lengths = [1, 30, 31, 60, 72, 73, 1_000].map { 20_480 + $0 }
        for (length, path) in zip(lengths, try encode(lengths, Format(), ["-movie_timescale", "\(scale)"])) {
            // As writers do that round down.
            let ticks = UInt32(length * scale / 44_100)
            try MP4Bytes.setEdit(path, movieTimescale: UInt32(scale), start: 1_024, length: ticks)
            #expect(try Decoded.file(path).frames == length)
        }
    }

    /// What the same file gives in a pipe.
    @Test func aPipeGivesTheLastPacketToo() throws {
        let lengths = [10_241, 10_250, 10_271]
        for (length, path) in zip(lengths, try encode(lengths, Format(), ["-movflags", "+faststart"])) {
            let pipe = try FilledPipe.holding(try Bytes.read(path))
            #expect(try ReadBack(descriptor: pipe.reading).deliveredFrames == Int64(length))
        }
    }

    /// Regression: one or two frames of padding were sound, although ticks of single frames are not rounded.
    @Test(arguments: [0, 1, 2, 3]) func ticksOfSingleFramesAreExact(padding: Int) throws {
        let length = 20_480 - padding
        let path = try encode([20_480], Format(), ["-movie_timescale", "44100"])[0]
        try MP4Bytes.setEdit(path, movieTimescale: 44_100, start: 1_024, length: UInt32(length))
        let read = try Decoded.file(path)
        #expect(read.frames == length && read.track.length == .exact(Int64(length)))
    }

    /// An edit that ends long before the track leaves its rest out.
    @Test func aCutAtTheEndIsKept() throws {
        let path = try encode([44_100], Format(), ["-movie_timescale", "44100"])[0]
        for length in [1_000, 20_000, 43_000] {
            try MP4Bytes.setEdit(path, movieTimescale: 44_100, start: 1_024, length: UInt32(length))
            #expect(try Decoded.file(path).frames == length)
        }
    }
}
