import FoundationEssentials

/// A value that can be a statement's parameter.
protocol ParameterValue: Sendable {
    /// PostgreSQL's number of the type. With 0 the server infers the type from the statement.
    static var typeNumber: UInt32 { get }
    /// Whether the value is sent in text form. It then contains no zero byte.
    static var isText: Bool { get }
    var isNull: Bool { get }
    /// Appends the form that the server expects, also outside of COPY. Appends nothing for NULL.
    func encode(into bytes: inout [UInt8])
}

extension ParameterValue {
    static var isText: Bool { false }
    var isNull: Bool { false }
}

/// A value that can be an element of an array.
protocol ElementValue: ParameterValue {
    /// The type number for use as an element, where 0 is not enough.
    static var elementTypeNumber: UInt32 { get }
    static var arrayTypeNumber: UInt32 { get }
}

extension ElementValue {
    static var elementTypeNumber: UInt32 { typeNumber }
}

extension Int: ElementValue {
    static var typeNumber: UInt32 { TypeNumber.int8 }
    static var arrayTypeNumber: UInt32 { TypeNumber.int8Array }
    func encode(into bytes: inout [UInt8]) { bytes.append(bigEndian: Int64(self)) }
}

extension Int64: ElementValue {
    static var typeNumber: UInt32 { TypeNumber.int8 }
    static var arrayTypeNumber: UInt32 { TypeNumber.int8Array }
    func encode(into bytes: inout [UInt8]) { bytes.append(bigEndian: self) }
}

extension Int32: ElementValue {
    static var typeNumber: UInt32 { TypeNumber.int4 }
    static var arrayTypeNumber: UInt32 { TypeNumber.int4Array }
    func encode(into bytes: inout [UInt8]) { bytes.append(bigEndian: self) }
}

extension Int16: ElementValue {
    static var typeNumber: UInt32 { TypeNumber.int2 }
    static var arrayTypeNumber: UInt32 { TypeNumber.int2Array }
    func encode(into bytes: inout [UInt8]) { bytes.append(bigEndian: self) }
}

extension Bool: ElementValue {
    static var typeNumber: UInt32 { TypeNumber.bool }
    static var arrayTypeNumber: UInt32 { TypeNumber.boolArray }
    func encode(into bytes: inout [UInt8]) { bytes.append(self ? 1 : 0) }
}

extension Double: ElementValue {
    static var typeNumber: UInt32 { TypeNumber.float8 }
    static var arrayTypeNumber: UInt32 { TypeNumber.float8Array }
    func encode(into bytes: inout [UInt8]) { bytes.append(bigEndian: bitPattern) }
}

/// Text whose type the server infers, so that it also fits enums. In arrays it is `text`.
extension String: ElementValue {
    static var typeNumber: UInt32 { 0 }
    static var elementTypeNumber: UInt32 { TypeNumber.text }
    static var arrayTypeNumber: UInt32 { TypeNumber.textArray }
    static var isText: Bool { true }
    func encode(into bytes: inout [UInt8]) { bytes.append(contentsOf: utf8) }
}

extension UUID: ElementValue {
    static var typeNumber: UInt32 { TypeNumber.uuid }
    static var arrayTypeNumber: UInt32 { TypeNumber.uuidArray }
    func encode(into bytes: inout [UInt8]) { Swift.withUnsafeBytes(of: uuid) { bytes.append(contentsOf: $0) } }
}

/// `bytea`.
extension Data: ElementValue {
    static var typeNumber: UInt32 { TypeNumber.bytea }
    static var arrayTypeNumber: UInt32 { TypeNumber.byteaArray }
    func encode(into bytes: inout [UInt8]) { bytes.append(contentsOf: self) }
}

/// `timestamptz`, to the microsecond. Dates outside PostgreSQL's range become its infinities.
extension Date: ElementValue {
    static var typeNumber: UInt32 { TypeNumber.timestamptz }
    static var arrayTypeNumber: UInt32 { TypeNumber.timestamptzArray }

    /// Seconds from 1970 to PostgreSQL's epoch, 2000-01-01 UTC.
    static let secondsToPostgresEpoch = 946_684_800.0

    func encode(into bytes: inout [UInt8]) {
        let microseconds = ((timeIntervalSince1970 - Self.secondsToPostgresEpoch) * 1_000_000).rounded()
        if self == .distantPast || microseconds < -2e17 {
            bytes.append(bigEndian: Int64.min)
        } else if self == .distantFuture || !(microseconds < 9e18) {
            bytes.append(bigEndian: Int64.max)
        } else {
            bytes.append(bigEndian: Int64(microseconds))
        }
    }
}

/// `interval`, to the microsecond.
extension Duration: ElementValue {
    static var typeNumber: UInt32 { TypeNumber.interval }
    static var arrayTypeNumber: UInt32 { TypeNumber.intervalArray }

    func encode(into bytes: inout [UInt8]) {
        let (seconds, attoseconds) = components
        let (whole, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000)
        let microseconds = overflow ? (seconds < 0 ? Int64.min : Int64.max) : whole
        bytes.append(bigEndian: overflow ? microseconds : microseconds + attoseconds / 1_000_000_000_000)
        bytes.append(bigEndian: Int32(0))  // days
        bytes.append(bigEndian: Int32(0))  // months
    }
}

/// Text that holds JSON, stored as `jsonb`.
struct JSON: Sendable, Hashable, ElementValue {
    var text: String

    static var typeNumber: UInt32 { TypeNumber.jsonb }
    static var arrayTypeNumber: UInt32 { TypeNumber.jsonbArray }

    func encode(into bytes: inout [UInt8]) {
        bytes.append(1)  // version of jsonb's binary form, which is otherwise the text
        bytes.append(contentsOf: text.utf8)
    }
}

extension Optional: ParameterValue where Wrapped: ParameterValue {
    static var typeNumber: UInt32 { Wrapped.typeNumber }
    static var isText: Bool { Wrapped.isText }
    var isNull: Bool { self?.isNull ?? true }
    func encode(into bytes: inout [UInt8]) { self?.encode(into: &bytes) }
}

extension Optional: ElementValue where Wrapped: ElementValue {
    static var elementTypeNumber: UInt32 { Wrapped.elementTypeNumber }
    static var arrayTypeNumber: UInt32 { Wrapped.arrayTypeNumber }
}

extension Array: ParameterValue where Element: ElementValue {
    static var typeNumber: UInt32 { Element.arrayTypeNumber }

    func encode(into bytes: inout [UInt8]) {
        bytes.append(bigEndian: Int32(isEmpty ? 0 : 1))  // dimensions
        bytes.append(bigEndian: Int32(contains { $0.isNull } ? 1 : 0))
        bytes.append(bigEndian: Element.elementTypeNumber)
        guard !isEmpty else { return }
        bytes.append(bigEndian: Int32(count))
        bytes.append(bigEndian: Int32(1))  // index of the first element
        for element in self { bytes.append(field: element) }
    }
}

extension [UInt8] {
    mutating func append(bigEndian value: some FixedWidthInteger) {
        Swift.withUnsafeBytes(of: value.bigEndian) { append(contentsOf: $0) }
    }

    /// Appends a value in the form of arrays and COPY: its length, then its bytes; -1 for NULL.
    mutating func append(field value: some ParameterValue) {
        let start = count
        append(bigEndian: Int32(-1))
        guard !value.isNull else { return }
        value.encode(into: &self)
        let length = UInt32(count - start - 4)
        for place in 0..<4 { self[start + place] = UInt8(truncatingIfNeeded: length >> (24 - 8 * place)) }
    }
}
