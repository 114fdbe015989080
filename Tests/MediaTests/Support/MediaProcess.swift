import Conversion
import Foundation
import TestSupport

@testable import Media

/// Conversions in a separate process, by `media-program convert`.
enum MediaProcess {
    /// The program and its subcommand.
    static let command = [BuiltProgram.path("media-program"), "convert"]

    /// Runs the program with `words` and waits for its end.
    static func run(_ words: [String]) throws -> Run { try Run.program(command[0], command.dropFirst() + words) }

    /// The error of a conversion in a process that may use only this many kilobytes more memory than at its start.
    static func errorWithAddressSpace(
        of kilobytes: Int,
        _ source: String,
        _ destination: String,
        _ format: String
    ) throws -> MediaError {
        let run = try run(["--address-space", "\(kilobytes)", source, destination, format, format])
        let words = run.errorText.split(separator: "\n").first.map { $0.split(separator: " ", maxSplits: 2) } ?? []
        guard words.count == 3, let code = FailureCode(rawValue: String(words[0])),
            let stage = Failure.Stage(rawValue: String(words[1]))
        else { throw SupportError("run out of memory", "\(run.status): \(run.outputText) \(run.errorText)") }
        return MediaError(code, at: stage, String(words[2]))
    }

    /// Converts, and returns the output of the program: the bytes written, or the code of the error.
    static func convert(_ words: [String], fileSizeLimit kilobytes: Int? = nil) throws -> String {
        let run: Run
        if let kilobytes {
            // Without the trap, SIGXFSZ would kill the process before the write could fail.
            let script = "trap '' XFSZ; ulimit -f \(kilobytes * 2); exec \"$@\""
            run = try Run.program("sh", ["-c", script, "sh"] + command + words)
        } else {
            run = try self.run(words)
        }
        return run.outputText.trimmingCharacters(in: .whitespacesAndNewlines)
    }
}
