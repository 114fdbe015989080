import Conversion

/// The tags of a Matroska file. A name may occur more than once under one target.
enum MatroskaTags {
    static let tags: UInt64 = 0x1254_C367
    private static let seekHead: UInt64 = 0x114D_9B74
    private static let cluster: UInt64 = 0x1F43_B675

    /// Collects the tags of the file, or if it has none, those of its tracks.
    ///
    /// A file may state tags of an album and of a piece under the same name. Of several tags for the same, the first counts.
    static func collect(in source: ByteSource, _ size: Int64, into collector: inout TagCollector) {
        var budget = collector
        let found = all(in: source, size, &budget)
        let isOfPart = !found.contains { !$0.target.isPart && !$0.values.isEmpty }
        var known: Set<String> = []
        for tag in found where tag.target.isPart == isOfPart {
            let values: [(name: String, text: String)] = tag.values.compactMap { value in
                tag.target.name(of: value.name).map { (name: $0, text: value.text) }
            }
            for value in values where !known.contains(value.name.lowercased()) {
                budget.add([value.text], native: value.name, in: .matroska)
            }
            known.formUnion(values.map { $0.name.lowercased() })
        }
        collector = budget
    }

    /// Names the tags of tracks, chapters, editions and attachments in a file that has tags of its own, apart from titles
    /// and from what programs count in tracks.
    static func findUnread(in source: ByteSource, _ size: Int64, _ parts: inout UnreadParts) {
        var budget = TagCollector()
        let found = all(in: source, size, &budget)
        guard found.contains(where: { !$0.target.isPart && !$0.values.isEmpty }) else { return }
        for tag in found where tag.target.isPart {
            for value in tag.values where !isCount(value.name) { parts.add("Matroska tag \(value.name) of a part") }
        }
    }

    /// Whether a tag of a part is its title, counts its packets or names its encoder.
    private static func isCount(_ name: String) -> Bool {
        let name = name.uppercased()
        let starts = ["BPS", "DURATION", "NUMBER_OF_", "_STATISTICS_", "SOURCE_ID", "ENCODER"]
        return name == "TITLE" || starts.contains { name.hasPrefix($0) }
    }

    /// Names chapters inside of chapters, and a second list of chapters.
    static func findUnreadChapters(in source: ByteSource, _ size: Int64, _ parts: inout UnreadParts) {
        guard let segment = MatroskaElement.segment(of: source), segment.body < size else { return }
        let range = segment.body..<max(segment.body, min(segment.end ?? size, size))
        var (left, editions, hasInner) = (TagCollector.mostParts, 0, false)
        MatroskaElement.each(in: range, of: source, atMost: 64) { element in
            guard element.id == 0x1043_A770, let end = element.end else { return element.id != cluster }
            MatroskaElement.each(in: element.body..<end, of: source, atMost: 64) { edition in
                guard edition.id == 0x45B9, let editionEnd = edition.end else { return true }
                editions += 1
                MatroskaElement.each(in: edition.body..<editionEnd, of: source, atMost: max(0, left)) { chapter in
                    left -= 1
                    guard chapter.id == 0xB6, let chapterEnd = chapter.end else { return left > 0 }
                    MatroskaElement.each(in: chapter.body..<chapterEnd, of: source, atMost: 64) { part in
                        left -= 1
                        hasInner = hasInner || part.id == 0xB6
                        return left > 0
                    }
                    return left > 0
                }
                return left > 0
            }
            return true
        }
        if hasInner { parts.add("chapters inside of chapters") }
        if editions > 1 { parts.add("second list of chapters") }
    }

    /// All tags of the file, and what they describe.
    private static func all(
        in source: ByteSource,
        _ size: Int64,
        _ collector: inout TagCollector
    ) -> [(target: Target, values: [(name: String, text: String)])] {
        guard let segment = MatroskaElement.segment(of: source) else { return [] }
        var left = TagCollector.mostValues
        var found: [(target: Target, values: [(name: String, text: String)])] = []
        var budget = collector
        for place in places(of: source, segment, size).sorted() {
            guard let element = MatroskaElement(source, at: place), element.id == tags, let end = element.end,
                element.body < size
            else { continue }
            MatroskaElement.each(in: element.body..<max(element.body, min(end, size)), of: source, atMost: left) {
                tag in
                var target = Target()
                var values: [(name: String, text: String)] = []
                guard tag.id == 0x7373, let tagEnd = tag.end else { return true }
                left -= 1
                MatroskaElement.each(in: tag.body..<tagEnd, of: source, atMost: max(0, left)) { part in
                    left -= 1
                    if part.id == 0x63C0 { target = Target(source, part) }
                    if part.id == 0x67C8, let value = value(source, part, &budget) { values.append(value) }
                    return true
                }
                found.append((target, values))
                return left > 0
            }
        }
        collector = budget
        return found
    }

