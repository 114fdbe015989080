import Conversion
import Foundation
import TestSupport
import Testing

@testable import Media

/// Silence at the ends of a piece is left out, exact to the frame.
@Suite struct SilenceTrimTests {
    private static let rate = 8_000
    /// Silence at the start, sound with silence in its middle, silence at the end.
    private static let (front, loud, gap, back) = (3_001, 1_777, 9_000, 5_003)

    /// Noise up to `level` is not silence, and noise below it is: both ends and the middle have some.
    private static func signal(floor: Double, channels: Int = 2) -> Signal {
        let quiet = { (seed: UInt64, frames: Int) in
            Signal.noise(seed: seed, rate: rate, frames: frames, channels: channels, amplitude: floor)
        }
        var sound = Signal.noise(seed: 5, rate: rate, frames: loud, channels: channels, amplitude: 0.5).channels
        // Its ends are loud in one channel only.
        for channel in 0..<channels {
            sound[channel][0] = channel == channels - 1 ? 0.25 : 0
            sound[channel][loud - 1] = channel == 0 ? -0.25 : 0
        }
        let parts = [quiet(1, front).channels, sound, quiet(2, gap).channels, sound, quiet(3, back).channels]
        return Signal(rate: rate, channels: (0..<channels).map { index in parts.flatMap { $0[index] } })
    }

    private static let sound = front..<front + 2 * loud + gap

    private func timeline(_ trim: SilenceTrim, _ change: (inout Piece) -> Void = { _ in }) -> Timeline {
        var piece = Piece(.source("a"), trimSilence: trim)
        change(&piece)
        return Timeline(tracks: [.init(pieces: [piece])])
    }

    private func frames(_ count: Int) -> MediaTime { MediaTime(frames: Int64(count), rate: Self.rate) }

    private func trim(_ text: String) throws -> SilenceTrim { try SilenceTrim(parsing: text) }

    @Test(arguments: [PCM.SampleFormat.u8, .s16, .s24, .s32, .f32, .f64], [1, 2, 5])
    func samplesThatStayKeepEveryBit(format: PCM.SampleFormat, channels: Int) throws {
        // -40 dB is a hundredth; the steps of 8 bits are as large.
        let pcm = Self.signal(floor: format == .u8 ? 0 : 0.0099, channels: channels).pcm(format)
        let sources = try Sources(["a": pcm])
        let all = 0..<pcm.frames
        for (ends, kept) in [
            ("/start", Self.sound.lowerBound..<all.upperBound), ("/end", 0..<Self.sound.upperBound),
            ("/both", Self.sound), ("", Self.sound),
        ] {
            let result = try sources.convert(timeline(trim("-40dB/0.1s\(ends)")), to: "out.wav")
            #expect(try WAVFile.read(path: result.path) == pcm.cut(kept), "\(ends)")
            #expect(result.outcome.summary.writtenFrames == Int64(kept.count))
            let remark = try #require(result.outcome.remarks.first)
            #expect(result.outcome.remarks.count == 1 && remark.kind == .silenceTrimmed && !remark.kind.isLoss)
            #expect(remark.count == Int64(pcm.frames - kept.count))
        }
    }

