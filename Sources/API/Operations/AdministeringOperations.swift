import Conversion
import HTTPServer
import Ledger

/// What operators read of tokens, tenants and the audit. They are changed by commands alone, which reach the database.
enum AdministeringOperations {
    static let all: [Operation] = [
        Operation(
            name: "listTokens",
            method: .get,
            path: "/api/v1/tokens",
            summary: "tokens with their roles, and when they were last used; not the tokens themselves",
            access: .operators,
            parameters: [Operation.Parameter("ended", .truth, "also those that have expired or were revoked")],
            answer: Shapes.all("tokens", Shapes.token),
            isForTenants: false
        ) { call in
            return try .json(RecordPage(try await call.ledger.tokens(withEnded: call.truth("ended"))))
        },
        Operation(
            name: "listTenants",
            method: .get,
            path: "/api/v1/tenants",
            summary: "tenants with their limits, and what their conversions have used in 24 hours",
            access: .operators,
            answer: Shapes.all("tenants", Shapes.administeredTenant),
            isForTenants: false
        ) { call in
            return try .json(RecordPage(try await call.ledger.tenants().map { AdministeredTenant($0) }))
        },
        Operation(
            name: "listAudit",
            method: .get,
            path: "/api/v1/audit",
            summary: "who changed what, newest first",
            access: .operators,
            parameters: [
                Operation.Parameter("since", .moment, "changes since then"),
                Operation.Parameter("who", .text(1...200), "changes by this login, or by \"token:NAME\""),
                Operation.Parameter("limit", .whole(1...1_000), "at most this many; 50 without it"),
                Operation.Parameter("before", .id, "changes before the one with this number"),
            ],
            answer: Shapes.page("records", Shapes.auditRecord),
            isForTenants: false
        ) { call in
            let limit = Int(call.whole("limit") ?? 50)
            // One more than the limit shows whether there are others.
            let found = try await call.ledger.audit(
                since: call.text("since").flatMap(Moments.date),
                by: call.text("who"),
                before: call.whole("before"),
                limit: Int32(limit + 1)
            )
            return try .json(RecordPage(found, limit: limit, \.id))
        },
    ]
}
