import Conversion
import TestSupport
import Testing

/// The recipes in docs/editing.md are valid and use every field.
struct EditingPageTests {
    private let text: String

    init() throws { text = String(decoding: try Bytes.read(Documentation.path("editing.md")), as: UTF8.self) }

    @Test func exampleIsAValidRecipeThatUsesEveryField() throws {
        let example = try #require(Documentation.blocks("json", in: text).first)
        let recipe = try Recipe(json: example)
        try recipe.validate()
        // The length of a piece without its silence is not known, and the example shows one that is.
        let fields = try Self.fields.filter { !["repeatUntil", "trimSilence"].contains($0) }
        let missing: [String] = fields.filter { (field: String) -> Bool in !example.contains("\"\(field)\"") }
        #expect(missing == [])
        #expect(try Recipe(json: recipe.json()) == recipe)
    }

    @Test func theRecipeOfPiecesIsValid() throws {
        let recipe = try Recipe(json: try #require(Documentation.blocks("json", in: text).last))
        try recipe.validate()
        #expect(recipe.isSplit && recipe.outputs.count == 2)
    }

    /// The fields of a timeline, a track, a piece and a ramp, as the refusals of an unknown field list them.
    private static var fields: [String] {
        get throws {
            let objects = [
                #"{"x":1}"#, #"{"tracks":[{"x":1}]}"#, #"{"tracks":[{"pieces":[{"x":1}]}]}"#,
                #"{"tracks":[{"pieces":[{"source":"a","ramps":[{"x":1}]}]}]}"#,
            ]
            return try objects.flatMap { timeline in
                let error = try #require(throws: RecipeError.self) {
                    try Recipe(json: #"{"version":2,"sources":[],"outputs":[],"timeline":\#(timeline)}"#)
                }
                let list = try #require(error.reason.split(separator: "known: ").last)
                return list.split(separator: ", ").map(String.init)
            }
        }
    }
}