    @Test func silenceThatIsTooShortStays() throws {
        let pcm = Self.signal(floor: 0.005).pcm(.s16)
        let sources = try Sources(["a": pcm])
        let (front, back) = (Double(Self.front) / Double(Self.rate), Double(Self.back) / Double(Self.rate))
        // Exactly as long as the silence, and one frame longer.
        for (shortest, kept) in [
            (frames(Self.front), Self.sound), (frames(Self.front + 1), 0..<Self.sound.upperBound),
            (frames(Self.back), 0..<Self.sound.upperBound), (frames(Self.back + 1), 0..<pcm.frames),
        ] {
            let trim = SilenceTrim(threshold: try #require(Gain(decibels: -40)), shortest: shortest)
            let result = try sources.convert(timeline(trim))
            #expect(try WAVFile.read(path: result.path) == pcm.cut(kept), "\(shortest), \(front), \(back)")
        }
    }

    @Test func thresholdItselfIsSilent() throws {
        // Between two values of 16 bits, half of full scale and the one above.
        let trim = SilenceTrim(threshold: try #require(Gain(decibels: 20 * log10(16_384.5 / 32_768))), shortest: .zero)
        for (value, isSound) in [(0.5, false), (-0.5, false), (0.5 + 0x1p-15, true), (-0.5 - 0x1p-15, true)] {
            var samples = [Double](repeating: 0, count: 100)
            (samples[40], samples[60]) = (value, 0.75)
            let sources = try Sources(["a": Signal(rate: Self.rate, channels: [samples]).pcm(.s16)])
            let result = try sources.convert(timeline(trim))
            #expect(try WAVFile.read(path: result.path).frames == (isSound ? 21 : 1), "\(value)")
        }
    }

    @Test func rangeChannelsReversalAndRepetitionKnowTheirPlace() throws {
        let pcm = Self.signal(floor: 0.005).pcm(.s16)
        let sources = try Sources(["a": pcm])
        let trim = try trim("-40dB/0.05s")
        // Silence is sought in the range, which starts inside the silence.
        let range = MediaTimeRange(from: frames(2_000), to: frames(Self.front + 1_000))
        let cut = try sources.convert(timeline(trim) { $0.material = .source("a", range) })
        #expect(try WAVFile.read(path: cut.path) == pcm.cut(Self.front..<Self.front + 1_000))
        // The first frame of sound is only in the right channel, and the last one only in the left.
        let left = try sources.convert(timeline(trim) { $0.channels = .left })
        let expected = Signal(rate: Self.rate, channels: [pcm.signal.channels[0]]).pcm(.s16)
        let sound = try #require(expected.signal.channels[0].firstIndex { abs($0) > 0.01 })
        #expect(sound > Self.front)
        #expect(try WAVFile.read(path: left.path) == expected.cut(sound..<Self.sound.upperBound))
        let twice = try sources.convert(timeline(trim) { ($0.isReversed, $0.repeats) = (true, .times(2)) })
        let back = Signal(rate: Self.rate, channels: try pcm.cut(Self.sound).signal.channels.map { $0.reversed() })
        #expect(try WAVFile.read(path: twice.path) == PCM.joined([back.pcm(.s16), back.pcm(.s16)]))
    }

    @Test(arguments: ["flac", "mp3", "m4a", "opus", "ogg"]) func everyFormatIsTrimmedAsItIsDecoded(name: String) throws
    {
        let folder = try TemporaryFolder.create()
        let signal = Signal(rate: 48_000, channels: Self.signal(floor: 0).channels)
        try FFmpeg.encode(signal.pcm(.s16), to: folder.path("a.\(name)"))
        let sources = try Sources(files: ["a": folder.path("a.\(name)")])
        let decoded = try sources.samples(of: Timeline(tracks: [.init(pieces: [Piece(.source("a"))])]))
        let isLoud = { (frame: Int) in decoded.contains { abs($0[frame]) > 0.01 } }
        let first = try #require(decoded[0].indices.first(where: isLoud))
        let last = try #require(decoded[0].indices.last(where: isLoud))
        let found = try sources.samples(of: timeline(trim("-40dB/0")))
        #expect(found == decoded.map { Array($0[first...last]) })
        #expect(first > 1_000 && last < decoded[0].count - 1_000)
    }

    @Test func severalPiecesAreToldTogether() throws {
        let pcm = Self.signal(floor: 0.005).pcm(.s16)
        let sources = try Sources(["a": pcm])
        let piece = Piece(.source("a"), trimSilence: try trim("-40dB/0.1"))
        let both = Timeline(tracks: [.init(pieces: [piece, Piece(.silence(frames(80))), piece])])
        let result = try sources.convert(both)
        let kept = try pcm.cut(Self.sound)
        let silence = Signal.silence(rate: Self.rate, frames: 80, channels: 2).pcm(.s16)
        #expect(try WAVFile.read(path: result.path) == PCM.joined([kept, silence, kept]))
        let remark = try #require(result.outcome.remarks.first)
        #expect(remark.detail == "silence of 0:02.001 was left out of 2 pieces")
        #expect(remark.count == Int64(2 * (Self.front + Self.back)))
        let one = try sources.convert(timeline(trim("-40dB/0.5")))
        #expect(one.outcome.remarks.map(\.detail) == ["silence was left out: 0:00.625375 at the end"])
    }

    @Test func silenceThroughoutIsRefused() throws {
        let sources = try Sources(["a": Signal.silence(rate: Self.rate, frames: 4_000).pcm(.s16)])
        let error = #expect(throws: MediaError.self) { try sources.convert(timeline(trim("-60dB/0.1s"))) }
        #expect(error?.code == .emptyOutput)
        #expect(error?.detail.contains("pieces[0]: the source \"a\" is silent") == true)
    }

    @Test func searchIsProgressAndWithinTheBudget() throws {
        let click = Signal.impulse(at: 25 * Self.rate, rate: Self.rate, frames: 50 * Self.rate)
        let sources = try Sources(["a": click.pcm(.s16)])
        var request = Converter.Request(format: AudioFormat(container: .wav))
        (request.timeline, request.inputs) = (timeline(try trim("-60dB/0.5s")), sources.inputs)
        request.loudness = LoudnessGoal(target: .level(.init(hundredths: -2_000)))
        var reports: [Pump.Progress] = []
        let folder = try TemporaryFolder.create()
        let file = try OpenFile.creating(folder.path("out.wav"))
        _ = try Converter(request).run(from: sources.descriptors, to: file.descriptor) { reports.append($0) }
        let measured = reports.compactMap(\.measuredFrames)
        #expect(measured == measured.sorted() && measured.count > 40)
        // Two passes count as one: the search read 50 seconds, and one frame was left to measure.
        #expect(measured.last == Int64(25 * Self.rate))
        request.budget.decodedSeconds = 20
        let error = #expect(throws: MediaError.self) {
            try Converter(request).run(from: sources.descriptors, to: file.descriptor)
        }
        #expect(error?.code == .decodedSecondsExceeded)
    }
}
