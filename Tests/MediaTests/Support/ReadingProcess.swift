import Foundation
import TestSupport

/// Runs `media-program read`, which `make test` builds for release, so that numbers overflow as they would for users.
enum ReadingProcess {
    /// The result of each step with a file, and the processor time that it took, in hundredths of a second.
    struct Answer: Sendable {
        let path: String
        let steps: [String: (word: String, hundredths: Int)]
    }

    /// Reads all of `paths`, in the given steps or in all. If the program crashes, the error names the file.
    static func read(
        _ paths: [String],
        steps: [String]? = nil,
        limit: Duration = .seconds(600)
    ) throws -> [Answer] {
        let choice = steps.map { ["--steps", $0.joined(separator: ",")] } ?? []
        let run = try Run.program(BuiltProgram.releasePath("media-program"), ["read"] + choice + paths, limit: limit)
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
