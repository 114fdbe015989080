import Conversion
import Foundation
import TestSupport
import Testing

@testable import Media

/// Levels over time against computed samples and `ffmpeg -af astats`, and the bit rates that packets state.
struct LevelSurveyTests {
    private func survey(
        _ signal: Signal,
        as format: Media.SampleFormat = .f32,
        blocks: Int = 1_152
    ) throws -> LevelReport {
        let mask = (signal.channels.count == 2 ? ChannelLayout.stereo : .mono).mask
        let shape = SampleShape(
            format: format,
            sampleRateHz: signal.rate,
            channelCount: signal.channels.count,
            channelMask: mask
        )
        let meter = try LoudnessMeter(shape: shape, outlining: false, surveying: true)
        try signal.inBlocks(of: blocks, as: format, mask: mask) { block in try meter.add(&block) }
        _ = try meter.finish()
        return try #require(meter.levelReport)
    }

    private func decibels(_ samples: [Double], in range: Range<Int>? = nil) -> Double {
        let energy = SampleMath.energy(samples, in: range)
        return energy > 0 ? 10 * log10(energy / Double(range?.count ?? samples.count)) : LevelReport.silenceDBFS
    }

    /// Parts of a tone one after another: the amplitude and the length in tenths of a second.
    private func chapter(_ parts: [(amplitude: Double, tenths: Int)], rate: Int = 44_100, channels: Int = 1) -> Signal {
        let tones = parts.map { part in
            Signal.tone(
                440,
                rate: rate,
                frames: part.tenths * rate / 10,
                channels: channels,
                amplitude: part.amplitude
            )
        }
        return tones.dropFirst().reduce(tones[0]) { $0.followed(by: $1) }
    }

    @Test(arguments: [1, 2]) func aChapterHasItsLevelsWhereTheyAre(channels: Int) throws {
        let parts: [(amplitude: Double, tenths: Int)] = [
            (0.0005, 7), (0.1, 20), (0.4, 10), (0.0002, 5), (0.1, 10), (0.0005, 20),
        ]
        let signal = chapter(parts, channels: channels)
        let levels = try survey(signal)
        #expect(abs(try #require(levels.rmsDBFS) - decibels(signal.channels[0])) <= 0.006)
        let loudest = try #require(levels.loudestSecond)
        #expect(loudest.start == MediaTime(value: 27, timescale: 10) && abs(loudest.levelDBFS + 10.97) <= 0.01)
        let floor = try #require(levels.noiseFloor)
        #expect(floor.start == MediaTime(value: 37, timescale: 10) && abs(floor.levelDBFS + 76.99) <= 0.01)
        #expect(levels.length == MediaTime(value: 72, timescale: 10))
        #expect(levels.toneAtStart == MediaTime(value: 7, timescale: 10))
        #expect(levels.toneAtEnd == MediaTime(value: 2, timescale: 1))
        let peak = try #require(SampleMath.firstPeak(signal.channels[0]))
        #expect(levels.peakAt == MediaTime(frames: Int64(peak), rate: 44_100))
    }

