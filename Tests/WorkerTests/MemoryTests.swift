import Conversion
import Foundation
import Ledger
import TestSupport
import Testing

/// The memory of a slot's room does not grow with its inputs. `make bench` measures how much a release build uses.
struct MemoryTests {
    private static let hours = 10

    @Test func tenHoursTakeNoMoreThanAMinute() async throws {
        let lab = try await WorkerLab()
        try addSilence("short.wav", seconds: 60, in: lab)
        try addSilence("long.wav", seconds: Self.hours * 3_600, in: lab)
        let worker = try lab.worker("--slots", "1", "--root", "made=\(lab.path("out"))")
        var peaks: [String: Int] = [:]
        for (source, made) in [
            ("in:short.wav", "a.flac"), ("made:a.flac", "b.flac"), ("in:long.wav", "c.flac"), ("made:c.flac", "d.flac"),
        ] {
            let facts = try await convert(source, to: made, in: lab)
            peaks[made] = facts.peakBytes
            if made >= "c" { #expect(facts.frames == Self.hours * 3_600 * 8_000) }
        }
        try await worker.stopsWell()
        let (short, long) = (try #require(peaks["b.flac"]), try #require(peaks["d.flac"]))
        // A tolerance for pages that the kernel may or may not have mapped.
        #expect(long - short <= 1 << 20, "\(peaks)")
    }

    /// FLAC's encoder has seven megabytes. Memory that a room keeps from its first conversions
    /// must not block the space for it.
    @Test func anEncoderFitsWhereTheLastOneWas() async throws {
        let lab = try await WorkerLab()
        try lab.addSource()
        let worker = try lab.worker("--slots", "1", "--root", "made=\(lab.path("out"))")
        var peaks: [Int] = []
        for (source, made) in [("in:talk.wav", "a.flac"), ("made:a.flac", "b.flac"), ("made:b.flac", "c.flac")] {
            peaks.append(try await convert(source, to: made, in: lab).peakBytes)
        }
        try await worker.stopsWell()
        // The last conversion adds the decoder, with about a megabyte of code.
        #expect(peaks[2] - peaks[0] <= 3 << 20, "\(peaks)")
    }

    /// Eight hours in a thousand pieces over music that repeats, and half a minute in one piece.
    @Test func aThousandPiecesTakeLittleMoreThanOne() async throws {
        let lab = try await WorkerLab()
        // A low rate, so that the mix of eight hours takes seconds.
        let rate = 1_000
        try addSilence("talk.wav", seconds: 8 * 3_600, rate: rate, in: lab)
        try WAVFile.write(Signal.noise(seed: 2, rate: rate, frames: 700).pcm(.s16), to: lab.path("in/music.wav"))
        let worker = try lab.worker("--slots", "1")
        var peaks: [Int] = []
        for (made, count) in [("warm.flac", 1), ("one.flac", 1), ("thousand.flac", 1_000)] {
            let facts = try await convert(try timeline(of: count, to: "out:\(made)"), in: lab)
            #expect(facts.frames == count * 28_800)
            peaks.append(facts.peakBytes)
        }
        try await worker.stopsWell()
        #expect(peaks[2] - peaks[1] <= 4 << 20, "\(peaks)")
    }

    /// Pieces of 28.8 s, one after another, over music.
    private func timeline(of count: Int, to destination: String) throws -> Recipe {
        let length = MediaTime(value: 288, timescale: 10)
        let pieces = try (0..<count).map { number in
            let start = MediaTime(value: Int64(288 * number), timescale: 10)
            let range = try MediaTimeRange(start: start, duration: length)
            return Piece(.source("talk", range), gain: try Gain(parsing: number % 2 == 0 ? "-1dB" : "-2dB"))
        }
        let end = MediaTime(value: Int64(288 * count), timescale: 10)
        let music = Piece(.source("music"), repeats: .until(end))
        return Recipe(
            sources: [.init(location: "in:talk.wav", name: "talk"), .init(location: "in:music.wav", name: "music")],
            outputs: [.init(location: destination)],
            timeline: Timeline(tracks: [.init(pieces: pieces), .init(pieces: [music])])
        )
    }

    /// Counts only the worker's anonymous memory: pages of files depend on what else the machine does.
    @Test func twoThousandJobsTakeNoMoreThanFiveHundred() async throws {
        let lab = try await WorkerLab()
        try lab.addSource(frames: 800)
        let worker = try lab.worker("--slots", "2")
        var resident: [Int] = []
        for (round, count) in [500, 500, 500, 500].enumerated() {
            try await lab.submit(count, "round-\(round)-")
            try await lab.wait("\(500 * (round + 1)) are converted", within: .seconds(600)) {
                try lab.truth() == ["completed": 500 * (round + 1)]
            }
            resident.append(try anonymousBytes(of: worker.id))
        }
        try await worker.stopsWell()
        #expect(resident[3] - resident[0] <= 2 << 20, "\(resident)")
    }

    /// Converts in the worker's only room. Returns the room's peak memory and the number of frames written.
    private func convert(
        _ source: String,
        to made: String,
        in lab: WorkerLab
    ) async throws -> (peakBytes: Int, frames: Int) {
        try await convert(WorkerLab.recipe(source, to: "out:\(made)"), in: lab)
    }

    private func convert(_ recipe: Recipe, in lab: WorkerLab) async throws -> (peakBytes: Int, frames: Int) {
        let job = try await lab.submit([recipe])[0]
        try await lab.wait("\(recipe.outputs[0].location) is made", within: .seconds(600)) {
            try lab.sql("select count(*) from \(lab.schema).finished where job = \(job)") == "1"
        }
        let row = try lab.sql("select peak_bytes, frames_out from \(lab.schema).attempt where job = \(job)")
        let facts = row.split(separator: "|").compactMap { Int($0) }
        try #require(facts.count == 2, "\(row)")
        return (facts[0], facts[1])
    }

    private func anonymousBytes(of process: Int32) throws -> Int {
        let status = try String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
        let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("RssAnon:") })
        return try #require(line.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int($0) }) << 10
    }

    /// Writes a sparse file of zeros, which needs no disk space.
    private func addSilence(_ name: String, seconds: Int, rate: Int = 8_000, in lab: WorkerLab) throws {
        let size = seconds * rate * 2
        let tiny = Signal.noise(seed: 1, rate: rate, frames: 100).pcm(.s16)
        try WAVFile.write(tiny, to: lab.path("in/\(name)"), options: .init(claimedDataSize: UInt32(size)))
        guard truncate(lab.path("in/\(name)"), off_t(44 + size)) == 0 else {
            throw SupportError("lengthen", errno: errno)
        }
    }
}
