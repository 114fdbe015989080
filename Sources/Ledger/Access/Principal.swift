import Conversion

/// Whom a ledger's calls act for: the holder of a token, with one role.
public struct Principal: Sendable, Hashable {
    /// The name of the token.
    public let name: String
    public let role: AccessRole
    /// The tenant to which its batches belong; `nil`: the whole installation.
    public let tenant: String?
    /// The only queue to which it submits and whose jobs it changes; `nil`: all queues.
    public let queue: String?

    /// Throws `refused` if a name is not one of a token or tenant, or for a tenant's operator: operators act for the
    /// whole installation.
    public init(name: String, role: AccessRole, tenant: String? = nil, queue: String? = nil) throws {
        for name in [name, tenant].compactMap(\.self) where !Self.isName(name) {
            throw LedgerError(.ledgerRefused, during: "act for another", "\"\(name)\" is not a name: \(Self.nameRule)")
        }
        guard tenant == nil || role != .operator else {
            throw LedgerError(
                .ledgerRefused,
                during: "act for another",
                "the operators of a ledger belong to no tenant"
            )
        }
        guard queue?.unicodeScalars.contains("\0") != true else {
            throw LedgerError(.ledgerRefused, during: "act for another", "the name of a queue contains U+0000")
        }
        (self.name, self.role, self.tenant, self.queue) = (name, role, tenant, queue)
    }

    /// The submitter of its batches, as lists show it. The prefix keeps it apart from the names of logins.
    public var submitter: String { tenant.map { "tenant:" + $0 } ?? "token:" + name }

    /// What each of its transactions begins with.
    var opening: TransactionOpening {
        TransactionOpening(
            settings: [
                ("role", role.databaseRole), ("sluice.acting_for", submitter), ("sluice.acting_as", name),
                ("sluice.acting_queue", queue ?? ""),
            ],
            account: submitter
        )
    }

    /// The names of tokens and tenants, in words.
    static let nameRule = LedgerRules.tenantName.words

    /// Whether a text can name a token or a tenant.
    static func isName(_ text: String) -> Bool { LedgerRules.tenantName.permits(text) }
}
