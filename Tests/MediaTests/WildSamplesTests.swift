import Conversion
import TestSupport
import Testing

@testable import Media

/// Floats that no recording holds. Fuzzing found that one of them crashes LAME, and with it the process.
@Suite struct WildSamplesTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder.create() }

    /// A tone with `wild` at every twentieth frame, as a WAV file of floats.
    private func source(_ wild: Float) throws -> String {
        var channels = Signal.tone(440, rate: 44_100, frames: 20_000, channels: 2).channels
        for place in stride(from: 0, to: 20_000, by: 20) { channels[0][place] = 0 }
        let path = folder.path("wild.wav")
        try WAVFile.write(Signal(rate: 44_100, channels: channels).pcm(.f32), to: path)
        var bytes = try Bytes.read(path)
        let data = try #require(Bytes.find("data", in: bytes)) + 8
        for place in stride(from: 0, to: 20_000, by: 20) {
            withUnsafeBytes(of: wild.bitPattern.littleEndian) {
                bytes.replaceSubrange(data + place * 8..<data + place * 8 + 4, with: $0)
            }
        }
        try Bytes.write(bytes, to: path)
        return path
    }

    private static let containers: [Codec: Container] = [.mp3: .mp3, .aac: .m4a, .vorbis: .ogg, .opus: .ogg]

    @Test(arguments: [Float(1e30), -1e30], [Codec.mp3, .aac, .vorbis, .opus])
    func lossyEncodersBearEveryNumber(wild: Float, codec: Codec) throws {
        let format = AudioFormat(container: try #require(Self.containers[codec]), codec: codec)
        let outcome = try Converted.file(try source(wild), to: folder.path("out"), as: format, verifies: true)
        #expect(outcome.sourceFrames == 20_000)
        #expect(outcome.summary.plannedFrames == outcome.summary.writtenFrames)
    }

    @Test(arguments: [Float.nan, .infinity, -.infinity], [Codec.mp3, .aac, .vorbis, .opus])
    func whatIsNoNumberIsRefusedByEveryLossyEncoder(wild: Float, codec: Codec) throws {
        let format = AudioFormat(container: try #require(Self.containers[codec]), codec: codec)
        let path = try source(wild)
        #expect(Converted.code { try Converted.file(path, to: folder.path("out"), as: format) } == .encodeFailed)
    }

    /// Lossless outputs have no psychoacoustic model, so no sample changes.
    @Test(arguments: [Float.nan, .infinity, 1e30]) func losslessOutputKeepsThemBitForBit(wild: Float) throws {
        let outcome = try Converted.file(
            try source(wild),
            to: folder.path("out.wav"),
            as: AudioFormat(container: .wav),
            verifies: true
        )
        #expect(outcome.format.sampleKind == .float)
        let before: ArraySlice<UInt8> = try Bytes.read(folder.path("wild.wav")).suffix(160_000)
        let after: ArraySlice<UInt8> = try Bytes.read(folder.path("out.wav")).suffix(160_000)
        #expect(before == after)
    }

    /// A filter would make a thousand samples of one that is no number.
    @Test(arguments: [Float.nan, .infinity]) func whatIsNoNumberIsNotProcessed(wild: Float) throws {
        let path = try source(wild)
        let ceiling = try #require(Gain(decibels: -1))
        let changes: [(String, (inout Converter.Request) -> Void)] = [
            ("rate", { $0.format.sampleRateHz = 48_000 }),
            ("channels", { $0.format.channelCount = 1 }),
            ("limit", { $0.timeline?.limit = ceiling }),
            ("loudness", { $0.loudness = LoudnessGoal(target: .level(.init(hundredths: -1_400))) }),
        ]
        for (name, change) in changes {
            let sources = try Sources(files: ["a": path])
            let timeline = Timeline(tracks: [.init(pieces: [Piece(.source("a"))])])
            let code = Converted.code { _ = try sources.convert(timeline, change) }
            #expect(code == .encodeFailed, "\(name)")
        }
    }

    /// Peaks that no recording has are limited and stated like others.
    @Test(arguments: [Float(1e9), 1e18, 3e38]) func hugeSamplesAreLimitedAndMeasured(wild: Float) throws {
        let sources = try Sources(files: ["a": try source(wild)])
        let timeline = Timeline(tracks: [.init(pieces: [Piece(.source("a"))])])
        let (limited, path) = try sources.convert(timeline) { $0.timeline?.limit = Gain(decibels: -1) }
        #expect(limited.remarks.contains { $0.kind == .peaksLimited })
        let peak = try ReadBack.file(path).pcm.peaks.max() ?? 0
        #expect(peak <= 0.892)
        let (_, tagged) = try sources.convert(timeline, to: "tagged.flac") { $0.replayGain = .track }
        #expect(try ReadBack.file(tagged).track.length == .exact(20_000))
        let (stated, _) = try sources.convert(timeline, to: "tagged.wv") { $0.replayGain = .track }
        #expect(stated.summary.writtenFrames == 20_000)
    }

    @Test func honestSamplesAreNotTouched() throws {
        let samples: [Float] = [0.5, -1, 256, -.leastNonzeroMagnitude]
        #expect(try bounded(samples) == samples)
    }

    @Test func louderSamplesBecomeTheLoudestThatIsBorne() throws {
        #expect(try bounded([0.5, 257, -1e30, 1e30, -0.5]) == [0.5, 256, -256, 256, -0.5])
    }

    @Test(arguments: [Float.nan, .infinity, -.infinity]) func noSampleIsMadeOfWhatIsNoNumber(wild: Float) throws {
        #expect(try bounded([0.5, 1e30, wild, 0.5]) == nil)
    }

    /// The samples after bounding; `nil` if one is not a finite number.
    private func bounded(_ samples: [Float]) throws -> [Float]? {
        var block = try SampleBlock()
        let shape = SampleShape(format: .f32, sampleRateHz: 8_000, channelCount: 1, channelMask: 4)
        try block.reserve(samples.count, shape)
        block.withMutablePlane(0) { $0.copyBytes(from: samples.withUnsafeBytes { Array($0) }) }
        guard block.boundFloats() else { return nil }
        return block.withPlane(0) { Array($0.bindMemory(to: Float.self)) }
    }
}
