package import Conversion
package import HTTPServer

/// What a refused request is told, as RFC 9457 says.
package struct Problem: Error, Sendable {
    /// Why the API itself refuses a request. What fails behind it has the code of the catalogue of failures.
    package enum Code: String, Sendable, CaseIterable {
        case badRequest = "bad_request"
        case badParameter = "bad_parameter"
        case badBody = "bad_body"
        case noToken = "no_token"
        case badToken = "bad_token"
        case roleNotFit = "role_not_fit"
        case tenantNotFit = "tenant_not_fit"
        case wrongHost = "wrong_host"
        case foreignOrigin = "foreign_origin"
        case otherUser = "other_user"
        case noSuchThing = "no_such_thing"
        case wrongMethod = "wrong_method"
        case wrongType = "wrong_type"
        case keyInUse = "key_in_use"
        case lengthRequired = "length_required"
        case bodyTooLarge = "body_too_large"
        case tooManyFailures = "too_many_failures"
        case overloaded = "overloaded"
        case ledgerAway = "ledger_away"
        case notServed = "not_served"
        case badPath = "bad_path"
        case badDestination = "bad_destination"
        case wrongDigest = "wrong_digest"
        case uploadTooLarge = "upload_too_large"
        case fileExists = "file_exists"
        case noSpace = "no_space"
        case storageSilent = "storage_silent"
        case noOutput = "no_output"
        case outputChanged = "output_changed"
        case outputGone = "output_gone"
        case badRange = "bad_range"
        case otherVersion = "other_version"
        case unexpected = "unexpected"

        package var status: HTTPStatus {
            switch self {
            case .badRequest, .badParameter, .badBody, .badPath, .badDestination: .badRequest
            case .noToken, .badToken: .unauthorized
            case .roleNotFit, .tenantNotFit, .foreignOrigin, .otherUser: .forbidden
            case .wrongHost: .misdirectedRequest
            case .noSuchThing, .notServed: .notFound
            case .wrongMethod: .methodNotAllowed
            case .wrongType: .unsupportedMediaType
            case .keyInUse, .fileExists, .noOutput, .outputChanged: .conflict
            case .outputGone: .gone
            case .lengthRequired: .lengthRequired
            case .bodyTooLarge, .uploadTooLarge: .contentTooLarge
            case .badRange: .rangeNotSatisfiable
            case .otherVersion: .preconditionFailed
            case .wrongDigest: .unprocessableContent
            case .tooManyFailures: .tooManyRequests
            case .overloaded, .ledgerAway, .storageSilent: .serviceUnavailable
            case .noSpace: .insufficientStorage
            case .unexpected: .internalError
            }
        }

        /// What happened, in general.
        package var title: String {
            switch self {
            case .badRequest: "the request cannot be read"
            case .badParameter: "a parameter is not right"
            case .badBody: "the body is not right"
            case .noToken: "a token is needed"
            case .badToken: "the token is not valid"
            case .roleNotFit: "the token's role does not permit this"
            case .tenantNotFit: "this is about the whole installation, which tenants do not see"
            case .wrongHost: "without a token, the host must be a name of this coordinator"
            case .foreignOrigin: "a page of another site has sent this"
            case .otherUser: "this address serves only processes of the user whose cluster it is"
            case .noSuchThing: "there is no such thing"
            case .wrongMethod: "the method does not fit the path"
            case .wrongType: "the body has a type that is not read here"
            case .keyInUse: "the key belongs to another request"
            case .lengthRequired: "the body must have a Content-Length"
            case .bodyTooLarge: "the body is too large"
            case .tooManyFailures: "too many requests with tokens that are not valid"
            case .overloaded: "too much at once"
            case .ledgerAway: "the ledger cannot be reached"
            case .notServed: "this coordinator does not serve these files"
            case .badPath: "the path cannot be used"
            case .badDestination: "a destination does not fit the tenant's template"
            case .wrongDigest: "the body does not have the digest that was sent with it"
            case .uploadTooLarge: "the file is larger than uploads may be"
            case .fileExists: "another file is at this path"
            case .noSpace: "there is no space for the file"
            case .storageSilent: "the storage does not answer"
            case .noOutput: "the job has no such output"
            case .outputChanged: "the file is not the one that the job published"
            case .outputGone: "the file is no longer where the job published it"
            case .badRange: "the range lies outside the file"
            case .otherVersion: "the file is another one than If-Match names"
            case .unexpected: "something went wrong that should not"
            }
        }

        package var hint: String? {
            switch self {
            case .noToken: "send \"Authorization: Bearer TOKEN\"; \"sluice tokens create\" makes a token"
            case .badToken: "\"sluice tokens\" lists the valid ones"
            case .roleNotFit: "ask for a token with another role"
            case .tenantNotFit: "/api/v1/status shows a tenant how many workers are running"
            case .wrongHost: "use localhost or a token; \"--host\" of the coordinator permits other names"
            case .foreignOrigin: "\"--host\" of the coordinator names sites whose pages may"
            case .otherUser: "\"sluice open\" opens the page of your own private cluster"
            case .badParameter, .badBody, .noSuchThing, .wrongMethod, .wrongType: "/openapi.json describes all requests"
            case .bodyTooLarge: "jobs can also be submitted as JSON Lines, which may have any length"
            case .keyInUse: "use another Idempotency-Key for another request"
            case .tooManyFailures, .overloaded, .ledgerAway, .storageSilent: "try again later"
            case .badDestination:
                "leave the output out, and it goes where GET /api/v1/tenant says; an operator changes the template"
            case .notServed: "a coordinator serves the roots that \"--uploads\" and \"--downloads\" name"
            case .fileExists: "use another path; uploads replace nothing"
            case .wrongDigest: "send the file again"
            case .uploadTooLarge: "\"--max-upload\" of the coordinator sets the limit"
            case .noSpace: "free space, or wait until old files are removed"
            case .noOutput: "wait until the job is completed"
            case .outputChanged, .outputGone: "convert the source again"
            case .badRequest, .lengthRequired, .unexpected, .badPath, .badRange, .otherVersion: nil
            }
        }
    }

    package let status: HTTPStatus
    package let code: String
    package let title: String
    package let detail: String?
    package var hint: String?
    package var kind: Failure.Kind?
    package var mistakes: [Schema.Mistake] = []
    /// What the ledger was doing when it failed, and what its server said, if it said why.
    package var operation: String?
    package var sqlState: String?
    /// Whether what failed may have taken effect all the same.
    package var mayHaveHappened = false
    /// For a method that does not fit: those that do.
    var methods: [String] = []
    /// For a range outside of a file: the length of the file.
    var length: Int64?
    /// Seconds after which another try may succeed.
    package var retryAfter: Int?
    /// Whether the rest of a body is not even read.
    var cutsBody = false

    package init(_ code: Code, _ detail: String? = nil, mistakes: [Schema.Mistake] = []) {
        (status, self.code, title) = (code.status, code.rawValue, code.title)
        self.detail = detail.map(Self.bounded)
        (hint, self.mistakes) = (code.hint, mistakes)
        if status == .serviceUnavailable || status == .tooManyRequests { retryAfter = 1 }
    }

    /// What failed behind the API.
    package init(_ failure: Failure, _ status: HTTPStatus) {
        (self.status, code, kind, hint) = (status, failure.code, failure.kind, failure.hint)
        detail = Self.bounded(failure.message)
        title = failure.known.map { $0.entry.meaning.unmarked } ?? failure.code
        if status == .serviceUnavailable { retryAfter = 1 }
        if status == .tooManyRequests { retryAfter = 60 }
    }

    /// A text that may repeat what a client has sent, cut where it is longer than people read.
    private static func bounded(_ text: String) -> String {
        guard text.unicodeScalars.count > 1_000 else { return text }
        return String(String.UnicodeScalarView(text.unicodeScalars.prefix(1_000))) + "..."
    }

    package var answer: HTTPAnswer {
        struct Body: Encodable {
            let type: String
            let title: String
            let status: UInt32
            let code: String
            let kind: Failure.Kind?
            let detail: String?
            let hint: String?
            let operation: String?
            let sqlState: String?
            let mayHaveHappened: Bool?
            let errors: [Schema.Mistake]?

            enum CodingKeys: String, CodingKey {
                case type, title, status, code, kind = "class", detail, hint, operation, sqlState, mayHaveHappened,
                    errors
            }
        }
        let body = Body(
            type: "urn:sluice:problem:\(code)",
            title: title,
            status: status.rawValue,
            code: code,
            kind: kind,
            detail: detail,
            hint: hint,
            operation: operation,
            sqlState: sqlState,
            mayHaveHappened: mayHaveHappened ? true : nil,
            errors: mistakes.isEmpty ? nil : mistakes
        )
        // `try?`: text and numbers can always be written.
        var answer = (try? HTTPAnswer.json(body, status)) ?? HTTPAnswer(status)
        answer.fields = [("Content-Type", "application/problem+json")]
        answer.cutsBody = cutsBody
        if status == .unauthorized { answer.fields.append(("WWW-Authenticate", "Bearer realm=\"sluice\"")) }
        if !methods.isEmpty { answer.fields.append(("Allow", methods.joined(separator: ", "))) }
        if let length { answer.fields.append(("Content-Range", "bytes */\(length)")) }
        if let retryAfter { answer.fields.append(("Retry-After", "\(retryAfter)")) }
        return answer
    }

    /// The shape of `answer`.
    package static let schema = Schema.named(
        "Problem",
        .object([
            .must("type", .text(), "a name for the kind of problem"),
            .must("title", .text(), "what happened, in general"),
            .must("status", .whole(400...599), "the status of the answer"),
            .must("code", .text(1...64), "for programs: a code of the list of problems or of the failures"),
            .may("class", .choice(Failure.Kind.allCases.map(\.rawValue)), "whether another try can succeed"),
            .may("detail", .text(), "what happened this time"),
            .may("hint", .text(), "what to do"),
            .may("operation", .text(), "what the ledger was doing when it failed"),
            .may("sqlState", .text(), "the code of the ledger's database"),
            .may("mayHaveHappened", .truth, "true if what failed may have taken effect all the same"),
            .may(
                "errors",
                .list(
                    .object([
                        .must("pointer", .text(), "a parameter, or a JSON pointer into the body"),
                        .must("detail", .text(), "what is wrong with it"),
                    ])
                ),
                "each mistake"
            ),
        ])
    )
}
