import Conversion
import TestSupport
import Testing

@testable import Media

/// Encoding N frames and decoding them gives N frames in the same place, for every pair of container and codec.
@Suite struct GaplessTests {
    /// Lengths around the block lengths of all codecs, and primes.
    static let lengths = [
        1, 2, 17, 46, 47, 311, 313, 575, 576, 577, 1009, 1023, 1024, 1025, 1151, 1152, 1153, 4095, 4096, 4097, 4608,
        4609, 7919, 44_100,
    ]
    /// For all but the first variant of a row.
    static let fewLengths = [1, 3, 1153, 4609]

    @Test(arguments: FormatRow.all) func framesOutAreFramesIn(row: FormatRow) throws {
        var isFirst = true
        var batch = GaplessBatch(folder: try TemporaryFolder.create())
        for layout in [ChannelLayout.stereo, .mono, .fivePointOne] where row.rule.layouts?.contains(layout) ?? true {
            for rate in row.gaplessRates {
                for variant in FormatCase.depths(of: row.rule, rate: rate, layout: layout) {
                    try batch.add(variant, isFirst ? Self.lengths : Self.fewLengths)
                    isFirst = false
                }
            }
        }
        try batch.compareWithFFmpeg()
        #expect(batch.failures.isEmpty, "\(batch.failures.prefix(12).joined(separator: "\n"))")
    }

    /// Lengths at every phase of an encoder's block. The padding takes all its values, and in some spans two packets.
    @Test(arguments: [Codec.mp3, .aac], [22_050, 44_100])
    func everyPaddingIsTakenOff(codec: Codec, rate: Int) throws {
        var batch = GaplessBatch(folder: try TemporaryFolder.create())
        for row in FormatRow.all where row.rule.codec == codec && row.rule.container != .adts {
            let variant = FormatCase(rule: row.rule, rate: rate, layout: .mono)
            try batch.add(variant, Array(stride(from: 3, through: 1300, by: 23)))
        }
        try batch.compareWithFFmpeg()
        #expect(batch.failures.isEmpty, "\(batch.failures.prefix(12).joined(separator: "\n"))")
    }
}

/// Many conversions and their failures, as checked by our reader and by `ffmpeg`.
struct GaplessBatch {
    let folder: TemporaryFolder
    private(set) var failures: [String] = []
    private var outputs: [(variant: FormatCase, length: Int, source: FFmpegBatch.Source)] = []

    init(folder: TemporaryFolder) { self.folder = folder }

    mutating func add(_ variant: FormatCase, _ lengths: [Int]) throws {
        let channels = variant.layout.channelCount
        // Different in each channel, so that swapped channels are noticed.
        let sweeps = (0..<channels).map { channel in
            Signal.sweep(
                from: 150 + 50 * Double(channel),
                to: min(2_500, Double(variant.rate) / 16),
                rate: variant.rate,
                frames: lengths.max() ?? 0
            )
        }
        let all = Signal.stacked(sweeps).pcm(variant.sourceFormat)
        for length in lengths {
            let source = folder.path("source.wav")
            let output = folder.path("\(outputs.count).\(variant.rule.container.fileExtensions[0])")
            let pcm = try all.cut(0..<length)
            try WAVFile.write(pcm, to: source)
            do {
                let outcome = try Converted.file(source, to: output, as: variant.format)
                let raw = RawShape(outcome.format)
                try check(variant, pcm, try Decoded.file(output, raw: raw), outcome)
                outputs.append((variant, length, .init(output, raw, variant)))
            } catch let error as MediaError {
                failures.append("\(variant) \(length): \(error)")
            }
        }
    }

    private mutating func check(
        _ variant: FormatCase,
        _ source: PCM,
        _ decoded: Decoded,
        _ outcome: Converter.Outcome
    ) throws {
        let expected = variant.decodedFrames(of: source.frames)
        func fail(_ what: String) { failures.append("\(variant) \(source.frames): \(what)") }
        guard decoded.frames == expected else { return fail("our reader gives \(decoded.frames), not \(expected)") }
        guard outcome.summary.plannedFrames == Int64(source.frames) else { return fail("\(outcome.summary)") }
        if variant.rule.isLossless {
            let expected = source.converted(to: decoded.pcm.format).bytes
            if !Bytes.areEqual(decoded.bytes, expected) { fail("other samples") }
        } else if source.frames >= 1023, let floor = variant.noiseFloor {
            // ADTS does not state its delay, so the sound starts after the usual decoder delay.
            let delay = variant.rule.container == .adts ? 1024 : 0
            let sound = try decoded.pcm.everyFrame(decoded.pcm.rate / source.rate).cut(delay..<delay + source.frames)
            var ratios = try sound.converted(to: .f32).snr(against: source.converted(to: .f32))
            // Of the low-frequency channel, encoders keep only the lowest frequencies.
            if variant.layout == .fivePointOne { ratios.remove(at: 3) }
            let ratio = ratios.min() ?? 0
            if ratio < floor { fail("\(ratio) dB over noise, not \(floor)") }
            if source.frames == 44_100, try sound.bestLag(against: source, within: 2_500) != 0 { fail("not in place") }
        }
    }

