import Conversion

/// A value whose members are declared once: the members of its JSON form and the description of the API are made from
/// the declarations.
package protocol DeclaredRecord: Sendable {
    static var fields: [RecordField<Self>] { get }
}

/// A record that is also read: from rows, and from JSON that another process sends.
package protocol LedgerRecord: DeclaredRecord {
    /// A record before any member is read. Every member that is always there replaces a value of it.
    static var blank: Self { get }
}

/// A record of which there are lists.
package protocol ListedRecord: DeclaredRecord {
    /// The name of the member that holds a list.
    static var listName: String { get }
}

/// The shape of a member's value in JSON.
package indirect enum RecordShape: Sendable {
    case text, id, whole, number, truth, moment
    /// Text with so many characters.
    case textIn(ClosedRange<Int>)
    case name(NameRule)
    case wholeIn(ClosedRange<Int>)
    case choice([String])
    case list(RecordShape, most: Int? = nil)
    /// An object with any names.
    case map(RecordShape)
    /// An object whose shape has a name in the description.
    case record(String, [RecordMember])
    /// What another page describes.
    case anything
}

/// What the description of the API says about a member.
package struct RecordMember: Sendable {
    package let name: String
    package let shape: RecordShape
    /// Whether it is always there.
    package let isRequired: Bool
    package let meaning: String
}

/// A member of a record: its name, shape and meaning in JSON, and how it is read from a row and from JSON.
package struct RecordField<Record: Sendable>: Sendable {
    let name: String
    let shape: RecordShape
    let isRequired: Bool
    let meaning: String
    /// `nil` for a member that no column holds.
    let read: (@Sendable (inout Record, Row) throws -> Void)?
    let encode: @Sendable (Record, inout RecordEncoder) throws -> Void
    let decode: @Sendable (inout Record, RecordDecoder) throws -> Void

    /// A member that is always there. Its column has the same name in snake case, unless `column` names it.
    package static func always<Value>(
        _ name: String,
        _ path: any WritableKeyPath<Record, Value> & Sendable,
        _ kind: RecordKind<Value>,
        _ meaning: String,
        column: String? = nil
    ) -> RecordField {
        let column = column ?? snakeCase(name)
        return .special(
            name,
            kind.shape,
            isRequired: true,
            meaning,
            read: { record, row in
                guard let value = try kind.read(row, column) else { throw row.isNull(column) }
                record[keyPath: path] = value
            },
            encode: { record, encoder, key in try kind.encode(record[keyPath: path], &encoder, key) },
            decode: { record, decoder, key in record[keyPath: path] = try kind.decode(decoder, key) }
        )
    }

    /// A member that may be missing, and then is NULL in its column.
    package static func maybe<Value>(
        _ name: String,
        _ path: any WritableKeyPath<Record, Value?> & Sendable,
        _ kind: RecordKind<Value>,
        _ meaning: String,
        column: String? = nil
    ) -> RecordField {
        let column = column ?? snakeCase(name)
        return .special(
            name,
            kind.shape,
            meaning,
            read: { record, row in record[keyPath: path] = try kind.read(row, column) },
            encode: { record, encoder, key in
                if let value = record[keyPath: path] { try kind.encode(value, &encoder, key) }
            },
            decode: { record, decoder, key in
                guard decoder.contains(key), try !decoder.decodeNil(forKey: key) else { return }
                record[keyPath: path] = try kind.decode(decoder, key)
            }
        )
    }

    /// A member that is there only while it is true.
    package static func flag(
        _ name: String,
        _ path: any WritableKeyPath<Record, Bool> & Sendable,
        _ meaning: String,
        column: String? = nil
    ) -> RecordField {
        let column = column ?? snakeCase(name)
        return .special(
            name,
            .truth,
            meaning,
            read: { record, row in record[keyPath: path] = try row[column] ?? false },
            encode: { record, encoder, key in if record[keyPath: path] { try encoder.encode(true, forKey: key) } },
            decode: { record, decoder, key in
                record[keyPath: path] = try decoder.decodeIfPresent(Bool.self, forKey: key) ?? false
            }
        )
    }

    /// A member with rules of its own.
    static func special(
        _ name: String,
        _ shape: RecordShape,
        isRequired: Bool = false,
        _ meaning: String,
        read: (@Sendable (inout Record, Row) throws -> Void)?,
        encode: @escaping @Sendable (Record, inout RecordEncoder, RecordKey) throws -> Void,
        decode: @escaping @Sendable (inout Record, RecordDecoder, RecordKey) throws -> Void
    ) -> RecordField {
        let key = RecordKey(name)
        return RecordField(
            name: name,
            shape: shape,
            isRequired: isRequired,
            meaning: meaning,
            read: read,
            encode: { record, encoder in try encode(record, &encoder, key) },
            decode: { record, decoder in try decode(&record, decoder, key) }
        )
    }

    /// A member with rules of its own, which no column holds.
    package static func special(
        _ name: String,
        _ shape: RecordShape,
        isRequired: Bool = false,
        _ meaning: String,
        encode: @escaping @Sendable (Record, inout RecordEncoder, RecordKey) throws -> Void,
        decode: @escaping @Sendable (inout Record, RecordDecoder, RecordKey) throws -> Void
    ) -> RecordField {
        .special(name, shape, isRequired: isRequired, meaning, read: nil, encode: encode, decode: decode)
    }

    /// A member that follows from others; missing while it is `nil`. Readers compute it themselves.
    package static func derived<Value: Encodable & SendableMetatype>(
        _ name: String,
        _ shape: RecordShape,
        isRequired: Bool = false,
        _ meaning: String,
        _ value: @escaping @Sendable (Record) -> Value?
    ) -> RecordField {
        .special(
            name,
            shape,
            isRequired: isRequired,
            meaning,
            encode: { record, encoder, key in try encoder.encodeIfPresent(value(record), forKey: key) },
            decode: { _, _, _ in }
        )
    }

    /// The same member without a column: something else than a row tells of it.
    package var withoutColumn: RecordField {
        RecordField(
            name: name,
            shape: shape,
            isRequired: isRequired,
            meaning: meaning,
            read: nil,
            encode: encode,
            decode: decode
        )
    }

    /// The same member of a record that contains this one.
    package func of<Whole: Sendable>(_ path: any WritableKeyPath<Whole, Record> & Sendable) -> RecordField<Whole> {
        var readPart: (@Sendable (inout Whole, Row) throws -> Void)?
        if let read { readPart = { whole, row in try read(&whole[keyPath: path], row) } }
        return RecordField<Whole>(
            name: name,
            shape: shape,
            isRequired: isRequired,
            meaning: meaning,
            read: readPart,
            encode: { whole, encoder in try self.encode(whole[keyPath: path], &encoder) },
            decode: { whole, decoder in try self.decode(&whole[keyPath: path], decoder) }
        )
    }

    /// `maxAttempts` is `max_attempts`.
    private static func snakeCase(_ name: String) -> String {
        name.reduce(into: "") { text, letter in
            if letter.isUppercase { text += "_" }
            text += letter.lowercased()
        }
    }
}

