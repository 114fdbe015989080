import Conversion

/// Derives destinations from sources: `masters:{dir}/{stem}.{ext}`. `{{` and `}}` stand for braces.
public struct DestinationTemplate: Sendable, Hashable {
    /// The fields that a template may contain.
    public enum Field: String, Sendable, Hashable, CaseIterable {
        /// The source's folder below its root.
        case dir
        /// The source's name without its last extension.
        case stem
        /// The extension of the output's container.
        case ext
        /// The extension of the source's name, as it is written there.
        case sourceExt = "source-ext"
        /// The preset's name.
        case preset
        /// The job's id.
        case id
        /// The number of a piece of the source.
        case n
        /// The title of a piece, or the source's name.
        case title

        /// Whether its values differ between the pieces of a source.
        public var isOfPieces: Bool { self == .n || self == .title }
    }

    /// What tells the pieces of a source apart.
    public struct Piece: Sendable, Hashable {
        public var number: String
        /// Without slashes; `nil` to use the source's name.
        public var title: String?

        public init(number: String, title: String?) { (self.number, self.title) = (number, title) }
    }

    /// As the user wrote it.
    public let text: String
    private let root: String
    private let template: FieldTemplate<Field>

    /// Parses `text`. Throws `invalid_template` with the reason: an unknown field, a lone brace, no root.
    public init(_ text: String) throws(StorageError) {
        self.text = text
        (root, template) = try FieldTemplate<Field>.parse(text, example: "masters:{dir}/{stem}.{ext}")
        // Errors that affect every destination are thrown now, not at the first source.
        _ = try location(
            for: Location(root: "source", path: "dir/stem.ext"),
            ext: "ext",
            preset: "preset",
            id: 1,
            piece: Piece(number: "1", title: "title")
        )
    }

    /// The fields that the template contains.
    public var fields: Set<Field> { template.fields }

    /// The destination for one source. Throws `invalid_template` if the template uses a field that has no value here.
    public func location(
        for source: Location,
        ext: String,
        preset: String?,
        id: Int64?,
        piece: Piece? = nil
    ) throws(StorageError) -> Location {
        // Parsed once, whatever fields there are.
        let sourceName = source.name
        let stem = sourceName.withoutExtension
        var path = ""
        for part in template.parts {
            switch part {
            case .text(let text):
                // A source directly in its root has no folder, so the template's slash after `{dir}` is dropped.
                path += path.isEmpty ? String(text.unicodeScalars.drop { $0 == "/" }) : text
            case .field(.dir): path += source.folder
            case .field(.stem): path += stem
            case .field(.ext): path += try name(ext, .ext)
            case .field(.sourceExt): path += try name(sourceName.ownExtension, .sourceExt)
            case .field(.preset): path += try name(preset, .preset)
            case .field(.id): path += try name(id.map { String($0) }, .id)
            case .field(.n): path += try name(piece?.number, .n)
            case .field(.title): path += try name(piece.map { $0.title ?? stem }, .title)
            }
        }
        return try Location(root: root, path: path).asDestination()
    }

    /// A value that becomes part of a name, and so must not contain a slash.
    private func name(_ value: String?, _ field: Field) throws(StorageError) -> String {
        guard let value, !value.isEmpty else {
            throw .template("no value for {\(field.rawValue)}", text)
        }
        if value.utf8.contains(UInt8(ascii: "/")) {
            throw .template("{\(field.rawValue)} is \(value), which contains a slash", text)
        }
        return value
    }
}
