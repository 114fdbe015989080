import Conversion
import FoundationEssentials

extension JSON {
    /// The value as JSON with sorted keys. U+0000, which PostgreSQL cannot store in text, becomes U+FFFD.
    init(_ value: some Encodable) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        encoder.dateEncodingStrategy = .custom { date, encoder in
            var container = encoder.singleValueContainer()
            try container.encode(date.ledgerText)
        }
        let text: String
        do {
            text = String(decoding: try encoder.encode(value), as: UTF8.self)
        } catch {
            throw LedgerError(.ledgerRefused, during: "write JSON", "a value cannot be written as JSON: \(error)")
        }
        // Search bytes, not characters: a combining character after the escape's last digit would hide it.
        self.init(text: text.utf8.contains(UInt8(ascii: "\\")) ? Self.withoutZeros(text) : text)
    }

    /// Decodes the text as JSON.
    func decoded<Value: Decodable>(as _: Value.Type = Value.self, during operation: String) throws -> Value {
        do {
            return try JSONDecoder().decode(Value.self, from: Data(text.utf8))
        } catch {
            throw LedgerError(
                .ledgerUnexpectedAnswer,
                during: operation,
                "JSON from the ledger is not a valid \(Value.self): \(error)"
            )
        }
    }

    /// Replaces the escapes of U+0000, but not those whose backslash is itself escaped.
    private static func withoutZeros(_ text: String) -> String {
        var bytes: [UInt8] = []
        let given = Array(text.utf8)
        var place = 0
        while place < given.count {
            guard given[place] == UInt8(ascii: "\\"), place + 1 < given.count else {
                bytes.append(given[place])
                place += 1
                continue
            }
            let isZero = given[place...].starts(with: Array("\\u0000".utf8))
            bytes += isZero ? Array("\\ufffd".utf8) : Array(given[place...place + 1])
            place += isZero ? 6 : 2
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension Date {
    /// The format that PostgreSQL reads, to the microsecond: `2026-01-31T12:00:00.000001Z`.
    var ledgerText: String {
        let microseconds = (timeIntervalSince1970 * 1_000_000).rounded()
        let whole = (microseconds / 1_000_000).rounded(.down)
        let fraction = String(Int(microseconds - whole * 1_000_000))
        let seconds = Date(timeIntervalSince1970: whole).formatted(.iso8601).dropLast()
        return "\(seconds).\(String(repeating: "0", count: 6 - fraction.count))\(fraction)Z"
    }
}
