import Conversion
public import FoundationEssentials

extension JobLedger {
    // MARK: - Tokens

    /// Creates a token, and returns it. It cannot be shown again: the ledger keeps only a hash of its secret.
    ///
    /// `duration` is how long it is valid; `nil`: until it is revoked. Throws `conflict` if there is a token with that
    /// name, and `refused` if there is no such tenant.
    public func createToken(
        named name: String,
        role: AccessRole,
        tenant: String? = nil,
        queue: String? = nil,
        validFor duration: Duration? = nil
    ) async throws -> AccessToken {
        let token = AccessToken()
        // A repeated call finds the token that an earlier try has created.
        _ = try await settle("create a token") { connection, _ in
            try connection.execute(
                """
                select \(schema).create_token(\(name), \(role.rawValue), \(token.hash), \(tenant), \(queue), \(duration))
                """
            )
        }
        return token
    }

    /// The valid tokens, by name; with `ended` also those that have expired or were revoked.
    public func tokens(withEnded ended: Bool = false) async throws -> [TokenRecord] {
        try await look("list tokens") { connection in
            try connection.rows("select * from \(schema).list_tokens(\(ended))", TokenRecord.init(reading:))
        }
    }

    /// Revokes a token by its name or id. `nil` if there is none. Processes that have found it forget it within seconds.
    public func revokeToken(_ nameOrID: String) async throws -> TokenRecord? {
        try await settle("revoke a token") { connection, _ in
            try connection.first("select * from \(schema).revoke_token(\(nameOrID))", TokenRecord.init(reading:))
        }
    }

    /// What the ledger knows of a token, in whatever state it is; `nil` if it does not know it. Only a member of
    /// `sluice_face` and the ledger's owner may ask.
    public func find(_ token: AccessToken, within limit: Duration? = nil) async throws -> TokenRecord? {
        try await find([token], within: limit)[0]
    }

    /// The same of many tokens, in their order.
    public func find(_ tokens: [AccessToken], within limit: Duration? = nil) async throws -> [TokenRecord?] {
        let hashes = tokens.map(\.hash)
        return try await look("look up tokens", within: limit) { connection in
            var found = [TokenRecord?](repeating: nil, count: hashes.count)
            let rows = try connection.rows(
                "select f.place, (f.facts).* from \(schema).find_tokens(\(hashes)) f"
            ) { row in (place: try row["place"] as Int32, record: try TokenRecord(reading: row)) }
            for row in rows where found.indices.contains(Int(row.place) - 1) { found[Int(row.place) - 1] = row.record }
            return found
        }
    }

    /// Records how long ago tokens were used, to the minute. Call it for many at a time, and rarely.
    public func noteUses(ofTokens ages: [Int32: Duration]) async throws {
        guard !ages.isEmpty else { return }
        let uses = Array(ages)
        let (ids, seconds) = (uses.map(\.key), uses.map { $0.value / .seconds(1) })
        try await settle("record the use of tokens") { connection, _ in
            _ = try connection.execute("select \(schema).note_token_uses(\(ids), \(seconds))")
        }
    }

    // MARK: - Tenants

    /// Creates a tenant. False if there is one with that name.
    public func createTenant(_ name: String) async throws -> Bool {
        try await settle("create a tenant") { connection, mayHaveHappened in
            let isNew: Bool = try connection.value("select \(schema).create_tenant(\(name))")
            return isNew || mayHaveHappened
        }
    }

    /// Sets all limits of a tenant. False if there is no such tenant.
    public func setLimits(_ limits: TenantLimits, of tenant: String) async throws -> Bool {
        let json = try JSON(limits)
        return try await settle("limit a tenant") { connection, _ in
            try connection.value("select \(schema).limit_tenant(\(tenant), \(json))")
        }
    }

    /// All tenants, by name.
    public func tenants() async throws -> [Tenant] {
        try await look("list tenants") { connection in
            try connection.rows("select * from \(schema).list_tenants()", AdministeredTenant.init(reading:)).map(
                \.tenant
            )
        }
    }

    /// The tenant for which this ledger acts; `nil` if it acts for none.
    public func ownTenant() async throws -> Tenant? {
        try await look("show the tenant") { connection in
            try connection.first("select * from \(schema).show_tenant()", Tenant.init(reading:))
        }
    }

    /// Tenants whose jobs wait now, by name, because they have used up what they may use. A tenant sees only itself.
    public func holds() async throws -> [TenantHold] {
        try await look("list tenants that have used up their day") { connection in
            try connection.rows("select * from \(schema).list_holds()", TenantHold.init(reading:))
        }
    }

    // MARK: - Audit

    /// Who changed what, newest first: since `since`, by `who`, and older than the record `record`.
    public func audit(
        since: Date? = nil,
        by who: String? = nil,
        before record: Int64? = nil,
        limit: Int32 = 50
    ) async throws -> [AuditRecord] {
        try await look("read the audit") { connection in
            try connection.rows(
                "select * from \(schema).list_audit(\(since), \(record), \(limit), \(who))",
                AuditRecord.init(reading:)
            )
        }
    }
}
