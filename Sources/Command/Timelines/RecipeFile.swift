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
    init(word: String) throws {
        name = Self.name(of: word)
        switch Self.read(try SourceFile.contents(word: word, limit: Self.maximumBytes)) {
        case .success(let recipe): self.recipe = recipe
        case .failure(let error): throw Refusal(message: "\(name): \(error)", exitCode: .usage)
        }
    }

    /// The recipe in a file that can be read, or why it is refused.
    static func reading(word: String) throws -> Result<Recipe, RecipeError> {
        read(try SourceFile.contents(word: word, limit: maximumBytes))
    }

    static func name(of word: String) -> String { word == "-" ? "standard input" : word }

    private static func read(_ bytes: [UInt8]) -> Result<Recipe, RecipeError> {
        Result { () throws(RecipeError) in
            let recipe = try Recipe(json: bytes)
            try recipe.validate()
            return recipe
        }
    }
}
