import BenchNames
import Conversion
import Foundation
import Ledger
import TestSupport

/// The memory of a worker and its slots: with inputs of ten hours, and over many thousand jobs.
enum SlotMemoryBench {
    private static let slotTargetKiB = 48 * 1024
    private static let growthTargetKiB = 2 * 1024
    private static let rate = 44_100

    static func run(_ bench: Workbench) async throws -> [Section] { [try await hours(bench), try await many(bench)] }

    // MARK: - Long inputs

    /// One conversion to measure.
    private struct Way {
        let source: String
        let stem: String
        let format: TargetFormat
    }

    private static func hours(_ bench: Workbench) async throws -> Section {
        let minutes = bench.isQuick ? 20 : 600
        let frames = minutes * 60 * rate
        let slots = ProcessInfo.processInfo.activeProcessorCount
        try silence(frames, to: bench.largeFolder.folder("in") + "/long.wav")
        let cluster = try await ClusterUnderBench.start(bench, slots: slots, hasCoordinator: false)
        var section = Section(
            "memory of a slot",
            """
            \(Plural.count(minutes, "minute")) of 44.1 kHz mono in each of the \(slots) slots of a worker at once, in MiB. Resident memory
            includes shared code, some 38 MiB; the total and the figure per slot count shared pages once.
            """,
            columns: ["conversion", "room, resident", "worker, resident", "in all", "per slot", "target"]
        )
        for way in [
            Way(source: "in:long.wav", stem: "flac", format: .flac),
            Way(source: "in:long.wav", stem: "mp3", format: .mp3),
            Way(source: "in:long.wav", stem: "aac", format: .aac),
            Way(source: "out:flac-0.flac", stem: "flac-flac", format: .flac16k),
            Way(source: "out:mp3-0.mp3", stem: "mp3-flac", format: .flac16k),
            Way(source: "out:aac-0.m4a", stem: "aac-flac", format: .flac16k),
        ] {
            Bench.complain("\(way.source) to \(way.format.rawValue)")
            let sources = [String](repeating: way.source, count: slots)
            let watched = try await cluster.watch { try await $0.convert(sources, to: way.format, stem: way.stem) }
            guard watched.took.frames == slots * way.format.frames(from: frames, rate: rate) else {
                throw SupportError("convert \(way.source)", "\(watched.took.frames) frames came out")
            }
            let perSlot = watched.wholeKiB / slots
            section.add(
                [
                    "\(way.source.split(separator: ".").last ?? "") to \(way.format.rawValue)",
                    mebibytes(watched.roomKiB), mebibytes(watched.workerKiB), mebibytes(watched.wholeKiB),
                    mebibytes(perSlot), mebibytes(slotTargetKiB),
                ],
                numbers: [
                    "roomKiB": Double(watched.roomKiB), "workerKiB": Double(watched.workerKiB),
                    "wholeKiB": Double(watched.wholeKiB), "perSlotKiB": Double(perSlot),
                    "targetKiB": Double(slotTargetKiB),
                ],
                isWithin: perSlot <= slotTargetKiB
            )
        }
        try cluster.stop()
        return section
    }

    /// A sparse file of zeros, which takes no space on the disk.
    private static func silence(_ frames: Int, to path: String) throws {
        let size = frames * 2
        let tiny = Signal.noise(seed: 1, rate: rate, frames: 100).pcm(.s16)
        try WAVFile.write(tiny, to: path, options: .init(claimedDataSize: UInt32(size)))
        guard truncate(path, off_t(44 + size)) == 0 else { throw SupportError("lengthen \(path)", errno: errno) }
    }

    // MARK: - Many jobs

    private static func many(_ bench: Workbench) async throws -> Section {
        let rounds = bench.isQuick ? [200, 600, 600] : [2_000, 9_000, 9_000]
        let clip = Signal.speechLike(seed: 1, rate: Material.clipRate, seconds: 1).pcm(.s16)
        try WAVFile.write(clip, to: bench.largeFolder.folder("in") + "/clip.wav")
        let slots = ProcessInfo.processInfo.activeProcessorCount
        let cluster = try await ClusterUnderBench.start(bench, slots: slots)
        var section = Section(
            "memory over many jobs",
            """
            \(rounds.reduce(0, +)) clips of a second to 16 kHz FLAC through one worker of \(slots) slots, in MiB: the most that the
            worker and any of its rooms had resident. Rooms are replaced after a thousand jobs. The growth is that since the
            first row.
            """,
            columns: ["jobs so far", "seconds", "worker", "growth", "target", "room, the largest"]
        )
        var (done, first): (Int, Int?) = (0, nil)
        for (number, count) in rounds.enumerated() {
            Bench.complain("\(count) jobs")
            let sources = [String](repeating: "in:clip.wav", count: count)
            let watched = try await cluster.watch {
                try await $0.convert(sources, to: .flac16k, stem: "many-\(number)")
            }
            done += count
            let growth = watched.workerKiB - (first ?? watched.workerKiB)
            section.add(
                [
                    "\(done)", watched.took.seconds.fixed(1), mebibytes(watched.workerKiB), mebibytes(growth),
                    mebibytes(growthTargetKiB), mebibytes(watched.roomKiB),
                ],
                numbers: ["workerKiB": Double(watched.workerKiB), "roomKiB": Double(watched.roomKiB)],
                isWithin: first == nil ? nil : growth <= growthTargetKiB
            )
            first = first ?? watched.workerKiB
        }
        try cluster.stop()
        return section
    }

    private static func mebibytes(_ kibibytes: Int) -> String { (Double(kibibytes) / 1024).fixed(1) }
}
