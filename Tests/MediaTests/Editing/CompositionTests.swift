import Conversion
import TestSupport
import Testing

@testable import Media

/// What a timeline does to samples, one thing at a time.
@Suite struct CompositionTests {
    private static let rate = 8_000
    private let sources: Sources

    init() throws {
        sources = try Sources([
            "a": Signal.noise(seed: 1, rate: Self.rate, frames: 4_000, channels: 2).pcm(.s16),
            "b": Signal.noise(seed: 2, rate: Self.rate, frames: 3_000, channels: 2).pcm(.s16),
        ])
    }

    private func timeline(_ pieces: Piece...) -> Timeline { Timeline(tracks: [.init(pieces: pieces)]) }
    private func frames(_ count: Int) -> MediaTime { MediaTime(frames: Int64(count), rate: Self.rate) }

    @Test func onePieceWithoutChangesGivesTheBytesOfAPlainConversion() throws {
        for name in ["out.wav", "out.flac", "out.mp3"] {
            let edited = try sources.convert(timeline(Piece(.source("a"))), to: name)
            let plain = try plainConversion(to: name)
            #expect(try Bytes.read(edited.path) == plain)
        }
    }

    private func plainConversion(to name: String) throws -> [UInt8] {
        let folder = try TemporaryFolder.create()
        let destination = try OpenFile.creating(folder.path(name))
        _ = try Converter(.init(format: Recipe.Output(location: name).audioFormat()))
            .run(from: sources.descriptors[0], to: destination.descriptor)
        return try Bytes.read(folder.path(name))
    }

    @Test(arguments: [PCM.SampleFormat.s16, .s24, .s32, .f32])
    func joinedPiecesKeepEveryBit(format: PCM.SampleFormat) throws {
        let first = Signal.noise(seed: 3, rate: Self.rate, frames: 5_000, channels: 2).pcm(format)
        let second = Signal.noise(seed: 4, rate: Self.rate, frames: 700, channels: 2).pcm(format)
        let sources = try Sources(["first": first, "second": second])
        let cut = MediaTimeRange(from: frames(1_000), to: frames(1_001))
        let silence = PCM(
            rate: Self.rate,
            channels: 2,
            format: format,
            bytes: [UInt8](repeating: 0, count: 50 * first.bytesPerFrame)
        )
        let joined = try sources.convert(
            timeline(
                Piece(.source("first")),
                Piece(.silence(frames(50))),
                Piece(.source("first", cut)),
                Piece(.source("second"))
            )
        )
        let found = try WAVFile.read(path: joined.path)
        #expect(found == (try PCM.joined([first, silence, first.cut(1_000..<1_001), second])))
        #expect(joined.outcome.summary.writtenFrames == 5_751)
        #expect(joined.outcome.remarks.isEmpty)
    }

    /// Regression: mixed in floats of 32 bits, all samples lost eight of their bits.
    @Test func whatAFadeLeavesAloneKeepsEveryBitOf32() throws {
        let given = Signal.noise(seed: 6, rate: Self.rate, frames: 9_000, channels: 2).pcm(.s32)
        let sources = try Sources(["a": given])
        var piece = Piece(.source("a"))
        (piece.fadeIn, piece.fadeOut) = (Fade(frames(1_000)), Fade(frames(500)))
        let faded = try sources.convert(timeline(piece))
        #expect(faded.outcome.format.bitDepth == 32)
        let found = try WAVFile.read(path: faded.path)
        let isSame = try found.cut(1_000..<8_500) == given.cut(1_000..<8_500)
        #expect(isSame)
        let isFaded = try found.cut(0..<1_000) != given.cut(0..<1_000)
        #expect(isFaded)
    }

    @Test func joinedFLACKeepsEveryBitOf24() throws {
        let folder = try TemporaryFolder.create()
        let first = Signal.ramp24(rate: 48_000, frames: 9_000, channels: 2).pcm(.s24)
        try WAVFile.write(first, to: folder.path("first.wav"))
        try FFmpeg.encode(folder.path("first.wav"), to: folder.path("first.flac"))
        let sources = try Sources(files: ["first": folder.path("first.flac"), "again": folder.path("first.wav")])
        let joined = try sources.convert(timeline(Piece(.source("first")), Piece(.source("again"))), to: "out.flac")
        #expect(joined.outcome.format.bitDepth == 24)
        #expect(try FFmpeg.decode(joined.path, to: .s24) == first.followed(by: first))
    }

