import BenchNames
import Foundation
import TestSupport

/// Other programs that convert a folder of clips, each run on all cores as its users would.
struct Rivals {
    struct Rival {
        let name: String
        /// Whether it is so slow that it runs only once.
        var isSlow = false
        /// Empties the folder and converts all clips. Returns wall-clock seconds.
        let run: () throws -> Double
    }

    let runs: [Rival]

    init(_ bench: Workbench, format: TargetFormat, clips: [String], wide: [String], cores: Int) throws {
        let out = try bench.largeFolder.folder("rivals-out")
        let list = "\(bench.largeFolder.path)/clips.txt"
        try Data(clips.map { $0 + "\n" }.joined().utf8).write(to: URL(filePath: list))
        func fresh() throws {
            try FileManager.default.removeItem(atPath: out)
            try FileManager.default.createDirectory(atPath: out, withIntermediateDirectories: true)
        }
        func timed(_ words: [String], _ name: String, isSlow: Bool = false) -> Rival {
            Rival(name: name, isSlow: isSlow) {
                try fresh()
                let run = try MeasuredProgram.run(words[0], Array(words.dropFirst()), core: nil)
                let made = try FileManager.default.subpathsOfDirectory(atPath: out).count {
                    $0.hasSuffix(".\(format.fileExtension)")
                }
                guard made == clips.count else {
                    throw SupportError(name, "\(made) files came out, not \(clips.count)")
                }
                return run.wallSeconds
            }
        }
        let parallel = ["parallel", "--will-cite", "-j", "\(cores)", "-a", list]
        let quiet = ["ffmpeg", "-hide_banner", "-nostdin", "-v", "error", "-y", "-threads", "1", "-i", "{}"]
        var runs = [
            timed(
                parallel + quiet + Self.ffmpegWords(format) + ["\(out)/{/.}.\(format.fileExtension)"],
                "ffmpeg + parallel",
                isSlow: true
            )
        ]
        // sox cannot write Opus.
        if format != .opus16k {
            runs.append(
                timed(
                    parallel + ["sox", "{}", "-b", "16", "-r", "16000", "\(out)/{/.}.\(format.fileExtension)"],
                    "sox + parallel"
                )
            )
        }
        runs.append(
            timed(
                // SoundConverter prints a line for each file; only the files that it made count.
                ["sh", "-c", "exec soundconverter \"$@\" 2>/dev/null", "sh"]
                    + ["-b", "-j", "\(cores)", "-e", "overwrite", "-f", format.soundConverterName, "-o", out]
                    + format.soundConverterQuality + wide,
                "SoundConverter"
            )
        )
        runs.append(Rival(name: "floor") { try Self.floor(bench, format, clips, out, cores, fresh) })
        self.runs = runs
    }

    private static func ffmpegWords(_ format: TargetFormat) -> [String] {
        let codec: [String] =
            switch format {
            case .flac16k: ["-c:a", "flac"]
            case .opus16k: ["-c:a", "libopus", "-b:a", "24k"]
            default: ["-c:a", "pcm_s16le"]
            }
        return ["-af", "aresample=resampler=soxr", "-ar", "16000"] + codec
    }

    /// Bare libav on the same number of cores: one process per core, with a share of the clips each.
    private static func floor(
        _ bench: Workbench,
        _ format: TargetFormat,
        _ clips: [String],
        _ out: String,
        _ cores: Int,
        _ fresh: () throws -> Void
    ) throws -> Double {
        try fresh()
        let shares = (0..<cores).map { core in
            stride(from: core, to: clips.count, by: cores).map { clips[$0] }
        }
        for core in 0..<cores {
            try FileManager.default.createDirectory(atPath: "\(out)/\(core)", withIntermediateDirectories: false)
        }
        let start = ContinuousClock.now
        let figures = try Parallel.map(Array(shares.enumerated())) { core, share in
            try MeasuredProgram.run(bench.floor, [format.rawValue, "\(out)/\(core)"] + share, core: nil).figures()
        }
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        guard figures.reduce(0, { $0 + $1.files }) == clips.count else {
            throw SupportError("convert \(clips.count) clips with the floor", "some did not come out")
        }
        return seconds
    }
}

extension TargetFormat {
    fileprivate var soundConverterName: String {
        switch self {
        case .flac16k: "flac"
        case .opus16k: "opus"
        default: "wav"
        }
    }

    fileprivate var soundConverterQuality: [String] {
        switch self {
        case .opus16k: ["-q", "24"]
        case .flac16k: ["-q", "5"]
        default: ["-q", "16"]
        }
    }
}
