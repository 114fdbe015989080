import Conversion
import Foundation
import TestSupport

@testable import Media

/// Conversions in a separate process, by the program `media-process`, which is built next to the tests.
enum MediaProcess {
    static let path = BuiltProgram.path("media-process")

    /// The error of a conversion in a process that may use only this many kilobytes more memory than at its start.
    static func errorWithAddressSpace(of kilobytes: Int, _ source: String, _ destination: String, _ format: String) throws
        -> MediaError
    {
        let run = try Run.program(path, ["--address-space", "\(kilobytes)", source, destination, format, format])
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
            run = try Run.program("sh", ["-c", script, "sh", path] + words)
        } else {
            run = try Run.program(path, words)
        }
        return run.outputText.trimmingCharacters(in: .whitespacesAndNewlines)
    }
}
