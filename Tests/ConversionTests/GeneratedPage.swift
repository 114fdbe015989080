import Foundation
import Testing

/// A part of a page in docs that is generated from the code.
enum GeneratedPage {
    /// Compares the text between the first and the last line that begins with `mark`. Rewrites it instead if
    /// SLUICE_REWRITE_DOCS is set.
    static func expect(_ page: String, toShow text: String, between mark: String) throws {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../docs")
        let url = folder.appending(path: page).standardizedFileURL
        var lines = try String(contentsOf: url, encoding: .utf8).components(separatedBy: "\n")
        let first = try #require(lines.firstIndex { $0.hasPrefix(mark) })
        let last = try #require(lines.lastIndex { $0.hasPrefix(mark) })
        let generated = text.components(separatedBy: "\n").dropLast()
        if ProcessInfo.processInfo.environment["SLUICE_REWRITE_DOCS"] != nil {
            lines.replaceSubrange((first + 1)..<last, with: [""] + generated + [""])
            try lines.joined(separator: "\n").write(to: url, atomically: true, encoding: .utf8)
        } else {
            #expect(lines[(first + 1)..<last].filter { !$0.isEmpty } == generated.filter { !$0.isEmpty })
        }
    }
}
