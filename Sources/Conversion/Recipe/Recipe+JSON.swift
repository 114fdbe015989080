import FoundationEssentials

extension Recipe {
    /// Decodes a recipe; the error names the unknown field, the wrong type or the newer version, and its path.
    public init(json bytes: [UInt8]) throws(RecipeError) {
        do {
            self = try JSONDecoder().decode(Recipe.self, from: Data(bytes))
        } catch let error as DecodingError {
            throw RecipeError(error)
        } catch {
            throw RecipeError(.malformed, at: "recipe", "\(error)")
        }
    }

    /// Decodes a recipe from a string.
    public init(json text: String) throws(RecipeError) {
        try self.init(json: Array(text.utf8))
    }

    /// One line with the fields in alphabetical order: the same recipe gives the same bytes.
    ///
    /// Throws only for numbers that JSON cannot represent, such as an infinite quality.
    public func json() throws(RecipeError) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        do {
            return String(decoding: try encoder.encode(self), as: UTF8.self)
        } catch {
            throw RecipeError(.valueNotAllowed, at: "recipe", "a number in it is not finite")
        }
    }
}
