import Conversion
import Storage

/// A tag to set. An empty value removes the tag.
struct TagWish: Sendable, Hashable {
    /// The fields that a value may contain. The pieces of a source get their titles and numbers without a wish.
    enum Field: String, Sendable, Hashable, CaseIterable {
        case dir, stem
        case sourceExt = "source-ext"
    }

    typealias Mistake = FieldTemplate<Field>.Mistake

    let name: String
    private let value: FieldTemplate<Field>

    init(name: String, value: String) throws(Mistake) {
        (self.name, self.value) = (name, try FieldTemplate(parsing: value))
    }

    /// Whether the value differs between sources.
    var hasFields: Bool { !value.fields.isEmpty }

    /// The value for the source at `path`, which is relative to the folder that the user named.
    func value(for path: String) -> String {
        let parts = path.utf8.split(separator: UInt8(ascii: "/")).map { String(Substring($0)) }
        let file = parts.last ?? ""
        return value.parts.map { part in
            switch part {
            case .text(let text): text
            case .field(.dir): parts.dropLast().joined(separator: "/")
            case .field(.stem): file.withoutExtension
            case .field(.sourceExt): file.ownExtension
            }
        }.joined()
    }
}
