import Conversion

/// Writes an ID3v2 tag: frames of texts, pictures, and chapters.
struct ID3Tag {
    private let version: UInt8
    private var frames: [UInt8] = []
    /// Roles and names in turn, by the list in which they stand.
    private var people: [String: [String]] = [:]

    /// `version` is 3, which car radios and Windows read, or 4.
    init(_ tags: [Tag], pictures: [Picture] = [], chapters: [Chapter] = [], version: UInt8) {
        self.version = version
        let texts = NativeTags(tags, in: version == 4 ? .id3 : .id3v23).texts
        let language = Self.language(texts)
        let lyricsLanguage = Self.languageOfLyrics(tags)
        for text in texts { add(text, text.name == "USLT" ? lyricsLanguage ?? language : language) }
        for list in people.keys.sorted() { addTexts(list, people[list] ?? []) }
        for picture in pictures { addPicture(picture) }
        addChapters(chapters)
    }

    /// The size of a tag has 28 bits, of which texts and chapters need the fewest.
    static let pictureRoom = PictureRoom(all: 240 << 20)

    /// A tag without frames.
    private init(version: UInt8) { self.version = version }

    /// Whether there is no frame.
    var isEmpty: Bool { frames.isEmpty }

    /// The whole tag.
    var bytes: [UInt8] {
        // Some programs show no cover without padding behind it.
        let padding = [UInt8](repeating: 0, count: 10)
        let head: [UInt8] = Array("ID3".utf8) + [version, 0, 0] + ID3Number.bytes(frames.count + padding.count)
        return head + frames + padding
    }

    /// Whether several values of a tag stay apart. Links, identifiers and dates of ID3v2.3 are one.
    static func keepsValues(of name: String, version: UInt8) -> Bool {
        guard let row = TagTable.row(key: name),
            let native = TagTable.native(for: .common(row.name), in: version == 4 ? .id3 : .id3v23)
        else { return true }
        return !["UFID", "PCST", "TYER", "TORY"].contains(String(native.prefix(4))) && !native.hasPrefix("W")
    }

    // MARK: Frames

    private mutating func add(_ text: NativeTags.Text, _ language: [UInt8]) {
        let parts = text.name.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        let (frame, own) = (parts[0], parts.count == 2 ? parts[1] : "")
        let joined = text.values.joined(separator: ";")
        switch frame {
        // iTunes looks for the levels that it has measured in a comment.
        case "TXXX" where own.lowercased() == "itunnorm": addTexts("COMM", ["iTunNORM"] + text.values, language)
        case "TXXX":
            let isFrame = Self.otherFrames[own].map { $0 == 0 || $0 == version } ?? false
            if isFrame { addTexts(own, text.values) } else { addTexts(frame, [own] + text.values) }
        case "TIPL", "TMCL", "IPLS": for person in text.values { addPerson(person, as: own, to: frame) }
        case "COMM", "USLT": addTexts(frame, [""] + text.values, language)
        case "UFID": addFrame(frame, Array(own.utf8) + [0] + Array(joined.utf8))
        // The frame states that the sound is a podcast, whatever its content.
        case "PCST": if !["", "0"].contains(joined) { addFrame(frame, [0, 0, 0, 0]) }
        case "TYER": addDate(joined)
        // The frame holds a year.
        case "TORY" where joined.utf8.count != 4: addTexts("TXXX", ["ORIGINALDATE", joined])
        case _ where frame.hasPrefix("W"): addFrame(frame, Array(joined.utf8))
        default: addTexts(frame, text.values)
        }
    }

    /// Frames that the table does not have, and the version that has them; 0 for both.
    private static let otherFrames: [String: UInt8] = [
        "TDLY": 0, "TFLT": 0, "TOLY": 0, "TOWN": 0, "TRSN": 0, "TRSO": 0, "TRDA": 3, "TDEN": 4, "TDRL": 4, "TDTG": 4,
        "TPRO": 4,
    ]

    /// Adds a frame of texts, which NULs divide. Comments and lyrics state their language.
    private mutating func addTexts(_ frame: String, _ texts: [String], _ language: [UInt8] = []) {
        addFrame(frame, encoded(texts, language))
    }

    /// The texts behind the number of their encoding.
    private func encoded(_ texts: [String], _ language: [UInt8] = []) -> [UInt8] {
        let isPlain = texts.allSatisfy { text in text.utf8.allSatisfy { $0 < 0x80 } }
        if version == 4 || isPlain {
            let encoding: UInt8 = version == 4 ? 3 : 0
            return [encoding] + language + Array(texts.joined(separator: "\0").utf8)
        }
        // ID3v2.3 has no UTF-8.
        var content: [UInt8] = [1] + language
        for (index, text) in texts.enumerated() {
            if index > 0 { content += [0, 0] }
            content += [0xFF, 0xFE]
            for unit in text.utf16 {
                content.append(UInt8(truncatingIfNeeded: unit))
                content.append(UInt8(truncatingIfNeeded: unit >> 8))
            }
        }
        return content
    }

