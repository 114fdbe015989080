/// Caps tags and chapters of Matroska: hidden ones become a Void element of the same length.
extension TagCap {
    private static let tags: UInt64 = 0x1254_C367
    private static let chapters: UInt64 = 0x1043_A770
    private static let cluster: UInt64 = 0x1F43_B675
    /// libav adds a tag with a language a second time without it, including all nested tags, level by level.
    private static let deepest = 3

    mutating func capMatroska() {
        guard let segment = MatroskaElement.segment(of: source), segment.body < size else { return }
        var hidden: Range<Int64>?
        var seen: Set<Int64> = []
        var rest = self
        MatroskaElement.each(
            in: segment.body..<max(segment.body, min(segment.end ?? size, size)),
            of: source,
            atMost: Self.mostPieces
        ) { element in
            if element.id == Self.cluster { return false }
            seen.insert(element.place)
            rest.cap(element, &hidden)
            return true
        }
        if let hidden { rest.void(hidden) }
        hidden = nil
        for place in MatroskaTags.places(of: source, segment, size) where seen.insert(place).inserted {
            if let element = MatroskaElement(source, at: place) { rest.cap(element, &hidden) }
            if let range = hidden { rest.void(range) }
            hidden = nil
        }
        self = rest
    }

    /// Caps one top-level element. Adjacent elements that are hidden entirely accumulate in `hidden`.
    private mutating func cap(_ element: MatroskaElement, _ hidden: inout Range<Int64>?) {
        let isWanted = element.id == Self.tags || element.id == Self.chapters
        guard isWanted, budget.isSpent, let end = element.end, end <= size else {
            if let range = hidden { void(range) }
            hidden = nil
            if isWanted { capParts(of: element) }
            return
        }
        hidden = (hidden?.lowerBound ?? element.place)..<end
    }

    private mutating func capParts(of element: MatroskaElement) {
        guard let end = element.end, end <= size, element.body <= end else { return }
        var rest = self
        MatroskaElement.each(in: element.body..<end, of: source, atMost: Self.mostPieces) { part in
            guard let partEnd = part.end, partEnd <= end else { return false }
            if rest.budget.isSpent {
                rest.void(part.place..<end)
                return false
            }
            // 0x7373 is a tag with a target and its values, 0x45B9 an edition with its chapters.
            if part.id == 0x7373 {
                rest.capItems(0x67C8, in: part.body..<partEnd, depth: 0)
                rest.budget.endBlock()
            }
            if part.id == 0x45B9 { rest.capItems(0xB6, in: part.body..<partEnd, depth: Self.deepest) }
            return true
        }
        self = rest
    }

    private mutating func capItems(_ id: UInt64, in range: Range<Int64>, depth: Int) {
        var rest = self
        MatroskaElement.each(in: range, of: source, atMost: Self.mostPieces) { item in
            guard let itemEnd = item.end, itemEnd <= range.upperBound else { return false }
            guard item.id == id else { return true }
            let isTag = id == 0x67C8
            guard depth <= Self.deepest, rest.budget.takes(times: isTag ? 1 << depth : 1) else {
                rest.void(item.place..<range.upperBound)
                return false
            }
            if isTag { rest.capItems(id, in: item.body..<itemEnd, depth: depth + 1) }
            return true
        }
        self = rest
    }

    /// Writes an empty Void element over `range`, with the longest header possible.
    private mutating func void(_ range: Range<Int64>) {
        let total = range.upperBound - range.lowerBound
        guard total >= 2 else { return }
        let width = min(8, total - 1)
        let content = total - 1 - width
        patch(range.lowerBound, [0xEC] + bigEndianBytes(1 << (7 * width) | content, count: Int(width)))
    }
}
