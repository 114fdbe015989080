import Conversion
import Foundation
import TestSupport

/// What editing costs, compared with `sox` and with `ffmpeg` and its filters.
enum EditBench {
    fileprivate static let target = 0.8

    /// One edit, by three programs. `OUT` stands for the output.
    fileprivate struct Comparison {
        let name: String
        let ours: [String]
        let ffmpeg: [String]
        /// `nil` if `sox` has no such effect.
        let sox: [String]?
        /// Seconds of the output.
        let seconds: Int
    }

    static func run(_ bench: Workbench) throws -> Section {
        let minutes = bench.isQuick ? 2 : 10
        let rounds = bench.rounds ?? (bench.isQuick ? 2 : 5)
        let folder = try bench.fastFolder.folder("edit")
        var section = Section(
            "edit",
            """
            \(Plural.count(minutes, "minute")) of 44.1 kHz stereo, 16 bits, from WAV to WAV, on one core. CPU seconds of
            whole commands, medians of \(Plural.count(rounds, "round")). Target: at most \(target) times the faster of the others.
            """,
            columns: ["edit", "sluice s", "ffmpeg s", "sox s", "/faster [min..max]"]
        )
        for comparison in try comparisons(minutes, in: folder) {
            Bench.complain(comparison.name)
            try section.add(comparison, measure(comparison, rounds, in: folder, bench))
        }
        return section
    }

    private static func comparisons(_ minutes: Int, in folder: String) throws -> [Comparison] {
        let voices = try (0..<3).map { number in
            let path = "\(folder)/voice-\(number).wav"
            _ = try Material.piece(minutes: minutes, to: path)
            return path
        }
        let (piece, seconds) = (voices[0], minutes * 60)
        let parts = try (0..<100).map { number in
            let path = "\(folder)/part-\(number).wav"
            try FFmpeg.run(["-y", "-ss", "\(number % seconds)", "-t", "6", "-i", piece, path], limit: nil)
            return path
        }
        let quieter = "[1]volume=-6dB[b];[2]volume=-12dB[c];[0][b][c]amix=inputs=3:normalize=0"
        return [
            Comparison(
                name: "fades",
                ours: ["convert", piece, "OUT", "--fade-in", "2s", "--fade-out", "5s"],
                ffmpeg: ["-i", piece, "-af", "afade=t=in:d=2,afade=t=out:st=\(seconds - 5):d=5"],
                sox: [piece, "OUT", "fade", "t", "2", "-0", "5"],
                seconds: seconds
            ),
            Comparison(
                name: "mix of 3",
                ours: ["mix", voices[0], voices[1] + "@-6dB", voices[2] + "@-12dB", "OUT"],
                ffmpeg: voices.flatMap { ["-i", $0] } + ["-filter_complex", quieter],
                sox: ["-m", "-v", "1", voices[0], "-v", "0.501", voices[1], "-v", "0.251", voices[2], "OUT"],
                seconds: seconds
            ),
            Comparison(
                name: "join of 100",
                ours: ["join"] + parts + ["OUT"],
                ffmpeg: parts.flatMap { ["-i", $0] } + ["-filter_complex", "concat=n=100:v=0:a=1"],
                sox: parts + ["OUT"],
                seconds: 600
            ),
            Comparison(
                name: "loudness",
                ours: ["convert", piece, "OUT", "--loudness", "-16LUFS", "--true-peak", "-1dBTP"],
                ffmpeg: ["-i", piece, "-af", "loudnorm=I=-16:TP=-1:LRA=20"],
                sox: nil,
                seconds: seconds
            ),
            Comparison(
                name: "reverse",
                ours: ["convert", piece, "OUT", "--reverse"],
                ffmpeg: ["-i", piece, "-af", "areverse"],
                sox: [piece, "OUT", "reverse"],
                seconds: seconds
            ),
        ]
    }

