import Conversion
import TestSupport

/// The time to start the command at all, compared with `ffmpeg`: the cost of converting one file by hand.
enum StartBench {
    private static let target = 1.0

    static func run(_ bench: Workbench) throws -> Section {
        let rounds = bench.isQuick ? 10 : 40
        let folder = try bench.fastFolder.folder("start")
        let clip = "\(folder)/clip.wav"
        try WAVFile.write(Signal.melody(rate: 16_000).pcm(.s16).cut(0..<48_000), to: clip)
        var section = Section(
            "start",
            """
            The whole command from start to end, in turns on one core: wall-clock milliseconds, medians of
            \(Plural.count(rounds, "round")). The clip is 3 s of 16 kHz mono, from WAV to FLAC. Target: at most \(target) times ffmpeg.
            """,
            columns: ["command", "sluice ms", "ffmpeg ms", "/ffmpeg [min..max]"]
        )
        let quiet = ["-hide_banner", "-nostdin", "-v", "error", "-y"]
        let comparisons: [(name: String, ours: [String], theirs: [String])] = [
            ("--version", ["--version"], ["-version"]),
            (
                "one clip",
                ["convert", clip, "\(folder)/ours.flac", "--on-conflict", "replace"],
                quiet + ["-threads", "1", "-i", clip, "-threads", "1", "\(folder)/theirs.flac"]
            ),
        ]
        for comparison in comparisons {
            Bench.complain(comparison.name)
            let programs: [() throws -> Double] = [
                { try MeasuredProgram.run(bench.sluice, comparison.ours, core: bench.core).wallSeconds },
                { try MeasuredProgram.run("ffmpeg", comparison.theirs, core: bench.core).wallSeconds },
            ]
            let measured = try Rounds.run(
                rounds,
                warmUp: programs.map { program in { _ = try program() } },
                programs
            )
            let ratio = measured.ratio(0, over: 1)
            section.add(
                [comparison.name] + (0..<2).map { (measured.median(of: $0) * 1000).fixed(1) } + [ratio.text],
                numbers: [
                    "oursSeconds": measured.median(of: 0), "ffmpegSeconds": measured.median(of: 1),
                    "overFFmpeg": ratio.median, "lowest": ratio.lowest, "highest": ratio.highest, "target": target,
                ],
                isWithin: ratio.median <= target
            )
        }
        return section
    }
}
