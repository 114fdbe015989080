import Conversion
import TestSupport
import Testing

@testable import Media

/// A reversed track equals the reversed array of its samples.
@Suite struct ReversedTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder.create() }

    @Test(arguments: RangeCase.all) func reversedTrackIsTheReversedArray(test: RangeCase) throws {
        let path = try test.longClip(in: folder)
        let whole = try ReadBack.file(path).pcm
        let access = try RandomAccess(path)
        let output = try ReversedOutput(access.reader, nil, chunkFrames: 1 << 15)
        #expect(output.promisedFrames == Int64(whole.frames))
        let difference = try PCM.all(of: output).difference(from: whole.reversed(), floor: test.seekFloor)
        #expect(difference == nil)
    }

    @Test(arguments: [0..<1, 100..<101, 7_000..<90_001, 219_000..<220_821, 5_000..<5_000])
    func reversedRangeIsTheReversedPart(range: Range<Int>) throws {
        let path = try RangeCase("n.mp3", "-b:a 64k -write_xing 0").clip(in: folder)
        let whole = try ReadBack.file(path).pcm
        let access = try RandomAccess(path)
        let frames = Int64(range.lowerBound)..<Int64(range.upperBound)
        let output = try ReversedOutput(access.reader, frames, chunkFrames: 1 << 15)
        #expect(output.promisedFrames == Int64(range.count))
        #expect(try PCM.all(of: output).bytes == whole.cut(range).reversed().bytes)
    }

    /// The parts of a joined file keep their rates and channels, and come in reverse order.
    @Test func changesInTheMiddleAreReversedToo() throws {
        var joined: [UInt8] = []
        for (rate, channels) in [(44_100, 2), (48_000, 1), (44_100, 2)] {
            let path = folder.path("part.mp3")
            let sweep = Signal.sweep(rate: rate, frames: 60_000, channels: channels)
            try FFmpeg.encode(sweep.pcm(.s16), to: path, ["-write_xing", "0", "-id3v2_version", "0"])
            joined += try Bytes.read(path)
        }
        let path = folder.path("all.mp3")
        try Bytes.write(joined, to: path)
        let whole = try ReadBack.file(path)
        #expect(whole.stretches.count == 3)
        for chunkFrames in [Int64(1 << 15), 1 << 20] {
            let access = try RandomAccess(path)
            let output = try ReversedOutput(access.reader, nil, chunkFrames: chunkFrames)
            var parts: [PCM] = []
            var block = try SampleBlock()
            while try output.next(into: &block) {
                var gathered = BlockGatherer(frames: .max)
                _ = gathered.take(block, from: 0, clockRate: 0)
                let part = try PCM(#require(gathered.finished()))
                if let last = parts.last, last.rate == part.rate, last.channels == part.channels {
                    parts[parts.count - 1] = try last.followed(by: part)
                } else {
                    parts.append(part)
                }
            }
            #expect(parts == whole.stretches.reversed().map { $0.pcm.reversed() })
            #expect(try access.reader.frames == output.promisedFrames)
        }
    }

    @Test(
        arguments: [
            ("yamaha.wav", "-c:a adpcm_yamaha", 22_050), ("nelly.flv", "-c:a nellymoser", 22_050),
            ("ima.mov", "-c:a adpcm_ima_qt", 22_050), ("ra.rm", "-c:a real_144", 8_000),
        ]
    ) func whatOnlyReadsFromTheStartIsRefused(name: String, arguments: String, rate: Int) throws {
        let path = try RangeCase(name, arguments, rate: rate, channels: 1).clip(in: folder)
        let whole = try ReadBack.file(path).pcm
        let access = try RandomAccess(path)
        let error = #expect(throws: MediaError.self) {
            try PCM.all(of: ReversedOutput(access.reader, nil, chunkFrames: 1 << 14))
        }
        #expect(error?.code == .sourceNotSeekable)
        // Random access reads from the start, and what fits a chunk is reversed.
        #expect(try access.pcm(30_000..<31_000) == whole.cut(30_000..<31_000))
        let output = try ReversedOutput(access.reader, 30_000..<31_000, chunkFrames: 1 << 14)
        #expect(try PCM.all(of: output) == whole.cut(30_000..<31_000).reversed())
    }

    @Test func pipeIsRefused() throws {
        let tone = Signal.tone(440, rate: 8_000, frames: 8_000).pcm(.s16)
        try WAVFile.write(tone, to: folder.path("a.wav"))
        let pipe = try FilledPipe.holding(Bytes.read(folder.path("a.wav")))
        let reader = try Reader(descriptor: pipe.reading)
        let error = #expect(throws: MediaError.self) { try reader.sampleReader(of: reader.track()) }
        #expect(error?.code == .sourceNotSeekable)
    }
}
