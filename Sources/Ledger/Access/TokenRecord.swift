public import FoundationEssentials

/// What the ledger knows of a token. It does not know the token itself.
public struct TokenRecord: Sendable, Hashable {
    /// Whether the token is accepted.
    public enum State: String, Sendable, Hashable, Codable, CaseIterable {
        case valid, expired, revoked
    }

    public var id: Int32 = 0
    public var name = ""
    public var role = AccessRole.viewer
    /// The tenant to which it belongs; `nil`: the whole installation.
    public var tenant: String?
    /// The only queue to which it submits and whose jobs it changes; `nil`: all queues.
    public var queue: String?
    /// By the ledger's clock, when it was read.
    public var state = State.valid
    public var createdAt = Date.distantPast
    public var createdBy = ""
    /// When it expires; `nil`: never.
    public var expiresAt: Date?
    public var revokedAt: Date?
    public var revokedBy: String?
    /// When it was last used, to the minute; `nil`: never.
    public var usedAt: Date?

    package init() {}

    /// Whom calls with this token act for. Ask only for a valid token.
    public func principal() throws -> Principal {
        try Principal(name: name, role: role, tenant: tenant, queue: queue)
    }
}

extension TokenRecord: LedgerRecord, ListedRecord {
    package static let listName = "tokens"
    package static var blank: TokenRecord { TokenRecord() }

    package static let fields: [RecordField<TokenRecord>] = [
        .always("id", \.id, .id, "its number", column: "token"),
        .always("name", \.name, .text, "its name"),
        .always("role", \.role, .choice, "what it may do"),
        .maybe("tenant", \.tenant, .text, "the tenant to which it belongs; missing: the whole installation"),
        .maybe("queue", \.queue, .text, "the only queue to which it submits; missing: all"),
        .always("state", \.state, .choice, "whether it is accepted"),
        .always("createdAt", \.createdAt, .moment, "when it was created"),
        .always("createdBy", \.createdBy, .text, "who created it"),
        .maybe("expiresAt", \.expiresAt, .moment, "when it expires"),
        .maybe("revokedAt", \.revokedAt, .moment, "when it was revoked"),
        .maybe("revokedBy", \.revokedBy, .text, "who revoked it"),
        .maybe("usedAt", \.usedAt, .moment, "when it was last used, to the minute"),
    ]
}
