/// An error of the ledger, and whether another try makes sense.
///
/// Callers branch only on `code` and `mayHaveHappened`; `detail` and `hint` are for people and may change. No part
/// of it holds a password.
public struct LedgerError: Error, Sendable, Hashable {
    public var code: Code
    /// The operation that failed: `claim jobs`.
    public var operation: String
    /// What failed, for people: a sentence without a full stop.
    public var detail: String
    /// The SQLSTATE, if the server sent one.
    public var sqlState: String?
    /// What to do next.
    public var hint: String?
    /// Whether the requested change may have happened, because its answer was lost.
    public var mayHaveHappened: Bool

    /// An error without an SQLSTATE by default. A `nil` hint stands for the default hint of the code.
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
    /// Stable names. A name is never reused for another meaning.
    public enum Code: String, Sendable, Hashable, Codable, CaseIterable {
        /// The address of the database or another setting cannot be used.
        case badConfiguration = "ledger_bad_configuration"
        /// No server accepted a connection in time.
        case cannotReach = "ledger_cannot_reach"
        /// The connection ended during a statement.
        case connectionLost = "ledger_connection_lost"
        /// The operation exceeded its time limit.
        case timedOut = "ledger_timed_out"
        /// The calling task was cancelled.
        case cancelled = "cancelled"
        /// The server does not know this user, or the user lacks the right.
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
        /// An object with the same key exists already, or other objects depend on this one.
        case conflict = "ledger_conflict"
        /// A value breaks a rule of the schema.
        case refused = "ledger_refused"
        /// Another transaction, a lock or a limit of the server stood in the way. Nothing was changed.
        case contention = "ledger_contention"
        /// The worker's lease is over. It holds no jobs and must register anew.
        case leaseOver = "ledger_lease_over"
        /// The server is read-only: a standby, or configured so.
        case readOnly = "ledger_read_only"
        /// Connections, memory or disk space ran out.
        case exhausted = "ledger_exhausted"
        /// The server did not understand a statement: an error in Sluice.
        case badStatement = "ledger_bad_statement"
        /// The answer does not fit the statement: an error in Sluice.
        case unexpectedAnswer = "ledger_unexpected_answer"
    }

    /// Whether the same operation may soon succeed without any repair.
    ///
    /// With `mayHaveHappened`, callers must first look up whether it happened.
    public var isTransient: Bool {
        switch code {
        case .cannotReach, .connectionLost, .timedOut, .contention, .readOnly, .exhausted: true
        default: false
        }
    }
}

extension LedgerError.Code {
    /// What a person can do about it; `nil` if nothing.
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

    /// Maps an SQLSTATE to a code. Its first two characters are the class.
    init(sqlState: String) {
        self =
            switch sqlState {
            case "42501": .permissionDenied
            case "3D000", "3F000", "42P01", "42883": .missing
            case "40002", "40003": .connectionLost
            case "55P03", "57014", "55006": .contention
            case "25006": .readOnly
            // The ledger's own SQLSTATE.
            case "SL001": .leaseOver
            case "57P01", "57P02", "57P03", "57P04", "57P05", "25P03", "25P04": .connectionLost
            default:
                switch sqlState.prefix(2) {
                case "08": .connectionLost
                case "28": .permissionDenied
                case "40": .contention
                case "53", "58": .exhausted
                // A value that does not fit its type, and exceptions that the ledger's functions raise.
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
