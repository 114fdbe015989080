import Console
import Conversion

/// The option that gives outputs a cover.
enum CoverOption {
    static let option = Option<String>(
        "cover",
        .file,
        "use this JPEG or PNG picture as the cover, in place of the source's",
        in: .destination
    )

    /// Adds the picture to the sources of `recipe`.
    static func add(to recipe: inout Recipe, _ invocation: Invocation) throws(UsageError) {
        guard let path = invocation[option] else { return }
        guard path != "-" else { throw UsageError("\(option.form.word): name a file, because - is a source of sound") }
        recipe.sources.removeAll { $0.use == .cover }
        recipe.sources.append(Recipe.Source(location: path, use: .cover))
    }
}

extension Recipe {
    /// Whether an output can store a cover.
    var holdsCover: Bool {
        soundOutputs.contains { output in
            // `try?`: what is wrong with a format is told when the recipe is checked.
            (try? output.audioFormat()).map { $0.container.coverPlace != .none } ?? false
        }
    }
}
