/// Detects a Matroska file that is truncated, or damaged at the end of its sound. libav takes the data that is
/// present for all there ever was, and skips unknown elements.
enum MatroskaEnd {
    private static let cluster: UInt64 = 0x1F43_B675
    /// The elements a cluster may hold: timestamp, blocks and block groups, position, padding, checksums and the like.
    private static let clusterParts: Set<UInt64> = [0xE7, 0xA3, 0xA0, 0xAB, 0xA7, 0x5854, 0xEC, 0xBF, 0xAF]

    /// Walks the top-level elements by their sizes, then the parts of the last cluster. `false` for a stream of
    /// unknown size, which cannot be checked. Of a pipe, only the size of the whole can be compared.
    static func isBroken(_ source: ByteSource) -> Bool {
        if !source.isSeekable {
            guard let size = source.endSize, let end = MatroskaElement.segment(of: source)?.end else { return false }
            return end > size
        }
        guard let size = source.size, let whole = MatroskaElement.segment(of: source) else { return false }
        let end = min(whole.end ?? size, size)
        var place = whole.body
        var last: MatroskaElement?
        // Ten hours of sound take some ten thousand clusters.
        for _ in 0..<1_000_000 {
            guard place < end else { break }
            guard let inner = MatroskaElement(source, at: place) else { return true }
            guard let innerEnd = inner.end else { return false }
            // An element that is cut short after the clusters is an index or tags.
            if innerEnd > size { return inner.id == cluster || last.map { hasStrangers($0, source) } ?? true }
            if inner.id == cluster { last = inner }
            place = innerEnd
        }
        return last.map { hasStrangers($0, source) } ?? false
    }

    private static func hasStrangers(_ cluster: MatroskaElement, _ source: ByteSource) -> Bool {
        var place = cluster.body
        while place < cluster.end! {
            guard let part = MatroskaElement(source, at: place), clusterParts.contains(part.id), let end = part.end
            else {
                return true
            }
            place = end
        }
        return place != cluster.end!
    }
}
