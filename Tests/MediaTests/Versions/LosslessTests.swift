import Conversion
import Media
import TestSupport
import Testing

/// Conversions between lossless formats of the same depth keep every sample, and all digests agree.
@Suite struct LosslessTests {
    /// One sample format, and every output format that holds it.
    struct Depth: CustomTestStringConvertible, Sendable {
        let format: PCM.SampleFormat

        var testDescription: String { format.rawValue }

        /// The rows of the table that hold exactly these samples, in both byte orders.
        var formats: [AudioFormat] {
            FormatTable.rules.filter(\.isLossless).flatMap { rule in
                rule.depths.filter { $0.bits == format.bits && ($0.kind == .float) == format.isFloat }.flatMap {
                    depth in
                    let orders: [Endianness?] = depth.endiannesses.isEmpty ? [nil] : depth.endiannesses
                    return orders.map { order in
                        AudioFormat(
                            container: rule.container,
                            codec: rule.codec,
                            bitDepth: depth.bits,
                            sampleKind: depth.kind,
                            endianness: order
                        )
                    }
                }
            }
        }

        /// Samples that use every low bit and both ends of the scale.
        var source: PCM {
            let frames = 9_001
            let edges = Signal(rate: 44_100, channels: [[1, -1, 0, 1, -1], [-1, 1, 0, -1, 1]])
            let body =
                format == .s24
                ? Signal.ramp24(rate: 44_100, frames: frames, channels: 2)
                : Signal.noise(seed: 11, rate: 44_100, frames: frames, channels: 2, amplitude: 1)
            return edges.followed(by: body).pcm(format)
        }

        /// The codec in which `ffmpeg` holds such samples in memory.
        var memory: String {
            switch format {
            case .u8: "pcm_u8"
            case .s24: "pcm_s32le"
            default: "pcm_\(format.rawValue)le"
            }
        }
    }

    @Test(arguments: PCM.SampleFormat.allCases.map(Depth.init))
    func everyPairKeepsEverySample(depth: Depth) throws {
        let folder = try TemporaryFolder.create()
        let source = depth.source
        let wav = folder.path("source.wav")
        try WAVFile.write(source, to: wav)
        let formats = depth.formats
        #expect(formats.count >= 8)
        var digests: Set<PCMDigest.Value> = []
        var first: [(path: String, format: ResolvedFormat)] = []
        for (index, format) in formats.enumerated() {
            let path = folder.path("\(index)")
            let outcome = try Converted.file(wav, to: path, as: format, verifies: true)
            digests.insert(try #require(outcome.summary.digest))
            digests.insert(try #require(outcome.verified).digest)
            first.append((path, outcome.format))
        }
        #expect(digests.count == 1)
        // Converts each into three others, so that all kinds meet. The full table of pairs would show nothing more.
        for (index, from) in first.enumerated() {
            for step in [1, 4, 9] {
                let target = formats[(index + step) % formats.count]
                let path = folder.path("second")
                let outcome = try Converted.file(
                    from.path,
                    to: path,
                    as: target,
                    verifies: true,
                    raw: RawShape(from.format)
                )
                #expect(outcome.summary.digest == digests.first, "\(from.format) to \(target)")
                let decoded = try Decoded.file(path, raw: RawShape(outcome.format))
                let expected = source.converted(to: decoded.pcm.format).bytes
                #expect(Bytes.areEqual(decoded.bytes, expected), "\(from.format) to \(target)")
            }
        }
        let batch = first.map { path, format in
            let raw = RawShape(format).map { ["-f", $0.demuxerName, "-ar", "44100", "-ac", "2"] } ?? []
            return FFmpegBatch.Source(path: path, arguments: raw, channels: 2)
        }
        let theirs = try FFmpegBatch.digests(batch, codecs: batch.map { _ in depth.memory }, in: folder)
        #expect(Set(theirs) == [digests.first?.hex ?? ""])
    }

    /// Samples stored in more bits than they had come back unchanged.
    @Test func deeperFormatsKeepTheSamplesOfShallowerOnes() throws {
        let folder = try TemporaryFolder.create()
        let wav = folder.path("source.wav")
        let shallow = Signal.noise(seed: 5, rate: 44_100, frames: 5_000, channels: 2, amplitude: 1).pcm(.s16)
        try WAVFile.write(shallow, to: wav)
        for (container, codec, bits, kind) in [
            (Container.flac, Codec.flac, 24, SampleKind.integer), (.wav, .pcm, 24, .integer),
            (.aiff, .pcm, 32, .integer),
            (.caf, .pcm, 32, .float), (.wav, .pcm, 64, .float), (.m4a, .alac, 24, .integer),
        ] {
            let path = folder.path("deep")
            let format = AudioFormat(container: container, codec: codec, bitDepth: bits, sampleKind: kind)
            try Converted.file(wav, to: path, as: format)
            #expect(try Decoded.file(path).pcm.converted(to: .s16).bytes == shallow.bytes, "\(container) \(bits)")
            try Converted.file(path, to: folder.path("back.wav"), as: AudioFormat(container: .wav, bitDepth: 16))
            // The way back needs no dither: the low bits are zero, so nothing is rounded.
            #expect(try WAVFile.read(path: folder.path("back.wav")).bytes == shallow.bytes, "\(container) \(bits)")
        }
    }
}
