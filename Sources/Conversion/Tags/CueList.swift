/// A CUE sheet: what it says about a disc, and where the tracks begin. The only parser of such sheets, whether they are files
/// or in tags.
public struct CueList: Sendable, Hashable {
    /// One of the places in a track that the sheet numbers.
    public struct Track: Sendable, Hashable {
        /// As the sheet states it; `nil` if that is no number.
        public let number: Int?
        /// 1 where the track begins, 0 where the pause before it begins, and more inside the track.
        public let index: Int
        /// In 75ths of a second.
        public let start: MediaTime
        public let title: String?
        public let performer: String?
        public let isrc: String?
        /// The file of the sheet that the index is in, counted from 0; -1 before the first one.
        public let file: Int
        /// The line of the index, counted from 1.
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
    public private(set) var indexes: [Track] = []
    /// Their first index 1 that is no time.
    private var mistake: ListMistake?

    /// Where tracks begin, in the order of the sheet.
    public var tracks: [Track] { indexes.filter { $0.index == 1 } }

    /// Throws for an index 1 that is no time.
    public init(_ text: String) throws(ListMistake) { try self.init(lines: ListText.lines(of: text)) }

    init(lines: [Substring]) throws(ListMistake) {
        self.init(reading: lines)
        if let mistake { throw mistake }
    }

    /// The first `mostLines` lines of a sheet that some program wrote into a tag. Times that are none are left out.
    public init(tag text: String, mostLines: Int) {
        let lines = text.utf8.split(maxSplits: mostLines) { $0 == 0x0A || $0 == 0x0D }
        self.init(reading: lines.prefix(mostLines).map { Substring($0) })
    }

    private init(reading lines: [Substring]) {
        var track: (number: Int?, title: String?, performer: String?, isrc: String?)?
        for (place, line) in lines.enumerated() {
            // An accent may follow a space or a quotation mark, so that characters are looked at in their parts.
            let words = line.unicodeScalars.split(maxSplits: 3, whereSeparator: Self.isSpace).map { Substring($0) }
            guard let name = words.first?.uppercased() else { continue }
            let rest = Self.rest(of: line, behind: 1)
            switch name {
            case "FILE": files.append(File(name: Self.fileName(rest), line: place + 1))
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
            case "INDEX" where words.count > 2:
                guard let index = Int(words[1]), (0...99).contains(index) else { continue }
                guard let start = Self.time(words[2]) else {
                    let detail = "\(words[2]) is not minutes, seconds and 75ths, as in 01:02:74"
                    if index == 1, mistake == nil { mistake = ListMistake(line: place + 1, detail: detail) }
                    continue
                }
                let found = Track(
                    number: track?.number,
                    index: index,
                    start: start,
                    title: track?.title,
                    performer: track?.performer,
                    isrc: track?.isrc,
                    file: files.count - 1,
                    line: place + 1
                )
                indexes.append(found)
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

    private typealias Scalars = Substring.UnicodeScalarView

    /// `nil` if that is no time.
    private static func time(_ word: Substring) -> MediaTime? {
        let parts = word.split(separator: ":", omittingEmptySubsequences: false)
        let numbers = parts.compactMap { part in
            part.utf8.allSatisfy { (0x30...0x39).contains($0) } ? Int64(part) : nil
        }
        guard parts.count == 3, numbers.count == 3, numbers[0] < 1_000_000, numbers[1] < 60, numbers[2] < 75 else {
            return nil
        }
        let seconds = numbers[0] * 60 + numbers[1]
        return MediaTime(value: seconds * 75 + numbers[2], timescale: 75)
    }

    private static func isSpace(_ scalar: Unicode.Scalar) -> Bool { scalar.properties.isWhitespace }

    private static func trimmed(_ text: Scalars) -> Scalars {
        let start = text.drop(while: isSpace)
        guard let last = start.lastIndex(where: { !isSpace($0) }) else { return start }
        return start[...last]
    }

    /// What follows the first words of a line.
    private static func rest(of line: Substring, behind count: Int) -> Scalars {
        var rest = trimmed(line.unicodeScalars)
        for _ in 0..<count { rest = trimmed(rest.drop { !isSpace($0) }) }
        return rest
    }

    /// What is between a quotation mark in front and the last one, or all of the text; `nil` if nothing is left. Titles may
    /// have quotation marks of their own, as in `"The 12" mix"`.
    private static func value(_ text: Scalars) -> String? {
        let plain = trimmed(quoted(text) ?? text)
        return plain.isEmpty ? nil : String(plain)
    }

    /// `nil` for a text without a quotation mark in front.
    private static func quoted(_ text: Scalars) -> Scalars? {
        guard text.first == "\"" else { return nil }
        let inner = text.dropFirst()
        return inner.lastIndex(of: "\"").map { inner[..<$0] } ?? inner
    }

    /// The name of a file, without the word behind it for the kind.
    private static func fileName(_ rest: Scalars) -> String {
        if let name = quoted(rest) { return String(name) }
        guard let space = rest.lastIndex(where: isSpace) else { return String(rest) }
        return String(trimmed(rest[..<space]))
    }

    /// The name of a file without its folder and its extension. Sheets have paths of Windows as well.
    private static func stem(_ path: Substring) -> String {
        let name = path.split { $0 == "/" || $0 == "\\" }.last ?? ""
        let dot = name.lastIndex(of: ".") ?? name.endIndex
        return (dot == name.startIndex ? name : name[..<dot]).lowercased()
    }
}
