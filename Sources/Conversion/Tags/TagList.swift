/// Tags as people and programs write them in files of text.
///
/// Two forms are read: lines of `NAME=VALUE`, as metaflac and vorbiscomment print them, and `;FFMETADATA1`.
public struct TagList: Sendable, Hashable {
    public struct Entry: Sendable, Hashable {
        public let name: String
        /// An empty one takes the tag away.
        public let value: String
    }

    /// In the order of the file. A name that occurs again has several values.
    public private(set) var entries: [Entry] = []

    public init(_ text: String) throws(ListMistake) {
        let lines = ListText.lines(of: text)
        if ListText.first(of: lines).hasPrefix(";FFMETADATA") {
            try readMetadata(lines)
        } else {
            try readLines(lines)
        }
        if entries.isEmpty { throw ListMistake(line: max(1, lines.count), detail: "the file has no tags") }
    }

    private mutating func add(_ name: Substring, _ value: String, line: Int) throws(ListMistake) {
        let name = ListText.trimmed(name)
        guard !name.isEmpty else { throw ListMistake(line: line, detail: "the name is missing before the =") }
        guard !name.utf8.contains(0), !value.utf8.contains(0) else {
            throw ListMistake(line: line, detail: "a tag cannot hold a zero byte")
        }
        entries.append(Entry(name: String(name), value: value))
    }

    // MARK: Forms

    private mutating func readLines(_ lines: [Substring]) throws(ListMistake) {
        for (index, line) in lines.enumerated() {
            if line.hasPrefix("#") || ListText.isBlank(line) { continue }
            guard let sign = line.firstIndex(of: "=") else {
                throw ListMistake(line: index + 1, detail: "must be NAME=VALUE")
            }
            let value = ListText.trimmed(line[line.index(after: sign)...])
            try add(line[..<sign], String(value), line: index + 1)
        }
    }

    /// The tags of the file itself stand before the first section.
    private mutating func readMetadata(_ lines: [Substring]) throws(ListMistake) {
        for (number, whole) in ListText.whole(lines) {
            if whole.hasPrefix("[") { break }
            if ListText.isBlank(whole) || whole.hasPrefix(";") || whole.hasPrefix("#") { continue }
            guard let sign = Self.sign(in: whole) else {
                throw ListMistake(line: number, detail: "must be NAME=VALUE")
            }
            let name = ListText.unescaped(whole[..<sign])
            try add(name[...], ListText.unescaped(whole[whole.index(after: sign)...]), line: number)
        }
    }

    /// The first `=` without a backslash before it.
    private static func sign(in line: Substring) -> Substring.Index? {
        var isEscaped = false
        for place in line.indices {
            if line[place] == "=", !isEscaped { return place }
            isEscaped = line[place] == "\\" && !isEscaped
        }
        return nil
    }
}
