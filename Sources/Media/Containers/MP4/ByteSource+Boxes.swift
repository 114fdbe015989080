/// Access to the boxes of MP4 and QuickTime. A box has a size and a four-character name; boxes are siblings or nested.
/// Of a pipe, only the boxes at its start can be read.
extension ByteSource {
    /// Where the boxes of the file lie. The end of a pipe is not known.
    var boxRange: Range<Int64> { 0..<(size ?? Plausible.ticks) }

    /// The content of the first box named `name` among those in `range`.
    func box(_ name: String, in range: Range<Int64>) -> Range<Int64>? { eachBox(in: range) { $0 == name ? $1 : nil } }

    /// The content of the track `id` of the movie with the content `movie`.
    func track(_ id: Int, in movie: Range<Int64>) -> Range<Int64>? {
        eachBox(in: movie) { name, content in
            guard name == "trak", let head = box("tkhd", in: content),
                let start = bytes(at: head.lowerBound, count: 24), start.count == 24
            else { return nil }
            let place = start[0] == 1 ? 20 : 12
            return bigEndian(start[place..<(place + 4)]) == id ? content : nil
        }
    }

    /// Calls `choose` with the name and the content of each box in `range` until it returns a value.
    func eachBox<Found>(in range: Range<Int64>, _ choose: (String, Range<Int64>) -> Found?) -> Found? {
        var place = range.lowerBound
        // A container box has a few dozen children. One with thousands was made to waste time.
        for _ in 0..<4096 {
            guard let box = boxHead(at: place, before: range.upperBound), box.size <= range.upperBound - place else {
                return nil
            }
            if let found = choose(box.name, (place + box.headBytes)..<(place + box.size)) { return found }
            place += box.size
        }
        return nil
    }

    /// The header of the box at `place`. The size includes the header and may extend beyond `end`.
    func boxHead(at place: Int64, before end: Int64) -> (name: String, headBytes: Int64, size: Int64)? {
        guard place >= 0, place + 8 <= end, let head = bytes(at: place, count: 16), head.count >= 8 else { return nil }
        var (size, headBytes) = (bigEndian(head[0..<4]), Int64(8))
        if size == 1, head.count == 16 { (size, headBytes) = (bigEndian(head[8..<16]), 16) }
        if size == 0 { size = end - place }
        guard size >= headBytes else { return nil }
        return (String(decoding: head[4..<8], as: UTF8.self), headBytes, size)
    }
}
