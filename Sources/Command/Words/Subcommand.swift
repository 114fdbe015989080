/// A command as a value: the only description of it for parsing, help, completion and manual pages.
struct Subcommand: Sendable {
    /// The word that users type: `convert`.
    let name: String
    /// One line without a full stop.
    let summary: String
    /// Paragraphs for help and the manual page.
    var discussion: [String] = []
    var arguments: [Argument] = []
    var options: [OptionForm] = []
    var examples: [Example] = []
    /// The commands below this one. With any, the command itself only runs if it `standsAlone`.
    var children: [Subcommand] = []
    /// Whether the command runs if none of its children is named.
    var standsAlone = false
    /// For internal use; help does not list it.
    var isHidden = false
    var run: @Sendable (Invocation, Console) throws -> ExitCode = { _, _ in .success }
}

/// A positional argument.
struct Argument: Sendable {
    enum Count: Sendable { case one, optional, any, oneOrMore }

    /// In capitals: `FILE`.
    let name: String
    let summary: String
    var count = Count.one
    var completion = Completion.files

    /// `FILE`, `[FILE]`, `FILE...`
    var usage: String {
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
struct Example: Sendable {
    let line: String
    let purpose: String
}

/// What a shell may offer for a word.
enum Completion: Sendable {
    case nothing
    case files
    case folders
    /// The complete set.
    case words([Candidate])
    /// A few of many.
    case suggestions([Candidate])
    /// The names of the commands.
    case commands
    /// Values that the ledger supplies at the time.
    case ledger(LedgerWords)

    struct Candidate: Sendable, Hashable {
        let word: String
        var summary = ""
    }
}
