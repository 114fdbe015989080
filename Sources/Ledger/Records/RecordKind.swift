import Conversion
package import FoundationEssentials

/// A kind of value that members of records have: its shape, its bounds, and how it is read and written.
package struct RecordKind<Value: Sendable>: Sendable {
    let shape: RecordShape
    /// `nil` for NULL.
    let read: @Sendable (Row, String) throws -> Value?
    let encode: @Sendable (Value, inout RecordEncoder, RecordKey) throws -> Void
    /// Checks the bounds: another process has written the value.
    let decode: @Sendable (RecordDecoder, RecordKey) throws -> Value
}

extension RecordKind where Value: Codable & ColumnValue {
    fileprivate init(_ shape: RecordShape, decode: @escaping @Sendable (RecordDecoder, RecordKey) throws -> Value) {
        self.init(
            shape: shape,
            read: { row, column in try row[column] },
            encode: { value, encoder, key in try encoder.encode(value, forKey: key) },
            decode: decode
        )
    }
}

extension RecordKind<String> {
    package static var text: RecordKind { RecordKind(.text) { try $0.decode(String.self, forKey: $1) } }

    package static func text(_ lengths: ClosedRange<Int>) -> RecordKind {
        RecordKind(.textIn(lengths)) { try $0.decode(String.self, forKey: $1) }
    }

    package static func name(_ rule: NameRule) -> RecordKind {
        RecordKind(.name(rule)) { try $0.decode(String.self, forKey: $1) }
    }
}

extension RecordKind<Date> {
    package static var moment: RecordKind<Date> { RecordKind(.moment) { try $0.decode(Date.self, forKey: $1) } }
}

extension RecordKind<Bool> {
    package static var truth: RecordKind { RecordKind(.truth) { try $0.decode(Bool.self, forKey: $1) } }
}

extension RecordKind<Int64> {
    package static var id: RecordKind { RecordKind(.id) { try $0.id($1) } }
    package static var whole: RecordKind { RecordKind(.whole) { try $0.decode(Int64.self, forKey: $1) } }
    /// Bytes or frames.
    package static var size: RecordKind { RecordKind(.whole) { try $0.size($1) } }
}

extension RecordKind<Int> {
    /// A number of jobs, workers or attempts.
    package static var count: RecordKind { RecordKind(.whole) { try $0.count($1) } }

    /// A number that people choose, by one of the ledger's rules.
    package static func chosen(in range: ClosedRange<Int>) -> RecordKind {
        RecordKind(.wholeIn(range)) { try $0.small($1) }
    }
}

extension RecordKind where Value: RawRepresentable<String> & CaseIterable & Codable {
    package static var choice: RecordKind {
        RecordKind(
            shape: .choice(Value.allCases.map(\.rawValue)),
            read: { row, column in try row.valueIfPresent(column) },
            encode: { value, encoder, key in try encoder.encode(value, forKey: key) },
            decode: { decoder, key in try decoder.decode(Value.self, forKey: key) }
        )
    }
}

extension RecordKind {
    /// Several words, of which this build may not know all: a later release may have more.
    package static func known<Word>(most: Int? = nil) -> RecordKind
    where Value == [Word], Word: RawRepresentable<String> & CaseIterable & Codable & Sendable {
        RecordKind(
            shape: .list(.choice(Word.allCases.map(\.rawValue)), most: most),
            read: { row, column in try (row[column] as [String]).compactMap(Word.init(rawValue:)) },
            encode: { value, encoder, key in try encoder.encode(value, forKey: key) },
            decode: { decoder, key in
                try decoder.decode([String].self, forKey: key).compactMap(Word.init(rawValue:))
            }
        )
    }

    /// A record, which its column holds as JSON. Its shape is described under `name`.
    package static func record(_ name: String) -> RecordKind where Value: LedgerRecord {
        RecordKind(
            shape: .record(name, Value.descriptions),
            read: { row, column in
                try (row[column] as JSON?).map {
                    try $0.decoded(as: JSONRecord<Value>.self, during: row.operation).record
                }
            },
            encode: { value, encoder, key in try encoder.encode(JSONRecord(value), forKey: key) },
            decode: { decoder, key in try decoder.decode(JSONRecord<Value>.self, forKey: key).record }
        )
    }

    /// Records, which their column holds as JSON.
    package static func records<Item: LedgerRecord>(_ name: String) -> RecordKind where Value == [Item] {
        RecordKind(
            shape: .list(.record(name, Item.descriptions)),
            read: { row, column in
                try (row[column] as JSON?).map {
                    try $0.decoded(as: [JSONRecord<Item>].self, during: row.operation).map(\.record)
                }
            },
            encode: { value, encoder, key in try encoder.encode(value.map(JSONRecord.init), forKey: key) },
            decode: { decoder, key in try decoder.decode([JSONRecord<Item>].self, forKey: key).map(\.record) }
        )
    }
}

extension RecordKind<[String]> {
    package static var texts: RecordKind {
        RecordKind(
            shape: .list(.text),
            read: { row, column in try row[column] as [String]? },
            encode: { value, encoder, key in try encoder.encode(value, forKey: key) },
            decode: { decoder, key in try decoder.decode([String].self, forKey: key) }
        )
    }
}

extension RecordKind<[String: String]> {
    package static var labels: RecordKind {
        RecordKind(
            shape: .map(.text),
            read: { row, column in Labels.read(try row[column]) },
            encode: { value, encoder, key in try encoder.encode(value, forKey: key) },
            decode: { decoder, key in try decoder.decode([String: String].self, forKey: key) }
        )
    }
}

extension JobCounts {
    package static var shape: RecordShape {
        .record(
            "JobCounts",
            JobState.allCases.map {
                RecordMember(
                    name: $0.rawValue,
                    shape: .whole,
                    isRequired: true,
                    meaning: "jobs that are \($0.rawValue)"
                )
            }
        )
    }
}

extension RecordKind<JobCounts> {
    /// From a row with a column for each state.
    package static var counts: RecordKind {
        RecordKind(
            shape: JobCounts.shape,
            read: { row, _ in try JobCounts(row) },
            encode: { value, encoder, key in try encoder.encode(value, forKey: key) },
            decode: { decoder, key in try decoder.counts(key) }
        )
    }
}

extension RecordKind<Double> {
    package static var number: RecordKind { RecordKind(.number) { try $0.number($1) } }
}

extension RecordKind<Int32> {
    package static var id: RecordKind { RecordKind(.id) { try $0.decode(Int32.self, forKey: $1) } }

    /// A number that people choose, by one of the ledger's rules.
    package static func chosen(in range: ClosedRange<Int>) -> RecordKind {
        RecordKind(.wholeIn(range)) { try $0.decode(Int32.self, forKey: $1) }
    }

    package static var epoch: RecordKind { RecordKind(.whole) { try $0.decode(Int32.self, forKey: $1) } }
}

extension RecordKind<Int16> {
    package static var slot: RecordKind { RecordKind(.whole) { try $0.decode(Int16.self, forKey: $1) } }
}

extension RecordKind<Duration> {
    /// Seconds in JSON, milliseconds in the column.
    package static var seconds: RecordKind {
        RecordKind(
            shape: .number,
            read: { row, column in try (row[column] as Int64?).map { .milliseconds($0) } },
            encode: { value, encoder, key in try encoder.encode(value.seconds, forKey: key) },
            decode: { decoder, key in .milliseconds(Int64((try decoder.seconds(key) * 1_000).rounded())) }
        )
    }
}
