/// Names a preset that users have made, and its version: `podcast-house@3`.
public struct PresetReference: Sendable, Hashable, CustomStringConvertible {
    public let name: String
    /// The number of the version in a ledger. `nil` for a preset in a file; where a preset is asked for, the latest version.
    public let version: Int?

    /// The most characters of a name.
    public static let longestName = 50

    public init(name: String, version: Int? = nil) { (self.name, self.version) = (name, version) }

    /// Reads `podcast-house` or `podcast-house@3`, in upper or lower case; `nil` if it cannot name a preset.
    public init?(_ text: String) {
        let parts = text.lowercased().split(separator: "@", maxSplits: 1, omittingEmptySubsequences: false)
        guard let name = parts.first.map({ String($0) }), Self.isName(name) else { return nil }
        guard parts.count == 2 else {
            self.init(name: name)
            return
        }
        guard let version = Int32(parts[1]), version > 0, parts[1].first != "+" else { return nil }
        self.init(name: name, version: Int(version))
    }

    public var description: String { version.map { "\(name)@\($0)" } ?? name }

    /// Whether a preset may have this name.
    public static func isName(_ text: String) -> Bool {
        func isLetter(_ byte: UInt8) -> Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) }
        func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
        let bytes = text.utf8
        guard let first = bytes.first, isLetter(first), bytes.count <= longestName else { return false }
        return bytes.allSatisfy { isLetter($0) || isDigit($0) || "._-".utf8.contains($0) }
    }

    /// What a name consists of, for messages.
    public static let nameRule = "1 to \(longestName) small letters, digits and . _ - beginning with a letter"
}

extension PresetReference: Codable {
    private enum Field: String, CodingKey, CaseIterable { case name, version }

    /// Decodes strictly.
    public init(from decoder: any Decoder) throws {
        let fields = try StrictFields(decoder, Field.self)
        let name: String = try fields.required(.name)
        guard Self.isName(name) else { throw fields.refusal(of: .name, "a preset has \(Self.nameRule)") }
        self.init(name: name, version: try fields.count(.version))
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Field.self)
        try container.encode(name, forKey: .name)
        try container.encodeIfPresent(version, forKey: .version)
    }
}
