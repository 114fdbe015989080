/// A text with fields in braces, such as `{stem}-{n}.flac`. `{{` and `}}` stand for braces.
public struct FieldTemplate<Field>: Sendable, Hashable
where Field: RawRepresentable & CaseIterable & Hashable & Sendable, Field.RawValue == String {
    /// What the text consists of, in order.
    public enum Part: Sendable, Hashable {
        case text(String)
        case field(Field)
    }

    public let parts: [Part]

    /// Why a text is not a template, for the user.
    public struct Mistake: Error {
        public let detail: String
    }

    /// Throws a `Mistake` for an unknown field or a lone brace.
    public init(parsing text: some StringProtocol) throws(Mistake) {
        var parts: [Part] = []
        // Scalars, as in a location: a combining mark does not hide the brace or slash before it.
        var rest = Substring(text).unicodeScalars[...]
        var literal = String.UnicodeScalarView()
        while let letter = rest.popFirst() {
            guard letter == "{" || letter == "}" else {
                literal.append(letter)
                continue
            }
            if rest.first == letter {
                literal.append(letter)
                rest.removeFirst()
                continue
            }
            guard letter == "{", let end = rest.firstIndex(of: "}") else {
                throw Mistake(detail: "unmatched \(letter); write it twice for a literal brace")
            }
            let name = String(rest[..<end])
            guard let field = Field(rawValue: name) else {
                let known = Field.allCases.map { "{\($0.rawValue)}" }.joined(separator: " ")
                throw Mistake(detail: "unknown field {\(name)}; known: \(known)")
            }
            parts += literal.isEmpty ? [.field(field)] : [.text(String(literal)), .field(field)]
            literal = String.UnicodeScalarView()
            rest = rest[rest.index(after: end)...]
        }
        self.parts = literal.isEmpty ? parts : parts + [.text(String(literal))]
    }

    /// The fields that the template contains.
    public var fields: Set<Field> {
        Set(
            parts.compactMap {
                if case .field(let field) = $0 { field } else { nil }
            }
        )
    }
}

extension String {
    /// A file's name without its last extension; a name that is only an extension stays whole.
    public var withoutExtension: String {
        guard let dot = unicodeScalars.lastIndex(of: "."), dot != startIndex else { return self }
        return String(unicodeScalars[..<dot])
    }
}
