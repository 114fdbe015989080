import TestSupport
import Testing

@testable import Media

/// The page on errors lists the stages at which each failure occurs.
@Suite struct ErrorPageTests {
    @Test func provocationsEndInAStageOfThePage() throws {
        // Modules may share a code, each with its own row.
        let known = Dictionary(try ErrorPage.rows().map { ($0.code, $0.stages) }, uniquingKeysWith: +)
        for provocation in Provocation.all {
            let stages = known[provocation.code.rawValue] ?? []
            let isKnown = stages == ["any"] || stages.contains(provocation.stage.rawValue)
            #expect(isKnown, "\(provocation.code.rawValue) in \(provocation.stage.rawValue)")
        }
    }
}
