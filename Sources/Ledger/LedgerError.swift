public import Conversion

/// An error of the ledger, and whether another try makes sense.
///
/// Callers branch only on `code` and `mayHaveHappened`; `detail` and `hint` are for people and may change. No part
/// of it holds a password.
public struct LedgerError: Error, Sendable, Hashable {
    public var code: FailureCode
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
        _ code: FailureCode,
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
        self.hint = hint ?? code.advice
        self.mayHaveHappened = mayHaveHappened
    }
}

extension LedgerError {
    /// Whether the same operation may soon succeed without any repair.
    ///
    /// With `mayHaveHappened`, callers must first look up whether it happened.
    public var isTransient: Bool {
        switch code {
        case .ledgerCannotReach, .ledgerConnectionLost, .ledgerTimedOut, .ledgerContention, .ledgerReadOnly,
            .ledgerExhausted:
            true
        default: false
        }
    }
}

extension LedgerError {
    /// Whether the server has answered that it is starting, or recovering after a crash.
    var isOfStartingServer: Bool { code == .ledgerCannotReach && sqlState == "57P03" }
}

extension FailureCode {
    /// Maps an SQLSTATE to a code. Its first two characters are the class.
    init(sqlState: String) {
        self =
            switch sqlState {
            case "42501": .ledgerPermissionDenied
            case "3D000", "3F000", "42P01", "42883": .ledgerMissing
            case "40002", "40003": .ledgerConnectionLost
            case "55P03", "57014", "55006": .ledgerContention
            case "25006": .ledgerReadOnly
            // The ledger's own.
            case "SL001": .ledgerLeaseOver
            case "SL003": .ledgerQuotaExceeded
            case "57P01", "57P02", "57P03", "57P04", "57P05", "25P03", "25P04": .ledgerConnectionLost
            default:
                switch sqlState.prefix(2) {
                case "08": .ledgerConnectionLost
                case "28": .ledgerPermissionDenied
                case "40": .ledgerContention
                case "53", "58": .ledgerExhausted
                // A value that does not fit its type, and exceptions that the ledger's functions raise.
                case "22", "P0": .ledgerRefused
                case "23": sqlState == "23502" || sqlState == "23514" ? .ledgerRefused : .ledgerConflict
                default: .ledgerBadStatement
                }
            }
    }
}

extension LedgerError: CustomStringConvertible {
    public var description: String {
        var text = "\(code.rawValue) (\(operation)): \(detail)"
        if let sqlState { text += " [\(sqlState)]" }
        if mayHaveHappened { text += "; it may have taken effect" }
        return text
    }
}
