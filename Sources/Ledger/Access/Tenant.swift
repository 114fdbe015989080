public import FoundationEssentials

/// A customer of an installation, to which tokens and batches belong.
public struct Tenant: Sendable, Hashable {
    public var name: String
    public var createdAt: Date
    public var createdBy: String
    /// How many of its tokens are valid.
    public var tokens: Int

    init(_ row: Row) throws {
        name = try row["tenant"]
        createdAt = try row["created_at"]
        createdBy = try row["created_by"]
        tokens = try row["tokens"]
    }
}
