import Conversion
import Foundation
import TestSupport
import Testing

@testable import PumpRoom

/// What a room takes for a long timeline of many pieces.
@Suite(.timeLimit(.minutes(15))) struct TimelineMemoryTests {
    /// What the pieces may take beyond a plain conversion. The absolute peak of a process says little: it counts the
    /// pages of the program and its libraries, which all rooms share.
    private static let limit: Int64 = 12 << 20

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
                let start = MediaTime(value: Int64(generator.next() % 80), timescale: 1)
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

    @Test func aThousandPiecesTakeLittleMemory() async throws {
        let bench = try SlotBench()
        for (seed, name) in [(UInt64(1), "a.wav"), (2, "b.wav")] {
            let sound = Signal.noise(seed: seed, rate: 8_000, frames: 8_000 * 200, amplitude: 0.2)
            try WAVFile.write(sound.pcm(.s16), to: bench.folder.path(name))
        }
        let recipe = Recipe(
            sources: ["a", "b"].map { (name: String) in
                .init(location: bench.folder.path(name + ".wav"), name: name)
            },
            outputs: [.init(location: bench.folder.path("out.wav"))],
            timeline: try Self.timeline()
        )
        try recipe.validate()
        let first = try OpenFile.reading(recipe.sources[0].location)
        let second = try OpenFile.reading(recipe.sources[1].location)
        let destination = try OpenFile.creating(bench.folder.path("out.wav"))
        let short = try bench.short()
        let plain = try await peak(short.room, in: bench, frames: 4_000)
        withExtendedLifetime(short) {}
        let work = RoomWork(recipe, from: [first.descriptor, second.descriptor], to: destination.descriptor)
        let peak = try await peak(work, in: bench, frames: 8_000 * Self.seconds)
        #expect(peak - plain <= Self.limit, "\(peak >> 20) MiB, and \(plain >> 20) MiB for a plain conversion")
    }

    /// The peak memory of a room that does nothing else.
    private func peak(_ work: RoomWork<[ConversionReport]>, in bench: SlotBench, frames: Int64) async throws -> Int64 {
        let slot = bench.slot()
        let outcome = await slot.run(work)
        await slot.close()
        guard case .done(let reports, let cost) = outcome else {
            throw SupportError("convert", "\(outcome)")
        }
        #expect(reports[0].writtenFrames == frames)
        return try #require(cost.peakBytes)
    }
}
