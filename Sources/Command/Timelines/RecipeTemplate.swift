import Console
import Conversion

/// A recipe that `convert` and `submit` take from a file. In its sources, `{source}` stands for the file to convert.
struct RecipeTemplate {
    static let option = Option<String>(
        "recipe",
        .text.named("FILE").offering(.files),
        "take everything from this recipe; {source} in it stands for the source",
        in: .source
    )

    /// The location of a source that stands for the file to convert.
    static let placeholder = "{source}"

    /// The name of the file, for messages.
    let name: String
    /// With the sources at `{source}` first: a job is listed by its first source, and the output has its tags.
    let recipe: Recipe
    /// How many of the sources stand for the file to convert.
    let placeholderCount: Int

    /// Reads the file that the option names; `nil` without the option.
    ///
    /// Throws a `UsageError` if other options say what the recipe says.
    init?(_ invocation: Invocation) throws {
        guard let word = invocation[Self.option] else { return nil }
        let settled =
            FormatOptions.forms + LoudnessOptions.forms + SourceOptions.forms + EditOptions.forms
            + [SubmitOptions.until.form, LoudnessOptions.album.form]
        // In `submit`, --to is another option with the same name: it names the outputs.
        let others = settled.filter { $0.name != SourceOptions.to.form.name || invocation.path == ["convert"] }
        if let other = others.first(where: { invocation.origin(of: $0) == .commandLine }) {
            throw UsageError("\(other.word) and --recipe exclude each other", hint: "change the recipe instead")
        }
        let file = try RecipeFile(word: word, invocation)
        guard file.recipe.scan == nil else {
            throw UsageError("\(file.name.printable) is a scan, and converts nothing", hint: "use \"sluice scan\"")
        }
        var recipe = file.recipe
        let isPlaceholder = { (source: Recipe.Source) in source.location == Self.placeholder }
        recipe.sources = recipe.sources.filter(isPlaceholder) + recipe.sources.filter { !isPlaceholder($0) }
        (name, self.recipe) = (file.name, recipe)
        placeholderCount = recipe.sources.count(where: isPlaceholder)
    }

    // MARK: - convert

    /// The recipe for the words of `convert`: the file to convert, if there is a place for it, and the output, which
    /// may be missing.
    func recipe(words: [String]) throws(UsageError) -> Recipe {
        let most = placeholderCount > 0 ? 2 : 1
        guard words.count <= most else {
            throw UsageError(
                "\(name.printable) has no source \(Self.placeholder), so no IN can be given",
                hint: "\"location\": \"\(Self.placeholder)\" in the recipe stands for IN"
            )
        }
        guard placeholderCount == 0 || !words.isEmpty else {
            throw UsageError("IN is missing", hint: "it is the source \(Self.placeholder) of \(name.printable)")
        }
        var result = recipe
        if placeholderCount > 0 { result.fill(placeholderCount, with: words[0]) }
        if let output = words.dropFirst(most - 1).first { result.outputs[0].location = output }
        return result
    }

    // MARK: - submit

    /// The recipe for a batch, with example locations for the source and its outputs. `destinations` may have more, for outputs
    /// that options add.
    func recipe(of example: String, to destinations: [String]) throws(UsageError) -> Recipe {
        guard placeholderCount > 0 else {
            throw UsageError(
                "\(name.printable) has no source \(Self.placeholder)",
                hint: "\"location\": \"\(Self.placeholder)\" in the recipe stands for each file of the batch"
            )
        }
        var result = recipe
        result.fill(placeholderCount, with: example)
        for (index, destination) in zip(result.outputs.indices, destinations) {
            result.outputs[index].location = destination
        }
        return result
    }
}

extension Recipe {
    /// Gives the first `count` sources the same location.
    mutating func fill(_ count: Int, with location: String) {
        for index in 0..<count { sources[index].location = location }
    }
}
