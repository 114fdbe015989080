import Conversion

/// The items of the APE tag at the end of a file. A text item may hold several values.
enum APEItems {
    static func collect(in source: ByteSource, _ size: Int64, into collector: inout TagCollector) {
        var found = collector
        each(in: source, size) { name, kind, start, length in
            // Two bits state the kind of the item; 0 is text.
            if kind & 6 == 0, length > 0, found.takes(length), let text = source.bytes(at: start, count: Int(length)) {
                let values = text.split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
                found.add(values, native: name, in: .ape)
            }
            return true
        }
        collector = found
    }

    /// Names the items of bytes that are no pictures.
    static func findUnread(in source: ByteSource, _ size: Int64, _ parts: inout UnreadParts) {
        each(in: source, size) { name, flags, _, _ in
            if flags & 6 != 0, !name.lowercased().hasPrefix("cover art") { parts.add("APE item \(name)") }
            return true
        }
    }

    /// Calls `visit` with the name and the kind of each item, where its value begins, and its length, until it returns
    /// `false`.
    private static func each(
        in source: ByteSource,
        _ size: Int64,
        _ visit: (_ name: String, _ kind: UInt8, _ start: Int64, _ length: Int64) -> Bool
    ) {
        guard let (items, number, _) = items(in: source, size) else { return }
        var place = items.lowerBound
        for _ in 0..<min(number, Int64(TagCollector.mostValues)) {
            guard let head = source.bytes(at: place, count: 8 + TagCollector.longestName), head.count > 8 else {
                return
            }
            let length = littleEndian(head[0..<4])
            let name = head.dropFirst(8).prefix { $0 != 0 }
            let start = place + 8 + Int64(name.count) + 1
            guard name.count < TagCollector.longestName, length <= items.upperBound - start,
                visit(String(decoding: name, as: UTF8.self), head[4], start, length)
            else { return }
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
