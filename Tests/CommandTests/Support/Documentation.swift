import Foundation

/// The documentation of this project.
enum Documentation {
    /// The full path of a page in `docs`.
    static func path(_ name: String) -> String {
        var place = URL(fileURLWithPath: #filePath)
        for _ in 0..<4 { place.deleteLastPathComponent() }
        return place.appendingPathComponent("docs").appendingPathComponent(name).path
    }

    /// The contents of the fenced blocks of one language in a page, such as `json`.
    static func blocks(_ language: String, in text: String) -> [String] {
        var blocks: [String] = []
        var fence: Substring?
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix("```") {
                fence = fence == nil ? line.dropFirst(3) : nil
                if let fence, fence == language { blocks.append("") }
            } else if let fence, fence == language {
                blocks[blocks.count - 1] += line + "\n"
            }
        }
        return blocks
    }
}
