/// Whether a Matroska file was cut off or damaged at the end of its sound. libav takes what is there for all there was,
/// and passes over what it does not know.
enum MatroskaEnd {
    private static let cluster: UInt64 = 0x1F43_B675
    /// What a cluster may hold: its time, blocks and groups of them, places, padding and checksums.
    private static let clusterParts: Set<UInt64> = [0xE7, 0xA3, 0xA0, 0xAB, 0xA7, 0x5854, 0xEC, 0xBF, 0xAF]

    /// Walks the outermost elements by their sizes, and the parts of the last cluster. A stream of unknown size tells
    /// nothing.
    static func isBroken(_ source: ByteSource) -> Bool {
        guard let size = source.size, let whole = MatroskaElement.segment(of: source) else { return false }
        let end = min(whole.end ?? size, size)
        var place = whole.body
        var last: MatroskaElement?
        // Ten hours of sound lie in some ten thousand clusters.
        for _ in 0..<1_000_000 {
            guard place < end else { break }
            guard let inner = MatroskaElement(source, at: place) else { return true }
            guard let innerEnd = inner.end else { return false }
            // What is cut short behind the clusters is an index or tags.
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
