import Conversion
import Media
import TestSupport
import Testing

@testable import PumpRoom

/// Outputs that are compared with the specs of their recipe before they are published.
struct OutputJudgementTests {
    private func recipe(_ spec: AudioSpec? = .spotify) -> Recipe {
        var recipe = Recipe(from: .init(location: "a.wav"), to: .init(location: "b.wav"))
        recipe.outputs[0].spec = spec
        return recipe
    }

    private func judge(_ recipe: Recipe, _ destinations: [Int32], _ reports: [ConversionReport]) throws {
        let judgement = try OutputJudgement(recipe, destinations, streaming: false, stop: StopSignal())
        try judgement.run(on: reports, after: nil) { _ in }
    }

    @Test func outputsWithoutReportsAreNotPublished() throws {
        let failure = try #require(throws: Failure.self) { try judge(recipe(), [-1], []) }
        #expect(failure.known == .unexpected && failure.message.contains("1 outputs, 1 destinations, 0 reports"))
        // Without a spec there is nothing to judge, and without a destination an output is not written.
        try judge(recipe(nil), [-1], [])
        try judge(recipe(), [], [])
    }
}
