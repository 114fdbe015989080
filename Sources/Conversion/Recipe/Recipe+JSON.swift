import FoundationEssentials

extension Recipe {
    /// Reads a recipe; refuses unknown fields, wrong types and newer versions by name and place.
    public init(json bytes: [UInt8]) throws(RecipeError) {
        do {
            self = try JSONDecoder().decode(Recipe.self, from: Data(bytes))
        } catch let error as DecodingError {
            throw RecipeError(error)
        } catch {
            throw RecipeError(.malformed, at: "recipe", "\(error)")
        }
    }

    /// Reads a recipe out of text.
    public init(json text: String) throws(RecipeError) {
        try self.init(json: Array(text.utf8))
    }

    /// One line whose fields are in the order of the alphabet: the same recipe gives the same bytes.
    ///
    /// Throws only for numbers that JSON cannot write, such as an infinite quality.
    public func json() throws(RecipeError) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        do {
            return String(decoding: try encoder.encode(self), as: UTF8.self)
        } catch {
            throw RecipeError(.valueNotAllowed, at: "recipe", "a number in it cannot be written as JSON")
        }
    }
}
