/// A CUE sheet: what it says about a disc, and where the tracks begin.
public struct CueList: Sendable, Hashable {
    public struct Track: Sendable, Hashable {
        /// As the sheet states it; `nil` if that is no number.
        public let number: Int?
        /// Index 1, in 75ths of a second.
        public let start: MediaTime
        public let title: String?
        public let performer: String?
        public let isrc: String?
        /// The file of the sheet that index 1 is in, counted from 0; -1 before the first one.
        public let file: Int
        /// The line of index 1, counted from 1.
        public let line: Int
    }

    public struct File: Sendable, Hashable {
        /// The path, as the program wrote it that made the sheet.
        public let name: String
        public let line: Int
    }

    /// Of the disc.
    public private(set) var title: String?
    public private(set) var performer: String?
    public private(set) var date: String?
    public private(set) var genre: String?
    public private(set) var files: [File] = []
    /// In the order of the sheet.
    public private(set) var tracks: [Track] = []

    /// Throws for an index 1 that is no time.
    public init(_ text: String) throws(ListMistake) { try self.init(lines: ListText.lines(of: text)) }

    init(lines: [Substring]) throws(ListMistake) {
        var track: (number: Int?, title: String?, performer: String?, isrc: String?)?
        for (index, line) in lines.enumerated() {
            let words = line.split(maxSplits: 3) { $0.isWhitespace }
            guard let name = words.first?.uppercased() else { continue }
            let rest = Self.rest(of: line, behind: 1)
            switch name {
            case "FILE": files.append(File(name: Self.fileName(rest), line: index + 1))
            case "TRACK": track = (words.count > 1 ? Int(words[1]) : nil, nil, nil, nil)
            case "TITLE" where track == nil: title = Self.value(rest)
            case "TITLE": track?.title = Self.value(rest)
            case "PERFORMER" where track == nil: performer = Self.value(rest)
            case "PERFORMER": track?.performer = Self.value(rest)
            case "ISRC": track?.isrc = Self.value(rest)
            case "REM" where words.count > 2 && words[1].uppercased() == "DATE":
                date = Self.value(Self.rest(of: line, behind: 2))
            case "REM" where words.count > 2 && words[1].uppercased() == "GENRE":
                genre = Self.value(Self.rest(of: line, behind: 2))
            case "INDEX" where words.count > 2 && Int(words[1]) == 1:
                let found = Track(
                    number: track?.number,
                    start: try Self.time(words[2], line: index + 1),
                    title: track?.title,
                    performer: track?.performer,
                    isrc: track?.isrc,
                    file: files.count - 1,
                    line: index + 1
                )
                tracks.append(found)
            default: break
            }
        }
    }

    /// The tracks in a file of this name. All of them if the sheet has one file: many files were renamed, or encoded since.
    public func tracks(inFile name: String) -> [Track] {
        guard files.count > 1 else { return tracks }
        let wanted = Self.stem(name[...])
        return tracks.filter { $0.file >= 0 && Self.stem(files[$0.file].name[...]) == wanted }
    }

    // MARK: Parts of lines

    private static func time(_ word: Substring, line: Int) throws(ListMistake) -> MediaTime {
        let parts = word.split(separator: ":").compactMap { Int64($0) }
        let areNumbers = parts.count == 3 && parts.allSatisfy { (0..<1_000_000).contains($0) }
        guard areNumbers, parts[1] < 60, parts[2] < 75 else {
            let detail = "\(word) is not minutes, seconds and 75ths, as in 01:02:74"
            throw ListMistake(line: line, detail: detail)
        }
        let ticks = (parts[0] * 60 + parts[1]) * 75 + parts[2]
        return MediaTime(value: ticks, timescale: 75)
    }

    /// What follows the first words of a line.
    private static func rest(of line: Substring, behind count: Int) -> Substring {
        var rest = ListText.trimmed(line)
        for _ in 0..<count { rest = ListText.trimmed(rest.drop { !$0.isWhitespace }) }
        return rest
    }

    /// A text without the quotation marks around it; `nil` if nothing is left.
    private static func value(_ text: Substring) -> String? {
        var text = text
        if text.hasPrefix("\""), text.hasSuffix("\""), text.count > 1 { text = text.dropFirst().dropLast() }
        text = ListText.trimmed(text)
        return text.isEmpty ? nil : String(text)
    }

    /// The name of a file, without the word behind it for the kind.
    private static func fileName(_ rest: Substring) -> String {
        if rest.hasPrefix("\"") { return String(rest.dropFirst().prefix { $0 != "\"" }) }
        guard let space = rest.lastIndex(where: \.isWhitespace) else { return String(rest) }
        return String(ListText.trimmed(rest[..<space]))
    }

    /// The name of a file without its folder and its extension. Sheets have paths of Windows as well.
    private static func stem(_ path: Substring) -> String {
        let name = path.split { $0 == "/" || $0 == "\\" }.last ?? ""
        let dot = name.lastIndex(of: ".") ?? name.endIndex
        return (dot == name.startIndex ? name : name[..<dot]).lowercased()
    }
}
