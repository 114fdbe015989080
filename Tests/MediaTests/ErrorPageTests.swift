import TestSupport
import Testing

@testable import Media

/// The page on errors says at which stage each failure is met.
@Suite struct ErrorPageTests {
    @Test func provocationsEndInAStageOfThePage() throws {
        // Rooms may share a code, each with a row of its own.
        let known = Dictionary(try ErrorPage.rows().map { ($0.code, $0.stages) }, uniquingKeysWith: +)
        for provocation in Provocation.all {
            let stages = known[provocation.code.rawValue] ?? []
            let isKnown = stages == ["any"] || stages.contains(provocation.stage.rawValue)
            #expect(isKnown, "\(provocation.code.rawValue) in \(provocation.stage.rawValue)")
        }
    }
}
