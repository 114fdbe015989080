/// Why a recipe cannot be read or is none: one mistake, and where it stands.
public struct RecipeError: Error, Sendable, Hashable, CustomStringConvertible {
    /// What kind of mistake it is.
    public enum Code: String, Sendable, Hashable {
        /// The text is no JSON at all.
        case malformed
        /// The recipe is of a version that is not known here.
        case unsupportedVersion
        /// A name that the object does not have.
        case unknownField
        /// A field that has to be there.
        case missingField
        /// Text where a number belongs, and the like.
        case wrongType
        /// Of the right type, and still not allowed.
        case valueNotAllowed
        /// Allowed by the recipe's form, not by what is built so far.
        case notSupportedYet
    }

    /// What kind of mistake it is, for callers to branch on.
    public let code: Code
    /// Where it stands: `recipe.outputs[0].format.bitRate`.
    public let path: String
    /// What is wrong and what is allowed, for people.
    public let reason: String

    /// A mistake at `path`.
    public init(_ code: Code, at path: String, _ reason: String) {
        self.code = code
        self.path = path
        self.reason = reason
    }

    /// `recipe.outputs[0].fromat: unknown field; known: ...`
    public var description: String { "\(path): \(reason)" }
}

extension RecipeError {
    /// What a decoder said, in this room's words.
    init(_ error: DecodingError) {
        switch error {
        case .keyNotFound(let key, let context):
            self.init(.missingField, at: Self.path(context.codingPath + [key]), "this field is missing")
        case .typeMismatch(let type, let context), .valueNotFound(let type, let context):
            self.init(.wrongType, at: Self.path(context.codingPath), "should be \(Self.words(for: type))")
        case .dataCorrupted(let context):
            if let known = context.underlyingError as? RecipeError {
                self.init(known.code, at: Self.path(context.codingPath), known.reason)
            } else if context.codingPath.isEmpty {
                self.init(.malformed, at: "recipe", "this is not JSON")
            } else {
                self.init(.valueNotAllowed, at: Self.path(context.codingPath), context.debugDescription)
            }
        @unknown default:
            self.init(.malformed, at: "recipe", "\(error)")
        }
    }

    private static func path(_ keys: [any CodingKey]) -> String {
        keys.reduce("recipe") { path, key in
            key.intValue.map { "\(path)[\($0)]" } ?? "\(path).\(key.stringValue)"
        }
    }

    private static func words(for type: any Any.Type) -> String {
        switch type {
        case is String.Type: "text"
        case is Bool.Type: "true or false"
        case is Int.Type, is Int64.Type: "a whole number"
        case is Double.Type: "a number"
        case is [Any].Type: "a list"
        default: "an object"
        }
    }
}
