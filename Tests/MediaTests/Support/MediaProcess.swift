import Foundation
import TestSupport

@testable import Media

/// Conversions in a process of their own, by the program `media-process` that is built beside the tests.
enum MediaProcess {
    static let path = BuiltProgram.path("media-process")

    /// What a conversion says in a process that may take only so many kilobytes of memory more than it has at its start.
    static func errorInARoom(of kilobytes: Int, _ source: String, _ destination: String, _ format: String) throws
        -> MediaError
    {
        let run = try Run.program(path, ["--room", "\(kilobytes)", source, destination, format, format])
        let words = run.errorText.split(separator: "\n").first.map { $0.split(separator: " ", maxSplits: 2) } ?? []
        guard words.count == 3, let code = MediaError.Code(rawValue: String(words[0])),
            let stage = MediaError.Stage(rawValue: String(words[1]))
        else { throw SupportError("run out of memory", "\(run.status): \(run.outputText) \(run.errorText)") }
        return MediaError(code, at: stage, String(words[2]))
    }

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
