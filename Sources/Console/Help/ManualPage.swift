/// The manual page of one command in roff, for `man`.
struct ManualPage {
    /// From the root down to the command.
    let path: [Subcommand]
    /// Of the program.
    let version: String

    private var command: Subcommand { path[path.count - 1] }

    var roff: String {
        let name = path.map(\.name).joined(separator: "-")
        var lines = [
            ".TH \(name.uppercased().roffWord) 1 \"\" \"sluice \(version)\" \"Sluice\"",
            ".SH NAME", "\(name.roff) \\- \(command.summary.roff)",
            ".SH SYNOPSIS", "\\fB\(HelpPage(path: path).usage.roff)\\fR",
        ]
        if !command.discussion.isEmpty {
            lines += [".SH DESCRIPTION"] + command.discussion.flatMap { [".PP", $0.roff] }
        }
        if !command.groups.isEmpty { lines.append(".SH COMMANDS") }
        for group in command.groups where !group.shown.isEmpty {
            if command.groups.count > 1 { lines.append(".SS \(group.title.roff)") }
            lines += group.shown.flatMap { item($0.name, $0.summary) }
        }
        if !command.arguments.isEmpty {
            lines += [".SH ARGUMENTS"] + command.arguments.flatMap { item($0.name, $0.summary) }
        }
        let options = path.allOptions
        lines.append(".SH OPTIONS")
        for group in OptionForm.Group.allCases {
            let members = options.filter { $0.group == group }
            if members.isEmpty { continue }
            lines += [".SS \(group.rawValue.roff)"] + members.flatMap { item($0.usage, $0.description) }
        }
        lines += item("-h, --help", "show help")
        if !command.examples.isEmpty {
            lines += [".SH EXAMPLES"]
            lines += command.examples.flatMap { [".PP", $0.purpose.roff + ":", ".PP", ".RS 4", $0.line.roff, ".RE"] }
        }
        lines += [".SH EXIT STATUS"] + ExitCode.allCases.flatMap { item("\($0.rawValue)", $0.meaning) }
        return lines.joined(separator: "\n")
    }

    private func item(_ name: String, _ meaning: String) -> [String] {
        [".TP", "\\fB\(name.roff)\\fR", meaning.roff]
    }
}

extension String {
    /// Escapes text for roff: dashes, backslashes, and a line start that would be a request.
    fileprivate var roff: String {
        var text = ""
        for character in self {
            switch character {
            case "\\": text += "\\e"
            case "-": text += "\\-"
            default: text.append(character)
            }
        }
        return text.hasPrefix(".") || text.hasPrefix("'") ? "\\&" + text : text
    }

    fileprivate var roffWord: String { split(separator: " ").joined(separator: "-") }
}
