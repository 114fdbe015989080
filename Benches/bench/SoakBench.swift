import BenchNames
import TestSupport

/// The same conversion repeated in one process, to reveal memory leaks.
enum SoakBench {
    private static let targetKiB = 2 * 1024

    static func run(_ bench: Workbench) throws -> Section {
        let count = bench.isQuick ? 1_000 : 10_000
        let clip = Signal.speechLike(seed: 1, rate: Material.clipRate, seconds: 1).pcm(.s16)
        let path = try bench.fastFolder.folder("soak") + "/clip.wav"
        try WAVFile.write(clip, to: path)
        var section = Section(
            "soak",
            """
            \(count) conversions of one clip of a second in one process: resident memory in KiB
            after the 100th and after the last.
            """,
            columns: ["format", "100th", "last", "growth", "target"]
        )
        let formats = [TargetFormat.opus16k, .aac16k, .mp3At16k, .flac16k, .wav16k]
        let all = try Parallel.map(formats) { format in try soak(format, path, frames: clip.frames, count, bench) }
        for (format, resident) in zip(formats, all) {
            let growth = resident.last - resident.hundredth
            section.add(
                [format.rawValue, "\(resident.hundredth)", "\(resident.last)", "\(growth)", "\(targetKiB)"],
                numbers: [
                    "hundredthKiB": Double(resident.hundredth), "lastKiB": Double(resident.last),
                    "targetKiB": Double(targetKiB),
                ],
                isWithin: growth <= targetKiB
            )
        }
        return section
    }

    private static func soak(
        _ format: TargetFormat,
        _ clip: String,
        frames: Int,
        _ count: Int,
        _ bench: Workbench
    ) throws -> (hundredth: Int, last: Int) {
        let output = try bench.fastFolder.folder("soak-\(format.rawValue)")
        let run = try MeasuredProgram.run(bench.ours, [format.rawValue, output, clip, "x\(count)"], core: nil)
        let figures = try run.figures()
        let expected = count * format.frames(from: frames, rate: Material.clipRate)
        guard figures.frames == expected, let hundredth = figures.hundredthKiB, let last = figures.lastKiB else {
            throw SupportError("soak \(format.rawValue)", String(decoding: run.output, as: UTF8.self))
        }
        return (hundredth, last)
    }
}
