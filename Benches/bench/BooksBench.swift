import BenchNames
import Conversion
import Foundation
import Ledger
import TestSupport

/// A library of folders that become books, from the search for files until the last book is published, compared with one
/// encode of the same sound for each book.
enum BooksBench {
    private static let target = 1.05
    private static let bitRate = 64_000
    private static let rate = 16_000

    static func run(_ bench: Workbench) async throws -> [Section] {
        let (folders, files) = bench.isQuick ? (10, 8) : (100, 40)
        let rounds = bench.rounds ?? (bench.isQuick ? 1 : 2)
        let cores = ProcessInfo.processInfo.activeProcessorCount
        var section = Section(
            "books",
            """
            \(folders) folders of \(files) WAV files of 3-6 s, 16 kHz mono, become \(folders) books in AAC with \(bitRate / 1_000) kbit/s, on all
            \(Plural.count(cores, "core")) and on disk: wall-clock seconds, medians of \(Plural.count(rounds, "round")) in turns. Ours is
            "sluice submit --join-folders --wait" with a worker, and PostgreSQL on the same cores with fsync on; each file is a chapter.
            ffmpeg encodes the same sound from one file for each book, one process for each core, and flushes nothing.
            """,
            columns: ["books", "ours s", "ffmpeg s", "books/s", "ours/ffmpeg [min..max]", "target"]
        )
        let library = try library(bench, folders: folders, files: files)
        let whole = try bench.largeFolder.folder("whole") + "/book.wav"
        try WAVFile.write(try PCM.joined(library.clips.map { try WAVFile.read(path: $0.path) }), to: whole)
        let cluster = try await ClusterUnderBench.start(bench, slots: cores)
        var (ours, floor): ([Double], [Double]) = ([], [])
        for round in 0..<rounds {
            Bench.complain("\(folders) books, round \(round + 1)")
            ours.append(try make(library.path, "round-\(round)", cluster, bench))
            try check(cluster, books: folders, frames: library.clips.reduce(0) { $0 + $1.frames })
            try FileManager.default.removeItem(atPath: "\(cluster.folder)/round-\(round)")
            floor.append(try encode(whole, folders, bench))
        }
        try cluster.stop()
        let ratio = Ratio(zip(ours, floor).map { $0 / $1 })
        let (seconds, floorSeconds) = (Rounds.median(ours), Rounds.median(floor))
        section.add(
            [
                "\(folders)", seconds.fixed(1), floorSeconds.fixed(1), (Double(folders) / seconds).fixed(1), ratio.text,
                "\(target)",
            ],
            numbers: [
                "oursSeconds": seconds, "ffmpegSeconds": floorSeconds, "overFFmpeg": ratio.median,
                "lowest": ratio.lowest, "highest": ratio.highest, "target": target,
            ],
            isWithin: ratio.median <= target
        )
        return [section]
    }

    /// Folders with the same files: names of the same data, so that the disk holds one book.
    private static func library(
        _ bench: Workbench,
        folders: Int,
        files: Int
    ) throws -> (path: String, clips: [(path: String, frames: Int)]) {
        let clips = try Material.clips(files, rate: rate, in: bench.largeFolder.folder("clips"))
        _ = try bench.largeFolder.folder("in")
        let path = try bench.largeFolder.folder("in/library")
        for book in 1...folders {
            let folder = try bench.largeFolder.folder("in/library/book \(book)")
            for (number, clip) in clips.enumerated() {
                let name = "\(folder)/\(number + 1).wav"
                guard link(clip.path, name) == 0 else { throw SupportError("link \(name)", errno: errno) }
            }
        }
        return (path, clips)
    }

    /// Seconds of the whole command, which ends when all books are published.
    private static func make(
        _ library: String,
        _ folder: String,
        _ cluster: ClusterUnderBench,
        _ bench: Workbench
    ) throws -> Double {
        try cluster.server.settle()
        let roots = ["in=\(bench.largeFolder.path)/in", "out=\(cluster.folder)"].flatMap { ["--root", $0] }
        let format = ["--codec", "aac", "--bit-rate", "\(bitRate / 1_000)k"]
        let words = ["submit", "-r", library, "--join-folders", "--to", "out:\(folder)/{dir}.m4b", "--wait", "--quiet"]
        let ledger = ["--database", cluster.server.postgres.url()]
        return try MeasuredProgram.run(bench.sluice, words + format + roots + ledger, core: nil).wallSeconds
    }

    /// Throws unless the last batch has made all books with all of their frames.
    private static func check(_ cluster: ClusterUnderBench, books: Int, frames: Int) throws {
        let made = try cluster.server.postgres.run(
            """
            select count(*), sum(a.frames_out) from sluice.finished f
            join sluice.attempt a on a.job = f.job and a.epoch = f.epoch
            where f.state = 'completed' and f.batch = (select max(id) from sluice.batch)
            """
        ).split(separator: "|").compactMap { Int($0) }
        guard made == [books, books * frames] else {
            throw SupportError("make \(books) books of \(frames) frames", "made: \(made)")
        }
    }

    /// Seconds of as many encodes as there are books, one process for each core.
    private static func encode(_ source: String, _ count: Int, _ bench: Workbench) throws -> Double {
        let output = try bench.largeFolder.folder("whole")
        let start = ContinuousClock.now
        _ = try Parallel.map(Array(0..<count)) { number in
            let encoder = [
                "-c:a", "aac", "-b:a", "\(bitRate)", "-threads", "1", "-f", "mp4", "\(output)/\(number).m4b",
            ]
            let quiet = ["-nostdin", "-loglevel", "error", "-y"]
            _ = try MeasuredProgram.run("ffmpeg", quiet + ["-i", source] + encoder, core: nil)
        }
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        for number in 0..<count { try FileManager.default.removeItem(atPath: "\(output)/\(number).m4b") }
        return seconds
    }
}