    @Test func channelsArePickedBitByBit() throws {
        let four = Signal.noise(seed: 5, rate: Self.rate, frames: 2_000, channels: 4)
        let sources = try Sources(["four": four.pcm(.s32)])
        let picked = try sources.convert(timeline(Piece(.source("four"), channels: .numbers([3, 4]))))
        #expect(
            try WAVFile.read(path: picked.path)
                == Signal.stacked([
                    Signal(rate: Self.rate, channels: [four.channels[2]]),
                    Signal(rate: Self.rate, channels: [four.channels[3]]),
                ]).pcm(.s32)
        )
    }

    @Test func sumIsTheMeanOfBothChannels() throws {
        let found = try sources.samples(of: timeline(Piece(.source("a"), channels: .sum)))
        let channels = sources.signals["a"]!.channels
        let mean = SampleEditing.mean(of: channels[0], and: channels[1])
        #expect(found.count == 1)
        #expect(SampleMath.greatestDifference(found[0], mean) < 1e-6)
    }

    @Test func aGainEndsInRoundingAndDither() throws {
        let gain = try #require(Gain(decibels: -6))
        let quiet = try sources.convert(timeline(Piece(.source("a"), gain: gain)))
        #expect(quiet.outcome.format.bitDepth == 16)
        #expect(quiet.outcome.remarks.isEmpty)
        let (found, given) = (try WAVFile.read(path: quiet.path).signal, sources.signals["a"]!)
        for (found, given) in zip(found.channels, given.channels) {
            #expect(found.count == given.count)
            // Triangular dither and rounding: at most one and a half steps.
            let worst = SampleMath.greatestDifference(found, given, gain: gain.amplitude)
            #expect(worst <= 1.5 / 32_768 + 1e-7)
        }
    }

    @Test func whatExceedsFullScaleIsClippedAndCounted() throws {
        let loud = try sources.convert(timeline(Piece(.source("a"), gain: #require(Gain(decibels: 12)))))
        let clipped = sources.signals["a"]!.channels.flatMap { $0 }.count { abs($0) * 3.981 >= 1 }
        let told = try #require(loud.outcome.remarks.first { $0.kind == .samplesClipped })
        #expect(abs(Int(told.count ?? 0) - clipped) < 10)
        let signs = zip(try WAVFile.read(path: loud.path).signal.channels[0], sources.signals["a"]!.channels[0])
        #expect(signs.allSatisfy { $0 * $1 >= 0 || abs($1) < 0.001 })
    }

    @Test func lostDepthIsToldOfTheSourcesAndNotOfTheMix() throws {
        let deep = try Sources(["deep": Signal.ramp24(rate: Self.rate, frames: 2_000).pcm(.s24)])
        let quieter = timeline(Piece(.source("deep"), gain: try #require(Gain(decibels: -1))))
        let same = try deep.convert(quieter)
        #expect(same.outcome.format.bitDepth == 24)
        #expect(same.outcome.remarks.isEmpty)
        let reduced = try deep.convert(quieter) { $0.format.bitDepth = 16 }
        #expect(reduced.outcome.remarks.map(\.detail) == ["24 bits to 16, dithered"])
        let error = #expect(throws: MediaError.self) {
            try deep.convert(quieter) { ($0.format.bitDepth, $0.refusesLoss) = (16, true) }
        }
        #expect(error?.code == .lossRefused)
    }

    @Test func otherRatesAndLayoutsAreBroughtToTheClock() throws {
        let tone = { (rate: Int, channels: Int) in
            Signal.tone(440, rate: rate, frames: rate, channels: channels, amplitude: 0.25)
        }
        let sources = try Sources([
            "narrow": tone(8_000, 1).pcm(.s16), "wide": tone(44_100, 2).pcm(.s24), "high": tone(48_000, 2).pcm(.f32),
        ])
        let mixed = Timeline(tracks: ["narrow", "wide", "high"].map { .init(pieces: [Piece(.source($0))]) })
        let reader = try sources.reader(of: mixed)
        #expect(reader.shape.sampleRateHz == 48_000)
        #expect(reader.shape.channelCount == 2)
        #expect(reader.frames == 48_000)
        let found = try sources.samples(of: mixed)
        let expected = tone(48_000, 2).channels[0]
        for channel in found {
            // Away from the ends, where a resampler knows only one side.
            for frame in 2_000..<46_000 where abs(channel[frame] - 3 * expected[frame]) > 2e-4 {
                Issue.record("frame \(frame): \(channel[frame]) instead of \(3 * expected[frame])")
                break
            }
        }
    }

    @Test func rangesBeyondTheEndNameThePiece() throws {
        let beyond = timeline(
            Piece(.source("a")),
            Piece(.source("b", MediaTimeRange(from: .zero, to: frames(3_001))))
        )
        let error = #expect(throws: MediaError.self) { try sources.reader(of: beyond) }
        #expect(error?.code == .rangeOutsideSource)
        #expect(error?.detail.contains("tracks[0].pieces[1]") == true)
    }

    @Test func fadesLongerThanTheSoundAreRefused() throws {
        let refused = timeline(Piece(.source("a"), fadeOut: Fade(frames(4_001))))
        let error = #expect(throws: RecipeError.self) { try sources.reader(of: refused) }
        #expect(error?.path == "recipe.timeline.tracks[0].pieces[0].fadeOut")
    }
}
