extension String {
    /// The text in lines of at most `width` columns, broken at spaces. Spaces at its beginning are kept for all lines,
    /// and several in a row for the names that have them.
    func wrapped(to width: Int) -> [String] {
        let indent = String(prefix { $0 == " " })
        var lines: [String] = []
        var line = ""
        for word in dropFirst(indent.count).split(separator: " ", omittingEmptySubsequences: false) {
            if !line.isEmpty, indent.count + line.displayWidth + 1 + String(word).displayWidth > width {
                lines.append(indent + line)
                line = ""
            }
            line += (line.isEmpty ? "" : " ") + word
        }
        return lines + [indent + line]
    }
}
