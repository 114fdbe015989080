import Conversion
import Foundation
import Media
import Testing

@testable import PumpRoom

/// What a room that was taken over can do to the level of the other tracks of its album.
struct AlbumBoundsTests {
    /// Sound of this length at one loudness.
    private func measure(_ lufs: Double, seconds: Double, peak: Double = 0) -> TrackMeasure {
        let step = Int((lufs - AlbumMeasure.floorLUFS) / AlbumMeasure.stepLU + 0.5)
        let middle = AlbumMeasure.floorLUFS + (Double(step) + 0.5) * AlbumMeasure.stepLU
        let blocks = Int64(seconds * 10)
        let album = AlbumMeasure(
            steps: [step],
            blocks: [blocks],
            energies: [Double(blocks) * pow(10, (middle + 0.691) / 10)],
            truePeakDBTP: peak
        )
        return TrackMeasure(report: LoudnessReport(integratedLUFS: middle, truePeakDBTP: peak), album: album)
    }

    /// A source of a megabyte, with the limits of a worker.
    private let bounds = JobBounds(Recipe.Limits(decodedSeconds: 604_800), source: nil, byteCount: 1_000_000)

    private func sum(_ tracks: [TrackMeasure]) -> AlbumMeasure {
        var all = AlbumMeasure()
        for track in tracks.sorted(by: { $0.album.steps.first ?? 0 < $1.album.steps.first ?? 0 }) {
            all.steps += track.album.steps
            all.blocks += track.album.blocks
            all.energies += track.album.energies
        }
        return all
    }

    @Test func figuresOfRealSamplesAreBelieved() {
        for lufs in [-69.0, -23, 0, 14, 24] {
            #expect(measure(lufs, seconds: 240, peak: 6).isCredible(within: bounds), "\(lufs)")
        }
        let honest = measure(-14, seconds: 240)
        #expect(honest.weighed(within: bounds) == honest)
    }

    @Test func figuresThatNoSamplesHaveAreRefused() {
        #expect(!measure(24.2, seconds: 240).isCredible(within: bounds), "louder than any samples")
        #expect(!measure(49, seconds: 240).isCredible(within: bounds))
        #expect(!measure(-14, seconds: 240, peak: 24.1).isCredible(within: bounds), "a higher peak than samples have")
        #expect(!measure(-14, seconds: 1e9).isCredible(within: bounds), "a longer source than the job may decode")
        var other = measure(-14, seconds: 240)
        other.album.energies[0] *= 2
        #expect(!other.isCredible(within: bounds), "an energy of another step")
    }

    /// A week of sound from a megabyte, louder than its neighbours or quieter.
    @Test(arguments: [-4.0, -23]) func noTrackMovesItsAlbumFurtherThanSoundOfItsSize(_ claimed: Double) throws {
        let neighbours = (0..<11).map { _ in measure(-14, seconds: 3_600) }
        let lie = measure(claimed, seconds: 600_000)
        #expect(lie.isCredible(within: bounds))
        let weighed = lie.weighed(within: bounds)
        #expect(weighed.report == lie.report && weighed.album.blocks == [156_260])
        let lufs = try #require(weighed.album.integratedLUFS)
        #expect(abs(lufs - claimed - 0.05) < 0.001, "its own loudness stays")
        let moved = try #require(sum(neighbours + [weighed]).integratedLUFS)
        let real = try #require(sum(neighbours + [measure(claimed, seconds: 15_625)]).integratedLUFS)
        #expect(abs(moved - real) < 0.01)
        let unbounded = try #require(sum(neighbours + [lie]).integratedLUFS)
        #expect(abs(unbounded - real) > 3)
    }

    @Test func manyStepsWithFewBlocksKeepTheirSum() {
        let middle = { (step: Int) in pow(10, (AlbumMeasure.floorLUFS + (Double(step) + 0.5) * 0.1 + 0.691) / 10) }
        let steps = Array(300..<600)
        let album = AlbumMeasure(steps: steps, blocks: steps.map { _ in 1 }, energies: steps.map(middle))
        let track = TrackMeasure(report: LoudnessReport(), album: album)
        let few = JobBounds(Recipe.Limits(decodedSeconds: 604_800), source: nil, byteCount: 64 * 9)
        let weighed = track.weighed(within: few)
        #expect(weighed.album.blocks.reduce(0, +) == 100 && weighed.isCredible(within: few))
    }

    @Test func emptyAndTinyMeasuresStayWhole() {
        let silence = TrackMeasure(report: LoudnessReport(), album: AlbumMeasure())
        #expect(silence.isCredible(within: bounds) && silence.weighed(within: bounds) == silence)
        let none = JobBounds(Recipe.Limits(decodedSeconds: 604_800), source: nil, byteCount: 0)
        #expect(measure(-14, seconds: 1).weighed(within: none) == measure(-14, seconds: 1))
        #expect(measure(-14, seconds: 100).weighed(within: none).album.blocks == [10])
    }
}