    private static func measure(
        _ comparison: Comparison,
        _ rounds: Int,
        in folder: String,
        _ bench: Workbench
    ) throws -> Rounds {
        let output = "\(folder)/out.wav"
        func run(_ program: String, _ words: [String]) throws -> Double {
            let words = words.map { $0 == "OUT" ? output : $0 }
            let cpu = try MeasuredProgram.run(program, words, core: bench.core).cpuSeconds
            let found = try FFmpeg.probe(output).streams.first?.duration ?? 0
            guard found == comparison.seconds * Material.pieceRate else {
                throw SupportError("\(comparison.name) with \(program)", "\(found) frames came out")
            }
            return cpu
        }
        var programs: [() throws -> Double] = [
            { try run(bench.sluice, comparison.ours + ["--on-conflict", "replace"]) },
            { try ffmpeg(comparison, output, bench, run) },
        ]
        if let sox = comparison.sox { programs.append { try run("sox", sox) } }
        return try Rounds.run(rounds, warmUp: programs.map { program in { _ = try program() } }, programs)
    }

    /// Loudness takes two runs: the second one is told what the first one has measured.
    private static func ffmpeg(
        _ comparison: Comparison,
        _ output: String,
        _ bench: Workbench,
        _ run: (String, [String]) throws -> Double
    ) throws -> Double {
        let single = ["-hide_banner", "-nostdin", "-y", "-threads", "1", "-filter_threads", "1"]
        let writing = ["-ar", "\(Material.pieceRate)", "-c:a", "pcm_s16le", output]
        guard let place = comparison.ffmpeg.firstIndex(where: { $0.hasPrefix("loudnorm") }) else {
            return try run("ffmpeg", single + ["-v", "error"] + comparison.ffmpeg + writing)
        }
        var words = comparison.ffmpeg
        words[place] += ":print_format=json"
        // It prints what it measures to standard error.
        let shell = ["-c", "exec \"$0\" \"$@\" 2>&1", "ffmpeg"] + single + words + ["-f", "null", "-"]
        let first = try MeasuredProgram.run("sh", shell, core: bench.core)
        let measured = try Loudness(in: first.output)
        words[place] += measured.words
        return first.cpuSeconds + (try run("ffmpeg", single + ["-v", "error"] + words + writing))
    }

    /// What the filter `loudnorm` has measured.
    private struct Loudness: Decodable {
        let input_i, input_tp, input_lra, input_thresh, target_offset: String

        init(in output: Data) throws {
            guard let start = output.lastIndex(of: UInt8(ascii: "{")), let end = output.lastIndex(of: UInt8(ascii: "}"))
            else { throw SupportError("measure loudness", "ffmpeg printed nothing that was measured") }
            self = try JSONDecoder().decode(Self.self, from: output[start...end])
        }

        var words: String {
            ":measured_I=\(input_i):measured_TP=\(input_tp):measured_LRA=\(input_lra):measured_thresh=\(input_thresh)"
                + ":offset=\(target_offset):linear=true"
        }
    }
}

extension Section {
    fileprivate mutating func add(_ comparison: EditBench.Comparison, _ measured: Rounds) {
        let rivals = comparison.sox == nil ? [1] : [1, 2]
        // The rival whose median is lower, so that each pair has the same two programs.
        let faster = rivals.min { measured.median(of: $0) < measured.median(of: $1) } ?? 1
        let ratio = measured.ratio(0, over: faster)
        let seconds = [0, 1].map { measured.median(of: $0).fixed(2) }
        let sox = comparison.sox == nil ? "-" : measured.median(of: 2).fixed(2)
        var numbers = [
            "oursSeconds": measured.median(of: 0), "ffmpegSeconds": measured.median(of: 1),
            "overFaster": ratio.median, "lowest": ratio.lowest, "highest": ratio.highest, "target": EditBench.target,
        ]
        if comparison.sox != nil { numbers["soxSeconds"] = measured.median(of: 2) }
        add(
            [comparison.name] + seconds + [sox, ratio.text],
            numbers: numbers,
            isWithin: ratio.median <= EditBench.target
        )
    }
}