extension DeclaredRecord {
    package static var descriptions: [RecordMember] {
        fields.map { RecordMember(name: $0.name, shape: $0.shape, isRequired: $0.isRequired, meaning: $0.meaning) }
    }

}

extension LedgerRecord {
    /// Reads a row whose columns hold the members.
    init(reading row: Row) throws {
        self = Self.blank
        for field in Self.fields { try field.read?(&self, row) }
    }
}

/// The JSON form of a record.
package struct JSONRecord<Record: DeclaredRecord>: Encodable, Sendable {
    package let record: Record

    package init(_ record: Record) { self.record = record }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: RecordKey.self)
        for field in Record.fields { try field.encode(record, &container) }
    }
}

extension JSONRecord: Decodable where Record: LedgerRecord {
    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: RecordKey.self)
        var record = Record.blank
        for field in Record.fields { try field.decode(&record, container) }
        self.record = record
    }
}

/// A list of records under its name, and where it continues.
package struct RecordPage<Record: ListedRecord>: Encodable, Sendable {
    package let records: [Record]
    package let next: String?

    package init(_ records: [Record], next: String? = nil) { (self.records, self.next) = (records, next) }

    /// The first `limit` of `found`, which has more if the list continues. `position` names the last of a page.
    package init(_ found: [Record], limit: Int, _ position: (Record) -> Int64) {
        records = Array(found.prefix(limit))
        next = found.count > limit ? records.last.map { "\(position($0))" } : nil
    }

    package func encode(to encoder: any Encoder) throws {
        var page = encoder.container(keyedBy: RecordKey.self)
        try page.encode(records.map(JSONRecord.init), forKey: RecordKey(Record.listName))
        try page.encodeIfPresent(next, forKey: RecordKey("next"))
    }
}

extension RecordPage: Decodable where Record: LedgerRecord {
    package init(from decoder: any Decoder) throws {
        let page = try decoder.container(keyedBy: RecordKey.self)
        records = try page.decode([JSONRecord<Record>].self, forKey: RecordKey(Record.listName)).map(\.record)
        next = try page.decodeIfPresent(String.self, forKey: RecordKey("next"))
    }
}

package typealias RecordEncoder = KeyedEncodingContainer<RecordKey>
package typealias RecordDecoder = KeyedDecodingContainer<RecordKey>

/// The name of a member.
package struct RecordKey: CodingKey {
    package let stringValue: String
    package var intValue: Int? { nil }

    init(_ name: String) { stringValue = name }
    package init?(stringValue: String) { self.init(stringValue) }
    package init?(intValue: Int) { nil }
}
