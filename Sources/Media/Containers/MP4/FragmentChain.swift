/// Whether the boxes of a fragmented MP4 form an unbroken chain. The length of such a file is the sum of its
/// fragments, so a damaged or missing fragment does not show in the length.
enum FragmentChain {
    /// Boxes that hold neither sound nor the tables to find it.
    private static let without = ["mfra", "free", "skip", "sidx", "udta", "meta", "uuid", "emsg"]

    static func isBroken(_ source: ByteSource) -> Bool {
        guard let size = source.size else { return false }
        var (place, hasFragments) = (Int64(0), false)
        // A day of sound in fragments of one second is some 170,000 boxes.
        for _ in 0..<1_000_000 {
            guard place < size else { return false }
            guard let head = source.bytes(at: place, count: 16), head.count >= 8 else { return hasFragments }
            let name = head[4..<8]
            guard name.allSatisfy({ (0x20..<0x7F).contains($0) || $0 == 0xA9 }) else { return hasFragments }
            if name.elementsEqual("moof".utf8) { hasFragments = true }
            var length = bigEndian(head[..<4])
            if length == 1, head.count == 16 { length = bigEndian(head[8..<16]) }
            if length == 0 { return false }
            // A box that is cut short after the sound is at most an index.
            if length > size - place { return hasFragments && !without.contains { name.elementsEqual($0.utf8) } }
            guard length >= 8 else { return hasFragments }
            place += length
        }
        return false
    }
}
