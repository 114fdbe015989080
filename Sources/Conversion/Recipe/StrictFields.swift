/// The fields of one JSON object, read strictly: every name has to be known, every value of its type.
///
/// All mistakes are `DecodingError`s whose coding path names the field; `Recipe(json:)` turns them into sentences.
struct StrictFields<Name: RawRepresentable & CaseIterable> where Name.RawValue == String {
    private let container: KeyedDecodingContainer<AnyName>

    /// Refuses an object with a field that `Name` does not list.
    init(_ decoder: any Decoder, _ names: Name.Type = Name.self) throws {
        container = try decoder.container(keyedBy: AnyName.self)
        let known = Name.allCases.map(\.rawValue)
        let unknown = container.allKeys.filter { !known.contains($0.stringValue) }
        if let first = unknown.min(by: { $0.stringValue < $1.stringValue }) {
            throw mistake(.unknownField, first, "unknown field; known: \(known.joined(separator: ", "))")
        }
    }

    func required<Value: Decodable>(_ name: Name, as type: Value.Type = Value.self) throws -> Value {
        try container.decode(type, forKey: AnyName(name.rawValue))
    }

    /// `nil` for a field that is missing or `null`.
    func optional<Value: Decodable>(_ name: Name, as type: Value.Type = Value.self) throws -> Value? {
        try container.decodeIfPresent(type, forKey: AnyName(name.rawValue))
    }

    /// One of a list of words; refuses any other and lists them.
    func word<Word: RawRepresentable & CaseIterable>(
        _ name: Name, as type: Word.Type = Word.self
    ) throws -> Word? where Word.RawValue == String {
        guard let text = try optional(name, as: String.self) else { return nil }
        guard let word = Word(rawValue: text) else {
            let allowed = Word.allCases.map(\.rawValue).joined(separator: ", ")
            throw mistake(.valueNotAllowed, AnyName(name.rawValue), "\"\(text)\"; allowed: \(allowed)")
        }
        return word
    }

    /// A whole number from 1 on.
    func count(_ name: Name) throws -> Int? {
        guard let number = try optional(name, as: Int.self) else { return nil }
        guard number > 0 else { throw refusal(of: name, "\(number); allowed: 1 or more") }
        return number
    }

    /// A nested object that needs more than its own decoder to be read.
    func nested<Value>(_ name: Name, read: (any Decoder) throws -> Value) throws -> Value? {
        let key = AnyName(name.rawValue)
        guard container.contains(key), try !container.decodeNil(forKey: key) else { return nil }
        return try read(try container.decode(Borrowed.self, forKey: key).decoder)
    }

    /// The error for a value that has the right type and is wrong all the same.
    func refusal(of name: Name, _ reason: String) -> DecodingError {
        mistake(.valueNotAllowed, AnyName(name.rawValue), reason)
    }

    private func mistake(_ code: RecipeError.Code, _ name: AnyName, _ reason: String) -> DecodingError {
        .dataCorrupted(
            .init(
                codingPath: container.codingPath + [name], debugDescription: reason,
                underlyingError: RecipeError(code, at: "", reason)))
    }
}

/// A coding key of any name.
private struct AnyName: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(_ name: String) { stringValue = name }
    init?(stringValue: String) { self.init(stringValue) }
    init?(intValue: Int) { nil }
}

/// Lends out the decoder of a nested value.
private struct Borrowed: Decodable {
    let decoder: any Decoder

    init(from decoder: any Decoder) throws { self.decoder = decoder }
}