    @Test(arguments: [(8_000, 160), (11_025, 1_152), (44_100, 7), (48_000, 4_096)])
    func windowsAreThoseOfTheSamples(rate: Int, blocks: Int) throws {
        let signal = Signal.speechLike(seed: UInt64(rate), rate: rate, seconds: 4.37)
        let samples = signal.channels[0]
        // A tenth of a second, in whole frames.
        let step = (rate + 5) / 10
        let levels = try survey(signal, blocks: blocks)
        func windows(_ steps: Int) -> [(level: Double, start: Int)] {
            stride(from: 0, through: samples.count - steps * step, by: step).map { start in
                (decibels(samples, in: start..<start + steps * step), start)
            }
        }
        let loudest = try #require(windows(10).max { $0.level < $1.level })
        let quietest = try #require(windows(5).min { $0.level < $1.level })
        let (second, half) = (try #require(levels.loudestSecond), try #require(levels.noiseFloor))
        #expect(abs(second.levelDBFS - loudest.level) <= 0.006 && abs(half.levelDBFS - quietest.level) <= 0.006)
        #expect(second.start == MediaTime(frames: Int64(loudest.start), rate: rate))
        #expect(half.start == MediaTime(frames: Int64(quietest.start), rate: rate))
    }

    @Test func theWholeLevelIsThatOfFFmpeg() throws {
        let folder = try TemporaryFolder.create()
        let left = Signal.speechLike(seed: 3, rate: 48_000, seconds: 5)
        let signal = Signal.stacked([left, left.scaled(by: 0.25)])
        try WAVFile.write(signal.pcm(.s16), to: folder.path("a.wav"))
        let filter = "astats=metadata=1:reset=0,ametadata=print:key=lavfi.astats.Overall.RMS_level:file=-"
        let run = try FFmpeg.run(["-i", folder.path("a.wav"), "-af", filter, "-f", "null", "-"])
        let last = try #require(run.outputText.split(separator: "\n").last?.split(separator: "=").last)
        let theirs = try #require(Double(last))
        #expect(abs(try #require(try survey(signal, as: .s16).rmsDBFS) - theirs) <= 0.01)
    }

    /// A gap of digital silence in a recording with noise says nothing of the noise.
    @Test func digitalSilenceIsNoNoiseFloorWhereAPauseHasNoise() throws {
        func floor(_ pause: Double) throws -> Double {
            let parts: [(amplitude: Double, tenths: Int)] = [(0.14, 20), (pause, 10), (0, 6), (pause, 10), (0.14, 20)]
            return try #require(try survey(chapter(parts)).noiseFloor).levelDBFS
        }
        #expect(abs(try floor(0.005) + 49.03) <= 0.05)
        // All pauses are digital silence, or the rest is no pause.
        #expect(try floor(0) == -200)
        #expect(try floor(0.05) == -200)
    }

    @Test func shortSoundHasNoWindows() throws {
        let levels = try survey(chapter([(0.1, 4)]))
        #expect(levels.loudestSecond == nil && levels.noiseFloor == nil)
        #expect(abs(try #require(levels.rmsDBFS) + 23.01) <= 0.01)
        #expect(levels.toneAtStart == .zero && levels.toneAtEnd == .zero)
        // A part of a step at the end counts, too.
        let sound = Signal.silence(rate: 44_100, frames: 44_100).followed(by: chapter([(0.1, 1)]))
        let cut = Signal(rate: 44_100, channels: [Array(sound.channels[0].prefix(44_200))])
        let ending = try survey(cut)
        #expect(ending.toneAtStart == MediaTime(value: 1, timescale: 1) && ending.toneAtEnd == .zero)
    }

    @Test func silenceAndWhatIsNoNumberHaveALevel() throws {
        let silent = try survey(.silence(rate: 8_000, frames: 16_000, channels: 2), as: .s16)
        #expect(silent.rmsDBFS == -200 && silent.noiseFloor?.levelDBFS == -200)
        #expect(silent.toneAtStart == MediaTime(value: 2, timescale: 1) && silent.toneAtStart == silent.toneAtEnd)
        let odd = try survey(Signal(rate: 8_000, channels: [Array(repeating: .nan, count: 8_000)]))
        #expect(odd.rmsDBFS == -200)
        let loud = try survey(Signal(rate: 8_000, channels: [Array(repeating: .infinity, count: 8_000)]))
        #expect(loud.rmsDBFS == 60 && loud.peakAt == .zero)
        let mask = ChannelLayout.mono.mask
        let shape = SampleShape(format: .f32, sampleRateHz: 8_000, channelCount: 1, channelMask: mask)
        let unused = try LoudnessMeter(shape: shape, outlining: false, surveying: true)
        _ = try unused.finish()
        #expect(unused.levelReport == LevelReport())
    }

    // MARK: Bit rates

    private func bitRates(_ path: String, watching: Bool = true) throws -> ClosedRange<Int>? {
        var options = Reader.Options(nameHint: path)
        options.watchesBitRates = watching
        let file = try OpenFile.reading(path)
        let reader = try Reader(descriptor: file.descriptor, options: options)
        let output = try reader.samples(of: try reader.track())
        var block = try SampleBlock()
        while try output.next(into: &block) {}
        return output.packetBitRates
    }

    @Test func packetsOfMP3SayTheirBitRates() throws {
        let folder = try TemporaryFolder.create()
        let sound = Signal.silence(rate: 44_100, frames: 44_100)
            .followed(by: .noise(seed: 1, rate: 44_100, frames: 88_200))
        func made(_ name: String, _ arguments: [String]) throws -> String {
            try FFmpeg.encode(sound.pcm(.s16), to: folder.path(name), arguments)
            return folder.path(name)
        }
        let constant = try made("a.mp3", ["-b:a", "192k"])
        #expect(try bitRates(constant) == 192_000...192_000)
        #expect(try bitRates(constant, watching: false) == nil)
        #expect(try bitRates(try made("b.mp3", ["-ar", "22050", "-b:a", "64k"])) == 64_000...64_000)
        #expect(try bitRates(try made("c.mp3", ["-ar", "8000", "-b:a", "16k"])) == 16_000...16_000)
        let variable = try #require(try bitRates(try made("d.mp3", ["-q:a", "4"])))
        #expect(variable.lowerBound < variable.upperBound, "\(variable)")
        #expect(try bitRates(try made("e.flac", [])) == nil)
    }
}
