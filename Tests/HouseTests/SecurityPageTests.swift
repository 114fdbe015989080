import Foundation
import Testing

/// Every test that the page on security names exists.
struct SecurityPageTests {
    @Test func everyTestThatItNamesExists() throws {
        let tree = try SourceTree()
        let page = try String(contentsOf: tree.root.appending(path: "docs/security.md"), encoding: .utf8)
        let named: Set<String> = Set(page.matches(of: /\b[A-Z][A-Za-z]+Tests\b/).map { String($0.output) })
        var written: Set<String> = []
        for file in try tree.swiftFiles(in: "Tests") {
            written.formUnion(
                file.text.matches(of: /(?:struct|class) ([A-Z][A-Za-z]+Tests)\b/).map { String($0.output.1) }
            )
        }
        #expect(named.count > 30)
        let missing: [String] = named.subtracting(written).sorted()
        #expect(missing == [])
    }
}
