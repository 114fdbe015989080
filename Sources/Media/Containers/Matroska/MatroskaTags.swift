import Conversion

/// The tags of a Matroska file. A name may occur more than once under one target.
enum MatroskaTags {
    private static let tags: UInt64 = 0x1254_C367
    private static let seekHead: UInt64 = 0x114D_9B74
    private static let cluster: UInt64 = 0x1F43_B675

    /// Collects the tags of the file, or if it has none, those of its tracks.
    ///
    /// A file may state tags of an album and of a piece under the same name. The first of them counts.
    static func collect(in source: ByteSource, _ size: Int64, into collector: inout TagCollector) {
        guard let segment = MatroskaElement.segment(of: source) else { return }
        var left = TagCollector.mostValues
        var found: [(isOfPart: Bool, values: [(name: String, text: String)])] = []
        var budget = collector
        for place in places(of: source, segment, size).sorted() {
            guard let element = MatroskaElement(source, at: place), element.id == tags, let end = element.end,
                element.body < size
            else { continue }
            MatroskaElement.each(in: element.body..<max(element.body, min(end, size)), of: source, atMost: left) {
                tag in
                var isOfPart = false
                var values: [(name: String, text: String)] = []
                guard tag.id == 0x7373, let tagEnd = tag.end else { return true }
                left -= 1
                MatroskaElement.each(in: tag.body..<tagEnd, of: source, atMost: max(0, left)) { part in
                    left -= 1
                    if part.id == 0x63C0 { isOfPart = namesPart(source, part) }
                    if part.id == 0x67C8, let value = value(source, part, &budget) { values.append(value) }
                    return true
                }
                found.append((isOfPart, values))
                return left > 0
            }
        }
        let isOfPart = !found.contains { !$0.isOfPart && !$0.values.isEmpty }
        var known: Set<String> = []
        for tag in found where tag.isOfPart == isOfPart {
            for value in tag.values where !known.contains(value.name.lowercased()) {
                budget.add([value.text], native: value.name, in: .matroska)
            }
            known.formUnion(tag.values.map { $0.name.lowercased() })
        }
        collector = budget
    }

    /// Whether a tag's target is a track, a chapter, an edition or an attachment, and not the file.
    private static func namesPart(_ source: ByteSource, _ target: MatroskaElement) -> Bool {
        var isPart = false
        guard let end = target.end else { return false }
        MatroskaElement.each(in: target.body..<end, of: source, atMost: 16) { part in
            if [0x63C5, 0x63C4, 0x63C9, 0x63C6].contains(part.id) { isPart = true }
            return true
        }
        return isPart
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
