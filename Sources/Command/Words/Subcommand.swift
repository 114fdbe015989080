/// A command as a value: all that parsing, help, completion and manual pages know of it, said once.
struct Subcommand: Sendable {
    /// What people type: `convert`.
    let name: String
    /// One line without a full stop.
    let summary: String
    /// Paragraphs for help and manual page.
    var discussion: [String] = []
    var arguments: [Argument] = []
    var options: [OptionForm] = []
    var examples: [Example] = []
    /// Commands below this one, which then does nothing itself unless it `standsAlone`.
    var children: [Subcommand] = []
    /// Whether it does something where none of its children is named.
    var standsAlone = false
    /// Not listed in help: for the shell's own use.
    var isHidden = false
    var run: @Sendable (Invocation, Console) throws -> ExitCode = { _, _ in .success }
}

/// A word that a command takes by its place.
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

/// A command line that works as it stands, and what it does.
struct Example: Sendable {
    let line: String
    let purpose: String
}

/// What a shell may offer in a word's place.
enum Completion: Sendable {
    case nothing
    case files
    case folders
    /// All there are.
    case words([Candidate])
    /// Some of many.
    case suggestions([Candidate])
    /// The names of the commands.
    case commands
    /// What the ledger answers at the time.
    case ledger(LedgerWords)

    struct Candidate: Sendable, Hashable {
        let word: String
        var summary = ""
    }
}
