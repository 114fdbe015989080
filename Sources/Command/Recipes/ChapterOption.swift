import Console
import Conversion
import Storage

/// The option that takes the chapters of an output from a file.
enum ChapterOption {
    static let option = Option<String>(
        "chapters",
        .text.named("FILE").offering(.files),
        "take the chapters from this file: times and titles, a CUE sheet, labels, WebVTT",
        in: .destination
    )

    /// The longest file that is read. A list of a day has a few kilobytes.
    private static let mostBytes = 16_000_000

    /// Reads the file that the option names, and sets the chapters of `recipe`.
    static func add(to recipe: inout Recipe, _ invocation: Invocation) throws {
        guard let word = invocation[option] else { return }
        let text = ListBytes.text(of: try SourceFile.contents(word: word, limit: mostBytes))
        do throws(ListMistake) {
            recipe.chapters = try ChapterList(text).marks.map { Recipe.Chapter(at: $0.start, title: $0.title) }
        } catch {
            throw Refusal(error, in: word, hint: "a line is a time and a title, as in 12:30.5 The tide")
        }
    }
}
