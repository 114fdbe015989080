import Foundation
import TestSupport

/// What `reading-process` makes of files: the program that `make test` builds for release, where numbers overflow as they do
/// for users.
enum ReadingProcess {
    /// What came of each step with a file, and the hundredths of a second of processor time that it took.
    struct Answer: Sendable {
        let path: String
        let steps: [String: (word: String, hundredths: Int)]
    }

    /// Has all of `paths` read. Throws with the name of the file that ended the program.
    static func read(_ paths: [String], limit: Duration = .seconds(300)) throws -> [Answer] {
        let run = try Run.program(BuiltProgram.releasePath("reading-process"), paths, limit: limit)
        let lines = run.outputText.split(separator: "\n", omittingEmptySubsequences: true)
        guard run.succeeded else {
            throw SupportError(
                "read \(lines.last?.prefix(200) ?? "nothing")",
                "\(run.status): \(run.errorText.prefix(2_000))"
            )
        }
        return lines.map { line in
            let words = line.split(separator: " ")
            let steps = words.dropFirst().map { step -> (String, (String, Int)) in
                let parts = step.split(whereSeparator: { $0 == "=" || $0 == ":" }).map(String.init)
                return (parts[0], (parts[1], Int(parts[2]) ?? .max))
            }
            return Answer(path: String(words[0]), steps: Dictionary(uniqueKeysWithValues: steps))
        }
    }
}
