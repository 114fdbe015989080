package import Conversion
package import HTTPServer
package import Ledger

/// One thing that programs can ask for: how it is addressed, what it takes, what it answers, and who may ask.
///
/// The router, the checks, the description of the API and its page in the documentation all read these declarations.
package struct Operation: Sendable {
    package enum Method: String, Sendable, CaseIterable {
        case get = "GET", post = "POST", put = "PUT", delete = "DELETE"
    }

    /// Who may ask.
    package enum Access: Sendable, Hashable {
        /// Everybody, without a token.
        case open
        case roles(Set<AccessRole>)

        static let readers = Access.roles(Set(AccessRole.allCases))
        static let submitters = Access.roles([.submitter])
        static let stewards = Access.roles([.submitter, .operator])
        static let operators = Access.roles([.operator])

        /// The roles in their order; empty for everybody.
        var roles: [AccessRole] {
            guard case .roles(let roles) = self else { return [] }
            return AccessRole.allCases.filter(roles.contains)
        }
    }

    /// A part of the path or of the query.
    package struct Parameter: Sendable {
        package let name: String
        package let schema: Schema
        package let meaning: String
        package var isRequired = false

        package init(_ name: String, _ schema: Schema, _ meaning: String) {
            (self.name, self.schema, self.meaning) = (name, schema, meaning)
        }
    }

    /// What a request carries.
    package enum Body: Sendable {
        case none
        /// One JSON value.
        case json(Schema)
        /// One JSON value, or JSON Lines of any length, each of the second shape.
        case jsonOrLines(Schema, line: Schema)
        /// The bytes of a file, which the operation reads when it is ready for them.
        case file

        var isNone: Bool { if case .none = self { true } else { false } }
    }

    package let name: String
    package let method: Method
    /// With parameters in braces: `/api/v1/jobs/{job}`.
    package let path: String
    package let summary: String
    package let access: Access
    package var parameters: [Parameter] = []
    package var body = Body.none
    /// The most bytes of a JSON body. Most are some hundred bytes.
    package var bodyLimit = 64 << 10
    /// The shape of the answer; `nil` for one that is not JSON.
    package var answer: Schema?
    package var status = HTTPStatus.ok
    package var answerType = "application/json"
    /// What else a request may get, in the same shape.
    package var furtherStatuses: [HTTPStatus] = []
    /// Whether tokens of tenants may ask, too: not for what tells of the whole installation.
    package var isForTenants = true
    /// Whether the last parameter of the path takes all that is left of it, with its slashes.
    package var takesRest = false
    package let run: @Sendable (Call) async throws -> HTTPAnswer

    var pattern: PathPattern { PathPattern(path, takesRest: takesRest) }

    /// Why a caller may not ask; `nil` if it may.
    func refusal(of caller: Caller) -> Problem? {
        guard case .roles(let roles) = access else { return nil }
        guard roles.contains(caller.role) else {
            let names = access.roles.map(\.rawValue).joined(separator: " or ")
            return Problem(.roleNotFit, "this needs the role \(names); the token has \(caller.role.rawValue)")
        }
        if !isForTenants, let tenant = caller.tenant {
            return Problem(.tenantNotFit, "the token belongs to the tenant \(tenant)")
        }
        return nil
    }
}

/// A request to one operation, with parameters that were checked.
package struct Call: Sendable {
    package let head: RequestHead
    /// The ledger, acting for the caller.
    package let ledger: JobLedger
    package let caller: Caller
    package let parameters: [String: JSONValue]
    /// The JSON body, checked.
    package let body: JSONValue?
    /// The body while it arrives, for an operation that takes JSON Lines or a file.
    package var stream: BodyStream?

    package func text(_ name: String) -> String? { parameters[name]?.text }
    package func whole(_ name: String) -> Int64? { parameters[name]?.whole }
    package func truth(_ name: String) -> Bool { parameters[name]?.truth ?? false }
    package func list(_ name: String) -> [String]? { parameters[name]?.items?.compactMap(\.text) }
}

/// Who asks.
package struct Caller: Sendable, Hashable {
    package let name: String
    package let role: AccessRole
    package let tenant: String?

    package init(name: String, role: AccessRole, tenant: String?) {
        (self.name, self.role, self.tenant) = (name, role, tenant)
    }

    /// Whose share of what is limited it takes: its tenant's, or its token's.
    package var account: String { tenant.map { "tenant:\($0)" } ?? "token:\(name)" }
}
