import Foundation

/// The tables of docs/errors.md.
public enum ErrorPage {
    /// One error code and its row on the page.
    public struct Row: Sendable {
        public let code: String
        public let stages: [String]
        /// The failure class, which says whether another attempt can help.
        public let kind: String
        public let columns: Int
    }

    public static func rows() throws -> [Row] {
        let page = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../docs/errors.md")
        let text = try String(contentsOf: page.standardizedFileURL, encoding: .utf8)
        return text.split(separator: "\n").compactMap { line in
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            guard cells.count > 4, cells[0].hasPrefix("`"), cells[0].hasSuffix("`") else { return nil }
            return Row(
                code: cells[0].trimmingCharacters(in: ["`"]),
                stages: cells[1].components(separatedBy: ", "),
                kind: cells[2],
                columns: cells.count
            )
        }
    }
}
