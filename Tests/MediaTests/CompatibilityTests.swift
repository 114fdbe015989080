import Conversion
import TestSupport
import Testing

@testable import Media

struct CompatibilityTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder.create() }

    private func track(_ pcm: PCM, _ name: String = "source.wav", _ arguments: [String] = []) throws -> Track {
        let path = folder.path(name)
        if name.hasSuffix(".wav") {
            try WAVFile.write(pcm, to: path)
        } else {
            try FFmpeg.encode(pcm, to: path, arguments)
        }
        let file = try OpenFile.reading(path)
        return try Reader(descriptor: file.descriptor).track()
    }

    private func converted(_ format: AudioFormat, _ name: String = "source.wav") throws -> Converter.Outcome {
        let input = try OpenFile.reading(folder.path(name))
        let output = try MemoryFile.open()
        return try Converter(.init(format: format)).run(from: input.descriptor, to: output.descriptor)
    }

    private static let stereo = Signal.noise(seed: 3, rate: 44_100, frames: 44_101, channels: 2).pcm(.s16)

    @Test func everyPresetThatFitsConvertsToWhatWasForecast() throws {
        let track = try track(Self.stereo)
        let presets = Converter.presets(for: track)
        #expect(presets.map(\.preset) == Preset.all)
        for entry in presets {
            let forecast = try #require(entry.compatibility.forecast, "\(entry.preset.name)")
            let outcome = try converted(entry.preset.format)
            #expect(outcome.format == forecast.format)
            if forecast.format.codec != .copy { #expect(outcome.summary.writtenFrames == forecast.frames) }
            if forecast.size?.exactness == .exact { #expect(outcome.summary.bytes == forecast.size?.bytes) }
        }
    }

    @Test func everyFormatKeepsItsWord() throws {
        let pcm = Signal.noise(seed: 4, rate: 44_100, frames: 4801, channels: 3).pcm(.s24)
        let track = try track(pcm)
        let formats = Converter.formats(for: track)
        #expect(formats.contains { $0.compatibility.fits } && formats.contains { !$0.compatibility.fits })
        for entry in formats {
            let format = AudioFormat(container: entry.container, codec: entry.codec)
            switch entry.compatibility {
            case .fits(let forecast): #expect(try converted(format).format == forecast.format)
            case .refused(let refusal):
                #expect(!refusal.reasons.isEmpty)
                let problem = #expect(throws: MediaError.self) { try converted(format) }
                #expect(problem?.detail == refusal.description)
            }
        }
    }

    @Test func framesAreCountedOnTheOutputsClockAndWithinTheRanges() throws {
        let track = try track(Self.stereo)
        let range = try MediaTimeRange(
            start: MediaTime(frames: 100, rate: 44_100),
            end: MediaTime(frames: 10_101, rate: 44_100)
        )
        let format = AudioFormat(container: .wav, sampleRateHz: 16_000, channelCount: 1)
        let forecast = Converter.compatibility(of: format, with: track, ranges: [range, range]).forecast
        // 20 002 frames are 7256.99 at 16 kHz.
        #expect(forecast?.frames == 7257)
        let size = Forecast.Size(bytes: 80 + 7257 * 2, exactness: .exact)
        #expect(forecast?.size == size)
        let open = try MediaTimeRange(startingAt: MediaTime(frames: 44_000, rate: 44_100))
        #expect(Converter.compatibility(of: format, with: track, ranges: [open]).forecast?.frames == 37)
    }

    @Test func reasonsSayWhatTheConverterWouldSay() throws {
        let track = try track(Self.stereo)
        let aiff = AudioFormat(container: .aiff, endianness: .little)
        #expect(Converter.compatibility(of: aiff, with: track).reasons.map(\.field) == ["endian"])
        let opus = AudioFormat(container: .mp3, codec: .opus)
        #expect(Converter.compatibility(of: opus, with: track).reasons.map(\.field) == ["codec"])
        let loud = AudioFormat(container: .mp3, sampleRateHz: 44_000, bitRate: 1)
        #expect(Converter.compatibility(of: loud, with: track).reasons.map(\.field) == ["rate", "bitrate"])
    }

    @Test func passthroughFitsWhereTheContainerTakesThePackets() throws {
        let track = try track(Self.stereo, "source.mp3")
        let passthrough = try Preset.named("passthrough")
        #expect(Converter.compatibility(of: passthrough, with: track).fits)
        #expect(Converter.compatibility(of: passthrough, with: track, fileExtension: "mp3").fits)
        let wav = Converter.compatibility(of: passthrough, with: track, fileExtension: "wav")
        #expect(wav.reasons.map(\.field) == ["codec"])
        let part = try MediaTimeRange(start: .zero, end: MediaTime(frames: 9, rate: 44_100))
        #expect(Converter.compatibility(of: passthrough, with: track, ranges: [part]).reasons.count == 1)
    }

    @Test func aLengthThatIsOnlyNearGivesASizeThatIsOnlyNear() throws {
        let track = try track(Self.stereo, "source.mka", ["-c:a", "libopus"])
        guard case .about = track.length else {
            Issue.record("Matroska gives \(track.length)")
            return
        }
        let size = try #require(
            Converter.compatibility(of: AudioFormat(container: .wav), with: track).forecast?.size
        )
        guard case .within(let percent) = size.exactness else {
            Issue.record("the length is not exact, so the size cannot be: \(size)")
            return
        }
        let real = try converted(AudioFormat(container: .wav), "source.mka").summary.bytes
        #expect(abs(real - size.bytes) * 100 <= Int64(percent) * size.bytes)
    }

    @Test func anUnknownLengthIsNotMadeUp() throws {
        let track = try track(Self.stereo, "source.aac")
        #expect(track.length == .none)
        let forecast = try #require(
            Converter.compatibility(of: AudioFormat(container: .wav), with: track).forecast
        )
        #expect(forecast.frames == nil && forecast.size == nil)
    }

    @Test func aCodecThatIsNotDecodedHereCanOnlyPassThrough() throws {
        let track = try track(
            Self.stereo,
            "g723.avi",
            ["-ac", "1", "-ar", "8000", "-c:a", "g723_1", "-b:a", "6.3k"]
        )
        for entry in Converter.presets(for: track) {
            let field = entry.preset.name == "passthrough" ? "codec" : "source"
            #expect(entry.compatibility.reasons.first?.field == field)
        }
        let problem = #expect(throws: MediaError.self) { try converted(AudioFormat(container: .flac), "g723.avi") }
        #expect(problem?.code == .unsupportedCodec)
    }
}
