@testable import Command
@testable import Console

/// The part of docs/command-reference.md that lists every command with its arguments and options, from the catalogue.
enum CommandReference {
    /// The options that most commands have, and a section for each command that help lists.
    static func commands() -> String {
        let commands = paths(below: [Catalogue.root])
        let all: [[String]] = commands.flatMap { options(of: $0) }
        var counts: [[String]: Int] = [:]
        for row in all { counts[row, default: 0] += 1 }
        var listed: Set<[String]> = []
        let shared = all.filter { counts[$0, default: 0] >= 40 && listed.insert($0).inserted }
        let first: [String] = ["### Options of many commands", ""] + table(["option", "meaning"], shared)
        let sections: [[String]] = [first] + commands.map { section($0, shared) }
        return sections.map { $0.joined(separator: "\n") }.joined(separator: "\n")
    }

    private static func paths(below path: [Subcommand]) -> [[Subcommand]] {
        var all: [[Subcommand]] = []
        for child in path[path.count - 1].groups.flatMap(\.shown) {
            let longer: [Subcommand] = path + [child]
            all.append(longer)
            all += paths(below: longer)
        }
        return all
    }

    /// The rows of the options of a command, without those of all commands.
    private static func options(of path: [Subcommand]) -> [[String]] {
        var rows: [[String]] = []
        for group in OptionForm.Group.allCases where group != .general {
            for option in path.allOptions where option.group == group {
                rows.append(["`\(option.usage)`", text(option.description)])
            }
        }
        return rows
    }

    private static func section(_ path: [Subcommand], _ shared: [[String]]) -> [String] {
        let command = path[path.count - 1]
        let title = path.dropFirst().map(\.name).joined(separator: " ")
        var lines = ["### \(title)", "", "`\(HelpPage(path: path).usage)`", "", "\(text(command.summary)).", ""]
        lines += command.discussion.flatMap { [text($0), ""] }
        let children = command.groups.flatMap(\.shown)
        let subcommands: [[String]] = children.map { ["`\($0.name)`", text($0.summary)] }
        lines += table(["subcommand", "what it does"], subcommands)
        let arguments: [[String]] = command.arguments.map { ["`\($0.name)`", text($0.summary)] }
        lines += table(["argument", "meaning"], arguments)
        let rows = options(of: path)
        lines += table(["option", "meaning"], rows.filter { !shared.contains($0) })
        let others = rows.filter(shared.contains).map { $0[0] }.joined(separator: ", ")
        if !others.isEmpty { lines += ["[Also](#options-of-many-commands) \(others).", ""] }
        let examples: [[String]] = command.examples.map { ["`\(cell($0.line))`", text($0.purpose)] }
        lines += table(["example", "what it does"], examples)
        return lines
    }

    private static func table(_ heading: [String], _ rows: [[String]]) -> [String] {
        if rows.isEmpty { return [] }
        let lines: [[String]] = [heading, heading.map { _ in "---" }] + rows
        return lines.map { cells in "| \(cells.joined(separator: " | ")) |" } + [""]
    }

    /// Without characters that Markdown takes for marks.
    private static func text(_ words: String) -> String {
        cell(words.replacing("*", with: "\\*").replacing("<", with: "&lt;"))
    }

    /// In a table, a bar ends the cell, also inside code.
    private static func cell(_ words: String) -> String { words.replacing("|", with: "\\|") }
}
