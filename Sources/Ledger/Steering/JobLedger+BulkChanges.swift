import Conversion
import FoundationEssentials

extension JobLedger {
    /// Begins a change that coordinators carry out. Only for a ledger that acts for a principal.
    public func begin(_ change: JobChange, on filter: JobFilter) async throws -> BulkChange {
        let (json, (word, arguments)) = (try JSON(filter), change.words)
        let more = try JSON(arguments)
        let expected = try await count(of: change, matching: filter)
        let request = UUID()
        let begun = try await settle("begin a bulk change") { connection, _ in
            try connection.first(
                "select * from \(schema).start_change(\(request), \(word), \(json), \(more), \(Int64(expected)))",
                BulkChange.init(reading:)
            )
        }
        guard let begun else {
            throw LedgerError(.ledgerUnexpectedAnswer, during: "begin a bulk change", "the ledger returned nothing")
        }
        return begun
    }

    /// Bulk changes, newest first; `before` is the number behind which the list continues.
    public func bulkChanges(before: Int64? = nil, limit: Int32 = 50) async throws -> [BulkChange] {
        try await look("list bulk changes") { connection in
            try connection.rows("select * from \(schema).list_changes(\(before), \(limit))", BulkChange.init(reading:))
        }
    }

    /// One bulk change; `nil` if the caller has none with that number.
    public func bulkChange(_ number: Int64) async throws -> BulkChange? {
        try await look("show a bulk change") { connection in
            try connection.first("select * from \(schema).show_change(\(number))", BulkChange.init(reading:))
        }
    }

    /// Stops a bulk change, or has it undone. `nil` if the caller has none with that number.
    public func wish(_ wish: BulkChange.Wish, of number: Int64) async throws -> BulkChange? {
        try await settle("stop or undo a bulk change") { connection, _ in
            try connection.first(
                "select * from \(schema).wish_change(\(number), \(wish.rawValue))",
                BulkChange.init(reading:)
            )
        }
    }

    /// As many of the bulk changes that no process goes on with as there are `places`. The caller has ten seconds to make the
    /// next page of each.
    public func takeUnfinishedChanges(_ places: Int32) async throws -> [UnfinishedChange] {
        try await settle("take bulk changes") { connection, _ in
            try connection.rows("select * from \(schema).take_changes(\(places))") { row in
                UnfinishedChange(number: try row["id"], principal: try Principal(ownerOf: row))
            }
        }
    }

    /// Makes the next page of a bulk change of the principal for whom this ledger acts. `nil` if there is none with that
    /// number.
    public func step(ofChange number: Int64) async throws -> BulkChange? {
        try await settle("go on with a bulk change") { connection, _ in
            try connection.first("select * from \(schema).step_change(\(number))", BulkChange.init(reading:))
        }
    }

    /// Ends a bulk change that cannot go on.
    public func fail(change number: Int64, because why: String) async throws {
        try await settle("end a bulk change") { connection, _ in
            _ = try connection.execute("select \(schema).fail_change(\(number), \(why))")
        }
    }
}

extension Principal {
    /// On whose behalf a row of `bulk_change` is.
    fileprivate init(ownerOf row: Row) throws {
        let (submitter, role): (String, String) = try (row["submitter"], row["role_name"])
        guard let role = AccessRole.allCases.first(where: { $0.databaseRole == role }) else {
            throw LedgerError(.ledgerUnexpectedAnswer, during: row.operation, "\"\(role)\" is not a role of a token")
        }
        try self.init(
            name: try row["token"],
            role: role,
            tenant: submitter.hasPrefix("tenant:") ? String(submitter.dropFirst("tenant:".count)) : nil,
            queue: try row["only_queue"]
        )
    }
}
