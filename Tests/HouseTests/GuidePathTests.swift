import Foundation
import Testing

/// CONTRIBUTING.md names files and folders, and what stands in them.
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

    /// Rows of "Where is" name a file, and then functions, types or members of it.
    @Test func whatContributingNamesStandsInItsFile() throws {
        let root = try SourceTree().root
        let text = try String(contentsOf: root.appending(path: "CONTRIBUTING.md"), encoding: .utf8)
        var checked = 0
        for row in text.split(separator: "\n") where row.contains(/\| `(Sources|Tests|migrations)\//) {
            // A file, and then what it has, up to the next file.
            for part in row.split(separator: "|").last?.split(separator: ";") ?? [] {
                let words = part.matches(of: /`([^`]+)`/).map { String($0.1) }
                guard let file = words.first, file.contains("/") else { continue }
                let names = words.dropFirst().filter { !$0.contains("/") }
                #expect(!names.isEmpty || !file.hasPrefix("migrations/"), "\(row) names no function")
                guard !names.isEmpty else { continue }
                let content = try String(contentsOf: root.appending(path: file), encoding: .utf8)
                for name in names {
                    let wanted = file.hasSuffix(".sql") ? "create or replace function \(name)(" : name
                    #expect(content.contains(wanted), "\(name) is not in \(file)")
                    checked += 1
                }
            }
        }
        #expect(checked > 10)
    }
}
