import Conversion

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
        guard let dot = utf8.lastIndex(of: UInt8(ascii: ".")), dot != startIndex else { return self }
        return String(Substring(utf8[..<dot]))
    }

    /// What `withoutExtension` leaves out, without its dot; empty if that is nothing.
    public var ownExtension: String {
        String(Substring(utf8.dropFirst(withoutExtension.utf8.count).dropFirst()))
    }
}

extension FieldTemplate {
    /// Parses the root and the template of the path, as in `example`. Throws `invalid_template` with the reason.
    static func parse(_ text: String, example: String) throws(StorageError) -> (root: String, path: Self) {
        // Scalars, as in a location: a combining mark does not hide the colon before it.
        let scalars = text.unicodeScalars
        guard let colon = scalars.firstIndex(of: ":") else {
            throw .template("the name of a root and a colon are missing, as in \(example)", text)
        }
        let root = String(scalars[..<colon])
        if let problem = Location.problem(ofRootName: root) { throw .template(problem, text) }
        do throws(Mistake) {
            return (root, try Self(parsing: String(scalars[scalars.index(after: colon)...])))
        } catch {
            throw .template(error.detail, text)
        }
    }
}

extension StorageError {
    /// Something is wrong with the template `text`, or with a destination that it makes.
    static func template(_ detail: String, _ text: String) -> StorageError {
        StorageError(.invalidTemplate, at: .open, "use the template", detail, place: text)
    }
}
