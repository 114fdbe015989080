public import FoundationEssentials

/// What the ledger knows of a token. It does not know the token itself.
public struct TokenRecord: Sendable, Hashable {
    /// Whether the token is accepted.
    public enum State: String, Sendable, Hashable, Codable {
        case valid, expired, revoked
    }

    public var id: Int32
    public var name: String
    public var role: AccessRole
    /// The tenant to which it belongs; `nil`: the whole installation.
    public var tenant: String?
    /// The only queue to which it submits and whose jobs it changes; `nil`: all queues.
    public var queue: String?
    /// By the ledger's clock, when it was read.
    public var state: State
    public var createdAt: Date
    public var createdBy: String
    /// When it expires; `nil`: never.
    public var expiresAt: Date?
    public var revokedAt: Date?
    public var revokedBy: String?
    /// When it was last used, to the minute; `nil`: never.
    public var usedAt: Date?

    init(_ row: Row) throws {
        id = try row["token"]
        name = try row["name"]
        role = try row.value("role")
        tenant = try row["tenant"]
        queue = try row["queue"]
        state = try row.value("state")
        createdAt = try row["created_at"]
        createdBy = try row["created_by"]
        expiresAt = try row["expires_at"]
        revokedAt = try row["revoked_at"]
        revokedBy = try row["revoked_by"]
        usedAt = try row["used_at"]
    }

    /// Whom calls with this token act for. Ask only for a valid token.
    public func principal() throws -> Principal {
        try Principal(name: name, role: role, tenant: tenant, queue: queue)
    }
}
