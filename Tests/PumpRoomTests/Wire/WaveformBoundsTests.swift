import Conversion
import Testing

@testable import PumpRoom

/// What a room may say of a waveform.
struct WaveformBoundsTests {
    private func believes(_ waveform: WaveformReport) -> Bool {
        let format = ResolvedFormat(
            container: .raw,
            codec: .pcm,
            sampleRateHz: 44_100,
            channelCount: 1,
            layout: .mono,
            bitDepth: 16,
            sampleKind: .integer,
            endianness: .little
        )
        let report = ConversionReport(
            source: .init(track: 0, codec: "pcm_s16le", sampleRateHz: 44_100, channelCount: 1, frames: 1_000),
            format: format,
            plannedFrames: 1_000,
            writtenFrames: 1_000,
            decodedFrames: 1_000,
            bytes: 32,
            damage: DamageReport(frames: 0, stretchCount: 0, stretches: []),
            isVerified: false,
            digest: nil,
            lostTags: [],
            waveform: waveform
        )
        return report.isCredible(within: JobBounds())
    }

    @Test func figuresOfRealWaveformsAreBelieved() {
        #expect(believes(WaveformReport(channelCount: 1, length: 4, samplesPerPixel: 256, bits: 8)))
        #expect(believes(WaveformReport(channelCount: 2, width: 1_200, height: 200)))
    }

    @Test func impossibleFiguresAreNot() {
        #expect(!believes(WaveformReport(channelCount: 0)))
        #expect(!believes(WaveformReport(channelCount: 1, length: -1)))
        #expect(!believes(WaveformReport(channelCount: 1, length: .max)))
        #expect(!believes(WaveformReport(channelCount: 1, samplesPerPixel: 0)))
        #expect(!believes(WaveformReport(channelCount: 1, bits: 64)))
        #expect(!believes(WaveformReport(channelCount: 1, width: .max, height: 200)))
        #expect(!believes(WaveformReport(channelCount: 1, width: 1_200, height: -1)))
    }
}
