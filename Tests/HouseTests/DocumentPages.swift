import Foundation

/// The pages for people: those in `docs` and the ones beside the source, by their paths from the root.
struct DocumentPages {
    /// The text of each page.
    let texts: [String: String]

    init() throws {
        let root = try SourceTree().root
        let docs = try FileManager.default.subpathsOfDirectory(atPath: root.appending(path: "docs").path)
            .filter { $0.hasSuffix(".md") }.map { "docs/\($0)" }
        var texts: [String: String] = [:]
        for path in docs + ["README.md", "CONTRIBUTING.md", "SECURITY.md", "deploy/README.md"] {
            texts[path] = try String(contentsOf: root.appending(path: path), encoding: .utf8)
        }
        self.texts = texts
    }

    /// The prose of a page: its paragraphs and items of lists in one line each, without code, tables, headings and the
    /// parts that code writes, between `<!-- name: ... -->` and `<!-- name: end -->`.
    static func paragraphs(of text: String) -> [String] {
        var found: [String] = []
        var lines: [Substring] = []
        var isCode = false
        var isGenerated = false
        let raws: [Substring] = text.split(separator: "\n", omittingEmptySubsequences: false) + [""]
        for raw in raws {
            let line = Substring(raw.trimmingCharacters(in: .whitespaces))
            let isFence = line.hasPrefix("```")
            if isFence { isCode.toggle() }
            let isIndentedCode = raw.hasPrefix("    ") && lines.isEmpty
            let isComment = line.hasPrefix("<!--")
            if isComment { isGenerated = line.contains(": ") && !line.contains(": end -->") }
            let isMarkup = isFence || isComment || line.hasPrefix("|") || line.hasPrefix("#")
            let isProse = !isMarkup && !isCode && !isGenerated && !isIndentedCode
            let item = line.firstMatch(of: #/^(?:[-*]|\d+\.) /#)
            if !lines.isEmpty, !isProse || line.isEmpty || item != nil {
                found.append(lines.joined(separator: " "))
                lines = []
            }
            if isProse, !line.isEmpty { lines.append(line.dropFirst(item.map { $0.output.count } ?? 0)) }
        }
        return found
    }

    /// The sentences of at least `least` words, without marks, in small letters.
    static func sentences(of text: String, least: Int) -> [String] {
        paragraphs(of: text).flatMap { paragraph -> [String] in
            let plain: String = paragraph.replacing(/\]\([^)]*\)/, with: "]").filter { !"*`[]".contains($0) }
            return plain.replacing(/([.!?:;])\s+/, with: { "\($0.output.1)\n" }).split(separator: "\n").compactMap {
                let words = $0.lowercased().split { !$0.isLetter && !$0.isNumber && !"'_./-".contains($0) }
                    .map { $0.trimmingCharacters(in: CharacterSet(charactersIn: ".")) }.filter { !$0.isEmpty }
                return words.count < least ? nil : words.joined(separator: " ")
            }
        }
    }

    /// The pages to which a page links, by their paths from the root; anchors and addresses are left out.
    func links(from path: String) -> Set<String> {
        let targets = (texts[path] ?? "").matches(of: /\]\(([^)#\s]+\.md)(?:#[^)]*)?\)/).map { String($0.output.1) }
        return Set(targets.filter { !$0.contains("://") }.map { self.path($0, from: path) })
    }

    /// The path from the root of `target`, to which the page at `path` links.
    func path(_ target: String, from path: String) -> String {
        let folder = URL(filePath: "/" + path).deletingLastPathComponent()
        return String(folder.appending(path: target).standardized.path.dropFirst())
    }

    /// The headings of a page, in order.
    func headings(of path: String) -> [String] {
        (texts[path] ?? "").split(separator: "\n").filter { $0.contains(#/^#{1,4} /#) }.map(String.init)
    }
}
