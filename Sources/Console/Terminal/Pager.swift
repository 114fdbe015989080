import Glibc

/// Shows a text that is longer than the terminal through a pager, as git does.
package struct Pager {
    let console: CommandOutput
    let environment: [String: String]

    package init(console: CommandOutput, environment: [String: String]) {
        (self.console, self.environment) = (console, environment)
    }

    /// Prints the lines. They go through the pager only on a terminal that is too short for them.
    package func show(_ lines: [String]) throws(Outlet.Failure) {
        let text = lines.joined(separator: "\n")
        // The shell's next prompt takes a line, too.
        guard console.data.isTerminal, lines.count >= console.data.height, let command, shows(text, through: command)
        else { return try console.print(text) }
    }

    /// The pager's command line; `nil` for none.
    private var command: String? {
        for name in ["SLUICE_PAGER", "PAGER"] {
            if let command = environment[name] { return command.isEmpty || command == "cat" ? nil : command }
        }
        guard let terminal = environment["TERM"], !terminal.isEmpty, terminal != "dumb" else { return nil }
        let folders = (environment["PATH"] ?? "").split(separator: ":")
        return ["less", "more"].first { name in folders.contains { access("\($0)/\(name)", X_OK) == 0 } }
    }

    /// Whether the pager could be started.
    private func shows(_ text: String, through command: String) -> Bool {
        // For less: end at once if the text fits after all, show colours, and leave the text on the screen.
        setenv("LESS", "FRX", 0)
        signal(SIGPIPE, SIG_DFL)
        let opened = popen(command, "w")
        // A pager that the user leaves early reads no further.
        signal(SIGPIPE, SIG_IGN)
        guard let opened else { return false }
        // Ctrl-C is a key of the pager.
        let before = (signal(SIGINT, SIG_IGN), signal(SIGQUIT, SIG_IGN))
        var page = text + "\n"
        page.withUTF8 { bytes in _ = fwrite(bytes.baseAddress, 1, bytes.count, opened) }
        let status = pclose(opened)
        signal(SIGINT, before.0)
        signal(SIGQUIT, before.1)
        // A shell ends with one of these if it cannot start the command.
        let isMissing = status & 0x7F == 0 && [126, 127].contains(status >> 8 & 0xFF)
        return !isMissing
    }
}
