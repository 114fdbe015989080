import Console
import Conversion
import Storage

/// A recipe in a file, as a command-line word names it.
struct RecipeFile {
    /// The name for messages.
    let name: String
    let recipe: Recipe

    /// The longest file that is read: a recipe of 100,000 pieces has a quarter of it.
    private static let maximumBytes = 64_000_000

    /// Reads and validates the recipe; `-` is standard input. Throws a `Refusal` that names the place of a mistake.
    ///
    /// Presets that users have made are looked up by `invocation`, and replaced by what they say.
    init(word: String, _ invocation: Invocation) throws {
        name = Self.name(of: word)
        switch try Self.reading(word: word, invocation) {
        case .success(let recipe): self.recipe = recipe
        case .failure(let error): throw Refusal(message: "\(name): \(error)", exitCode: .usage)
        }
    }

    /// The recipe in a file that can be read, or why it is refused.
    static func reading(word: String, _ invocation: Invocation) throws -> Result<Recipe, RecipeError> {
        let bytes = try SourceFile.contents(word: word, limit: maximumBytes)
        var presets: [String: OwnPreset] = [:]
        // A name that is nowhere is a mistake in the recipe, which says where.
        let names = Set(Recipe.presetNames(json: bytes).prefix(Recipe.maximumPieces))
        for wanted in names.compactMap({ PresetReference($0) }) {
            guard let found = try invocation.presets.find(wanted, invocation) else { continue }
            presets[wanted.description] = try PresetChoice(found).own
        }
        return read(bytes, presets)
    }

    static func name(of word: String) -> String { word == "-" ? "standard input" : word }

    private static func read(_ bytes: [UInt8], _ presets: [String: OwnPreset]) -> Result<Recipe, RecipeError> {
        Result { () throws(RecipeError) in
            let recipe = try Recipe(json: bytes, presets: presets)
            try recipe.validate()
            return recipe
        }
    }
}
