import Foundation
import TestSupport

/// Runs command lines as a person at a terminal would: shows each line and passes its output through.
struct Shell {
    let folder: String
    /// The whole environment of the lines.
    let environment: [String: String]
    let page: Page

    /// Shows a line, runs it, and throws unless it exits with `code`. Several parts are shown on continuation
    /// lines.
    func type(_ parts: String..., code: Int32 = 0) throws {
        page.typed(parts.joined(separator: " \\\n    "))
        try run(parts.joined(separator: " "), code: code)
        page.text("\n")
    }

    /// Like `type`, but Ctrl-C does not reach the line: it runs to its end, and then the demo stops.
    func typeWhole(_ line: String) throws {
        page.typed(line)
        try run(line, isShielded: true)
        page.text("\n")
    }

    /// The output of a line that is not shown.
    func output(of line: String) throws -> String {
        try Run.program("bash", ["-c", line], environment: environment, folder: folder).checked().outputText
    }

    private func run(_ line: String, code: Int32 = 0, isShielded: Bool = false) throws {
        try Interruption.check()
        // Flush, so that everything shown so far appears before the output of the line.
        fflush(nil)
        // In a separate process group, which the terminal's signals do not reach.
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
