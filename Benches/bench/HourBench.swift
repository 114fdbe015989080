import Conversion
import BenchNames
import TestSupport

/// One long piece at a time: the cost of moving samples, compared with `ffmpeg` and bare libav calls.
enum HourBench {
    fileprivate static let target = 1.05

    /// One conversion, by three programs.
    fileprivate struct Comparison {
        let name: String
        let source: String
        let format: TargetFormat
    }

    static func run(_ bench: Workbench) throws -> Section {
        let minutes = bench.isQuick ? 10 : 60
        let rounds = bench.isQuick ? 2 : 3
        let folder = try bench.fastFolder.folder("hour")
        let (piece, sample, mp3) = ("\(folder)/piece.wav", "\(folder)/sample.wav", "\(folder)/piece.mp3")
        let frames = try Material.piece(minutes: minutes, to: piece)
        _ = try Material.piece(minutes: 1, to: sample)
        try FFmpeg.run(["-y", "-i", piece] + TargetFormat.mp3.ffmpegArguments + [mp3], limit: nil)
        let comparisons =
            [TargetFormat.flac, .mp3, .aac, .opus].map {
                Comparison(name: $0.rawValue, source: piece, format: $0)
            }
            + [Comparison(name: "from mp3", source: mp3, format: .wav)]
        var section = Section(
            "hour",
            """
            \(Plural.count(minutes, "minute")) of 44.1 kHz stereo from WAV to each format, and from MP3 to WAV, on one
            core. CPU seconds of whole processes, medians of \(Plural.count(rounds, "round")). Target: at most \(target)
            times ffmpeg.
            """,
            columns: ["format", "ours s", "ffmpeg s", "floor s", "/floor", "/ffmpeg [min..max]"]
        )
        for comparison in comparisons {
            Bench.complain(comparison.name)
            try section.add(comparison, measure(comparison, frames, warmUp: sample, rounds, bench))
        }
        return section
    }

    private static func measure(
        _ comparison: Comparison,
        _ frames: Int,
        warmUp: String,
        _ rounds: Int,
        _ bench: Workbench
    ) throws -> Rounds {
        let output = try bench.fastFolder.folder("hour-out")
        let expected = comparison.format.frames(from: frames, rate: Material.pieceRate)
        func convert(_ program: String, _ source: String) throws -> Double {
            let words = [comparison.format.rawValue, output, source]
            let run = try MeasuredProgram.run(program, words, core: bench.core)
            let found = try run.figures().frames
            guard source == warmUp || found == expected else {
                throw SupportError("\(comparison.name) with \(program)", "\(found) frames came out, not \(expected)")
            }
            return run.cpuSeconds
        }
        func ffmpeg(_ source: String) throws -> Double {
            let words = ["-hide_banner", "-nostdin", "-v", "error", "-y", "-threads", "1", "-i", source, "-vn"]
            let path = "\(output)/ffmpeg.\(comparison.format.fileExtension)"
            let coding = comparison.format.ffmpegArguments + ["-threads", "1", "-filter_threads", "1", path]
            return try MeasuredProgram.run("ffmpeg", words + coding, core: bench.core).cpuSeconds
        }
        let programs: [(String) throws -> Double] = [
            { try convert(bench.ours, $0) }, ffmpeg, { try convert(bench.floor, $0) },
        ]
        return try Rounds.run(
            rounds,
            warmUp: programs.map { program in { _ = try program(warmUp) } },
            programs.map { program in { try program(comparison.source) } }
        )
    }
}

extension Section {
    fileprivate mutating func add(_ comparison: HourBench.Comparison, _ measured: Rounds) {
        let (overFFmpeg, overFloor) = (measured.ratio(0, over: 1), measured.ratio(0, over: 2))
        add(
            [comparison.name] + (0..<3).map { measured.median(of: $0).fixed(2) }
                + [overFloor.median.fixed(2), overFFmpeg.text],
            numbers: [
                "oursSeconds": measured.median(of: 0), "ffmpegSeconds": measured.median(of: 1),
                "floorSeconds": measured.median(of: 2), "overFFmpeg": overFFmpeg.median, "lowest": overFFmpeg.lowest,
                "highest": overFFmpeg.highest, "overFloor": overFloor.median, "target": HourBench.target,
            ],
            isWithin: overFFmpeg.median <= HourBench.target
        )
    }
}
