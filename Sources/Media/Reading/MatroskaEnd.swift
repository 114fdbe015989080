/// Whether a Matroska file was cut off or damaged at the end of its sound. libav takes what is there for all there was,
/// and passes over what it does not know.
enum MatroskaEnd {
    private static let header: UInt64 = 0x1A45_DFA3
    private static let segment: UInt64 = 0x1853_8067
    private static let cluster: UInt64 = 0x1F43_B675
    /// What a cluster may hold: its time, blocks and groups of them, places, padding and checksums.
    private static let clusterParts: Set<UInt64> = [0xE7, 0xA3, 0xA0, 0xAB, 0xA7, 0x5854, 0xEC, 0xBF, 0xAF]

    /// Walks the outermost elements by their sizes, and the parts of the last cluster. A stream of unknown size tells
    /// nothing.
    static func isBroken(_ source: ByteSource) -> Bool {
        guard let size = source.size, let head = element(source, at: 0), head.id == header, let headEnd = head.end,
            let whole = element(source, at: headEnd), whole.id == segment
        else { return false }
        let end = min(whole.end ?? size, size)
        var place = whole.body
        var last: Element?
        // Ten hours of sound lie in some ten thousand clusters.
        for _ in 0..<1_000_000 where place < end {
            guard let inner = element(source, at: place) else { return true }
            guard let innerEnd = inner.end else { return false }
            // What is cut short behind the clusters is an index or tags.
            if innerEnd > size { return inner.id == cluster || last.map { hasStrangers($0, source) } ?? true }
            if inner.id == cluster { last = inner }
            place = innerEnd
        }
        return last.map { hasStrangers($0, source) } ?? false
    }

    private static func hasStrangers(_ cluster: Element, _ source: ByteSource) -> Bool {
        var place = cluster.body
        while place < cluster.end! {
            guard let part = element(source, at: place), clusterParts.contains(part.id), let end = part.end else {
                return true
            }
            place = end
        }
        return place != cluster.end!
    }

    private struct Element {
        let id: UInt64
        let body: Int64
        /// `nil` where the size is unknown.
        let end: Int64?
    }

    private static func element(_ source: ByteSource, at place: Int64) -> Element? {
        guard let head = source.bytes(at: place, count: 12), let first = head.first, first != 0 else { return nil }
        let idBytes = first.leadingZeroBitCount + 1
        guard idBytes <= 4, head.count > idBytes, head[idBytes] != 0 else { return nil }
        let id = head[..<idBytes].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        let sizeBytes = head[idBytes].leadingZeroBitCount + 1
        guard head.count >= idBytes + sizeBytes else { return nil }
        let mask = UInt64(1) << UInt64(7 * sizeBytes) - 1
        let size = head[idBytes..<(idBytes + sizeBytes)].reduce(UInt64(0)) { $0 << 8 | UInt64($1) } & mask
        let body = place + Int64(idBytes + sizeBytes)
        return Element(id: id, body: body, end: size == mask ? nil : body + Int64(size & (1 << 55 - 1)))
    }
}
