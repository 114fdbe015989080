import Foundation
import TestSupport

/// Conversions in a process of their own, by the program `media-process` that is built beside the tests.
enum MediaProcess {
    static let path = BuiltProgram.path("media-process")

    /// Converts, and returns what the program printed: the bytes written, or the code of the error.
    static func convert(_ words: [String], fileSizeLimit kilobytes: Int? = nil) throws -> String {
        let run: Run
        if let kilobytes {
            // The signal would end the process before the write could fail.
            let script = "trap '' XFSZ; ulimit -f \(kilobytes * 2); exec \"$@\""
            run = try Run.program("sh", ["-c", script, "sh", path] + words)
        } else {
            run = try Run.program(path, words)
        }
        return run.outputText.trimmingCharacters(in: .whitespacesAndNewlines)
    }
}
