/// SQL with its parameters, written as one string: `"select * from \(schema).claim(\(worker), \(count))"`.
///
/// A value always becomes a parameter, never part of the SQL. A `SchemaName` and `name:` become quoted names.
struct Statement: Sendable {
    /// One parameter in the form that the server expects.
    struct Parameter: Sendable {
        let typeNumber: UInt32
        let isText: Bool
        /// `nil` means NULL.
        let bytes: [UInt8]?
    }

    private(set) var sql: String
    var parameters: [Parameter] = []
}

extension Statement: ExpressibleByStringInterpolation {
    struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var sql = ""
        fileprivate var parameters: [Parameter] = []

        init(literalCapacity: Int, interpolationCount: Int) {
            sql.reserveCapacity(literalCapacity + 4 * interpolationCount)
            parameters.reserveCapacity(interpolationCount)
        }

        mutating func appendLiteral(_ literal: String) { sql += literal }

        mutating func appendInterpolation<Value: ParameterValue>(_ value: Value?) {
            var bytes: [UInt8] = []
            value.encode(into: &bytes)
            let parameter = Parameter(
                typeNumber: Value.typeNumber,
                isText: Value.isText,
                bytes: value.isNull ? nil : bytes
            )
            parameters.append(parameter)
            sql += "$\(parameters.count)"
        }

        /// A value that the ledger stores by its raw value, such as an enum.
        mutating func appendInterpolation<Value: RawRepresentable>(_ value: Value?)
        where Value.RawValue: ParameterValue {
            appendInterpolation(value?.rawValue)
        }

        mutating func appendInterpolation(_ schema: SchemaName) { appendInterpolation(name: schema.text) }

        /// The name of a table, column, channel or the like.
        mutating func appendInterpolation(name: String) {
            sql += "\"" + name.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"") + "\""
        }
    }

    init(stringInterpolation: StringInterpolation) {
        sql = stringInterpolation.sql
        parameters = stringInterpolation.parameters
    }

    init(stringLiteral sql: String) { self.sql = sql }
}

extension Statement {
    /// Calls `body` with the arguments for `PQsendQueryParams`.
    func withParameters<Result>(
        _ body: (
            _ types: [UInt32], _ values: [UnsafePointer<CChar>?], _ lengths: [Int32], _ formats: [Int32]
        ) -> Result
    ) -> Result {
        var offsets: [Int?] = []
        var packed: [UInt8] = []
        for parameter in parameters {
            offsets.append(parameter.bytes == nil ? nil : packed.count)
            packed += parameter.bytes ?? []
            packed.append(0)  // terminates a text
        }
        return packed.withUnsafeBytes { all in
            let base = all.baseAddress?.assumingMemoryBound(to: CChar.self)
            let values = offsets.map { offset in offset.flatMap { base?.advanced(by: $0) } }
            return body(
                parameters.map(\.typeNumber),
                values,
                parameters.map { Int32($0.bytes?.count ?? 0) },
                parameters.map { $0.isText ? 0 : 1 }
            )
        }
    }

    /// Whether a text contains U+0000. PostgreSQL cannot store it, and libpq would cut the text off there.
    var holdsZeroCharacter: Bool { parameters.contains { $0.isText && $0.bytes?.contains(0) == true } }
}
