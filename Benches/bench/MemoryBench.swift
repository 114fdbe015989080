import Conversion
import BenchNames
import Foundation
import TestSupport

/// Compares ten hours with ten minutes, to show whether memory grows with the length of the source.
enum MemoryBench {
    private static let targetKiB = 48 * 1024
    /// The difference between two runs of the same conversion, from pages that the kernel happened to map or not.
    private static let noiseKiB = 1024

    static func run(_ bench: Workbench) throws -> Section {
        let (short, long) = bench.isQuick ? (2, 20) : (10, 600)
        var section = Section(
            "memory",
            """
            The most memory that a conversion takes at once, libraries included, in MiB: \(Plural.count(short, "minute"))
            and \(Plural.count(long, "minute")) of 44.1 kHz stereo, read from a pipe and from files.
            """,
            columns: ["conversion", "\(short) min", "\(long) min", "target", "growth", "target"]
        )
        let brief = try peaks(minutes: short, bench)
        let lasting = try peaks(minutes: long, bench)
        for (first, second) in zip(brief, lasting) {
            let growth = second.peakKiB - first.peakKiB
            section.add(
                [
                    second.name, mebibytes(first.peakKiB), mebibytes(second.peakKiB), mebibytes(targetKiB),
                    mebibytes(growth), mebibytes(noiseKiB),
                ],
                numbers: [
                    "shortKiB": Double(first.peakKiB), "longKiB": Double(second.peakKiB),
                    "targetKiB": Double(targetKiB), "noiseKiB": Double(noiseKiB),
                ],
                isWithin: second.peakKiB <= targetKiB && growth <= noiseKiB
            )
        }
        return section
    }

    private static func mebibytes(_ kibibytes: Int) -> String { (Double(kibibytes) / 1024).fixed(1) }

    // MARK: Measuring one length

    private struct Peak {
        let name: String
        let peakKiB: Int
    }

    private static func peaks(minutes: Int, _ bench: Workbench) throws -> [Peak] {
        let seconds = minutes * 60
        let frames = seconds * Material.pieceRate
        // The WAV file is as large as the stream through the pipe.
        let wavBytes = frames * 4
        let isRoomy = try bench.largeFolder.freeBytes > wavBytes * 3 / 2
        if !isRoomy { Bench.complain("not enough space for a WAV of \(wavBytes >> 20) MiB: using 8 kHz mono instead") }
        // The slowest start first, while the other cores work on the rest.
        let fromPipe: [TargetFormat] = [.aac, .opus, .mp3, .flac, isRoomy ? .wav : .wav8k]
        let kept: [TargetFormat] = [.opus, .aac, .mp3, .flac]
        @Sendable func folder(_ format: TargetFormat) throws -> String {
            try bench.largeFolder.folder("memory-\(format.rawValue)")
        }

        let piped = try Parallel.map(fromPipe) { format in
            let folder = try folder(format)
            let figures = try convertPipe(to: format, in: folder, frames: frames, bench)
            if !kept.contains(format) { try FileManager.default.removeItem(atPath: folder) }
            return peak("pipe to \(format.rawValue)", minutes, figures)
        }
        let read = try Parallel.map(kept) { format in
            let folder = try folder(format)
            let words = [TargetFormat.wav8k.rawValue, folder, "\(folder)/0.\(format.fileExtension)"]
            let figures = try MeasuredProgram.run(bench.ours, words, core: nil).figures()
            let expected = TargetFormat.wav8k.frames(from: frames, rate: Material.pieceRate)
            try check(figures, expected, "\(format.rawValue) to wav8k")
            try FileManager.default.removeItem(atPath: folder)
            return peak("\(format.rawValue) to wav8k", minutes, figures)
        }
        return piped + read
    }

    private static func peak(_ name: String, _ minutes: Int, _ figures: Figures) -> Peak {
        Bench.complain(
            "\(name), \(Plural.count(minutes, "minute")): \(figures.peakKiB) KiB, \(figures.cpuSeconds.fixed(1)) s of CPU"
        )
        return Peak(name: name, peakKiB: figures.peakKiB)
    }

    private static func convertPipe(
        to format: TargetFormat,
        in folder: String,
        frames: Int,
        _ bench: Workbench
    ) throws -> Figures {
        let pipe = try OpenPipe.open()
        let stream = WAVFile.stream(frames: frames, rate: Material.pieceRate, to: pipe.takeWriting())
        let words = [format.rawValue, folder, "-"]
        let run = try MeasuredProgram.run(bench.ours, words, core: nil, input: pipe.reading)
        pipe.closeReading()
        let fed = try stream.finish()
        guard fed == frames else {
            throw SupportError("feed \(frames) frames to \(format.rawValue)", "only \(fed) were read")
        }
        let figures = try run.figures()
        try check(figures, format.frames(from: frames, rate: Material.pieceRate), "a pipe to \(format.rawValue)")
        return figures
    }

    private static func check(_ figures: Figures, _ expected: Int, _ name: String) throws {
        guard figures.frames == expected else {
            throw SupportError("convert \(name)", "\(figures.frames) frames came out, not \(expected)")
        }
    }
}
