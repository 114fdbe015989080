/// One EBML element of a Matroska file: an id and a body.
struct MatroskaElement {
    let id: UInt64
    let place: Int64
    let body: Int64
    /// `nil` where the size is unknown.
    let end: Int64?

    /// The element at `place`; `nil` if none begins there.
    init?(_ source: ByteSource, at place: Int64) {
        guard let head = source.bytes(at: place, count: 12), let first = head.first, first != 0 else { return nil }
        let idBytes = first.leadingZeroBitCount + 1
        guard idBytes <= 4, head.count > idBytes, head[idBytes] != 0 else { return nil }
        id = head[..<idBytes].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        let sizeBytes = head[idBytes].leadingZeroBitCount + 1
        guard head.count >= idBytes + sizeBytes else { return nil }
        let mask = UInt64(1) << UInt64(7 * sizeBytes) - 1
        let size = head[idBytes..<(idBytes + sizeBytes)].reduce(UInt64(0)) { $0 << 8 | UInt64($1) } & mask
        self.place = place
        body = place + Int64(idBytes + sizeBytes)
        end = size == mask ? nil : body + Int64(size & (1 << 55 - 1))
    }

    /// The Segment, which holds everything but the file's header; `nil` for other formats.
    static func segment(of source: ByteSource) -> MatroskaElement? {
        guard let head = MatroskaElement(source, at: 0), head.id == 0x1A45_DFA3, let end = head.end,
            let segment = MatroskaElement(source, at: end), segment.id == 0x1853_8067
        else { return nil }
        return segment
    }

    /// Calls `visit` with each element in `range`, in order, until it returns `false` or `count` elements were visited.
    static func each(
        in range: Range<Int64>,
        of source: ByteSource,
        atMost count: Int,
        _ visit: (MatroskaElement) -> Bool
    ) {
        var place = range.lowerBound
        for _ in 0..<count {
            guard place < range.upperBound, let element = MatroskaElement(source, at: place), visit(element),
                let end = element.end
            else {
                return
            }
            place = end
        }
    }
}
