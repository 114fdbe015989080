extension String {
    /// The text, wrapped at spaces to lines of `width` columns. Leading spaces indent every line; runs of spaces
    /// stay, for names that contain them.
    package func wrapped(to width: Int) -> [String] {
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
