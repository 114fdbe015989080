import Conversion
import FoundationEssentials
import Ledger

/// A problem as the API tells it, read as text of a stranger: bounded, and printable.
struct ProblemReading {
    let code: String
    let title: String
    let detail: String?
    let hint: String?
    private let operation: String?
    private let sqlState: String?
    private let mayHaveHappened: Bool
    private let mistakes: [String]

    /// Whether it is a failure of files: those of the ledger name what was tried.
    var isOfStorage: Bool { FailureCode(rawValue: code) != nil && operation == nil }

    /// The detail of a path that the coordinator does not know.
    static let unknownPath = "there is nothing at this path"

    private struct Body: Decodable {
        struct Mistake: Decodable {
            let pointer: String
            let detail: String
        }

        let code: String
        let title: String
        let detail: String?
        let hint: String?
        let operation: String?
        let sqlState: String?
        let mayHaveHappened: Bool?
        let errors: [Mistake]?
    }

    /// Throws a `LedgerError` if the bytes are not a problem.
    static func read(_ bytes: [UInt8], from url: CoordinatorURL, during operation: String) throws -> ProblemReading {
        do {
            return ProblemReading(try JSONDecoder().decode(Body.self, from: Data(bytes)))
        } catch {
            throw LedgerError(
                .coordinatorUnexpectedAnswer,
                during: operation,
                "the coordinator at \(url) refused the request in a way that cannot be read"
            )
        }
    }

    private init(_ body: Body) {
        func bounded(_ text: String) -> String { String(text.prefix(2_000)).plain }
        (code, title) = (String(body.code.prefix(100)), bounded(body.title))
        (detail, hint) = (body.detail.map(bounded), body.hint.map(bounded))
        operation = body.operation.map { String($0.prefix(100)).plain }
        sqlState = body.sqlState.flatMap { text in
            text.utf8.count == 5 && text.allSatisfy { $0.isASCII && ($0.isNumber || $0.isLetter) } ? text : nil
        }
        mayHaveHappened = body.mayHaveHappened ?? false
        mistakes = (body.errors ?? []).prefix(10).map { bounded("\($0.pointer) \($0.detail)") }
    }

    /// The same as an error of the ledger. What failed behind the API is as if there had been no API.
    func error(during request: String) -> LedgerError {
        if let known = FailureCode(rawValue: code), let operation {
            // The API's detail is the failure's message, which repeats the operation and the state.
            var text = (detail ?? title)[...]
            let (begin, end) = ("cannot \(operation): ", sqlState.map { " [\($0)]" } ?? "")
            if text.hasPrefix(begin) { text = text.dropFirst(begin.count) }
            if text.hasSuffix(end) { text = text.dropLast(end.count) }
            // The error says it again.
            let isOpen = "; it may have taken effect"
            if mayHaveHappened, text.hasSuffix(isOpen) { text = text.dropLast(isOpen.count) }
            return LedgerError(
                known,
                during: operation,
                String(text),
                sqlState: sqlState,
                hint: hint,
                mayHaveHappened: mayHaveHappened
            )
        }
        let text = [title, detail].compactMap(\.self).joined(separator: ": ")
        return LedgerError(
            Self.codes[code] ?? .coordinatorUnexpectedAnswer,
            during: request,
            ([text] + mistakes).joined(separator: "; "),
            hint: Self.hints[code] ?? hint
        )
    }

    /// Hints for those who use the command; the API's own are for those who write programs.
    private static let hints = [
        "no_token": "set SLUICE_TOKEN or SLUICE_TOKEN_FILE", "bad_parameter": FailureCode.ledgerRefused.advice,
        "bad_body": FailureCode.ledgerRefused.advice,
        "tenant_not_fit": "\"sluice status\" shows a tenant how many workers are running",
        "bad_destination": "without --to, the outputs go where the tenant's template says",
        "bad_token": "set SLUICE_TOKEN or SLUICE_TOKEN_FILE to a valid token",
    ].compactMapValues(\.self)

    /// The ledger's codes for what the API itself refuses.
    private static let codes: [String: FailureCode] = [
        "bad_request": .ledgerRefused, "bad_parameter": .ledgerRefused, "bad_body": .ledgerRefused,
        "bad_destination": .ledgerRefused,
        "no_token": .ledgerPermissionDenied, "bad_token": .ledgerPermissionDenied,
        "role_not_fit": .ledgerPermissionDenied, "tenant_not_fit": .ledgerPermissionDenied,
        "wrong_host": .ledgerPermissionDenied, "foreign_origin": .ledgerPermissionDenied,
        "other_user": .ledgerPermissionDenied,
        "key_in_use": .ledgerConflict,
        "body_too_large": .ledgerRefused, "too_many_failures": .ledgerExhausted, "overloaded": .ledgerExhausted,
        "ledger_away": .ledgerCannotReach, "storage_silent": .ledgerExhausted,
        FailureCode.storageUnavailable.rawValue: .ledgerExhausted,
        FailureCode.tooManyFiles.rawValue: .ledgerExhausted,
    ]
}

/// Why a coordinator refuses to take or to serve a file.
package struct FileRefusal: Error, Sendable, Hashable {
    package enum Code: String, Sendable {
        case notServed = "not_served"
        case badPath = "bad_path"
        case wrongDigest = "wrong_digest"
        case tooLarge = "upload_too_large"
        case exists = "file_exists"
        case noSpace = "no_space"
        case noOutput = "no_output"
        case outputChanged = "output_changed"
        case outputGone = "output_gone"
        case badRange = "bad_range"
        /// The coordinator's storage refuses it, for a reason that the message tells.
        case unreadable
    }

    package let code: Code
    /// What happened, and where.
    package let message: String
    package let hint: String?

    /// `nil` for problems that have nothing to do with files, and for those that may have passed at the next try.
    init?(_ problem: ProblemReading, status: Int) {
        if status == 503 { return nil }
        if let code = Code(rawValue: problem.code) {
            self.code = code
        } else if problem.isOfStorage {
            code = .unreadable
        } else {
            return nil
        }
        message = [problem.title, problem.detail].compactMap(\.self).joined(separator: ": ")
        hint = problem.hint
    }
}
