import Foundation

/// The `ffmpeg` and `ffprobe` programs: an independent check of what Media reads and writes.
public enum FFmpeg {
    /// Whether both programs can be started. Tests do not skip without them: every call reports the missing program.
    public static var isPresent: Bool {
        // A program that cannot be started counts as absent, whatever the reason.
        ["ffmpeg", "ffprobe"].allSatisfy { (try? Run.program($0, ["-version"]).succeeded) ?? false }
    }

    /// Decodes the best audio stream of a file. Rate and channels are those of the file unless the arguments
    /// change them.
    ///
    /// `inputArguments` come before `-i`, `extraArguments` after it.
    public static func decode(
        _ path: String,
        to format: PCM.SampleFormat = .s16,
        inputArguments: [String] = [],
        extraArguments: [String] = []
    ) throws -> PCM {
        // WAV and not raw samples, because its header states the rate and channels of the decoded audio.
        let codec = "pcm_" + format.rawValue + (format == .u8 ? "" : "le")
        let run = try run(
            inputArguments + ["-i", path, "-map", "0:a:0"] + extraArguments
                + ["-map_metadata", "-1", "-c:a", codec, "-f", "wav", "-"]
        )
        return try WAVFile.read([UInt8](run.stdout))
    }

    /// Converts one file to another with `arguments` between input and output.
    public static func encode(_ source: String, to path: String, _ arguments: [String] = []) throws {
        try run(["-y", "-i", source] + arguments + [path])
    }

    /// Encodes samples to a file; the file name or `arguments` determine the format.
    public static func encode(_ pcm: PCM, to path: String, _ arguments: [String] = []) throws {
        try run(["-y", "-i", "pipe:0"] + arguments + [path], input: .data(Data(WAVFile.bytes(pcm))))
    }

    /// Runs `ffmpeg` with only errors on stderr. Throws with that text unless it exits with 0.
    @discardableResult
    public static func run(
        _ arguments: [String],
        input: Run.Input = .nothing,
        limit: Duration? = .seconds(600)
    ) throws -> Run {
        try start("ffmpeg", ["-hide_banner", "-nostdin", "-v", "error"] + arguments, input: input, limit: limit)
    }

    /// The report of `ffprobe` on a file.
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
        limit: Duration? = .seconds(600)
    ) throws -> Run {
        let run: Run
        do {
            run = try Run.program(name, arguments, input: input, limit: limit, keepsLoaded: true)
        } catch let problem as SupportError where problem.operation == "start \(name)" {
            throw SupportError(problem.operation, "\(problem.detail). The tests need it: apt install ffmpeg")
        }
        return try run.checked()
    }
}
