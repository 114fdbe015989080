import Glibc

/// The output of a command: data goes to standard output, messages to standard error.
package struct CommandOutput: Sendable {
    package let data: Outlet
    package let talk: Outlet
    /// Whether failures show the whole record.
    package let showsDebug: Bool
    /// Whether standard error is the journal, which learns the priority of a line from its prefix.
    private let isJournal: Bool

    /// Writes to the standard streams, or to the descriptors of the caller.
    package init(
        data: Int32 = STDOUT_FILENO,
        talk: Int32 = STDERR_FILENO,
        colour: Outlet.ColourChoice = .auto,
        showsDebug: Bool = false,
        environment: [String: String]
    ) {
        self.data = Outlet(descriptor: data, colour: colour, environment: environment)
        self.talk = Outlet(descriptor: talk, colour: colour, environment: environment)
        self.showsDebug = showsDebug
        isJournal = LogPriority.isJournal(talk, environment)
    }

    /// Prints one or more lines of data.
    package func print(_ text: String) throws(Outlet.Failure) {
        // A progress bar may stand on the same terminal.
        talk.eraseBar()
        try data.write(text + "\n")
    }

    /// Prints one or more lines of messages. If the stream has no reader, the work goes on.
    package func say(_ text: String, _ priority: LogPriority = .info) {
        do throws(Outlet.Failure) {
            // Each line is one entry of the journal.
            let lines = isJournal ? text.split(separator: "\n").map { priority.prefix + $0 } : [text]
            try talk.write(lines.joined(separator: "\n") + "\n")
        } catch {
            // There is no other place to report it.
        }
    }

    /// Prints an error with its details and a hint.
    package func complain(_ message: String, details: [String] = [], hint: String? = nil) {
        write("error:", .bad, message, .error)
        for detail in details { write("", .faint, detail, .error) }
        if let hint { write("hint:", .strong, hint, .error) }
    }

    /// Prints a note about something that is not a failure.
    package func warn(_ message: String) { write("note:", .careful, message, .warning) }

    /// A label, with text in a second column.
    private func write(_ label: String, _ ink: Ink, _ text: String, _ priority: LogPriority) {
        let margin = 7
        let paragraphs = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        let lines = talk.hasWidth ? paragraphs.flatMap { $0.wrapped(to: max(20, talk.width - margin)) } : paragraphs
        let head = label.isEmpty ? label : talk.paint(label, ink)
        let gap = String(repeating: " ", count: margin - label.count)
        say(head + gap + lines.joined(separator: "\n" + String(repeating: " ", count: margin)), priority)
    }
}
