import Conversion

/// Where the outputs of a tenant go: `out:{tenant}/{label}/{dir}/{stem}.{ext}`. `{{` and `}}` stand for braces.
///
/// A tenant chooses names and never places: whatever it names, the destinations that the template makes, and those that
/// it admits, are below `folder(of:)`.
public struct TenantDestination: Sendable, Hashable {
    /// The fields that a template may contain.
    public enum Field: String, Sendable, Hashable, CaseIterable {
        /// The tenant's name.
        case tenant
        /// The name of the batch.
        case label
        /// The source's folder below its root.
        case dir
        /// The source's name without its last extension.
        case stem
        /// The extension of the output's format.
        case ext
        /// The preset's name.
        case preset
    }

    /// As the operator wrote it.
    public let text: String
    private let root: String
    private let template: FieldTemplate<Field>

    /// The longest template, in bytes.
    public static let longestText = 1_000

    /// Parses `text`. Throws `invalid_template` with the reason.
    public init(_ text: String) throws(StorageError) {
        self.text = text
        guard text.utf8.count <= Self.longestText else {
            throw .template("it has more than \(Self.longestText) bytes", String(text.prefix(100)))
        }
        (root, template) = try FieldTemplate<Field>.parse(text, example: "out:{tenant}/{stem}.{ext}")
        guard template.fields.contains(.stem) else {
            throw .template("without {stem} all sources would have the same destination", text)
        }
        // Errors that affect every destination are thrown now.
        let example = Values(tenant: "tenant", label: "label", ext: "ext", preset: "preset")
        let made = try location(for: Location(root: "source", path: "dir/stem.ext"), example).description
        guard made.utf8.starts(with: folder(of: "tenant").utf8) else {
            throw .template("a location has no \".\" and no repeated slashes", text)
        }
    }

    /// The fields that the template contains.
    public var fields: Set<Field> { template.fields }

    /// What a submission gives to the fields. An empty value is missing.
    public struct Values: Sendable, Hashable {
        public var tenant: String
        public var label: String
        public var ext: String
        public var preset: String

        public init(tenant: String, label: String, ext: String, preset: String) {
            (self.tenant, self.label, self.ext, self.preset) = (tenant, label, ext, preset)
        }
    }

    /// What every destination of a tenant begins with: the root and the folders before the first field that is not
    /// the tenant's name. The ledger's `output_folder()` computes the same text.
    public func folder(of tenant: String) -> String {
        let known = text.replacing("{tenant}", with: tenant).unicodeScalars
        let fixed = known[..<(known.firstIndex { $0 == "{" || $0 == "}" } ?? known.endIndex)]
        guard let end = fixed.lastIndex(where: { $0 == "/" || $0 == ":" }) else { return "\(root):" }
        return String(fixed[...end])
    }

    /// The destination for one source. Throws `invalid_template` if a field has no value, or one that would change the
    /// place, and `invalid_location` if the path is too long.
    public func location(for source: Location, _ values: Values) throws(StorageError) -> Location {
        var path = ""
        for part in template.parts {
            switch part {
            case .text(let text):
                // A source directly in its root has no folder, so the template's slash after `{dir}` is dropped.
                path +=
                    path.isEmpty || path.utf8.last == UInt8(ascii: "/")
                    ? String(text.unicodeScalars.drop { $0 == "/" }) : text
            case .field(.dir): path += source.folder
            case .field(.stem): path += source.name.withoutExtension
            case .field(.tenant): path += try name(values.tenant, .tenant)
            case .field(.label): path += try name(values.label, .label)
            case .field(.ext): path += try name(values.ext, .ext)
            case .field(.preset): path += try name(values.preset, .preset)
            }
        }
        return try Location(root: root, path: path).asDestination()
    }

    /// The template as `sluice submit --to` takes it: with the tenant's name and the label as text.
    public func submitting(as tenant: String, label: String?) throws(StorageError) -> String {
        var whole = "\(root):"
        for part in template.parts {
            switch part {
            case .text(let text): whole += text.doubledBraces
            case .field(.tenant): whole += try name(tenant, .tenant).doubledBraces
            case .field(.label): whole += try name(label ?? "", .label).doubledBraces
            case .field(let field): whole += "{\(field.rawValue)}"
            }
        }
        return whole
    }

    /// A value that becomes part of one name.
    private func name(_ value: String, _ field: Field) throws(StorageError) -> String {
        guard !value.isEmpty else { throw .template("no value for {\(field.rawValue)}", text) }
        guard value != ".", value != "..", !value.utf8.contains(UInt8(ascii: "/")) else {
            throw .template("{\(field.rawValue)} is \"\(value)\", which is not a name", text)
        }
        return value
    }
}

extension String {
    fileprivate var doubledBraces: String { replacing("{", with: "{{").replacing("}", with: "}}") }
}