    mutating func compareWithFFmpeg() throws {
        let frames = try FFmpegBatch.frames(outputs.map(\.source), in: folder)
        for (output, got) in zip(outputs, frames) {
            var expected = [output.variant.ffmpegFrames(of: output.length)]
            // Vorbis with two packets, the minimum. The second one, short or long, is played whole.
            if output.variant.rule.container == .ogg, output.variant.rule.codec == .vorbis, output.length < 128 {
                expected = [128, 576]
            }
            if !expected.contains(got) {
                failures.append("\(output.variant) \(output.length): ffmpeg gives \(got), not \(expected)")
            }
        }
    }
}

extension FFmpegBatch.Source {
    fileprivate init(_ path: String, _ raw: RawShape?, _ variant: FormatCase) {
        var arguments: [String] = []
        if let raw { arguments = ["-f", raw.demuxerName, "-ar", "\(raw.sampleRateHz)", "-ac", "\(raw.channelCount)"] }
        // Two frames are too few for ffmpeg's format probe.
        if variant.rule.container == .adts { arguments = ["-f", "aac"] }
        self.init(path: path, arguments: arguments, channels: variant.layout.channelCount)
    }
}

extension FormatRow {
    fileprivate var gaplessRates: [Int] {
        switch rule.codec {
        case .opus: [48_000, 24_000, 16_000, 12_000, 8_000]
        case .mp3: [44_100, 22_050, 8_000]
        case .aac: [44_100, 8_000, 96_000]
        default: [44_100]
        }
    }
}

extension FormatCase {
    /// `frames` rounded up to whole packets.
    private func whole(_ frames: Int, _ packet: Int) -> Int { (frames + packet - 1) / packet * packet }

    /// Frames that our reader must give after `frames` were encoded. Opus decodes at 48 kHz.
    fileprivate func decodedFrames(of frames: Int) -> Int {
        switch (rule.container, rule.codec) {
        case (_, .opus): frames * 48_000 / rate
        case (.adts, _): whole(frames + 1024, 1024)
        default: frames
        }
    }

    /// Frames that `ffmpeg` 5.1 gives. Its readers do not trim everything that the files state. When this changes,
    /// so does the sound that other people hear.
    fileprivate func ffmpegFrames(of frames: Int) -> Int {
        let decoded = decodedFrames(of: frames)
        switch (rule.container, rule.codec) {
        // ffmpeg ignores the end of the edit list, so padding is played.
        case (.m4a, .aac), (.mp4, .aac): return whole(frames, 1024)
        // It ignores the end here as well, and drops a sound shorter than its pre-skip entirely.
        case (.mp4, .opus): return decoded < 312 ? 0 : whole(decoded + 312, 960) - 312
        // ffmpeg does not read the packet table.
        case (.caf, .opus): return whole(decoded + 312, 960)
        // ffmpeg trims a single packet at one end only, although both are marked.
        case (.mka, .opus), (.webm, .opus): return decoded + 312 <= 960 ? decoded + 312 : decoded
        // The same, if a packet has 576 frames.
        case (.mp3, .mp3): return frames < 47 && rate < 32_000 ? frames + 529 : frames
        // ffmpeg 5.1 ignores the trim of a single packet, ffmpeg 7.1 does not.
        case (.mka, .alac) where LibAV.isRelease7 && frames < 8: return frames
        // See `Encoder.shortestLastBlock`.
        case (_, .alac): return layout.channelCount > 2 ? frames - frames % 4096 + max(8, frames % 4096) : frames
        default: return decoded
        }
    }

    /// How far the sweep must exceed the codec's noise, in dB; `nil` for codecs that do not keep the waveform.
    fileprivate var noiseFloor: Double? { 10 }
}
