import Foundation

/// A part of a page in docs that is generated from the code.
public enum GeneratedPage {
    /// The lines between the first and the last line that begins with `mark`, if they are not those of `text`. Rewrites
    /// them instead if SLUICE_REWRITE_DOCS is set.
    public static func difference(of page: String, from text: String, between mark: String) throws -> [String]? {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../docs")
        let url = folder.appending(path: page).standardizedFileURL
        var lines = try String(contentsOf: url, encoding: .utf8).components(separatedBy: "\n")
        guard let first = lines.firstIndex(where: { $0.hasPrefix(mark) }),
            let last = lines.lastIndex(where: { $0.hasPrefix(mark) }), first < last
        else { throw SupportError("find the generated part", "\(page) has no two lines that begin with \(mark)") }
        let generated = text.components(separatedBy: "\n").dropLast()
        if ProcessInfo.processInfo.environment["SLUICE_REWRITE_DOCS"] != nil {
            lines.replaceSubrange((first + 1)..<last, with: [""] + generated + [""])
            try lines.joined(separator: "\n").write(to: url, atomically: true, encoding: .utf8)
            return nil
        }
        let shown = lines[(first + 1)..<last].filter { !$0.isEmpty }
        return shown == generated.filter { !$0.isEmpty } ? nil : shown
    }
}