    /// What a tag describes.
    private struct Target {
        /// Whether that is a track, a chapter, an edition or an attachment, and not the file.
        private(set) var isPart = false
        /// 50 for an album, 30 for a piece, others for what is greater or smaller; `nil` if the file does not tell.
        private var level: Int64?

        init() {}

        init(_ source: ByteSource, _ element: MatroskaElement) {
            guard let end = element.end else { return }
            var (isPart, level): (Bool, Int64?) = (false, nil)
            MatroskaElement.each(in: element.body..<end, of: source, atMost: 16) { part in
                if [0x63C5, 0x63C4, 0x63C9, 0x63C6].contains(part.id) { isPart = true }
                if part.id == 0x68CA, let partEnd = part.end, (1...8).contains(partEnd - part.body) {
                    level = source.bytes(at: part.body, count: Int(partEnd - part.body)).map { bigEndian($0) }
                }
                return true
            }
            (self.isPart, self.level) = (isPart, level)
        }

        /// What a tag of a piece is called that tells the same as the tag `name` here; `nil` if there is none.
        func name(of name: String) -> String? {
            guard let level else { return name }
            guard level >= 50 else { return level >= 30 ? name : nil }
            switch name.uppercased() {
            case "TITLE": return level == 50 ? "ALBUM" : nil
            case "ARTIST": return level == 50 ? "ALBUM_ARTIST" : nil
            case "PART_NUMBER": return nil
            default: return level == 50 ? name : nil
            }
        }
    }

    /// The places of tags: before the sound, or where the seek head points.
    static func places(of source: ByteSource, _ segment: MatroskaElement, _ size: Int64) -> Set<Int64> {
        var places: Set<Int64> = []
        guard segment.body < size else { return places }
        let range = segment.body..<max(segment.body, segment.end ?? size)
        MatroskaElement.each(in: range, of: source, atMost: 64) { element in
            if element.id == tags { places.insert(element.place) }
            if element.id == seekHead { places.formUnion(seeks(source, element).map { segment.body + $0 }) }
            return element.id != cluster
        }
        return places
    }

    /// The places of tags according to the seek head, relative to the start of the segment's body.
    private static func seeks(_ source: ByteSource, _ head: MatroskaElement) -> [Int64] {
        var places: [Int64] = []
        guard let end = head.end else { return [] }
        MatroskaElement.each(in: head.body..<end, of: source, atMost: 64) { entry in
            var (isTags, place): (Bool, Int64?) = (false, nil)
            guard entry.id == 0x4DBB, let entryEnd = entry.end else { return true }
            MatroskaElement.each(in: entry.body..<entryEnd, of: source, atMost: 8) { part in
                guard let partEnd = part.end, partEnd - part.body <= 8 else { return true }
                let bytes = source.bytes(at: part.body, count: max(1, Int(partEnd - part.body))) ?? []
                if part.id == 0x53AB { isTags = bigEndian(bytes) == Int64(tags) }
                if part.id == 0x53AC { place = bigEndian(bytes) }
                return true
            }
            if isTags, let place, place >= 0, place < 1 << 55 { places.append(place) }
            return true
        }
        return places
    }

    /// The name and the text of a tag; `nil` if it has no text.
    private static func value(
        _ source: ByteSource,
        _ tag: MatroskaElement,
        _ budget: inout TagCollector
    ) -> (name: String, text: String)? {
        var (name, string): (String?, MatroskaElement?) = (nil, nil)
        guard let end = tag.end else { return nil }
        MatroskaElement.each(in: tag.body..<end, of: source, atMost: 16) { part in
            if part.id == 0x45A3 { name = source.text(of: part, atMost: Int64(TagCollector.longestName)) }
            if part.id == 0x4487 { string = part }
            return true
        }
        guard let name, let string, let stringEnd = string.end, budget.takes(stringEnd - string.body) else {
            return nil
        }
        return (name, source.text(of: string, atMost: TagCollector.longestValue))
    }
}

extension ByteSource {
    /// The start of an element's body as text, up to a NUL.
    fileprivate func text(of element: MatroskaElement, atMost most: Int64) -> String {
        guard let end = element.end, end > element.body else { return "" }
        let bytes = bytes(at: element.body, count: Int(min(end - element.body, most))) ?? []
        return String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    }
}
