import Conversion
import TestSupport
import Testing

@testable import Media

/// The size estimates of `Conversion` against the writer's output.
struct OutputSizeTests {
    /// Every sample format of every row with fixed-size samples, at rates and layouts for which headers differ.
    static let formats: [ResolvedFormat] = FormatTable.rules.filter {
        [.pcm, .ulaw, .alaw].contains($0.codec) && $0.container != .mka
    }
    .flatMap { rule in
        rule.depths.flatMap { depth in
            (depth.endiannesses.isEmpty ? [.little] : depth.endiannesses).flatMap { order in
                [8000, 44_100, 96_000].flatMap { rate in
                    layouts.map { layout in
                        ResolvedFormat(
                            container: rule.container,
                            codec: rule.codec,
                            sampleRateHz: rate,
                            channelCount: layout.channelCount,
                            layout: layout,
                            bitDepth: depth.bits,
                            sampleKind: depth.kind,
                            endianness: order
                        )
                    }
                }
            }
        }
    }

    private static let layouts: [ChannelLayout] = [
        .mono, .stereo, .threePointZero, .fivePointOne, .sevenPointOneWide, .discrete(2), .discrete(5), .discrete(11),
    ]

    private static let lengths = [0, 1, 2, 3, 7, 8, 9, 1000, 1003]

    @Test(arguments: Container.allCases.filter { container in formats.contains { $0.container == container } })
    func samplesOfOneSizeTakeExactlyTheEstimatedBytes(container: Container) throws {
        for format in Self.formats where format.container == container {
            // A W64 without frames is not written, because no program reads one.
            for frames in Self.lengths where frames > 0 || container != .w64 {
                let file = try MemoryFile.open()
                let bytes = try SilentOutput.bytes(format, frames: frames, in: file)
                let estimate = try #require(format.estimatedBytes(frames: Int64(frames), floats: LibAV.floatHeader))
                #expect(estimate.exactness == .exact)
                #expect(bytes == estimate.bytes, "\(frames) frames of \(format)")
                #expect(try MemoryFile.size(of: file.descriptor) == bytes)
            }
        }
    }

    /// A minute of computed music at common bit rates. The number of packets is exact, so the estimate nearly is.
    static let constantRates: [(Container, Codec, rateHz: Int, channels: Int, bitRate: Int?)] = [
        (.mp3, .mp3, 44_100, 2, 128_000), (.mp3, .mp3, 44_100, 2, 320_000), (.mp3, .mp3, 48_000, 1, 32_000),
        (.mp3, .mp3, 22_050, 2, 64_000),
        (.mp3, .mp3, 8000, 1, 8000), (.mka, .mp3, 44_100, 2, 128_000), (.mka, .mp3, 32_000, 1, 40_000),
        (.mka, .mp3, 8000, 1, 8000),
        (.mka, .pcm, 44_100, 2, nil),
    ]

    @Test(arguments: constantRates)
    func constantBitRatesTakeTheEstimatedBytesWithinTwoPercent(
        container: Container,
        codec: Codec,
        rateHz: Int,
        channels: Int,
        bitRate: Int?
    ) throws {
        let format = try AudioFormat(container: container, codec: codec, bitRate: bitRate).resolved(
            for: AudioShape(
                sampleRateHz: rateHz,
                channelCount: channels,
                bitDepth: 16,
                codecName: "pcm_s16le",
                isLossless: true
            )
        )
        let output = try MemoryFile.open()
        let writer = try Writer(descriptor: output.descriptor, format: format)
        let input = try writer.samples()
        var block = try SampleBlock()
        for part in try Music.minute(rate: rateHz, channels: channels).blocks(of: 4096) {
            try block.fill(from: part)
            try input.append(&block)
        }
        let summary = try writer.finish()
        let estimate = try #require(format.estimatedBytes(frames: summary.writtenFrames))
        #expect(estimate.exactness == .within(percent: 2))
        #expect(abs(estimate.bytes - summary.bytes) * 50 <= summary.bytes, "\(summary.bytes) for \(estimate.bytes)")
    }
}
