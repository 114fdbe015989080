import Foundation
import Testing

/// Every test that the pages on security name exists.
struct SecurityPageTests {
    @Test func everyTestThatTheyNameExists() throws {
        let tree = try SourceTree()
        var named: Set<String> = []
        for name in ["security", "threats", "threats-http"] {
            let page = try String(contentsOf: tree.root.appending(path: "docs/\(name).md"), encoding: .utf8)
            named.formUnion(page.matches(of: /\b[A-Z][A-Za-z]+Tests\b/).map { String($0.output) })
        }
        var written: Set<String> = []
        for file in try tree.swiftFiles(in: "Tests") {
            written.formUnion(
                file.text.matches(of: /(?:struct|class) ([A-Z][A-Za-z]+Tests)\b/).map { String($0.output.1) }
            )
        }
        #expect(named.count > 60)
        let missing: [String] = named.subtracting(written).sorted()
        #expect(missing == [])
    }
}
