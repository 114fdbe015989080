import CLibPQ
import Conversion
import System

extension Connection {
    /// Adds a row to `table` for each element, in the order of the sequence. Returns the number of rows.
    ///
    /// `encode` appends one value for each of `columns`, of exactly the column's type: an `Int` does not fit
    /// `int4`. Rows are sent as they come, so memory holds only a few. If `encode` throws, no row is added.
    @discardableResult
    func copy<Elements: Sequence>(
        _ elements: Elements,
        into table: Statement,
        columns: [String],
        _ encode: (Elements.Element, inout CopyRow) throws -> Void
    ) throws -> Int {
        try copy(into: table, columns: columns) { link in
            try sendRows(elements, columnCount: columns.count, on: link, encode)
        }
    }

    /// Adds rows that were written before, with the header and the end of the format. Returns their number.
    @discardableResult
    func copy(_ rows: Spool, into table: Statement, columns: [String]) throws -> Int {
        try copy(into: table, columns: columns) { link in
            try rows.read { try put($0, on: link) }
        }
    }

    private func copy(into table: Statement, columns: [String], _ send: (Link) throws -> Void) throws -> Int {
        let link = try begin()
        guard opening == nil || !link.isOutsideTransaction else {
            throw failure(.ledgerBadStatement, "COPY for another caller needs a transaction")
        }
        let names = columns.map { Statement(stringInterpolation: .named($0)).sql }.joined(separator: ", ")
        guard PQsendQuery(link.pointer, "copy \(table.sql) (\(names)) from stdin (format binary)") == 1 else {
            throw sendingFailed(link)
        }
        try flush(link)
        try awaitOpening(of: link)
        do {
            try send(link)
            guard PQputCopyEnd(link.pointer, nil) == 1 else { throw sendingFailed(link) }
        } catch {
            // An error of the server about an earlier row takes precedence.
            try abortCopy(on: link)
            throw error
        }
        return try lastAnswer(on: link)?.affectedRows ?? 0
    }

    private func sendRows<Elements: Sequence>(
        _ elements: Elements,
        columnCount: Int,
        on link: Link,
        _ encode: (Elements.Element, inout CopyRow) throws -> Void
    ) throws {
        var row = CopyRow()
        for element in elements {
            row.begin(columnCount: columnCount)
            try encode(element, &row)
            guard row.missing == 0 else {
                throw failure(
                    .ledgerBadStatement,
                    "a row for COPY does not have one value for each of its columns (\(columnCount))"
                )
            }
            if row.bytes.count >= 1 << 16 { try put(&row, on: link) }
        }
        row.end()
        try put(&row, on: link)
    }

    private func put(_ row: inout CopyRow, on link: Link) throws {
        defer { row.removeAll() }
        try row.bytes.withUnsafeBytes { try put($0, on: link) }
    }

    private func put(_ bytes: UnsafeRawBufferPointer, on link: Link) throws {
        let start = bytes.baseAddress?.assumingMemoryBound(to: CChar.self)
        guard PQputCopyData(link.pointer, start, Int32(bytes.count)) == 1 else { throw sendingFailed(link) }
        try checkRun()
        try flush(link)
        try checkIsThere(link)
    }

    /// Aborts the COPY, so that the server drops its rows, and discards the answer. Throws if the server reported
    /// an error first.
    private func abortCopy(on link: Link) throws {
        _ = PQputCopyEnd(link.pointer, "the rows ended early")
        try flush(link)
        while let answer = try nextAnswer(link) {
            guard answer.status != PGRES_COPY_IN else { return close() }
            // 57014 is the answer to our own abort.
            guard answer.status == PGRES_FATAL_ERROR else { continue }
            let failure = failure(of: answer, on: link)
            if failure.sqlState != "57014" { throw failure }
        }
    }

    /// Waits until the server is ready to receive rows.
    private func awaitOpening(of link: Link) throws {
        guard let opening = try nextAnswer(link) else {
            throw failure(.ledgerUnexpectedAnswer, "the server did not answer")
        }
        guard opening.status != PGRES_COPY_IN else { return }
        let problem = failure(of: opening, on: link)
        while try nextAnswer(link) != nil {}
        throw problem
    }
}

/// A buffer of rows for COPY, in binary form.
struct CopyRow {
    private(set) var bytes: [UInt8] = []
    /// How many values the row still lacks.
    private(set) var missing = 0

    /// Begins with the header of the format.
    init() {
        bytes += [0x50, 0x47, 0x43, 0x4F, 0x50, 0x59, 0x0A, 0xFF, 0x0D, 0x0A, 0x00]  // signature of the format
        bytes.append(bigEndian: Int32(0))  // flags
        bytes.append(bigEndian: Int32(0))  // length of the header extension
    }

    /// Drops what has been sent or kept.
    mutating func removeAll() { bytes.removeAll(keepingCapacity: true) }

    /// There are no more rows.
    mutating func end() { bytes.append(bigEndian: Int16(-1)) }

    mutating func begin(columnCount: Int) {
        bytes.append(bigEndian: Int16(columnCount))
        missing = columnCount
    }

    /// Appends the value of the next column.
    mutating func append(_ value: some ParameterValue) {
        bytes.append(field: value)
        missing -= 1
    }
}

extension Statement.StringInterpolation {
    /// A statement that is just one quoted name.
    fileprivate static func named(_ name: String) -> Self {
        var text = Self(literalCapacity: 0, interpolationCount: 1)
        text.appendInterpolation(name: name)
        return text
    }
}
