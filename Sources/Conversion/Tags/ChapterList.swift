/// Chapters as people and programs write them in files of text.
///
/// Five forms are read: `;FFMETADATA1`, WebVTT, CUE sheets, labels of Audacity, and lines of a time and a title.
public struct ChapterList: Sendable, Hashable {
    /// Where a chapter begins, and its title.
    public struct Mark: Sendable, Hashable {
        public let start: MediaTime
        public let title: String?
    }

    /// In the order of time. No two begin together.
    public private(set) var marks: [Mark] = []

    /// The containers with the most places have so many.
    public static let most = 65_535
    /// The longest title, in bytes.
    public static let longestTitle = 4_096

    public init(_ text: String) throws(ListMistake) {
        let lines = ListText.lines(of: text)
        let first = ListText.first(of: lines)
        if first.hasPrefix(";FFMETADATA") {
            try readMetadata(lines)
        } else if first.hasPrefix("WEBVTT") {
            try readCaptions(lines)
        } else if lines.contains(where: { Self.words($0).first?.uppercased() == "TRACK" }) {
            try readSheet(lines)
        } else {
            try readLines(lines)
        }
        if marks.isEmpty { throw ListMistake(line: max(1, lines.count), detail: "the file has no chapters") }
    }

    /// The tracks of a text that is a CUE sheet and nothing else.
    public init(cueSheet text: String) throws(ListMistake) {
        let lines = ListText.lines(of: text)
        try readSheet(lines)
        if marks.isEmpty { throw ListMistake(line: max(1, lines.count), detail: "the sheet has no tracks") }
    }

    private mutating func add(_ start: MediaTime, _ title: some StringProtocol, line: Int) throws(ListMistake) {
        guard start.isNumeric, start >= .zero else {
            throw ListMistake(line: line, detail: "a chapter begins before zero")
        }
        if let last = marks.last, start <= last.start {
            let detail = "\(start) is not after \(last.start), where the chapter before begins"
            throw ListMistake(line: line, detail: detail)
        }
        guard marks.count < Self.most else { throw ListMistake(line: line, detail: "more than \(Self.most) chapters") }
        let trimmed = ListText.trimmed(Substring(title))
        guard trimmed.utf8.count <= Self.longestTitle else {
            throw ListMistake(line: line, detail: "a title is longer than \(Self.longestTitle) bytes")
        }
        marks.append(Mark(start: start, title: trimmed.isEmpty ? nil : String(trimmed)))
    }

    // MARK: Forms

    /// Times and titles, or the labels of Audacity: two times and a text between tabs.
    private mutating func readLines(_ lines: [Substring]) throws(ListMistake) {
        let areLabels = lines.contains { Self.isLabel($0.split(separator: "\t", omittingEmptySubsequences: false)) }
        for (index, line) in lines.enumerated() {
            let line = ListText.trimmed(line)
            // Audacity writes frequencies behind a backslash.
            if line.isEmpty || line.hasPrefix("#") || line.hasPrefix("\\") { continue }
            let fields = line.split(maxSplits: 2) { $0 == "\t" }
            // `try?`: what is no time is the title.
            let isLabel = areLabels && fields.count > 1 && (try? MediaTime(parsing: fields[1])) != nil
            let parts = isLabel ? fields : line.split(maxSplits: 1) { $0.isWhitespace }
            let start = try Self.time(parts[0], line: index + 1)
            try add(start, parts.dropFirst(isLabel ? 2 : 1).first ?? "", line: index + 1)
        }
    }

    /// Whether a line has two times and a text, which may be empty. A time and a year may also be a time and a title.
    private static func isLabel(_ fields: [Substring]) -> Bool {
        // `try?`: what does not begin with two times is no label.
        guard fields.count > 2, let start = try? MediaTime(parsing: ListText.trimmed(fields[0])),
            let end = try? MediaTime(parsing: fields[1])
        else { return false }
        return end >= start
    }

    /// `START` counts ticks of `TIMEBASE`.
    private mutating func readMetadata(_ lines: [Substring]) throws(ListMistake) {
        var chapter: (line: Int, ticks: Int64?, scale: (Int64, Int64), title: String)?
        var whole = ListText.whole(lines)
        // Ends the last chapter.
        whole.append((lines.count + 1, "["))
        for (number, line) in whole {
            if line.hasPrefix("[") {
                if let found = chapter {
                    guard let ticks = found.ticks, let scale = Int32(exactly: found.scale.1), scale > 0 else {
                        let detail = "the chapter has no START, or its TIMEBASE is not two whole numbers, as in 1/1000"
                        throw ListMistake(line: found.line, detail: detail)
                    }
                    let start = MediaTime(value: ticks, timescale: scale).multiplied(by: found.scale.0)
                    try add(start, found.title, line: found.line)
                }
                // Without a base, times count nanoseconds.
                chapter = nil
                if ListText.trimmed(line) == "[CHAPTER]" { chapter = (number, nil, (1, 1_000_000_000), "") }
            } else if chapter != nil, let sign = line.firstIndex(of: "=") {
                let value = line[line.index(after: sign)...]
                switch line[..<sign].lowercased() {
                case "start": chapter?.ticks = Int64(value)
                case "timebase":
                    let numbers = value.split(separator: "/").compactMap { Int64($0) }
                    chapter?.scale = numbers.count == 2 ? (numbers[0], numbers[1]) : (1, 0)
                case "title": chapter?.title = ListText.unescaped(value)
                default: break
                }
            }
        }
    }

    /// A cue is a line of two times with an arrow between them, and lines of text up to an empty one.
    private mutating func readCaptions(_ lines: [Substring]) throws(ListMistake) {
        var cue: (line: Int, start: MediaTime, words: [Substring])?
        for (index, line) in (lines + [""]).enumerated() {
            let line = ListText.trimmed(line)
            let words = Self.words(line)
            if words.count > 2, words[1] == "-->" {
                let start = try Self.time(words[0], line: index + 1)
                // Programs leave out the empty line before the next cue.
                if let found = cue { try add(found.start, found.words.joined(separator: " "), line: found.line) }
                cue = (index + 1, start, [])
            } else if line.isEmpty, let found = cue {
                try add(found.start, found.words.joined(separator: " "), line: found.line)
                cue = nil
            } else {
                cue?.words.append(line)
            }
        }
    }

    /// Index 1 of each track is where its chapter begins, in 75ths of a second.
    private mutating func readSheet(_ lines: [Substring]) throws(ListMistake) {
        let sheet = try CueList(lines: lines)
        if sheet.files.count > 1 {
            throw ListMistake(line: sheet.files[1].line, detail: "the sheet has a second FILE")
        }
        for track in sheet.tracks { try add(track.start, track.title ?? "", line: track.line) }
    }

    // MARK: Words

    private static func time(_ text: Substring, line: Int) throws(ListMistake) -> MediaTime {
        do throws(MediaTime.ParsingError) {
            return try MediaTime(parsing: text)
        } catch {
            throw ListMistake(line: line, detail: error.description)
        }
    }

    private static func words(_ line: Substring) -> [Substring] { line.split { $0.isWhitespace } }
}
