import Conversion
import Foundation
import TestSupport
import Testing

@testable import Ledger

struct RecipeReaderTests {
    @Test func recipesAreReadAsTheirJSONSays() async throws {
        let lab = try await Lab()
        var recipes = ["a", "a/b", "\"", "\\", "ü", "𝄞", "", ".flac", "\"location\": \"x"].map { LedgerLab.recipe($0) }
        // The same text around an output whose extension means another format.
        for name in ["a.flac", "b.wav", "b.mp3", "b/.wav", "wav", "c.", "d.e/f"] {
            recipes.append(
                Recipe(from: Recipe.Source(location: "in:\(name)"), to: Recipe.Output(location: "out:\(name)"))
            )
        }
        var odd = LedgerLab.recipe("b", onConflict: .replace)
        odd.tags = ["location": "in:b.wav", "x": "\"location\": \"out:b.flac\""]
        odd.limits = Recipe.Limits(wallSeconds: 7)
        var double = LedgerLab.recipe("d")
        double.sources.append(Recipe.Source(location: "in:second", track: 3))
        double.outputs.append(Recipe.Output(location: "out:second", preset: "speech-16k"))
        var same = LedgerLab.recipe("e")
        same.outputs[0].location = same.sources[0].location
        var swapped = double
        swapped.sources.swapAt(0, 1)
        recipes += [odd, double, same, swapped, double]

        var reader = RecipeReader()
        for recipe in recipes + recipes.reversed() + recipes.flatMap({ [$0, $0] }) {
            // Read the text as the ledger returns it, which differs from what was written.
            let json = try recipe.json()
            let text: JSON = try await lab.run { try $0.value("select \(JSON(text: json))") }
            #expect(try reader.recipe(text.text).get() == Recipe(json: text.text), "\(json)")
            #expect(try reader.recipe(text.text).get() == recipe)
        }
    }

    @Test func whatIsNoRecipeIsRefusedAlsoAfterOneThatIs() async throws {
        let lab = try await Lab()
        let json = try LedgerLab.recipe("a").json()
        let good: JSON = try await lab.run { try $0.value("select \(JSON(text: json))") }
        let newer: JSON = try await lab.run {
            try $0.value("select \(JSON(text: json)) || '{\"version\": 9}'")
        }
        var reader = RecipeReader()
        for _ in 0..<3 {
            #expect(try reader.recipe(good.text).get() == LedgerLab.recipe("a"))
            guard case .failure(let error) = reader.recipe(newer.text) else {
                Issue.record("a recipe of version 9 was read")
                continue
            }
            #expect(error.code == .unsupportedVersion)
            for torn in [good.text.dropLast(), good.text.dropFirst()] {
                guard case .failure = reader.recipe(String(torn)) else {
                    Issue.record("\(torn) was read")
                    continue
                }
            }
        }
    }
}
