/// The fields of one JSON object, decoded strictly: every name must be known, and every value must have its type.
///
/// Every mistake is a `DecodingError` whose coding path names the field; `Recipe(json:)` turns it into a message.
struct StrictFields<Name: RawRepresentable & CaseIterable> where Name.RawValue == String {
    private let container: KeyedDecodingContainer<AnyName>

    /// Throws on a field that `Name` does not list.
    init(_ decoder: any Decoder, _ names: Name.Type = Name.self) throws {
        try self.init(decoder.container(keyedBy: AnyName.self))
    }

    private init(_ container: KeyedDecodingContainer<AnyName>) throws {
        self.container = container
        let known = Name.allCases.map(\.rawValue)
        let unknown = container.allKeys.filter { !known.contains($0.stringValue) }
        if let first = unknown.min(by: { $0.stringValue < $1.stringValue }) {
            throw mistake(.unknownField, first, "unknown field; known: \(known.joined(separator: ", "))")
        }
    }

    func required<Value: Decodable>(_ name: Name, as type: Value.Type = Value.self) throws -> Value {
        guard let value = try optional(name, as: type) else { throw missing(name) }
        return value
    }

    /// `nil` if the field is missing or `null`.
    func optional<Value: Decodable>(_ name: Name, as type: Value.Type = Value.self) throws -> Value? {
        try container.strictlyDecode(type, at: AnyName(name.rawValue))
    }

    /// A case of the enumeration `Word`; `nil` if the field is missing. For any other text, throws an error that lists
    /// the cases.
    func word<Word: RawRepresentable & CaseIterable>(
        _ name: Name,
        as type: Word.Type = Word.self
    ) throws -> Word? where Word.RawValue == String {
        guard let text = try optional(name, as: String.self) else { return nil }
        guard let word = Word(rawValue: text) else {
            let allowed = Word.allCases.map(\.rawValue).joined(separator: ", ")
            throw mistake(.valueNotAllowed, AnyName(name.rawValue), "\"\(text)\"; allowed: \(allowed)")
        }
        return word
    }

    /// A positive integer.
    func count(_ name: Name) throws -> Int? {
        guard let number = try optional(name, as: Int.self) else { return nil }
        guard number > 0 else { throw refusal(of: name, "\(number); allowed: 1 or more") }
        return number
    }

    /// The fields of a nested object; `nil` if it is missing or `null`.
    func nested<Inner>(_ name: Name, _ names: Inner.Type) throws -> StrictFields<Inner>? {
        let key = AnyName(name.rawValue)
        guard container.contains(key), try !container.decodeNil(forKey: key) else { return nil }
        return try StrictFields<Inner>(container.nestedContainer(keyedBy: AnyName.self, forKey: key))
    }

    /// The range between the times of two fields, either of which may be missing: from zero, and without an end.
    func range(from start: Name, to end: Name) throws -> MediaTimeRange {
        let first = try optional(start, as: MediaTime.self) ?? .zero
        let last = try optional(end, as: MediaTime.self) ?? .positiveInfinity
        do throws(MediaTimeRange.RangeError) {
            return try MediaTimeRange(start: first, end: last)
        } catch {
            throw refusal(of: error.code == .startNotANumber ? start : end, error.detail)
        }
    }

    /// The error for a required field that is missing.
    func missing(_ name: Name) -> DecodingError {
        .keyNotFound(AnyName(name.rawValue), .init(codingPath: container.codingPath, debugDescription: "missing"))
    }

    /// The error for a value of the right type that is not allowed.
    func refusal(of name: Name, _ reason: String) -> DecodingError {
        mistake(.valueNotAllowed, AnyName(name.rawValue), reason)
    }

    private func mistake(_ code: RecipeError.Code, _ name: AnyName, _ reason: String) -> DecodingError {
        .dataCorrupted(
            .init(
                codingPath: container.codingPath + [name],
                debugDescription: reason,
                underlyingError: RecipeError(code, at: "", reason)
            )
        )
    }
}

extension MediaTime {
    /// The time as a user writes it, if that loses nothing, else the rational form.
    var textInRecipes: String {
        // `try?`: if the plain text cannot be parsed, or parses as another time, the rational form is written instead.
        // A huge time can parse as the same one and be marked as rounded, which would then be written in another way.
        guard !hasBeenRounded, let time = try? MediaTime(parsing: description), time == self, !time.hasBeenRounded
        else {
            return rationalDescription
        }
        return description
    }
}

extension KeyedDecodingContainer {
    /// Like `decodeIfPresent`, but names the field if a number is not an integer.
    ///
    /// FoundationEssentials throws a different error there, which would be reported as "not valid JSON" without a path.
    func strictlyDecode<Value: Decodable>(_ type: Value.Type, at key: Key) throws -> Value? {
        do {
            return try decodeIfPresent(type, forKey: key)
        } catch  where !(error is DecodingError) && type is any FixedWidthInteger.Type {
            // `try?`: if this is not a number either, the JSON itself is broken, and the first error says so.
            guard (try? decode(Double.self, forKey: key)) != nil else { throw error }
            throw DecodingError.typeMismatch(
                type,
                .init(codingPath: codingPath + [key], debugDescription: "not a whole number")
            )
        }
    }
}

/// A coding key for any name.
private struct AnyName: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(_ name: String) { stringValue = name }
    init?(stringValue: String) { self.init(stringValue) }
    init?(intValue: Int) { nil }
}
