/// A command as a value: the only description of it for parsing, help, completion and manual pages.
package struct Subcommand: Sendable {
    /// The word that users type: `convert`.
    package let name: String
    /// One line without a full stop.
    package let summary: String
    /// Paragraphs for help and the manual page.
    package let discussion: [String]
    package let arguments: [Argument]
    package let options: [OptionForm]
    /// Options of the commands above that mean nothing to this one.
    package let leavesOut: [OptionForm]
    /// What to do instead of using one of them; `nil`: it is said where they belong.
    package let leavesOutHint: String?
    package let examples: [Example]
    /// The commands below this one, as help shows them. With any, the command itself only runs if it `standsAlone`.
    package let groups: [Group]
    /// Whether the command runs if none of its children is named.
    package let standsAlone: Bool
    /// For internal use; help does not list it.
    package let isHidden: Bool
    /// At the root: what to suggest for words of other programs.
    package let habits: Habits?
    package let run: @Sendable (Invocation, CommandOutput) throws -> ExitCode

    package init(
        name: String,
        summary: String,
        discussion: [String] = [],
        arguments: [Argument] = [],
        options: [OptionForm] = [],
        leavesOut: [OptionForm] = [],
        leavesOutHint: String? = nil,
        examples: [Example] = [],
        children: [Subcommand] = [],
        groups: [Group] = [],
        standsAlone: Bool = false,
        isHidden: Bool = false,
        habits: Habits? = nil,
        run: @escaping @Sendable (Invocation, CommandOutput) throws -> ExitCode = { _, _ in .success }
    ) {
        (self.name, self.summary, self.discussion) = (name, summary, discussion)
        (self.arguments, self.options, self.leavesOut) = (arguments, options, leavesOut)
        (self.leavesOutHint, self.examples) = (leavesOutHint, examples)
        self.groups = groups + (children.isEmpty ? [] : [Group("Commands", children)])
        (self.standsAlone, self.isHidden) = (standsAlone, isHidden)
        (self.habits, self.run) = (habits, run)
    }

    /// Commands under one heading.
    package struct Group: Sendable {
        package let title: String
        package let commands: [Subcommand]

        package init(_ title: String, _ commands: [Subcommand]) { (self.title, self.commands) = (title, commands) }

        var shown: [Subcommand] { commands.filter { !$0.isHidden } }
    }

    package var children: [Subcommand] { groups.flatMap(\.commands) }
}

extension [Subcommand] {
    /// The options of the last command of a path from the root: its own, then those of the commands above it, which may
    /// stand anywhere, but for those that it leaves out.
    package var allOptions: [OptionForm] {
        let leftOut = Set(flatMap(\.leavesOut).map(\.name))
        return (last?.options ?? []) + dropLast().reversed().flatMap(\.options).filter { !leftOut.contains($0.name) }
    }
}

/// A positional argument.
package struct Argument: Sendable {
    package enum Count: Sendable { case one, optional, any, oneOrMore }

    /// In capitals: `FILE`.
    package let name: String
    package let summary: String
    package let count: Count
    package let completion: Completion

    package init(name: String, summary: String, count: Count = .one, completion: Completion = .files) {
        (self.name, self.summary, self.count, self.completion) = (name, summary, count, completion)
    }

    /// `FILE`, `[FILE]`, `FILE...`
    package var usage: String {
        switch count {
        case .one: name
        case .optional: "[\(name)]"
        case .any: "[\(name)...]"
        case .oneOrMore: "\(name)..."
        }
    }

    var takesMany: Bool { count == .any || count == .oneOrMore }
    var isRequired: Bool { count == .one || count == .oneOrMore }
}

/// A command line that works as shown, and its purpose.
package struct Example: Sendable {
    package let line: String
    package let purpose: String

    package init(line: String, purpose: String) { (self.line, self.purpose) = (line, purpose) }
}
