import Console
import Conversion
import Storage

/// The option that takes tags from a file.
enum TagFileOption {
    static let option = Option<String>(
        "tag-file",
        .text.named("FILE").offering(.files),
        "set the tags in this file, NAME=VALUE in each line; --tag wins",
        in: .destination
    )

    /// The longest file that is read. Lyrics of hours have a tenth of it.
    private static let mostBytes = 1_000_000

    /// Reads the file that the option names, and sets its tags in `recipe`.
    static func add(to recipe: inout Recipe, _ invocation: Invocation) throws {
        guard let word = invocation[option] else { return }
        let text = String(decoding: try SourceFile.contents(word: word, limit: mostBytes), as: UTF8.self)
        do throws(ListMistake) {
            recipe.tags.set(try TagList(text).entries.map { ($0.name, $0.value) })
        } catch {
            throw Refusal(error, in: word, hint: "a line is a name and a value, as in ALBUM=The harbour")
        }
    }
}

extension Refusal {
    /// Refuses the file that the user called `word` for a mistake in it.
    init(_ mistake: ListMistake, in word: String, hint: String) {
        let place = "\(RecipeFile.name(of: word).printable): \(mistake.description.printable)"
        self.init(message: place, hint: hint, exitCode: .usage)
    }
}
