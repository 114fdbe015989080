public import FoundationEssentials

/// A filter of lists of jobs that a person has given a name. All who see the same jobs share it.
public struct SavedFilter: Sendable, Hashable {
    public var name = ""
    /// As the query of an address: `state=failed&code=truncated`.
    public var query = ""
    public var savedAt = Date.distantPast
    public var savedBy = ""

    package init() {}
}

extension SavedFilter: LedgerRecord, ListedRecord {
    package static let listName = "filters"
    package static var blank: SavedFilter { SavedFilter() }

    package static let fields: [RecordField<SavedFilter>] = [
        .always("name", \.name, .text, "its name", column: "filter"),
        .always("query", \.query, .text, "the filter, as the query of an address"),
        .always("savedAt", \.savedAt, .moment, "when it was saved"),
        .always("savedBy", \.savedBy, .text, "who saved it"),
    ]
}

extension JobLedger {
    /// The filters that the caller shares, by name.
    public func filters() async throws -> [SavedFilter] {
        try await look("list saved filters") { connection in
            try connection.rows("select * from \(schema).list_filters()", SavedFilter.init(reading:))
        }
    }

    /// Saves a filter under a name. Another one of this name is replaced.
    public func saveFilter(_ name: String, _ query: String) async throws {
        try await settle("save a filter") { connection, _ in
            _ = try connection.execute("select \(schema).save_filter(\(name), \(query))")
        }
    }

    /// Removes a saved filter. False if there is none.
    public func removeFilter(_ name: String) async throws -> Bool {
        try await settle("remove a saved filter") { connection, mayHaveHappened in
            let isRemoved: Bool = try connection.value("select \(schema).remove_filter(\(name))")
            // An earlier try may have removed it.
            return isRemoved || mayHaveHappened
        }
    }
}
