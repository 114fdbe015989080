import Glibc

/// Where a command speaks: data to standard output, talk to standard error.
struct Console: Sendable {
    let data: Outlet
    let talk: Outlet
    /// Whether failures show the whole record.
    let showsDebug: Bool

    init(colour: Outlet.ColourChoice = .auto, showsDebug: Bool = false, environment: [String: String]) {
        data = Outlet(descriptor: STDOUT_FILENO, colour: colour, environment: environment)
        talk = Outlet(descriptor: STDERR_FILENO, colour: colour, environment: environment)
        self.showsDebug = showsDebug
    }

    /// One or more lines of data.
    func print(_ text: String) throws(Outlet.Failure) { try data.write(text + "\n") }

    /// One or more lines of talk. A stream that nobody reads any more does not stop the work.
    func say(_ text: String) {
        do throws(Outlet.Failure) {
            try talk.write(text + "\n")
        } catch {
            // There is nobody left to tell.
        }
    }

    /// What is wrong, what stands below it, and what to do next.
    func complain(_ message: String, details: [String] = [], hint: String? = nil) {
        var lines = [talk.paint("error:", .bad) + " " + message.indentingFurtherLines(by: 7)]
        lines += details.map { "       " + $0.indentingFurtherLines(by: 7) }
        if let hint { lines.append(talk.paint("hint:", .strong) + "  " + hint.indentingFurtherLines(by: 7)) }
        say(lines.joined(separator: "\n"))
    }

    /// Something that is no failure and should be known.
    func warn(_ message: String) {
        say(talk.paint("note:", .careful) + "  " + message.indentingFurtherLines(by: 7))
    }
}

extension String {
    func indentingFurtherLines(by columns: Int) -> String {
        split(separator: "\n", omittingEmptySubsequences: false)
            .joined(separator: "\n" + String(repeating: " ", count: columns))
    }
}
