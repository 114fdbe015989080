/// The tags of a Matroska file. A name may occur more than once under one target.
enum MatroskaTags {
    private static let tags: UInt64 = 0x1254_C367
    private static let seekHead: UInt64 = 0x114D_9B74
    private static let cluster: UInt64 = 0x1F43_B675

    static func count(in source: ByteSource, _ size: Int64, into values: inout TagValues) {
        guard let segment = MatroskaElement.segment(of: source) else { return }
        var left = TagValues.mostValues
        for place in places(of: source, segment, size).sorted() {
            guard let element = MatroskaElement(source, at: place), element.id == tags, let end = element.end,
                element.body < size
            else { continue }
            MatroskaElement.each(in: element.body..<max(element.body, min(end, size)), of: source, atMost: left) {
                tag in
                var target = ""
                var names: [String] = []
                guard tag.id == 0x7373, let tagEnd = tag.end else { return true }
                left -= 1
                MatroskaElement.each(in: tag.body..<tagEnd, of: source, atMost: max(0, left)) { part in
                    left -= 1
                    if part.id == 0x63C0 { target = source.text(of: part) }
                    if part.id == 0x67C8, let name = name(source, part) { names.append(name) }
                    return true
                }
                // The target separates tags of the file from those of its tracks and chapters.
                for name in names { values.add(name, of: target) }
                return left > 0
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

    private static func name(_ source: ByteSource, _ tag: MatroskaElement) -> String? {
        var name: String?
        guard let end = tag.end else { return nil }
        MatroskaElement.each(in: tag.body..<end, of: source, atMost: 16) { part in
            if part.id == 0x45A3 { name = source.text(of: part) }
            return true
        }
        return name
    }
}

extension ByteSource {
    /// The start of an element's body as text.
    fileprivate func text(of element: MatroskaElement) -> String {
        guard let end = element.end, end > element.body else { return "" }
        let count = Int(min(end - element.body, Int64(TagValues.longestName)))
        return bytes(at: element.body, count: count).map { String(decoding: $0, as: UTF8.self) } ?? ""
    }
}
