/// The output of `sluice help COMMAND`: usage, examples, arguments and options of one command.
package struct HelpPage {
    /// From the root down to the command.
    let path: [Subcommand]

    package init(path: [Subcommand]) { self.path = path }

    private var command: Subcommand { path[path.count - 1] }
    private var title: String { path.map(\.name).joined(separator: " ") }

    /// The page, wrapped to `width` columns.
    package func lines(width: Int, paint: (String, Ink) -> String = { text, _ in text }) -> [String] {
        let heading = "\(title): \(command.summary)".wrapped(to: width)
        var lines =
            [paint(title, .strong) + heading[0].dropFirst(title.count)] + heading.dropFirst() + ["", "  " + usage]
        if !command.examples.isEmpty { lines += section("Examples", examples(), paint) }
        for paragraph in command.discussion { lines += [""] + paragraph.wrapped(to: width) }
        // One width for all groups.
        let longest = command.groups.flatMap(\.shown).map(\.name.displayWidth).max() ?? 0
        for group in command.groups where !group.shown.isEmpty {
            let members = group.shown.map { ($0.name, $0.summary) }
            lines += section(group.title, rows(members, width, longest: longest), paint)
        }
        if !command.arguments.isEmpty {
            lines += section("Arguments", rows(command.arguments.map { ($0.name, $0.summary) }, width), paint)
        }
        let options = path.allOptions
        for group in OptionForm.Group.allCases {
            let members = options.filter { $0.group == group }.map { ($0.usage, $0.description) }
            let all = group == .general ? members + [("-h, --help", "show this help")] : members
            if !all.isEmpty { lines += section(group.rawValue, rows(all, width), paint) }
        }
        if path.count == 1 {
            lines += [""] + "Run \"\(title) help COMMAND\" for the help of a command.".wrapped(to: width)
        }
        return lines
    }

    /// `sluice convert IN OUT [options]`
    package var usage: String {
        if !command.children.isEmpty { return "\(title) \(command.standsAlone ? "[COMMAND]" : "COMMAND") [options]" }
        let words = command.arguments.map(\.usage)
        return ([title] + words + (command.options.isEmpty ? [] : ["[options]"])).joined(separator: " ")
    }

    private func section(_ heading: String, _ lines: [String], _ paint: (String, Ink) -> String) -> [String] {
        ["", paint("\(heading):", .strong)] + lines
    }

    private func examples() -> [String] {
        command.examples.flatMap { ["  # \($0.purpose)", "  \($0.line)"] }
    }

    /// Two columns: names and their meanings.
    private func rows(_ rows: [(name: String, meaning: String)], _ width: Int, longest: Int = 0) -> [String] {
        let column = min(26, width / 3, rows.reduce(longest) { max($0, $1.name.displayWidth) })
        return rows.flatMap { row in
            let meaning: [String] = row.meaning.wrapped(to: max(20, width - column - 4))
            let indent = String(repeating: " ", count: column + 4)
            let indented: [String] = meaning.map { indent + $0 }
            guard row.name.displayWidth <= column else {
                return ["  \(row.name)"] + indented
            }
            return ["  \(row.name.padded(to: column))  \(meaning[0])"] + indented.dropFirst()
        }
    }
}

extension OptionForm {
    /// The summary, followed by the choices if they are few, the default and the variable.
    package var description: String {
        // A summary may end with a default that is not a constant. The choices come before it.
        let mark = summary.hasSuffix(")") ? summary.firstRange(of: " (default: ") : nil
        let text = mark.map { String(summary[..<$0.lowerBound]) } ?? summary
        var remarks: [String] = []
        if case .words(let words) = completion, words.count <= 6, !words.isEmpty {
            remarks.append(words.map(\.word).joined(separator: ", "))
        }
        if let mark { remarks.append("default: \(summary[mark.upperBound...].dropLast())") }
        if let fallback { remarks.append("default: \(fallback)") }
        if let environment { remarks.append("env \(environment)") }
        if isRepeatable { remarks.append("repeatable") }
        return remarks.isEmpty ? text : "\(text) (\(remarks.joined(separator: "; ")))"
    }
}
