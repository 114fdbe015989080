import Foundation

/// The `ffmpeg` and `ffprobe` programs: a second opinion on what Media reads and writes.
public enum FFmpeg {
    /// Whether both programs can be started. Tests do not skip without them: every call says what is missing.
    public static var isPresent: Bool {
        // One that cannot be started is absent, whatever the reason.
        ["ffmpeg", "ffprobe"].allSatisfy { (try? Run.program($0, ["-version"]).succeeded) ?? false }
    }

    /// Decodes the best audio stream of a file; rate and channels are the file's unless arguments change them.
    ///
    /// `inputArguments` come before `-i`, `extraArguments` after it.
    public static func decode(
        _ path: String,
        to format: PCM.SampleFormat = .s16,
        inputArguments: [String] = [],
        extraArguments: [String] = []
    ) throws -> PCM {
        // A WAV, not raw samples: its header tells rate and channels as they came out.
        let codec = "pcm_" + format.rawValue + (format == .u8 ? "" : "le")
        let run = try run(
            inputArguments + ["-i", path, "-map", "0:a:0"] + extraArguments
                + ["-map_metadata", "-1", "-c:a", codec, "-f", "wav", "-"]
        )
        return try WAVFile.read([UInt8](run.stdout))
    }

    /// Converts one file to another, with `arguments` between them.
    public static func encode(_ source: String, to path: String, _ arguments: [String] = []) throws {
        try run(["-y", "-i", source] + arguments + [path])
    }

    /// Encodes samples to a file; its name or `arguments` tell the format.
    public static func encode(_ pcm: PCM, to path: String, _ arguments: [String] = []) throws {
        try run(["-y", "-i", "pipe:0"] + arguments + [path], input: .data(Data(WAVFile.bytes(pcm))))
    }

    /// Runs `ffmpeg` with errors only on stderr; throws with them unless it exits with 0.
    @discardableResult
    public static func run(
        _ arguments: [String],
        input: Run.Input = .nothing,
        limit: Duration? = .seconds(120)
    ) throws -> Run {
        try start("ffmpeg", ["-hide_banner", "-nostdin", "-v", "error"] + arguments, input: input, limit: limit)
    }

    /// What `ffprobe` says about a file.
    public static func probe(_ path: String, _ arguments: [String] = []) throws -> Probe {
        let run = try start(
            "ffprobe",
            ["-v", "error", "-of", "json", "-show_format", "-show_streams", "-show_chapters"] + arguments + [path]
        )
        return try Probe(json: run.stdout)
    }

    private static func start(
        _ name: String,
        _ arguments: [String],
        input: Run.Input = .nothing,
        limit: Duration? = .seconds(120)
    ) throws -> Run {
        let run: Run
        do {
            run = try Run.program(name, arguments, input: input, limit: limit)
        } catch let problem as SupportError where problem.operation == "start \(name)" {
            throw SupportError(problem.operation, "\(problem.detail). The tests need it: apt install ffmpeg")
        }
        return try run.checked()
    }
}
