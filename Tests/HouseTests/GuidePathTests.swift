import Foundation
import Testing

/// CONTRIBUTING.md names files and folders; each exists.
struct GuidePathTests {
    @Test func everyPathInContributingExists() throws {
        let root = try SourceTree().root
        let text = try String(contentsOf: root.appending(path: "CONTRIBUTING.md"), encoding: .utf8)
        let named = text.matches(of: /`((?:Sources|Tests|migrations|scripts|docs)\/[A-Za-z0-9_+.\/-]+)`/)
        let paths = named.map { String($0.output.1) }
        #expect(paths.count > 15)
        for path in paths {
            #expect(FileManager.default.fileExists(atPath: root.appending(path: path).path), "\(path) does not exist")
        }
    }
}
