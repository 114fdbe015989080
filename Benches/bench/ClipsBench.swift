import Conversion
import BenchNames
import TestSupport

/// Many short clips in one process: the cost of opening and closing, compared with bare libav calls.
enum ClipsBench {
    private static let target = 1.15

    static func run(_ bench: Workbench) throws -> Section {
        let count = bench.isQuick ? 100 : 500
        let rounds = bench.isQuick ? 3 : 5
        let clips = try Material.clips(count, in: bench.fastFolder.folder("clips"))
        let output = try bench.fastFolder.folder("clips-out")
        var section = Section(
            "clips",
            """
            \(count) clips of 3-6 s, 8 kHz mono WAV, one after another in one process, to 16 kHz.
            CPU seconds without the start of the process: medians of \(Plural.count(rounds, "round")).
            """,
            columns: ["format", "ours s", "floor s", "ours/floor [min..max]", "target"]
        )
        for format in [TargetFormat.wav16k, .flac16k, .mp3At16k, .opus16k] {
            Bench.complain(format.rawValue)
            let expected = clips.reduce(0) { $0 + format.frames(from: $1.frames, rate: Material.clipRate) }
            let arguments = [format.rawValue, output] + clips.map(\.path)
            func convert(_ program: String) throws -> Double {
                let figures = try MeasuredProgram.run(program, arguments, core: bench.core).figures()
                guard figures.files == count, figures.frames == expected else {
                    throw SupportError(
                        "\(count) clips to \(format.rawValue) with \(program)",
                        "\(figures.files) files of \(figures.frames) frames came out, not of \(expected)"
                    )
                }
                return figures.cpuSeconds
            }
            let ours = { try convert(bench.ours) }
            let floor = { try convert(bench.floor) }
            let measured = try Rounds.run(rounds, warmUp: [{ _ = try ours() }, { _ = try floor() }], [ours, floor])
            let ratio = measured.ratio(0, over: 1)
            section.add(
                [
                    format.rawValue, measured.median(of: 0).fixed(3), measured.median(of: 1).fixed(3), ratio.text,
                    "\(target)",
                ],
                numbers: [
                    "oursSeconds": measured.median(of: 0), "floorSeconds": measured.median(of: 1),
                    "overFloor": ratio.median, "lowest": ratio.lowest, "highest": ratio.highest, "target": target,
                ],
                isWithin: ratio.median <= target
            )
        }
        return section
    }
}
