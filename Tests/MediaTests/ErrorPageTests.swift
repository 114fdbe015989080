import TestSupport
import Testing

@testable import Media

/// The page on errors says at which stage each failure is met.
@Suite struct ErrorPageTests {
    @Test func provocationsEndInAStageOfThePage() throws {
        let known = Dictionary(uniqueKeysWithValues: try ErrorPage.rows().map { ($0.code, $0.stages) })
        for provocation in Provocation.all {
            let stages = known[provocation.code.rawValue] ?? []
            let isKnown = stages == ["any"] || stages.contains(provocation.stage.rawValue)
            #expect(isKnown, "\(provocation.code.rawValue) in \(provocation.stage.rawValue)")
        }
    }
}
