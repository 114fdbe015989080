/// What the ledger could not do, and whether another try is worth it.
///
/// Callers branch on `code` and `mayHaveHappened` alone; `detail` and `hint` are for people and may be reworded. No
/// part of it holds a password.
public struct LedgerError: Error, Sendable, Hashable {
    public var code: Code
    /// What was tried: `claim jobs`.
    public var operation: String
    /// What failed, for people: a sentence without a full stop.
    public var detail: String
    /// PostgreSQL's code for the error, where the server sent one.
    public var sqlState: String?
    /// What to do next.
    public var hint: String?
    /// Whether the change asked for may have been made all the same, because the answer to it was lost.
    public var mayHaveHappened: Bool

    /// An error without a code of PostgreSQL's; a `nil` hint means the one that goes with the code.
    public init(
        _ code: Code,
        during operation: String,
        _ detail: String,
        sqlState: String? = nil,
        hint: String? = nil,
        mayHaveHappened: Bool = false
    ) {
        self.code = code
        self.operation = operation
        self.detail = detail
        self.sqlState = sqlState
        self.hint = hint ?? code.hint
        self.mayHaveHappened = mayHaveHappened
    }
}

extension LedgerError {
    /// Stable names; one is never reused for another meaning.
    public enum Code: String, Sendable, Hashable, Codable, CaseIterable {
        /// The address of the database or another setting cannot be used.
        case badConfiguration = "ledger_bad_configuration"
        /// No server took a connection in time.
        case cannotReach = "ledger_cannot_reach"
        /// The connection ended under a statement.
        case connectionLost = "ledger_connection_lost"
        /// The time given for the operation was over.
        case timedOut = "ledger_timed_out"
        /// The task that asked was cancelled.
        case cancelled = "cancelled"
        /// The server does not know this user, or the user may not do this.
        case permissionDenied = "ledger_permission_denied"
        /// The database, or the ledger in it, does not exist.
        case missing = "ledger_missing"
        /// The ledger's schema is older than this binary needs.
        case schemaTooOld = "ledger_schema_too_old"
        /// The ledger's schema is newer than this binary knows.
        case schemaTooNew = "ledger_schema_too_new"
        /// A migration differs from the one that was applied under its number.
        case migrationChanged = "ledger_migration_changed"
        /// A migration could not be applied; nothing of it remains.
        case migrationFailed = "ledger_migration_failed"
        /// Something of the same key, or that depends on it, is there already.
        case conflict = "ledger_conflict"
        /// A value breaks a rule of the schema.
        case refused = "ledger_refused"
        /// Another transaction, a lock or a limit of the server stood in the way. Nothing was changed.
        case contention = "ledger_contention"
        /// The lease of the worker is over: it holds nothing any more and registers anew.
        case leaseOver = "ledger_lease_over"
        /// The server takes no changes: a standby, or one that was told so.
        case readOnly = "ledger_read_only"
        /// Connections, memory or disk space ran out.
        case exhausted = "ledger_exhausted"
        /// The server did not understand a statement: an error in Sluice.
        case badStatement = "ledger_bad_statement"
        /// The answer is not what the statement should give: an error in Sluice.
        case unexpectedAnswer = "ledger_unexpected_answer"
    }

    /// Whether the same operation may succeed in a moment although nothing was repaired.
    ///
    /// What `mayHaveHappened` must be looked up first all the same.
    public var isTransient: Bool {
        switch code {
        case .cannotReach, .connectionLost, .timedOut, .contention, .readOnly, .exhausted: true
        default: false
        }
    }
}

extension LedgerError.Code {
    /// What a person can do about it, where there is something.
    var hint: String? {
        switch self {
        case .cannotReach: "check that PostgreSQL runs there and that this machine may connect to it"
        case .missing, .schemaTooOld: "run `sluice migrate`"
        case .schemaTooNew: "upgrade sluice on this machine"
        case .migrationChanged: "released migrations are never edited; run the sluice that made this ledger"
        case .exhausted: "look at the server's connections, memory and disk space"
        default: nil
        }
    }

    /// What a code of PostgreSQL's means here. Its first two letters are the class.
    init(sqlState: String) {
        self =
            switch sqlState {
            case "42501": .permissionDenied
            case "3D000", "3F000", "42P01", "42883": .missing
            case "40002", "40003": .connectionLost
            case "55P03", "57014", "55006": .contention
            case "25006": .readOnly
            // The ledger's own.
            case "SL001": .leaseOver
            case "57P01", "57P02", "57P03", "57P04", "57P05", "25P03", "25P04": .connectionLost
            default:
                switch sqlState.prefix(2) {
                case "08": .connectionLost
                case "28": .permissionDenied
                case "40": .contention
                case "53", "58": .exhausted
                // A value that does not fit its type, and what the ledger's own functions raise.
                case "22", "P0": .refused
                case "23": sqlState == "23502" || sqlState == "23514" ? .refused : .conflict
                default: .badStatement
                }
            }
    }
}

extension LedgerError: CustomStringConvertible {
    public var description: String {
        var text = "\(code.rawValue) (\(operation)): \(detail)"
        if let sqlState { text += " [\(sqlState)]" }
        if mayHaveHappened { text += "; whether it was done is not known" }
        return text
    }
}
