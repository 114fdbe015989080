import Console
import Conversion

/// `sluice recipe`: checks recipes and draws their timelines, without opening any audio.
enum RecipeCommand {
    private static let file = Argument(name: "FILE", summary: "the recipe, in JSON; - is standard input")
    private static let json = Switch("json", "print the result as one JSON line", in: .output)

    static let value: Subcommand = Subcommand(
        name: "recipe",
        summary: "check a recipe, or show its timeline",
        examples: [
            Example(
                line: "sluice recipe check show.json",
                purpose: "valid, or where is the mistake"
            ),
            Example(line: "sluice recipe show show.json", purpose: "a picture of the timeline"),
        ],
        children: [
            Subcommand(
                name: "check",
                summary: "check a recipe; a refusal names the place of the mistake",
                discussion: [
                    "No audio is opened. What depends on the length of a source, such as a range beyond its end, is checked "
                        + "when the recipe runs."
                ],
                arguments: [file],
                options: [json.form],
                examples: [
                    Example(line: "sluice recipe check show.json", purpose: "check a file"),
                    Example(line: "sluice recipe check - --json", purpose: "check standard input, for a program"),
                ],
                run: check
            ),
            Subcommand(
                name: "show",
                summary: "draw a recipe's timeline as text",
                discussion: [
                    "Each track has a line for the level and one for the pieces. / rises, \\ falls, X is a cross-fade; "
                        + "_ is silence, - is a level reduced by a ramp, = is any other. < marks a reversed piece, x3 one "
                        + "that is repeated. With a UTF-8 locale the lines are drawn with other characters.",
                    "No audio is opened. A piece that takes a source to its end is drawn with an open end, and times that "
                        + "depend on it are given as ?.",
                ],
                arguments: [file],
                examples: [
                    Example(line: "sluice recipe show show.json", purpose: "show a file"),
                    Example(line: "sluice recipe show - <show.json", purpose: "show standard input"),
                ],
                run: show
            ),
        ]
    )

    @Sendable private static func check(_ invocation: Invocation, _ console: CommandOutput) throws -> ExitCode {
        let word = invocation.word(file)
        guard invocation[json] else {
            let file = try RecipeFile(word: word, invocation)
            try console.print("\(file.name.printable)  \(RecipeSummary(file.recipe).words)")
            return .success
        }
        let result = try RecipeFile.reading(word: word, invocation)
        try console.print(JSONText.line(Record(file: word, result)))
        // The line already says what is wrong.
        if case .failure = result { return .usage }
        return .success
    }

    @Sendable private static func show(_ invocation: Invocation, _ console: CommandOutput) throws -> ExitCode {
        let file = try RecipeFile(word: invocation.word(file), invocation)
        let page = RecipePage(file, width: console.data.width, usesUnicode: console.data.usesUnicode)
        try console.print(page.lines.joined(separator: "\n"))
        return .success
    }

    /// The JSON form of `check`.
    private struct Record: Encodable {
        let file: String
        let isValid: Bool
        var version: Int?
        var sources: Int?
        var outputs: Int?
        var tracks: Int?
        var pieces: Int?
        /// As an exact fraction of seconds; `nil` if it depends on a source.
        var length: String?
        var code: String?
        var path: String?
        var reason: String?

        init(file: String, _ result: Result<Recipe, RecipeError>) {
            self.file = file
            switch result {
            case .success(let recipe):
                let summary = RecipeSummary(recipe)
                isValid = true
                (version, sources, outputs) = (recipe.version, recipe.sources.count, recipe.outputs.count)
                (tracks, pieces) = (recipe.timeline?.tracks.count, recipe.timeline.map { _ in summary.pieces })
                length = summary.length?.rationalDescription
            case .failure(let error):
                isValid = false
                (code, path, reason) = (error.code.rawValue, error.path, error.reason)
            }
        }
    }
}

/// A recipe in a few words.
struct RecipeSummary {
    let recipe: Recipe
    /// The number of pieces of all tracks together.
    let pieces: Int
    /// `nil` if it depends on a source.
    let length: MediaTime?

    init(_ recipe: Recipe) {
        self.recipe = recipe
        pieces = recipe.timeline?.tracks.reduce(0) { $0 + $1.pieces.count } ?? 0
        length = recipe.timeline.flatMap { TimelineSchedule($0).length }
    }

    /// `valid, version 2: 2 sources, 2 tracks, 5 pieces, 1:23 long`
    var words: String {
        var parts = [Figures.count(recipe.sources.count, "source")]
        if let timeline = recipe.timeline {
            parts += [Figures.count(timeline.tracks.count, "track"), Figures.count(pieces, "piece")]
            if let length { parts.append("\(length) long") }
        }
        return "valid, version \(recipe.version): \(parts.joined(separator: ", "))"
    }
}
