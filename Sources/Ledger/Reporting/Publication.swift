public import Conversion

/// The outputs of a job, complete, durable and linked under its attempt's name, ready to be renamed.
public struct Publication: Sendable, Hashable {
    public var fence: Fence
    /// The first output's current name, in the directory of its destination.
    public var attemptName: String
    /// SHA-256 of the first output in hexadecimal.
    public var digest: String
    public var bytes: Int64
    /// The outputs after the first, in the order of the recipe; `nil` for one that is left alone.
    public var further: [PublishedFile?]
    public var facts: AttemptFacts

    public init(
        _ fence: Fence,
        attemptName: String,
        digest: String,
        bytes: Int64,
        further: [PublishedFile?] = [],
        facts: AttemptFacts = AttemptFacts()
    ) {
        self.fence = fence
        self.attemptName = attemptName
        self.digest = digest
        self.bytes = bytes
        self.further = further
        self.facts = facts
    }
}

/// What the ledger keeps of an output.
public struct PublishedFile: Sendable, Hashable, Codable {
    /// SHA-256 in hexadecimal.
    public var digest: String
    public var bytes: Int64

    public init(digest: String, bytes: Int64) {
        self.digest = digest
        self.bytes = bytes
    }
}

extension [PublishedFile?] {
    /// The column `further`.
    init(further row: Row) throws { self = try (row["further"] as JSON?)?.decoded(during: row.operation) ?? [] }
}

extension RecordField {
    /// The outputs after the first; missing if there are none.
    static func further(
        _ name: String,
        _ path: any WritableKeyPath<Record, [PublishedFile?]> & Sendable
    ) -> RecordField {
        .special(
            name,
            .list(.anything),
            "digest and length of the other outputs",
            read: { record, row in record[keyPath: path] = try [PublishedFile?](further: row) },
            encode: { record, encoder, key in
                if !record[keyPath: path].isEmpty { try encoder.encode(record[keyPath: path], forKey: key) }
            },
            decode: { record, decoder, key in
                record[keyPath: path] = try decoder.decodeIfPresent([PublishedFile?].self, forKey: key) ?? []
            }
        )
    }
}
