import Conversion
import Foundation
import TestSupport
import Testing

@testable import Media

/// The loudness of several tracks together, against libebur128's own.
struct AlbumTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder.create() }

    /// Tracks of different lengths and levels, one of them with a long quiet part.
    private static let tracks: [Signal] = [
        .noise(seed: 1, rate: 48_000, frames: 240_000, channels: 2, amplitude: 0.5),
        .noise(seed: 2, rate: 48_000, frames: 480_000, channels: 2, amplitude: 0.02),
        .noise(seed: 3, rate: 48_000, frames: 96_001, channels: 2, amplitude: 0.11),
        .tone(440, rate: 48_000, frames: 130_000, channels: 2, amplitude: 0.3),
    ]

    private func measured(_ signal: Signal) throws -> TrackMeasure {
        try WAVFile.write(signal.pcm(.f32), to: folder.path("in.wav"))
        var request = Converter.Request(format: AudioFormat(container: .wav, codec: .pcm))
        request.loudness = LoudnessGoal(target: .level(.init(hundredths: -1_600)), scope: .album)
        let source = try OpenFile.reading(folder.path("in.wav"))
        return try Converter(request).measure(from: [source.descriptor])
    }

    /// Adds measures as the ledger does.
    private func sum(_ measures: [AlbumMeasure]) -> AlbumMeasure {
        var steps: [Int: (Int64, Double)] = [:]
        for measure in measures {
            for (index, step) in measure.steps.enumerated() {
                let before = steps[step] ?? (0, 0)
                steps[step] = (before.0 + measure.blocks[index], before.1 + measure.energies[index])
            }
        }
        let sorted = steps.sorted { $0.key < $1.key }
        return AlbumMeasure(
            steps: sorted.map(\.key),
            blocks: sorted.map(\.value.0),
            energies: sorted.map(\.value.1),
            truePeakDBTP: measures.compactMap(\.truePeakDBTP).max()
        )
    }

    @Test func sumOfMeasuresIsTheLoudnessOfAllTracks() throws {
        let measures = try Self.tracks.map(measured)
        for (track, measure) in zip(Self.tracks, measures) {
            let reference = try ReferenceLoudness(track)
            #expect(abs(try #require(measure.report.integratedLUFS) - reference.integrated) < 0.02)
            #expect(abs(try #require(measure.album.integratedLUFS) - reference.integrated) < 0.05)
            #expect(measure.album.isCredible(within: Double(track.frames) / 48_000))
        }
        for count in 1...Self.tracks.count {
            let together = try ReferenceLoudness.integrated(of: Array(Self.tracks.prefix(count)))
            let ours = try #require(sum(measures.prefix(count).map(\.album)).integratedLUFS)
            #expect(abs(ours - together) < 0.05, "\(count) tracks: \(ours), \(together)")
        }
    }

    @Test func silenceAddsNothing() throws {
        let silence = try measured(Signal.silence(rate: 48_000, frames: 100_000))
        #expect(silence.album == AlbumMeasure())
        #expect(silence.album.integratedLUFS == nil)
        #expect(silence.album.isCredible(within: 3))
    }

    /// The gain is the album's, whatever the track's own loudness, and the track is not measured a second time.
    @Test func anAlbumsGainIsThatOfAllItsTracks() throws {
        let measures = try Self.tracks.map(measured)
        let album = sum(measures.map(\.album))
        let loudness = try #require(album.integratedLUFS)
        for (index, track) in Self.tracks.enumerated() {
            try WAVFile.write(track.pcm(.f32), to: folder.path("in.wav"))
            var request = Converter.Request(format: AudioFormat(container: .wav, codec: .pcm))
            request.loudness = LoudnessGoal(target: .level(.init(hundredths: -3_000)), scope: .album)
            request.album = AlbumLoudness(measure: album, track: measures[index].report)
            let source = try OpenFile.reading(folder.path("in.wav"))
            let destination = try OpenFile.creating(folder.path("out.wav"))
            let outcome = try Converter(request).run(from: [source.descriptor], to: destination.descriptor)
            let change = try #require(outcome.loudness)
            #expect(abs(change.gainDB - (-30 - loudness)) < 0.006)
            #expect(abs(try #require(change.albumLUFS) - loudness) < 0.006)
            #expect(!outcome.remarks.contains { $0.kind == .loudnessMissed })
            let made = try WAVFile.read(path: folder.path("out.wav"))
            let factor = pow(10, (-30 - loudness) / 20)
            for channel in 0..<2 {
                let (given, written) = (track.channels[channel], made.samples(channel: channel))
                #expect(given.count == written.count)
                #expect(SampleMath.greatestDifference(written, given, gain: factor) < 1e-5)
            }
        }
    }

    @Test func anAlbumWithoutItsLoudnessIsRefused() throws {
        try WAVFile.write(Self.tracks[2].pcm(.s16), to: folder.path("in.wav"))
        let source = try OpenFile.reading(folder.path("in.wav"))
        for change: (inout Converter.Request) -> Void in [
            { $0.replayGain = .album },
            { $0.loudness = LoudnessGoal(target: .named(.podcast), scope: .album) },
        ] {
            var request = Converter.Request(format: AudioFormat(container: .wav, codec: .pcm))
            change(&request)
            let destination = try OpenFile.creating(folder.path("out\(UUID()).wav"))
            let error = try #require(throws: MediaError.self) {
                try Converter(request).run(from: source.descriptor, to: destination.descriptor)
            }
            #expect(error.code == .recipeRefused)
        }
    }

    @Test func measuresThatNoSoundHasAreNotCredible() {
        let good = AlbumMeasure(steps: [499, 500], blocks: [97, 2], energies: [97 * 0.011_58, 2 * 0.011_8])
        #expect(good.isCredible(within: 10))
        #expect(!good.isCredible(within: 8.8))
        for change: (inout AlbumMeasure) -> Void in [
            { $0.steps = [499] }, { $0.steps = [500, 499] }, { $0.steps = [499, 499] }, { $0.steps = [499, 1_200] },
            { $0.steps = [-1, 500] }, { $0.blocks = [97, 0] }, { $0.blocks = [97, -2] }, { $0.blocks = [.max, .max] },
            { $0.energies = [97 * 0.011_58, .nan] }, { $0.energies = [97 * 0.011_58, .infinity] },
            { $0.energies = [97 * 0.011_58, 2] }, { $0.energies = [97 * 0.011_58, -1] },
        ] {
            var bad = good
            change(&bad)
            #expect(!bad.isCredible(within: 1e9), "\(bad)")
        }
    }
}
