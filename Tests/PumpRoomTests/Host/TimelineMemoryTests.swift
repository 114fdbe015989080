import Conversion
import Foundation
import TestSupport
import Testing

@testable import PumpRoom

/// What a room takes for a long timeline of many pieces.
@Suite(.timeLimit(.minutes(5))) struct TimelineMemoryTests {
    /// A slot's memory: see docs/benchmarks.md.
    private static let limit: Int64 = 48 << 20

    /// Eight hours, or half an hour with the slow debug build: memory depends on the number of pieces and not on
    /// their length.
    private static let seconds: Int64 =
        ProcessInfo.processInfo.environment["SLUICE_TEST_PROGRAMS"] == nil ? 1_800 : 8 * 3_600

    /// Four tracks of 250 pieces: ranges of two sources, some reversed, repeated, faded, louder or panned.
    private static func timeline() throws -> Timeline {
        let length = MediaTime(value: seconds, timescale: 250)
        var generator = SeededGenerator(seed: 5)
        var tracks: [Timeline.Track] = []
        for track in 0..<4 {
            var pieces: [Piece] = []
            for index in 0..<250 {
                let start = MediaTime(value: Int64(generator.below(80)), timescale: 1)
                let name = index % 2 == track % 2 ? "a" : "b"
                var piece = Piece(.source(name, try MediaTimeRange(start: start, end: start + length)))
                if index % 5 == 0 { piece.gain = try #require(Gain(decibels: -6)) }
                if index % 7 == 0 { piece.fadeIn = Fade(MediaTime(value: 1, timescale: 2)) }
                if index % 10 == 0 { piece.isReversed = true }
                pieces.append(piece)
            }
            tracks.append(Timeline.Track(pieces: pieces))
        }
        return Timeline(tracks: tracks)
    }

    @Test func aThousandPiecesFitIntoASlotsMemory() async throws {
        let bench = try SlotBench()
        for (seed, name) in [(UInt64(1), "a.wav"), (2, "b.wav")] {
            let sound = Signal.noise(seed: seed, rate: 8_000, frames: 8_000 * 200, amplitude: 0.2)
            try WAVFile.write(sound.pcm(.s16), to: bench.folder.path(name))
        }
        let recipe = Recipe(
            sources: ["a", "b"].map { .init(location: bench.folder.path("\($0).wav"), name: $0) },
            outputs: [.init(location: bench.folder.path("out.wav"))],
            timeline: try Self.timeline()
        )
        try recipe.validate()
        let sources = try recipe.sources.map { try OpenFile.reading($0.location) }
        let destination = try OpenFile.creating(bench.folder.path("out.wav"))
        let slot = bench.slot()
        let outcome = await slot.run(
            RoomWork(recipe, from: sources.map(\.descriptor), to: destination.descriptor)
        )
        guard case .converted(let reports, let cost) = outcome else {
            Issue.record("\(outcome)")
            return
        }
        #expect(reports[0].writtenFrames == 8_000 * Self.seconds)
        let peak = try #require(cost.peakBytes)
        #expect(peak <= Self.limit, "\(peak >> 20) MiB")
        await slot.close()
    }
}
