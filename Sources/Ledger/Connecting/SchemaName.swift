import Conversion

/// The name of the schema that holds a ledger. It needs no quoting in a statement.
public struct SchemaName: Sendable, Hashable {
    public let text: String

    /// Throws unless `text` is at most 63 small letters, digits and underscores, and begins with no digit.
    public init(_ text: String) throws {
        let first = text.utf8.first ?? 0
        let isPlain = text.utf8.allSatisfy { Self.isLetter($0) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        guard isPlain, Self.isLetter(first), text.utf8.count <= 63, !text.hasPrefix("pg_"), text != "information_schema"
        else {
            throw LedgerError(
                .ledgerBadConfiguration,
                during: "read the configuration",
                "\"\(text)\" is not a valid schema name",
                hint: "use lower-case letters, digits and underscores, at most 63, and do not begin with a digit or pg_"
            )
        }
        self.text = text
    }

    /// The default name.
    public static let standard = SchemaName(known: "sluice")

    private init(known text: String) { self.text = text }

    private static func isLetter(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) || byte == UInt8(ascii: "_")
    }
}

extension SchemaName: CustomStringConvertible {
    public var description: String { text }
}
