/// How destinations are made from sources: `masters:{dir}/{stem}.{ext}`. `{{` and `}}` stand for braces.
public struct DestinationTemplate: Sendable, Hashable {
    /// What a template may name.
    public enum Field: String, Sendable, Hashable, CaseIterable {
        /// The source's folder below its root.
        case dir
        /// The source's name without its last extension.
        case stem
        /// The extension of the output's container.
        case ext
        /// The preset's name.
        case preset
        /// The job's id.
        case id
    }

    private enum Part: Hashable {
        case text(String)
        case field(Field)
    }

    /// As it was written.
    public let text: String
    private let root: String
    private let parts: [Part]

    /// Reads `text`. Throws `invalid_template` with the reason: an unknown field, a lone brace, no root.
    public init(_ text: String) throws(StorageError) {
        self.text = text
        // Scalars, like a location's: a mark that combines with a brace or a slash does not hide it.
        let scalars = text.unicodeScalars
        guard let colon = scalars.firstIndex(of: ":") else {
            throw Self.refusal("there is no root's name before a colon, as in masters:{dir}/{stem}.{ext}", text)
        }
        root = String(scalars[..<colon])
        if let problem = Location.problem(ofRootName: root) { throw Self.refusal(problem, text) }

        var parts: [Part] = []
        var rest = scalars[scalars.index(after: colon)...]
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
                throw Self.refusal("a lone \(letter); write it twice to mean itself", text)
            }
            let name = String(rest[..<end])
            guard let field = Field(rawValue: name) else {
                let known = Field.allCases.map { "{\($0.rawValue)}" }.joined(separator: " ")
                throw Self.refusal("there is no field {\(name)}; there are \(known)", text)
            }
            parts += literal.isEmpty ? [.field(field)] : [.text(String(literal)), .field(field)]
            literal = String.UnicodeScalarView()
            rest = rest[rest.index(after: end)...]
        }
        self.parts = literal.isEmpty ? parts : parts + [.text(String(literal))]
        // What is wrong with every destination is said now, not at the first source.
        _ = try location(for: Location(root: "source", path: "dir/stem.ext"), ext: "ext", preset: "preset", id: 1)
    }

    /// The fields that it names.
    public var fields: Set<Field> {
        Set(
            parts.compactMap {
                if case .field(let field) = $0 { field } else { nil }
            }
        )
    }

    /// The destination for one source. Throws `invalid_template` if a named field has no value here.
    public func location(
        for source: Location,
        ext: String,
        preset: String?,
        id: Int64?
    ) throws(StorageError) -> Location {
        var path = ""
        for part in parts {
            switch part {
            case .text(let text):
                // A source in the root itself has no folder, and then no slash after it.
                path += path.isEmpty ? String(text.unicodeScalars.drop { $0 == "/" }) : text
            case .field(.dir): path += source.folder
            case .field(.stem): path += Self.stem(of: source.name)
            case .field(.ext): path += try name(ext, .ext)
            case .field(.preset): path += try name(preset, .preset)
            case .field(.id): path += try name(id.map { String($0) }, .id)
            }
        }
        return try Location(root: root, path: path)
    }

    /// The name without its last extension; a name that is nothing but one stays.
    private static func stem(of name: String) -> String {
        guard let dot = name.unicodeScalars.lastIndex(of: "."), dot != name.startIndex else { return name }
        return String(name.unicodeScalars[..<dot])
    }

    /// A value that becomes part of a name, and so must not become a folder.
    private func name(_ value: String?, _ field: Field) throws(StorageError) -> String {
        guard let value, !value.isEmpty else {
            throw Self.refusal("there is nothing to put for {\(field.rawValue)}", text)
        }
        if value.utf8.contains(UInt8(ascii: "/")) {
            throw Self.refusal("{\(field.rawValue)} is \(value), which holds a slash", text)
        }
        return value
    }

    private static func refusal(_ detail: String, _ text: String) -> StorageError {
        StorageError(.invalidTemplate, at: .open, "use the template", detail, place: text)
    }
}
