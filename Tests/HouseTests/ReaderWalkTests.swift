import Foundation
import Testing

/// Three readers find their answer from the README by two links at most.
struct ReaderWalkTests {
    @Test(arguments: [
        // The operator: "How do I move a worker to another database?"
        "another database",
        // The operator: "The disk is full: what happens to my jobs?"
        "disk is full",
        // The engineer: "I want to read an hour of FLAC in Swift."
        "hour of FLAC",
    ])
    func twoLinksLeadToTheHeading(words: String) throws {
        let pages = try DocumentPages()
        let first = pages.links(from: "README.md")
        let near = first.union(first.flatMap { pages.links(from: $0) })
        let answers: [String] = near.filter { page in
            pages.headings(of: page).contains { $0.localizedCaseInsensitiveContains(words) }
        }
        #expect(!answers.isEmpty, "no page within two links of README.md has a heading with \"\(words)\"")
    }
}
