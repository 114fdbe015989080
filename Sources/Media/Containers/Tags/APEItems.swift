import Conversion

/// The items of the APE tag at the end of a file. A text item may hold several values.
enum APEItems {
    static func collect(in source: ByteSource, _ size: Int64, into collector: inout TagCollector) {
        guard let (items, number, _) = items(in: source, size) else { return }
        var place = items.lowerBound
        for _ in 0..<min(number, Int64(TagCollector.mostValues)) {
            guard let head = source.bytes(at: place, count: 8 + TagCollector.longestName), head.count > 8 else {
                return
            }
            let length = littleEndian(head[0..<4])
            let name = head.dropFirst(8).prefix { $0 != 0 }
            let start = place + 8 + Int64(name.count) + 1
            guard name.count < TagCollector.longestName, length <= items.upperBound - start else { return }
            // Two bits state the kind of the item; 0 is text.
            if head[4] & 6 == 0, length > 0, collector.takes(length),
                let text = source.bytes(at: start, count: Int(length))
            {
                let values = text.split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
                collector.add(values, native: String(decoding: name, as: UTF8.self), in: .ape)
            }
            place = start + length
        }
    }

    /// The place and number of the items according to the footer of the last tag, and the place of that footer.
    static func items(in source: ByteSource, _ size: Int64) -> (items: Range<Int64>, number: Int64, footer: Int64)? {
        // An ID3v1 tag of 128 bytes may follow it.
        for end in [size, size - 128] where end >= 32 {
            guard let footer = source.bytes(at: end - 32, count: 32), footer.count == 32,
                footer.starts(with: Array("APETAGEX".utf8))
            else { continue }
            let length = littleEndian(footer[12..<16])
            guard length >= 32, length <= end else { return nil }
            return ((end - length)..<(end - 32), littleEndian(footer[16..<20]), end - 32)
        }
        return nil
    }
}