    private mutating func addFrame(_ frame: String, _ content: [UInt8]) {
        frames += Array(frame.utf8)
        frames += version == 4 ? ID3Number.bytes(content.count) : bigEndianBytes(Int64(content.count), count: 4)
        frames += [0, 0]
        frames += content
    }

    // MARK: Contents

    /// A performer may have the role in brackets, as in `Eve (guitar)`.
    private mutating func addPerson(_ person: String, as role: String, to list: String) {
        var (role, name) = (role, person)
        if role.isEmpty {
            role = "performer"
            if person.hasSuffix(")"), let open = person.lastIndex(of: "("), person[..<open].hasSuffix(" ") {
                role = String(person[person.index(after: open)...].dropLast())
                name = String(person[..<open].dropLast())
            }
        }
        people[list, default: []] += [role, name]
    }

    /// ID3v2.3 divides a date into year, day and month, and time. A date of which these hold only a part stands in front of
    /// them, as the first date of a tag counts.
    private mutating func addDate(_ date: String) {
        let all: [String] = date.split { "-T: ".contains($0) }.map(String.init)
        let parts = all.prefix(5)
        guard let year = parts.first, year.count == 4, parts.allSatisfy({ Int($0) != nil }) else {
            return addTexts("TXXX", ["date", date])
        }
        let isExact = parts.dropFirst().allSatisfy { $0.count == 2 }
        let isWhole = isExact && [1, 3, 5].contains(all.count) && date.hasPrefix(year)
        if !isWhole { addTexts("TXXX", ["date", date]) }
        addTexts("TYER", [year])
        if isExact, parts.count >= 3 { addTexts("TDAT", [parts[2] + parts[1]]) }
        if isExact, parts.count == 5 { addTexts("TIME", [parts[3] + parts[4]]) }
    }

    /// The description has the encoding of a text, and a zero behind it.
    private mutating func addPicture(_ picture: Picture) {
        var text = encoded([picture.text])
        let isWide = text[0] == 1
        text += isWide ? [0, 0] : [0]
        let head: [UInt8] = [text[0]] + Array(picture.mimeType.utf8) + [0, picture.kind]
        addFrame("APIC", head + Array(text.dropFirst()) + picture.bytes)
    }

    /// A table of the chapters, and a frame for each, with its title in a frame inside.
    private mutating func addChapters(_ chapters: [Chapter]) {
        var (table, content): ([UInt8], [[UInt8]]) = ([], [])
        for (index, chapter) in chapters.enumerated() {
            guard let start = chapter.startTicks(1_000), start < Int64(UInt32.max) else { continue }
            let end = min(chapter.endTicks(1_000) ?? start, Int64(UInt32.max) - 1)
            let id = Array("ch\(index)\0".utf8)
            var inner = ID3Tag(version: version)
            if let title = chapter.title, !title.isEmpty { inner.addTexts("TIT2", [title]) }
            table += id
            // The places in the file are left out.
            let unknown = [UInt8](repeating: 0xFF, count: 8)
            let times = bigEndianBytes(start, count: 4) + bigEndianBytes(end, count: 4) + unknown
            content.append(id + times + inner.frames)
        }
        guard !content.isEmpty else { return }
        // The table is the only one, and its chapters are in order.
        addFrame("CTOC", Array("toc\0".utf8) + [3, UInt8(clamping: content.count)] + table)
        for chapter in content { addFrame("CHAP", chapter) }
    }

    /// The language of comments and lyrics. Many players look for English ones, whatever they are.
    private static func language(_ texts: [NativeTags.Text]) -> [UInt8] {
        let stated = texts.first { $0.name == "TLAN" }?.values.first?.lowercased() ?? ""
        return code(stated) ?? Array("eng".utf8)
    }

    /// The language of the source's lyrics, which libav tells behind their name; `nil` if it is not known.
    private static func languageOfLyrics(_ tags: [Tag]) -> [UInt8]? {
        for key in tags.map({ $0.key.lowercased() }) where key.hasPrefix("lyrics-") {
            let stated = String(key.dropFirst("lyrics-".count))
            return ["xxx", "und"].contains(stated) ? nil : code(stated)
        }
        return nil
    }

    /// Three letters; `nil` for anything else.
    private static func code(_ language: String) -> [UInt8]? {
        let letters = Array(language.utf8)
        return letters.count == 3 && letters.allSatisfy { (0x61...0x7A).contains($0) } ? letters : nil
    }
}
