import FoundationEssentials

/// The bytes of one value in binary form, never NULL. They live as long as the answer that holds them.
struct Column {
    let typeNumber: UInt32
    let bytes: UnsafeRawBufferPointer

    /// The integer at `offset`; `nil` past the end.
    func integer<Value: FixedWidthInteger>(_: Value.Type, at offset: Int = 0) -> Value? {
        guard offset >= 0, offset + MemoryLayout<Value>.size <= bytes.count else { return nil }
        return Value(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: Value.self))
    }

    /// The integer in the column, of any width; `nil` if it is not an integer or does not fit `Value`.
    func wholeNumber<Value: FixedWidthInteger>() -> Value? {
        switch typeNumber {
        case TypeNumber.int8: integer(Int64.self).flatMap { Value(exactly: $0) }
        case TypeNumber.int4: integer(Int32.self).flatMap { Value(exactly: $0) }
        case TypeNumber.int2: integer(Int16.self).flatMap { Value(exactly: $0) }
        default: nil
        }
    }
}

/// A value that can be read from a column.
protocol ColumnValue {
    /// `nil` if the column is of another type, or the number does not fit.
    init?(_ column: Column)
}

extension Int: ColumnValue {
    init?(_ column: Column) {
        guard let value: Int = column.wholeNumber() else { return nil }
        self = value
    }
}

extension Int64: ColumnValue {
    init?(_ column: Column) {
        guard let value: Int64 = column.wholeNumber() else { return nil }
        self = value
    }
}

extension Int32: ColumnValue {
    init?(_ column: Column) {
        guard let value: Int32 = column.wholeNumber() else { return nil }
        self = value
    }
}

extension Int16: ColumnValue {
    init?(_ column: Column) {
        guard let value: Int16 = column.wholeNumber() else { return nil }
        self = value
    }
}

extension Bool: ColumnValue {
    init?(_ column: Column) {
        guard column.typeNumber == TypeNumber.bool, column.bytes.count == 1 else { return nil }
        self = column.bytes[0] != 0
    }
}

extension Double: ColumnValue {
    init?(_ column: Column) {
        switch column.typeNumber {
        case TypeNumber.float8: self.init(bitPattern: column.integer(UInt64.self) ?? 0)
        case TypeNumber.float4: self.init(Float(bitPattern: column.integer(UInt32.self) ?? 0))
        default: return nil
        }
    }
}

/// Text, names, JSON and enums.
extension String: ColumnValue {
    init?(_ column: Column) {
        switch column.typeNumber {
        case TypeNumber.text, TypeNumber.varchar, TypeNumber.bpchar, TypeNumber.name, TypeNumber.json,
            TypeNumber.firstOfUsers...:
            self.init(validating: column.bytes, as: UTF8.self)
        case TypeNumber.jsonb:
            guard column.bytes.first == 1 else { return nil }
            self.init(validating: column.bytes.dropFirst(), as: UTF8.self)
        default: return nil
        }
    }
}

extension JSON: ColumnValue {
    init?(_ column: Column) {
        guard column.typeNumber == TypeNumber.jsonb || column.typeNumber == TypeNumber.json else { return nil }
        guard let text = String(column) else { return nil }
        self.init(text: text)
    }
}

extension UUID: ColumnValue {
    init?(_ column: Column) {
        guard column.typeNumber == TypeNumber.uuid, column.bytes.count == 16 else { return nil }
        self.init(uuid: column.bytes.loadUnaligned(as: uuid_t.self))
    }
}

extension Data: ColumnValue {
    init?(_ column: Column) {
        guard column.typeNumber == TypeNumber.bytea else { return nil }
        self.init(column.bytes)
    }
}

extension Date: ColumnValue {
    init?(_ column: Column) {
        guard column.typeNumber == TypeNumber.timestamptz, let value = column.integer(Int64.self) else { return nil }
        self =
            switch value {
            case .min: .distantPast
            case .max: .distantFuture
            default: Date(timeIntervalSince1970: Double(value) / 1_000_000 + Self.secondsToPostgresEpoch)
            }
    }
}

/// Intervals of days and smaller units. `nil` for one with months, which have no fixed length.
extension Duration: ColumnValue {
    init?(_ column: Column) {
        guard column.typeNumber == TypeNumber.interval, let microseconds = column.integer(Int64.self),
            let days = column.integer(Int32.self, at: 8), column.integer(Int32.self, at: 12) == 0
        else { return nil }
        self = .microseconds(microseconds) + .seconds(86_400) * Int(days)
    }
}

/// Arrays without NULL, with one dimension or empty. Read `[Value?]` where an element may be NULL.
extension Array: ColumnValue where Element: ColumnValue {
    init?(_ column: Column) {
        guard let elements: [Element?] = column.elements() else { return nil }
        self = elements.compactMap(\.self)
        guard count == elements.count else { return nil }
    }
}

extension Column {
    /// The elements of an array with one dimension; `nil` for another type, or if an element has another type.
    func elements<Element: ColumnValue>() -> [Element?]? {
        guard isArray, let dimensions = integer(Int32.self), let typeNumber = integer(UInt32.self, at: 8) else {
            return nil
        }
        guard dimensions > 0 else { return [] }
        guard dimensions == 1, let count = integer(Int32.self, at: 12), count >= 0 else { return nil }
        var elements: [Element?] = []
        elements.reserveCapacity(Int(count))
        var offset = 20
        for _ in 0..<count {
            guard let length = integer(Int32.self, at: offset).map(Int.init) else { return nil }
            offset += 4
            if length < 0 {
                elements.append(nil)
                continue
            }
            guard offset + length <= bytes.count else { return nil }
            let part = UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + length])
            guard let element = Element(Column(typeNumber: typeNumber, bytes: part)) else { return nil }
            elements.append(element)
            offset += length
        }
        return elements
    }

    /// Whether the type is known to be an array, or may be one that a user created, so that its bytes may be read
    /// as one.
    var isArray: Bool {
        switch typeNumber {
        case TypeNumber.boolArray, TypeNumber.byteaArray, TypeNumber.int2Array, TypeNumber.int4Array,
            TypeNumber.textArray, TypeNumber.int8Array, TypeNumber.float8Array, TypeNumber.timestamptzArray,
            TypeNumber.intervalArray, TypeNumber.uuidArray, TypeNumber.jsonbArray, TypeNumber.firstOfUsers...:
            true
        default: false
        }
    }
}
