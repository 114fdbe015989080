import Conversion
import Foundation
import TestSupport
import Testing

@testable import Media

/// Peaks as audiowaveform defines them, against values that were computed by hand.
@Suite struct WaveformTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder.create() }

    private func bytes(_ numbers: [some FixedWidthInteger]) -> [UInt8] {
        numbers.flatMap { number in withUnsafeBytes(of: number.littleEndian) { Array($0) } }
    }

    private func pcm16(_ samples: [Int16], channels: Int = 1, rate: Int = 44_100) -> PCM {
        PCM(rate: rate, channels: channels, format: .s16, bytes: Bytes.little(samples))
    }

    /// The numbers in a waveform as JSON.
    private func numbers(_ json: [UInt8]) throws -> [Int] {
        let object = try JSONSerialization.jsonObject(with: Data(json)) as? [String: Any]
        return try #require(object?["data"] as? [Int])
    }

    /// The waveform of `pcm` alone, and the outcome.
    private func draw(
        _ pcm: PCM,
        _ kind: Recipe.Waveform.Kind,
        _ settings: Recipe.Waveform
    ) throws -> (bytes: [UInt8], outcome: Converter.Outcome) {
        let path = folder.path("in.wav")
        try WAVFile.write(pcm, to: path)
        var request = Converter.Request(format: AudioFormat(container: .raw), nameHint: path)
        request.drawsOnly = true
        request.waveforms = [WaveformRequest(kind, settings)]
        let (files, outcomes) = try run(request, path, outputs: 1)
        return (files[0], outcomes[0])
    }

    private func run(
        _ request: Converter.Request,
        _ input: String,
        outputs: Int
    ) throws -> (files: [[UInt8]], outcomes: [Converter.Outcome]) {
        let source = try OpenFile.reading(input)
        let paths = (0..<outputs).map { folder.path("out-\($0)") }
        let files = paths.map { open($0, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600) }
        defer { for file in files { close(file) } }
        try #require(files.allSatisfy { $0 >= 0 })
        let outcomes = try Converter(request).run(from: [source.descriptor], to: files)
        return (try paths.map { try Bytes.read($0) }, outcomes)
    }

    /// Three windows of 4, 4 and 2 frames.
    private static let samples: [Int16] = [0, 1, -1, 300, -300, 32_767, -32_768, 255, 256, -257]

    @Test func binaryDataOf16BitsIsAsComputedByHand() throws {
        let made = try draw(pcm16(Self.samples), .dat, .init(samplesPerPixel: 4, bits: 16))
        let header: [UInt8] = [
            2, 0, 0, 0, 0, 0, 0, 0, 0x44, 0xAC, 0, 0, 4, 0, 0, 0, 3, 0, 0, 0, 1, 0, 0, 0,
        ]
        // -1 and 300, -32,768 and 32,767, -257 and 256.
        let data: [UInt8] = [0xFF, 0xFF, 0x2C, 0x01, 0x00, 0x80, 0xFF, 0x7F, 0xFF, 0xFE, 0x00, 0x01]
        #expect(made.bytes == header + data)
        let report = WaveformReport(channelCount: 1, length: 3, samplesPerPixel: 4, bits: 16)
        #expect(made.outcome.waveform == report)
        #expect(made.outcome.summary.writtenFrames == 10 && made.outcome.summary.bytes == 36)
    }

    @Test func binaryDataOf8BitsIsTruncatedTowardsZero() throws {
        let made = try draw(pcm16(Self.samples), .dat, .init(samplesPerPixel: 4))
        let header: [UInt8] = [
            2, 0, 0, 0, 1, 0, 0, 0, 0x44, 0xAC, 0, 0, 4, 0, 0, 0, 3, 0, 0, 0, 1, 0, 0, 0,
        ]
        // 0 and 1, -128 and 127, -1 and 1.
        let data: [UInt8] = [0, 1, 0x80, 0x7F, 0xFF, 1]
        #expect(made.bytes == header + data)
    }

    @Test func jsonHasTheSameNumbers() throws {
        let made = try draw(pcm16(Self.samples), .json, .init(samplesPerPixel: 4, bits: 16))
        let text = String(decoding: made.bytes, as: UTF8.self)
        let start = #"{"version":2,"channels":1,"sample_rate":44100,"samples_per_pixel":4,"bits":16,"length":3"#
        #expect(text.hasPrefix(start))
        #expect(text.replacing(" ", with: "") == start + #","data":[-1,300,-32768,32767,-257,256]}"# + "\n")
        #expect(try numbers(made.bytes) == [-1, 300, -32_768, 32_767, -257, 256])
    }

    @Test func meanOfChannelsIsTruncatedTowardsZero() throws {
        // The means are 0 (of 1), 0 (of -1), 1 (of 3) and -1 (of -3).
        let pcm = pcm16([1, 0, -1, 0, 3, 0, -3, 0], channels: 2)
        let made = try draw(pcm, .dat, .init(samplesPerPixel: 2, bits: 16))
        #expect(made.bytes[20] == 1)
        let values: [Int16] = [0, 0, -1, 1]
        #expect(Array(made.bytes[24...]) == bytes(values))
    }

    @Test func channelsStandSideBySide() throws {
        let pcm = pcm16([1, 10, -2, 20, 3, -30, 4, 40], channels: 2)
        let made = try draw(pcm, .dat, .init(samplesPerPixel: 2, bits: 16, splitsChannels: true))
        #expect(made.bytes[20] == 2 && made.bytes[16] == 2)
        let values: [Int16] = [-2, 1, 10, 20, 3, 4, -30, 40]
        #expect(Array(made.bytes[24...]) == bytes(values))
    }

    @Test func floatsHaveFullScaleAt32767() throws {
        // 16,383.5 and -16,383.5 are truncated; what is beyond full scale is clamped; -1 is not the lowest number.
        let samples: [Float] = [0.5, -0.5, 1.5, -1, -2, 0]
        let pcm = PCM(rate: 48_000, channels: 1, format: .f32, bytes: bytes(samples.map(\.bitPattern)))
        let made = try draw(pcm, .json, .init(samplesPerPixel: 2, bits: 16))
        #expect(try numbers(made.bytes) == [-16_383, 16_383, -32_767, 32_767, -32_768, 0])
    }

    @Test func deeperIntegersKeepTheirUpper16Bits() throws {
        // 0x123456 and -1, then 0x0000FF and -256.
        let bytes: [UInt8] = [0x56, 0x34, 0x12, 0xFF, 0xFF, 0xFF, 0xFF, 0x00, 0x00, 0x00, 0xFF, 0xFF]
        let pcm = PCM(rate: 48_000, channels: 1, format: .s24, bytes: bytes)
        let made = try draw(pcm, .json, .init(samplesPerPixel: 2, bits: 16))
        #expect(try numbers(made.bytes) == [-1, 0x1234, -1, 0])
    }

    /// The header has 32 bits for the number of pairs; JSON has no such limit.
    @Test func binaryDataHasNoMorePairsThanItCanCount() throws {
        for isJSON in [false, true] {
            let file = open(folder.path("many"), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
            try #require(file >= 0)
            defer { close(file) }
            let sink = try ByteSink(descriptor: file)
            let peaks = PeakFile(framesPerPair: 2, bits: 8, isJSON: isJSON, to: sink, mostWindows: 3)
            try peaks.begin(sampleRateHz: 8_000, channelCount: 1)
            for _ in 0..<3 { try peaks.add([-1, 1]) }
            if isJSON {
                try peaks.add([-1, 1])
                #expect(peaks.length == 4)
            } else {
                let error = try #require(throws: MediaError.self) { try peaks.add([-1, 1]) }
                #expect(error.code == .outputTooLarge && peaks.length == 3)
            }
        }
    }

    @Test func soundWithoutFramesHasNoPeaks() throws {
        let made = try draw(pcm16([]), .dat, .init())
        let header: [UInt8] = [
            2, 0, 0, 0, 1, 0, 0, 0, 0x44, 0xAC, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0,
        ]
        #expect(made.bytes == header)
        #expect(made.outcome.waveform?.length == 0)
    }

    private func noise(_ frames: Int) -> [Int16] {
        var generator = SeededGenerator(seed: 41)
        return generator.samples(frames)
    }

    @Test(arguments: [3, 256, 1_000]) func longSoundHasThePeaksOfTheDefinition(zoom: Int) throws {
        let samples = noise(100_003)
        let made = try draw(pcm16(samples), .dat, .init(samplesPerPixel: zoom, bits: 16))
        #expect(Array(made.bytes[24...]) == Bytes.little(SampleMath.extremes(samples, every: zoom)))
    }

    @Test(arguments: [5, 256]) func longStereoHasThePeaksOfItsMean(zoom: Int) throws {
        let samples = noise(60_006)
        let means = SampleMath.meansOfPairs(samples)
        let made = try draw(pcm16(samples, channels: 2), .dat, .init(samplesPerPixel: zoom, bits: 16))
        #expect(Array(made.bytes[24...]) == Bytes.little(SampleMath.extremes(means, every: zoom)))
    }

    @Test(arguments: [8_192, 8_193, 8_195, 8_199, 1]) func halvingGivesTheNextLevel(frames: Int) {
        let samples = noise(frames)
        let values = SampleMath.extremes(samples, every: 4)
        let fine = Peaks(sampleRateHz: 8_000, channelCount: 1, framesPerPair: 4, values: values)
        let coarser = fine.halved()
        #expect(coarser.values == SampleMath.extremes(samples, every: 8) && coarser.framesPerPair == 8)
        let coarsest = coarser.halved()
        #expect(coarsest.values == SampleMath.extremes(samples, every: 16) && coarsest.framesPerPair == 16)
    }

    @Test func overviewStaysSmall() throws {
        let overview = PeakOverview(capacity: 64)
        let samples = noise(10_000)
        try overview.begin(sampleRateHz: 8_000, channelCount: 1)
        var start = 0
        while start < samples.count {
            let end = min(start + overview.framesPerPair, samples.count)
            let window = samples[start..<end]
            try overview.add([window.min() ?? 0, window.max() ?? 0])
            start = end
            #expect(overview.peaks.count < 64)
        }
        let isSame = overview.peaks.values == SampleMath.extremes(samples, every: 256)
        #expect(overview.framesPerPair == 256 && isSame)
    }

    /// A picture of any width shows very many channels in bounded memory.
    @Test func overviewOfManyChannelsStaysSmall() throws {
        let overview = PeakOverview(capacity: 131_072)
        try overview.begin(sampleRateHz: 8_000, channelCount: 4_096)
        let window = (0..<4_096).flatMap { channel -> [Int16] in [Int16(-channel), Int16(channel)] }
        for _ in 0..<1_024 { try overview.add(window) }
        #expect(overview.framesPerPair == 2 && overview.peaks.count == 512)
        #expect(overview.peaks.least(511, channel: 4_095) == -4_095)
        #expect(overview.peaks.greatest(511, channel: 4_095) == 4_095)
    }

    // MARK: In the pass of a conversion

    @Test func conversionAndWaveformComeOfOnePass() throws {
        let samples = noise(60_000)
        let path = folder.path("in.wav")
        try WAVFile.write(pcm16(samples, channels: 2), to: path)
        var request = Converter.Request(format: AudioFormat(container: .flac, codec: .flac), nameHint: path)
        request.verifies = true
        let alone = try run(request, path, outputs: 1)
        request.waveforms = [WaveformRequest(.dat), WaveformRequest(.svg)]
        let together = try run(request, path, outputs: 3)
        #expect(together.files[0] == alone.files[0] && together.outcomes[0] == alone.outcomes[0])
        #expect(try together.files[1] == draw(pcm16(samples, channels: 2), .dat, .init()).bytes)
        #expect(together.outcomes.count == 3 && together.outcomes[0].waveform == nil)
        #expect(together.outcomes[1].waveform?.length == 118 && together.outcomes[2].waveform?.width == 1_200)
        #expect(together.outcomes[1].summary.writtenFrames == 30_000 && together.outcomes[1].verified == nil)
    }

    @Test func waveformShowsTheRange() throws {
        let samples = noise(5_000)
        let path = folder.path("in.wav")
        try WAVFile.write(pcm16(samples), to: path)
        let range = try MediaTimeRange(
            start: MediaTime(frames: 1_000, rate: 44_100),
            end: MediaTime(frames: 1_700, rate: 44_100)
        )
        var request = Converter.Request(format: AudioFormat(container: .wav), ranges: [range], nameHint: path)
        request.waveforms = [WaveformRequest(.dat, .init(samplesPerPixel: 100, bits: 16))]
        let made = try run(request, path, outputs: 2)
        let peaks = SampleMath.extremes(Array(samples[1_000..<1_700]), every: 100)
        #expect(Array(made.files[1][24...]) == Bytes.little(peaks))
    }

    @Test func waveformOfALoudnessIsThatOfTheOutput() throws {
        let tone = Signal.noise(seed: 3, rate: 48_000, frames: 96_000, channels: 1, amplitude: 0.05)
        let path = folder.path("in.wav")
        try WAVFile.write(tone.pcm(.f32), to: path)
        let format = AudioFormat(container: .wav, codec: .pcm, bitDepth: 32, sampleKind: .float)
        var request = Converter.Request(format: format, nameHint: path)
        request.loudness = LoudnessGoal(target: .level(.init(hundredths: -1_600)))
        request.waveforms = [WaveformRequest(.dat, .init(bits: 16))]
        let made = try run(request, path, outputs: 2)
        let output = folder.path("loud.wav")
        try Bytes.write(made.files[0], to: output)
        var again = Converter.Request(format: AudioFormat(container: .raw), nameHint: output)
        again.drawsOnly = true
        again.waveforms = request.waveforms
        #expect(try run(again, output, outputs: 1).files[0] == made.files[1])
    }

    /// What a job does whose sound was published before it failed: the same waveform as beside the sound.
    @Test func waveformOfAnOutputThatExistsIsTheSame() throws {
        let tone = Signal.noise(seed: 3, rate: 48_000, frames: 96_000, channels: 1, amplitude: 0.05)
        let path = folder.path("in.wav")
        try WAVFile.write(tone.pcm(.f32), to: path)
        let format = AudioFormat(container: .wav, codec: .pcm, sampleRateHz: 32_000, bitDepth: 32, sampleKind: .float)
        var loud = Converter.Request(format: format, nameHint: path)
        loud.loudness = LoudnessGoal(target: .level(.init(hundredths: -1_600)))
        var faded = Converter.Request(format: format, nameHint: path)
        let piece = Piece(.source("a"), fadeIn: Fade(try MediaTime(parsing: "1"), curve: .linear))
        faded.timeline = Timeline(tracks: [.init(pieces: [piece])])
        faded.inputs = [.init(name: "a", nameHint: path)]
        for request in [loud, faded] {
            var request = request
            request.verifies = true
            request.waveforms = [WaveformRequest(.dat, .init(bits: 16)), WaveformRequest(.svg)]
            let together = try run(request, path, outputs: 3)
            request.drawsOnly = true
            let alone = try run(request, path, outputs: 2)
            #expect(alone.files == Array(together.files.dropFirst()))
            #expect(alone.outcomes == Array(together.outcomes.dropFirst()))
        }
    }

    /// What follows a change in mid-stream is converted to the rate of the beginning: windows stay equally long.
    @Test func changeOfTheRateLosesNoFrame() throws {
        let path = folder.path("changed.dat")
        let file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        try #require(file >= 0)
        defer { close(file) }
        let shape = SampleShape(format: .s16, sampleRateHz: 48_000, channelCount: 1, channelMask: 0)
        let settings = Recipe.Waveform(samplesPerPixel: 1_000, bits: 16)
        let input = try WaveformInput(WaveformRequest(.dat, settings), to: file, usual: shape)
        for (rate, amplitude) in [(48_000, 0.5), (24_000, 0.25), (48_000, 0.125)] {
            let second = Signal.tone(1_000, rate: rate, frames: rate, amplitude: amplitude)
            try second.inBlocks(of: 1_024, as: .s16) { try input.append(&$0) }
        }
        let summary = try input.finish()
        #expect(summary.plannedFrames == 144_000 && summary.frames == 144_000 && summary.report.length == 144)
        let data = try Bytes.read(path)
        try #require(data.count == 24 + 4 * 144)
        // Without the windows at both ends of a second, in which a filter settles.
        for (second, amplitude) in [0.5, 0.25, 0.125].enumerated() {
            for window in 48 * second + 2..<48 * second + 46 {
                let place = 24 + 4 * window + 2
                let greatest = Int(data[place]) | Int(data[place + 1]) << 8
                let level = Double(greatest) / 32_767
                #expect(abs(level - amplitude) < 0.01, "\(window)")
            }
        }
    }

    @Test func framesThatAreNotAnalysedAreAFailure() throws {
        let (one, two) = (
            SampleShape(format: .s16, sampleRateHz: 8_000, channelCount: 1, channelMask: 0),
            SampleShape(format: .s16, sampleRateHz: 8_000, channelCount: 2, channelMask: 0)
        )
        // A finder for stereo takes nothing of a mono sound.
        let finder = try PeakFinder(of: two, splits: false, into: PeakOverview(capacity: 64))
        let sound = ShapedSound(one, finder)
        try Signal.tone(100, rate: 8_000, frames: 800).inBlocks(of: 400, as: .s16) { try sound.add(&$0) }
        let error = try #require(throws: MediaError.self) { try sound.finish() }
        #expect(error.code == .frameCountMismatch)
    }

    @Test func copiedPacketsHaveNoWaveform() throws {
        let path = folder.path("in.wav")
        try WAVFile.write(pcm16(noise(1_000)), to: path)
        var request = Converter.Request(format: AudioFormat(container: .wav, codec: .copy), nameHint: path)
        request.waveforms = [WaveformRequest(.dat)]
        let error = try #require(throws: MediaError.self) { try run(request, path, outputs: 2) }
        #expect(error.code == .recipeRefused)
    }

    @Test func waveformNeedsItsDestination() throws {
        let path = folder.path("in.wav")
        try WAVFile.write(pcm16(noise(1_000)), to: path)
        var request = Converter.Request(format: AudioFormat(container: .wav), nameHint: path)
        request.waveforms = [WaveformRequest(.dat)]
        let error = try #require(throws: MediaError.self) { try run(request, path, outputs: 1) }
        #expect(error.code == .recipeRefused)
    }

    @Test(arguments: [0, 1]) func failureNamesTheOutput(broken: Int) throws {
        let path = folder.path("in.wav")
        try WAVFile.write(pcm16(noise(1_000)), to: path)
        var request = Converter.Request(format: AudioFormat(container: .wav), nameHint: path)
        request.waveforms = [WaveformRequest(.dat)]
        let source = try OpenFile.reading(path)
        // Nothing can be written into one of both.
        let files: [Int32] = (0..<2).map { number in
            let mode: Int32 = number == broken ? O_RDONLY : O_RDWR
            return open(folder.path("out-\(number)"), mode | O_CREAT | O_CLOEXEC, 0o600)
        }
        defer { for file in files { close(file) } }
        try #require(files.allSatisfy { $0 >= 0 })
        let error = try #require(throws: MediaError.self) {
            try Converter(request).run(from: [source.descriptor], to: files)
        }
        #expect(error.output == broken + 1)
    }

    // MARK: Pictures

    @Test func pictureHasItsSizeAndALaneForEachChannel() throws {
        let pcm = pcm16(noise(40_000), channels: 2)
        for (splits, lanes) in [(false, 1), (true, 2)] {
            let settings = Recipe.Waveform(splitsChannels: splits, width: 300, height: 100, theme: .dark)
            let made = try draw(pcm, .svg, settings)
            let text = String(decoding: made.bytes, as: UTF8.self)
            #expect(text.hasPrefix(#"<svg xmlns="http://www.w3.org/2000/svg" width="300" height="100""#))
            #expect(text.hasSuffix("</svg>\n") && text.contains(##"fill="#12181d""##))
            #expect(text.components(separatedBy: ##"fill="#6cc3d5""##).count - 1 == lanes)
            #expect(made.outcome.waveform == WaveformReport(channelCount: lanes, width: 300, height: 100))
        }
    }

    @Test func outlineIsAsComputedByHand() throws {
        // Two windows of a frame each in a picture without an axis: full scale is 0.96 of 8 pixels from the middle.
        let made = try draw(pcm16([16_384, -16_384]), .svg, .init(width: 16, height: 16, theme: .transparent))
        let text = String(decoding: made.bytes, as: UTF8.self)
        // 8 - 16,384 / 32,768 * 8 * 0.96 = 4.16, which a line of one pixel surrounds; the other lies below the middle.
        #expect(text.contains(#"d="M4,3.7L12,11.3L12,12.3L4,4.7Z""#))
        #expect(!text.contains("<rect"))
    }

    @Test func silenceIsAThinLine() throws {
        let made = try draw(pcm16([Int16](repeating: 0, count: 2)), .svg, .init(width: 16, height: 16))
        #expect(String(decoding: made.bytes, as: UTF8.self).contains(#"d="M4,7.5L12,7.5L12,8.5L4,8.5Z""#))
    }

    /// The pixels of a PNG, as ffmpeg decodes it: red, green, blue and opacity.
    private func pixels(_ png: [UInt8]) throws -> [UInt8] {
        let (picture, raw) = (folder.path("picture.png"), folder.path("picture.raw"))
        try Bytes.write(png, to: picture)
        let words = ["-v", "error", "-y", "-i", picture, "-f", "rawvideo", "-pix_fmt", "rgba", raw]
        try Run.program("ffmpeg", words).checked()
        return try Bytes.read(raw)
    }

    @Test func pixelsAreAsComputedByHand() throws {
        let silence = pcm16([Int16](repeating: 0, count: 2))
        let made = try draw(silence, .png, .init(width: 16, height: 16, theme: .transparent))
        let pixels = try pixels(made.bytes)
        try #require(pixels.count == 4 * 16 * 16)
        // The wave covers half of rows 7 and 8. The line in the middle, which is row 8 and has an opacity of
        // 0.4, shows through the other half.
        let row = { (number: Int) -> [UInt8] in Array(pixels[64 * number..<64 * number + 4]) }
        let (clear, upper, lower): ([UInt8], [UInt8], [UInt8]) = (
            [0, 0, 0, 0], [0x3F, 0x8F, 0xA8, 128], [0x54, 0x92, 0xA7, 179]
        )
        #expect(row(0) == clear && row(6) == clear && row(9) == clear)
        #expect(row(7) == upper)
        #expect(row(8) == lower)
        for number in 0..<16 {
            let whole = Array(pixels[64 * number..<64 * number + 64])
            let repeated = [[UInt8]](repeating: row(number), count: 16).flatMap(\.self)
            #expect(whole == repeated)
        }
    }

    @Test(arguments: [(800, 130), (601, 401), (16, 16), (3_000, 60)]) func pictureOfAnySizeCanBeDecoded(
        width: Int,
        height: Int
    ) throws {
        for theme in Recipe.Waveform.Theme.allCases {
            let settings = Recipe.Waveform(splitsChannels: true, width: width, height: height, theme: theme)
            let made = try draw(pcm16(noise(30_000), channels: 2), .png, settings)
            let pixels = try pixels(made.bytes)
            #expect(pixels.count == 4 * width * height)
            let isOpaque = Bytes.areAll(255, in: pixels, from: 3, by: 4)
            #expect(isOpaque == (theme != .transparent))
        }
    }

    /// Runs of every length, and bytes of both lengths of codes.
    @Test func deflatedBytesComeBack() throws {
        var bytes: [UInt8] = []
        for length in 1...600 { bytes += [UInt8](repeating: UInt8(length * 37 & 0xFF), count: length) }
        bytes += noise(5_000).map { UInt8(truncatingIfNeeded: $0) }
        var deflate = RunDeflate()
        deflate.add(bytes)
        deflate.finish()
        try Bytes.write(deflate.take(), to: folder.path("packed"))
        let program = "import sys, zlib; sys.stdout.buffer.write(zlib.decompress(open(sys.argv[1], 'rb').read()))"
        let run = try Run.program("python3", ["-c", program, folder.path("packed")]).checked()
        #expect(Array(run.stdout) == bytes)
    }

    @Test func axisCountsInStepsOfPeople() {
        let minute = TimeAxis(seconds: 60, width: 600).marks
        #expect(minute.map(\.text) == ["0:00", "0:10", "0:20", "0:30", "0:40", "0:50", "1:00"])
        #expect(minute.map(\.place) == [0, 100, 200, 300, 400, 500, 600])
        let short = TimeAxis(seconds: 0.5, width: 400).marks
        #expect(short.map(\.text) == ["0:00.0", "0:00.1", "0:00.2", "0:00.3", "0:00.4", "0:00.5"])
        let long = TimeAxis(seconds: 36_000, width: 1_000).marks
        #expect(long.map(\.text).suffix(2) == ["9:00:00", "10:00:00"])
        #expect(TimeAxis(seconds: 0, width: 1_000).marks.isEmpty)
    }
}
