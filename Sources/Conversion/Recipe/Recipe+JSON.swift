import FoundationEssentials

extension Recipe {
    /// Decodes a recipe; the error names the unknown field, the wrong type or the newer version, and its path.
    ///
    /// Outputs may name `presets` that users have made, each under its name as the recipe has it in small letters. They are
    /// replaced by what they say, and the recipe by one of the version that it then needs.
    public init(json bytes: [UInt8], presets: [String: OwnPreset] = [:]) throws(RecipeError) {
        let decoder = JSONDecoder()
        if let key = CodingUserInfoKey.ownPresets { decoder.userInfo[key] = presets }
        do {
            self = try decoder.decode(Recipe.self, from: Data(bytes))
        } catch let error as DecodingError {
            throw RecipeError(error)
        } catch {
            throw RecipeError(.malformed, at: "recipe", "\(error)")
        }
        for index in outputs.indices {
            if let own = outputs[index].preset.flatMap({ presets[$0.lowercased()] }) { outputs[index].take(own) }
        }
    }

    /// The names of presets in the outputs of a recipe, as it has them. Empty for what is no recipe.
    package static func presetNames(json bytes: [UInt8]) -> [String] {
        let outputs = JSONValue(json: bytes)?.members?["outputs"]?.items ?? []
        return outputs.compactMap { $0.members?["preset"]?.text }
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

extension CodingUserInfoKey {
    fileprivate static let ownPresets = CodingUserInfoKey(rawValue: "ownPresets")
}

extension Decoder {
    /// The presets that users have made, by the names that recipes may have them under.
    var ownPresets: [String: OwnPreset] {
        CodingUserInfoKey.ownPresets.flatMap { userInfo[$0] as? [String: OwnPreset] } ?? [:]
    }
}
