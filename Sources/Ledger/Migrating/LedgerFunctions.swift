import Hashing

/// The functions, views and grants of a ledger, as the files of `migrations/functions`: one current text of each.
///
/// The migrator applies all files whenever their digest differs from the one that the ledger has stored.
public struct LedgerFunctions: Sendable, Hashable {
    /// One file.
    struct File: Sendable, Hashable {
        /// Its name without extension.
        let name: String
        let sql: String
    }

    /// One statement that makes a function or a view, with the text behind it up to the next.
    struct Piece: Sendable, Hashable {
        enum Kind: String, Sendable { case function, view }
        let kind: Kind
        /// All overloads of a function have the same.
        let name: String
        let sql: String
    }

    /// In the order in which they are applied: by name, and the grants last.
    let files: [File]
    /// The functions on which tables depend: those of defaults, generated columns, constraints and triggers, and
    /// those that a trigger writes. Steps make and change them, and no file has them.
    let ofTables: Set<String>
    /// The first version whose step comes without functions. The steps before it made their own.
    let since: Int
    /// SHA-256 of the names and texts, in hexadecimal digits.
    public let digest: String

    init(files: [File], ofTables: Set<String>, since: Int) {
        self.files = files.filter { $0.name != Self.grants } + files.filter { $0.name == Self.grants }
        self.ofTables = ofTables
        self.since = since
        let text = self.files.map { "\($0.name)\n\($0.sql)\n" }.joined()
        digest = SHA256Hash.digest(of: Array(text.utf8)).map { byte in
            (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }.joined()
    }

    /// The functions of this binary.
    public static let current = LedgerFunctions(
        files: embedded,
        ofTables: ["acting_for", "caller", "jobs_of", "lane_codec", "write_jobs_of"],
        since: 24
    )

    private static let grants = "grants"
}

extension LedgerFunctions.File {
    /// The statements of the file that make functions and views. What comes before the first are comments.
    var pieces: [LedgerFunctions.Piece] {
        var pieces: [LedgerFunctions.Piece] = []
        var open: (kind: LedgerFunctions.Piece.Kind, name: String, lines: [Substring])?
        func close() {
            guard let open else { return }
            pieces.append(.init(kind: open.kind, name: open.name, sql: open.lines.joined(separator: "\n")))
        }
        for line in sql.split(separator: "\n", omittingEmptySubsequences: false) {
            if let (kind, name) = Self.made(by: line) {
                close()
                open = (kind, name, [line])
            } else {
                open?.lines.append(line)
            }
        }
        close()
        return pieces
    }

    /// What a line that begins a statement makes.
    private static func made(by line: Substring) -> (LedgerFunctions.Piece.Kind, String)? {
        let words = line.split(separator: " ", maxSplits: 4)
        guard line.hasPrefix("create or replace "), words.count > 4,
            let kind = LedgerFunctions.Piece.Kind(rawValue: String(words[3]))
        else { return nil }
        return (kind, String(words[4].prefix { $0.isLetter || $0.isNumber || $0 == "_" }))
    }
}
