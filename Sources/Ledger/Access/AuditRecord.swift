import Conversion
public import FoundationEssentials

/// A change that a person or a program has made: an operation on jobs, queues, workers, tokens or tenants.
public struct AuditRecord: Sendable, Hashable {
    public var id: Int64 = 0
    public var at = Date.distantPast
    /// When its last chunk was added. The same time for an operation of one call.
    public var endedAt = Date.distantPast
    /// A login, or `token:NAME`.
    public var who = ""
    public var tenant: String?
    /// The function of the ledger: `cancel_jobs`.
    public var what = ""
    /// Its arguments, as a JSON object with sorted keys.
    public var details = "{}"
    /// How many jobs, queues, workers or tokens have changed.
    public var affected = 0

    package init() {}
}

extension AuditRecord: LedgerRecord, ListedRecord {
    package static let listName = "records"
    package static var blank: AuditRecord { AuditRecord() }

    package static let fields: [RecordField<AuditRecord>] = [
        .always("id", \.id, .id, "its number"),
        .always("at", \.at, .moment, "when it happened"),
        .always("endedAt", \.endedAt, .moment, "when its last part was added"),
        .always("who", \.who, .text, "a login, or token:NAME"),
        .maybe("tenant", \.tenant, .text, "the tenant of the token"),
        .always("what", \.what, .text, "the function of the ledger"),
        .special(
            "details",
            .map(.anything),
            isRequired: true,
            "its arguments",
            read: { record, row in record.details = try (row["details"] as JSON).text },
            encode: { record, encoder, key in try encoder.encode(JSONValue(text: record.details), forKey: key) },
            decode: { record, decoder, key in
                record.details = try JSONText.line(decoder.decode(JSONValue.self, forKey: key))
            }
        ),
        .always("affected", \.affected, .count, "how many jobs, queues, workers or tokens have changed"),
    ]
}
