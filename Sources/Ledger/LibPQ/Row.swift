import CLibPQ
import Conversion

/// One row of an answer. Valid only within the closure that reads it.
struct Row {
    let answer: Answer
    let number: Int32
    let operation: String

    /// The value of a column, counted from 0. Throws `unexpectedAnswer` if it is NULL or of another type.
    subscript<Value: ColumnValue>(_ place: Int) -> Value {
        get throws {
            guard let column = column(place) else { throw mismatch(place, "is NULL where a \(Value.self) is expected") }
            return try read(column, place)
        }
    }

    /// The value of a column; `nil` for NULL.
    subscript<Value: ColumnValue>(_ place: Int) -> Value? {
        get throws {
            guard let column = column(place) else { return nil }
            return try read(column, place) as Value
        }
    }

    /// The elements of an array; `nil` for those that are NULL.
    subscript<Value: ColumnValue>(_ place: Int) -> [Value?] {
        get throws {
            guard let column = column(place) else { throw mismatch(place, "is NULL where an array is expected") }
            guard let elements: [Value?] = column.elements() else { throw mismatch(place, column, [Value?].self) }
            return elements
        }
    }

    /// The value of the column of that name.
    subscript<Value: ColumnValue>(_ name: String) -> Value {
        get throws { try self[try place(of: name)] }
    }

    /// The value of the column of that name; `nil` for NULL.
    subscript<Value: ColumnValue>(_ name: String) -> Value? {
        get throws { try self[try place(of: name)] }
    }

    /// The elements of the array in the column of that name.
    subscript<Value: ColumnValue>(_ name: String) -> [Value?] {
        get throws { try self[try place(of: name)] }
    }

    /// A value that the ledger stores by its raw value, such as an enum.
    func value<Value: RawRepresentable>(_ name: String, as _: Value.Type = Value.self) throws -> Value
    where Value.RawValue: ColumnValue {
        guard let value: Value = try valueIfPresent(name) else { throw isNull(name) }
        return value
    }

    /// The same; `nil` for NULL.
    func valueIfPresent<Value: RawRepresentable>(_ name: String) throws -> Value? where Value.RawValue: ColumnValue {
        let place = try place(of: name)
        guard let raw: Value.RawValue = try self[place] else { return nil }
        guard let value = Value(rawValue: raw) else {
            throw mismatch(place, "holds \"\(raw)\", which is not a \(Value.self)")
        }
        return value
    }

    private func read<Value: ColumnValue>(_ column: Column, _ place: Int) throws -> Value {
        guard let value = Value(column) else { throw mismatch(place, column, Value.self) }
        return value
    }

    private func place(of name: String) throws -> Int {
        guard let place = answer.columns[name] else {
            let names = answer.columns.keys.sorted().joined(separator: ", ")
            throw LedgerError(
                .ledgerUnexpectedAnswer,
                during: operation,
                "the answer has no column \"\(name)\" among \(names)"
            )
        }
        return place
    }

    private func column(_ place: Int) -> Column? {
        let place = Int32(place)
        precondition((0..<PQnfields(answer.pointer)).contains(place), "the answer has fewer columns")
        guard PQgetisnull(answer.pointer, number, place) == 0 else { return nil }
        let length = Int(PQgetlength(answer.pointer, number, place))
        let bytes = UnsafeRawBufferPointer(start: PQgetvalue(answer.pointer, number, place), count: length)
        return Column(typeNumber: PQftype(answer.pointer, place), bytes: bytes)
    }

    private func mismatch(_ place: Int, _ column: Column, _ type: Any.Type) -> LedgerError {
        mismatch(place, "is of type \(column.typeNumber), which cannot be read as \(type)")
    }

    /// The error of a column that is NULL and must not be.
    func isNull(_ name: String) -> LedgerError {
        LedgerError(.ledgerUnexpectedAnswer, during: operation, "column \"\(name)\" is NULL")
    }

    private func mismatch(_ place: Int, _ problem: String) -> LedgerError {
        let name = String(cString: PQfname(answer.pointer, Int32(place)))
        return LedgerError(.ledgerUnexpectedAnswer, during: operation, "column \"\(name)\" \(problem)")
    }
}
