/// The boxes of MP4 and QuickTime in a source: four letters and a size, side by side or within each other.
extension ByteSource {
    /// Where the content of the first box of that name lies, among those in `range`.
    func box(_ name: String, in range: Range<Int64>) -> Range<Int64>? { eachBox(in: range) { $0 == name ? $1 : nil } }

    /// Calls `choose` with the name and the content of each box in `range` until it finds something.
    func eachBox<Found>(in range: Range<Int64>, _ choose: (String, Range<Int64>) -> Found?) -> Found? {
        var place = range.lowerBound
        // A folder of boxes has a few dozen; one with thousands is out to waste time.
        for _ in 0..<4096 {
            guard let box = boxHead(at: place, before: range.upperBound), box.size <= range.upperBound - place else {
                return nil
            }
            if let found = choose(box.name, (place + box.headBytes)..<(place + box.size)) { return found }
            place += box.size
        }
        return nil
    }

    /// The head of the box at `place`; its size, which may reach beyond `end`, is at least that of the head.
    func boxHead(at place: Int64, before end: Int64) -> (name: String, headBytes: Int64, size: Int64)? {
        guard place >= 0, place + 8 <= end, let head = bytes(at: place, count: 16), head.count >= 8 else { return nil }
        var (size, headBytes) = (bigEndian(head[0..<4]), Int64(8))
        if size == 1, head.count == 16 { (size, headBytes) = (bigEndian(head[8..<16]), 16) }
        if size == 0 { size = end - place }
        guard size >= headBytes else { return nil }
        return (String(decoding: head[4..<8], as: UTF8.self), headBytes, size)
    }
}
