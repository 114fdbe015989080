/// Why a recipe cannot be read or used: one mistake, and where it is.
public struct RecipeError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kind of mistake.
    public enum Code: String, Sendable, Hashable {
        /// The text is not JSON.
        case malformed
        /// This code does not know the recipe's version.
        case unsupportedVersion
        /// The object has no field of this name.
        case unknownField
        /// A required field is missing.
        case missingField
        /// For example text where a number belongs.
        case wrongType
        /// The type is right, but the value is not allowed.
        case valueNotAllowed
    }

    /// The kind of mistake; callers may branch on it.
    public let code: Code
    /// Where the mistake is: `recipe.outputs[0].format.bitRate`.
    public let path: String
    /// What is wrong and what is allowed, for the user.
    public let reason: String

    public init(_ code: Code, at path: String, _ reason: String) {
        self.code = code
        self.path = path
        self.reason = reason
    }

    /// For example `recipe.outputs[0].fromat: unknown field; known: ...`.
    public var description: String { "\(path): \(reason)" }
}

extension RecipeError {
    /// Translates a decoder's error.
    init(_ error: DecodingError) {
        switch error {
        case .keyNotFound(let key, let context):
            self.init(.missingField, at: Self.path(context.codingPath + [key]), "the field is missing")
        case .typeMismatch(let type, let context), .valueNotFound(let type, let context):
            self.init(.wrongType, at: Self.path(context.codingPath), "must be \(Self.words(for: type))")
        case .dataCorrupted(let context):
            if let known = context.underlyingError as? RecipeError {
                self.init(known.code, at: Self.path(context.codingPath), known.reason)
            } else if context.codingPath.isEmpty {
                self.init(.malformed, at: "recipe", "it is not valid JSON")
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
