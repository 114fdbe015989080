import Foundation
import TestSupport

/// A shell that a person watches: lines are shown as they are typed, and what they print goes where ours goes.
struct Shell {
    let folder: String
    /// All that the lines know of the environment.
    let environment: [String: String]
    let page: Page

    /// Shows a line, runs it, and throws unless it ends with `code`. A line of two parts is broken between them.
    func type(_ parts: String..., code: Int32 = 0) throws {
        page.typed(parts.joined(separator: " \\\n    "))
        try run(parts.joined(separator: " "), code: code)
        page.text("\n")
    }

    /// The same, where a Ctrl-C may not come in between: the line is finished, and then all is over.
    func typeWhole(_ line: String) throws {
        page.typed(line)
        try run(line, isShielded: true)
        page.text("\n")
    }

    /// What a line prints, unseen.
    func output(of line: String) throws -> String {
        try Run.program("bash", ["-c", line], environment: environment, folder: folder).checked().outputText
    }

    private func run(_ line: String, code: Int32 = 0, isShielded: Bool = false) throws {
        try Interruption.check()
        // What was shown so far stands before what the line prints.
        fflush(nil)
        // In a group of its own, which the terminal's signals do not reach.
        let child = try ChildProcess.spawn(
            "bash",
            ["-c", line],
            environment: environment,
            folder: folder,
            input: nil,
            output: STDOUT_FILENO,
            errors: STDERR_FILENO
        )
        let status = try Interruption.waitForEnd(of: child.id, passingOn: !isShielded)
        guard status == code << 8 else {
            throw SupportError(line, "it ended with \(status >> 8), signal \(status & 127)")
        }
    }
}
