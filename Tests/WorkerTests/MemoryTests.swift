import Conversion
import Foundation
import Ledger
import TestSupport
import Testing

/// What a slot's room takes does not grow with its inputs. How much that is, is measured of a release build by `make bench`.
struct MemoryTests {
    private static let hours = 10

    @Test func tenHoursTakeNoMoreThanAMinute() async throws {
        let lab = try await WorkerLab()
        try addSilence("short.wav", seconds: 60, in: lab)
        try addSilence("long.wav", seconds: Self.hours * 3_600, in: lab)
        let worker = try lab.worker("--slots", "1", "--root", "made=\(lab.path("out"))")
        var peaks: [String: Int] = [:]
        // In one room, whose high-water mark each attempt tells.
        for (ended, way) in [
            ("in:short.wav", "a.flac"), ("made:a.flac", "b.wav"), ("in:long.wav", "c.flac"), ("made:c.flac", "d.flac"),
        ].enumerated() {
            let job = try await lab.submit([WorkerLab.recipe(way.0, to: "out:\(way.1)")])[0]
            try await lab.wait("\(way.0) is converted", within: .seconds(300)) {
                try lab.truth()["completed", default: 0] == ended + 1
            }
            let row = try lab.sql("select peak_bytes, frames_out from \(lab.schema).attempt where job = \(job)")
            let facts = row.split(separator: "|").compactMap { Int($0) }
            try #require(facts.count == 2)
            peaks[way.1] = facts[0]
            if ended >= 2 { #expect(facts[1] == Self.hours * 3_600 * 8_000) }
        }
        #expect(try await worker.stop() == .exited(0))
        let (short, long) = (try #require(peaks["b.wav"]), try #require(peaks["d.flac"]))
        // Pages that the kernel happened to map or not.
        #expect(long - short <= 1 << 20, "\(peaks)")
    }

    /// Zeros that take no room on the disk.
    private func addSilence(_ name: String, seconds: Int, in lab: WorkerLab) throws {
        let size = seconds * 8_000 * 2
        let tiny = Signal.noise(seed: 1, rate: 8_000, frames: 100).pcm(.s16)
        try WAVFile.write(tiny, to: lab.path("in/\(name)"), options: .init(claimedDataSize: UInt32(size)))
        guard truncate(lab.path("in/\(name)"), off_t(44 + size)) == 0 else {
            throw SupportError("lengthen", errno: errno)
        }
    }
}
