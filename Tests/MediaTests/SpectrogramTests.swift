import Conversion
import Foundation
import TestSupport
import Testing

@testable import Media

/// Spectrograms, against levels and places that were computed.
@Suite struct SpectrogramTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder.create() }

    /// The places in the palette of all pixels, and what the sound takes of them.
    private struct Drawn {
        let width: Int
        let pixels: [UInt8]
        let plot: (left: Int, top: Int, width: Int, height: Int)

        /// From the top and the left of the sound.
        func place(_ x: Int, _ y: Int) -> UInt8 { pixels[(plot.top + y) * width + plot.left + x] }

        /// All that occur in these rows.
        func places(inRows rows: Range<Int>) -> Set<UInt8> {
            var found: Set<UInt8> = []
            for y in rows {
                for x in 0..<plot.width { found.insert(place(x, y)) }
            }
            return found
        }

        /// The mean level of these rows.
        func meanLevel(ofRows rows: Range<Int>) -> Double {
            var sum = 0.0
            for y in rows {
                for x in 0..<plot.width { sum += level(x, y) }
            }
            return sum / Double(rows.count * plot.width)
        }

        /// The level in decibels below the strongest colour.
        func level(_ x: Int, _ y: Int) -> Double { Double(place(x, y)) / 127 * 80 - 80 }

        func loudestRow(_ x: Int, in rows: Range<Int>) -> Int {
            rows.max { place(x, $0) < place(x, $1) } ?? -1
        }
    }

    private func draw(
        _ signal: Signal,
        _ settings: Recipe.Waveform,
        as format: PCM.SampleFormat = .s16
    ) throws -> Drawn {
        let (path, picture, raw) = (folder.path("in.wav"), folder.path("out.png"), folder.path("out.raw"))
        try WAVFile.write(signal.pcm(format), to: path)
        var request = Converter.Request(format: AudioFormat(container: .raw), nameHint: path)
        request.drawsOnly = true
        request.waveforms = [WaveformRequest(.png, settings)]
        let source = try OpenFile.reading(path)
        let file = open(picture, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        try #require(file >= 0)
        defer { close(file) }
        let outcome = try Converter(request).run(from: source.descriptor, to: file)
        #expect(outcome.waveform?.spectrogram == settings.spectrogram)
        // The places in the palette, and after them the palette.
        let words = ["-v", "error", "-y", "-i", picture, "-f", "rawvideo", "-pix_fmt", "pal8", raw]
        try Run.program("ffmpeg", words).checked()
        let (width, height) = settings.size
        let pixels = Array(try Bytes.read(raw).prefix(width * height))
        try #require(pixels.count == width * height)
        // As the definition of the picture says for this size.
        let hasAxes = width == 600 && height == 300
        let plot = hasAxes ? (58, 12, 472, 264) : (0, 0, width, height)
        return Drawn(width: width, pixels: pixels, plot: plot)
    }

    private static let rate = 48_000

    private func mel(_ hertz: Double) -> Double { 2_595 * log10(1 + hertz / 700) }

    private func row(of hertz: Double, _ scale: Recipe.Waveform.FrequencyScale, rows: Int) -> Int {
        let highest = Double(Self.rate) / 2
        let part: Double = scale == .mel ? mel(hertz) / mel(highest) : hertz / highest
        return Int(Double(rows) * (1 - part))
    }

    @Test(arguments: Recipe.Waveform.FrequencyScale.allCases, [110, 1_000, 9_000])
    func toneIsInItsRowAndHasItsLevel(scale: Recipe.Waveform.FrequencyScale, hertz: Int) throws {
        // -20.9 dB of full scale: the strongest colour is -20 dB.
        let tone = Signal.tone(Double(hertz), rate: Self.rate, frames: 4 * Self.rate, amplitude: 0.09)
        let drawn = try draw(tone, .init(width: 600, height: 300, spectrogram: scale))
        let expected = row(of: Double(hertz), scale, rows: 264)
        for x in [20, 236, 450] {
            let row = drawn.loudestRow(x, in: 0..<264)
            #expect(abs(row - expected) <= 1, "\(row), not \(expected)")
            #expect(abs(drawn.level(x, row) + 0.9) < 0.9, "\(drawn.level(x, row))")
        }
        // Three octaves above, or near the top, there is nothing.
        #expect(drawn.place(236, row(of: min(8 * Double(hertz), 20_000), scale, rows: 264)) == 0)
    }

    @Test func silenceIsTheFaintestColour() throws {
        let drawn = try draw(
            Signal.tone(440, rate: Self.rate, frames: Self.rate, amplitude: 0),
            .init(width: 600, height: 300, spectrogram: .mel)
        )
        #expect(drawn.places(inRows: 0..<264) == [0])
    }

    @Test func whiteNoiseIsEquallyLoudEverywhere() throws {
        let noise = Signal.noise(seed: 7, rate: Self.rate, frames: 20 * Self.rate, channels: 1, amplitude: 0.25)
        let drawn = try draw(noise, .init(width: 600, height: 300, spectrogram: .linear))
        // Without the rows at both ends, whose frequencies have no neighbours.
        var quarters: [Double] = []
        for quarter in 0..<4 {
            let start = 2 + quarter * 65
            quarters.append(drawn.meanLevel(ofRows: start..<start + 65))
        }
        let (lowest, highest) = (quarters.min() ?? -80, quarters.max() ?? 0)
        #expect(highest - lowest < 0.5, "\(quarters)")
        // The power of uniform noise is a third of the squared amplitude, of which a frequency has 6 / 2,048. The loudest of
        // the eight in a row is up to 6 dB above it; and the strongest colour is at -30 dB.
        let power: Double = 0.25 * 0.25 / 3 * 6 / 2_048
        let mean: Double = 10 * log10(power)
        let (least, most) = (mean + 30 - 1, mean + 30 + 6)
        #expect(lowest > least && highest < most, "\(quarters), \(mean)")
    }

    @Test func clickIsAtItsTime() throws {
        var samples = [Double](repeating: 0, count: 4 * Self.rate)
        samples[3 * Self.rate] = 0.9
        let drawn = try draw(
            Signal(rate: Self.rate, channels: [samples]),
            .init(width: 600, height: 300, spectrogram: .linear)
        )
        let loudest = (0..<472).max { drawn.place($0, 100) < drawn.place($1, 100) }
        #expect(abs((loudest ?? 0) - 354) <= 2, "\(loudest ?? -1)")
        #expect(drawn.place(300, 100) == 0 && drawn.place(400, 100) == 0)
    }

    @Test func eachChannelHasItsLane() throws {
        let frames = 2 * Self.rate
        let left = Signal.tone(500, rate: Self.rate, frames: frames, amplitude: 0.5)
        let right = Signal.tone(6_000, rate: Self.rate, frames: frames, amplitude: 0.5)
        let both = Signal(rate: Self.rate, channels: left.channels + right.channels)
        let drawn = try draw(both, .init(splitsChannels: true, width: 600, height: 300, spectrogram: .mel))
        // Three pixels lie between the lanes.
        let rows = (264 - 3) / 2
        let upper = drawn.loudestRow(236, in: 0..<rows)
        let lower = drawn.loudestRow(236, in: rows + 3..<2 * rows + 3) - rows - 3
        #expect(abs(upper - row(of: 500, .mel, rows: rows)) <= 1)
        #expect(abs(lower - row(of: 6_000, .mel, rows: rows)) <= 1)
    }

    @Test(arguments: [(16, 16), (300, 150), (1_201, 401), (1_600, 900)]) func pictureOfAnySizeCanBeDecoded(
        width: Int,
        height: Int
    ) throws {
        let noise = Signal.noise(seed: 9, rate: 8_000, frames: 8_000, channels: 2, amplitude: 0.5)
        for theme in Recipe.Waveform.Theme.allCases {
            let settings = Recipe.Waveform(
                splitsChannels: true,
                width: width,
                height: height,
                theme: theme,
                spectrogram: .mel
            )
            _ = try draw(noise, settings)
            let raw = folder.path("rgba.raw")
            let words = ["-v", "error", "-y", "-i", folder.path("out.png"), "-f", "rawvideo", "-pix_fmt", "rgba", raw]
            try Run.program("ffmpeg", words).checked()
            let pixels = try Bytes.read(raw)
            #expect(pixels.count == 4 * width * height)
            let isOpaque = Bytes.areAll(255, in: pixels, from: 3, by: 4)
            #expect(isOpaque == (theme != .transparent))
        }
    }

    @Test func soundWithoutFramesIsEmpty() throws {
        let drawn = try draw(
            Signal(rate: 8_000, channels: [[]]),
            .init(width: 600, height: 300, theme: .dark, spectrogram: .linear)
        )
        #expect(drawn.place(0, 0) == 0 && drawn.place(471, 263) == 0)
    }

    // MARK: Parts

    @Test func transformIsThatOfTheDefinition() throws {
        let samples = Signal.noise(seed: 5, rate: 8_000, frames: 256, channels: 1, amplitude: 1).channels[0]
        let transform = try RealTransform.open(size: 256)
        var values: [Float] = []
        transform.run { place in
            for index in 0..<256 { place[index] = Float(samples[index]) }
        } _: {
            values = Array($0)
        }
        for frequency in [0, 1, 17, 127, 128] {
            var (real, imaginary) = (0.0, 0.0)
            for index in 0..<256 {
                let angle = 2 * Double.pi * Double(frequency * index) / 256
                real += Double(samples[index]) * cos(angle)
                imaginary -= Double(samples[index]) * sin(angle)
            }
            let found = (real: Double(values[2 * frequency]), imaginary: Double(values[2 * frequency + 1]))
            #expect(abs(found.real - real) < 1e-4)
            #expect(abs(found.imaginary - imaginary) < 1e-4)
        }
    }

    @Test(arguments: Recipe.Waveform.FrequencyScale.allCases, [1, 7, 264, 3_000])
    func everyFrequencyIsInOneRow(scale: Recipe.Waveform.FrequencyScale, rows: Int) {
        let bands = FrequencyRows(scale, count: rows, sampleRateHz: 44_100).bands(in: 2_049)
        var owners = [Int](repeating: 0, count: 2_049)
        for band in bands where band.first <= band.last {
            for place in band.first...band.last { owners[place] += 1 }
        }
        #expect(owners.allSatisfy { $0 == 1 })
        let between = bands.filter { $0.first > $0.last }
        #expect(between.allSatisfy { $0.last >= 0 && $0.first < 2_049 && (0...1).contains($0.share) })
    }

    @Test func frequenciesHaveLabelsThatPeopleCountIn() {
        let linear = FrequencyRows(.linear, count: 240, sampleRateHz: 48_000).marks(distance: 18)
        #expect(linear.map(\.text).prefix(3) == ["24 kHz", "22 kHz", "20 kHz"] && linear.last?.text == "0 Hz")
        let mel = FrequencyRows(.mel, count: 360, sampleRateHz: 44_100).marks(distance: 18)
        let expected = ["20 kHz", "10 kHz", "5 kHz", "2 kHz", "1 kHz", "500 Hz", "200 Hz"]
        #expect(mel.map(\.text).prefix(7) == expected[...])
    }

    /// Also in a tall picture of a low rate, in which smaller steps would have room.
    @Test func labelsHaveOneDecimal() {
        let tall = FrequencyRows(.linear, count: 2_100, sampleRateHz: 8_000).marks(distance: 18)
        #expect(tall.map(\.text).prefix(4) == ["4 kHz", "3.9 kHz", "3.8 kHz", "3.7 kHz"])
        #expect(tall.map(\.text).suffix(3) == ["200 Hz", "100 Hz", "0 Hz"])
        let low = FrequencyRows(.linear, count: 240, sampleRateHz: 1_000).marks(distance: 18)
        #expect(low.map(\.text).prefix(2) == ["500 Hz", "450 Hz"])
        let odd = FrequencyRows(.mel, count: 264, sampleRateHz: 11_025).marks(distance: 18)
        #expect(odd.first?.text == "5 kHz")
    }

    @Test func overviewTakesMeans() {
        var overview = SpectrumOverview(rows: 2, capacity: 4, framesPerColumn: 16)
        for number in 0..<8 {
            // A column has one spectrum at first, and two later.
            overview.add([Float(number), 1], of: overview.framesPerColumn / 16)
        }
        overview.finish()
        // Twice four columns became two, of four spectra each.
        #expect(overview.framesPerColumn == 64 && overview.count == 2)
        #expect(overview.powers == [1.5, 1, 5.5, 1])
    }

    @Test func wildSamplesDoNotHideTheOthers() throws {
        var samples = Signal.tone(1_000, rate: Self.rate, frames: Self.rate).channels[0]
        samples[100] = .nan
        samples[200] = .infinity
        samples[300] = -1e30
        let drawn = try draw(
            Signal(rate: Self.rate, channels: [samples]),
            .init(width: 600, height: 300, spectrogram: .linear),
            as: .f32
        )
        // Behind them there is only the tone, at -6 dB of the strongest colour.
        let loudest = drawn.loudestRow(236, in: 0..<264)
        #expect(abs(loudest - row(of: 1_000, .linear, rows: 264)) <= 1)
        #expect(abs(drawn.level(236, loudest) + 6) < 1.5, "\(drawn.level(236, loudest))")
        #expect(drawn.place(236, row(of: 9_000, .linear, rows: 264)) == 0)
    }
}
