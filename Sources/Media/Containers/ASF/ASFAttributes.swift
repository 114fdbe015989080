import Conversion

/// The attributes of an ASF file (WMA). A name may occur more than once.
enum ASFAttributes {
    private static let header: [UInt8] = [
        0x30, 0x26, 0xB2, 0x75, 0x8E, 0x66, 0xCF, 0x11, 0xA6, 0xD9, 0x00, 0xAA, 0x00, 0x62, 0xCE, 0x6C,
    ]
    /// Four texts that every file may have, without names.
    private static let content: [UInt8] = [
        0x33, 0x26, 0xB2, 0x75, 0x8E, 0x66, 0xCF, 0x11, 0xA6, 0xD9, 0x00, 0xAA, 0x00, 0x62, 0xCE, 0x6C,
    ]
    private static let description: [UInt8] = [
        0x40, 0xA4, 0xD0, 0xD2, 0x07, 0xE3, 0xD2, 0x11, 0x97, 0xF0, 0x00, 0xA0, 0xC9, 0x5E, 0xA8, 0x50,
    ]
    /// Holds further objects, among them the library.
    private static let headerExtension: [UInt8] = [
        0xB5, 0x03, 0xBF, 0x5F, 0x2E, 0xA9, 0xCF, 0x11, 0x8E, 0xE3, 0x00, 0xC0, 0x0C, 0x20, 0x53, 0x65,
    ]
    /// Here some programs write all values of a name but the first.
    private static let library: [UInt8] = [
        0x94, 0x1C, 0x23, 0x44, 0x98, 0x94, 0xD1, 0x49, 0xA1, 0x41, 0x1D, 0x13, 0x4E, 0x45, 0x70, 0x54,
    ]

    static func collect(in source: ByteSource, into collector: inout TagCollector) {
        guard let head = source.bytes(at: 0, count: 30), head.count == 30, head.starts(with: header) else { return }
        var libraries: [(number: Int64, range: Range<Int64>)] = []
        each(littleEndian(head[24..<28]), from: 30, before: 1 << 50, of: source) { object, range in
            if object.starts(with: content), object.count >= 34 {
                collectContent(object[24..<34], at: range.lowerBound + 34, before: range.upperBound, source, &collector)
            } else if object.starts(with: description), object.count >= 26 {
                let number = littleEndian(object[24..<26])
                collect(number, at: range.lowerBound + 26, before: range.upperBound, source, &collector)
            } else if object.starts(with: headerExtension) {
                each(mostObjects, from: range.lowerBound + 46, before: range.upperBound, of: source) { part, range in
                    guard part.starts(with: library), range.upperBound - range.lowerBound >= 26, part.count >= 26 else {
                        return
                    }
                    libraries.append((littleEndian(part[24..<26]), (range.lowerBound + 26)..<range.upperBound))
                }
            }
        }
        // The header extension may come before the first values.
        for (number, range) in libraries { collectLibrary(number, in: range, source, &collector) }
    }

    private static let mostObjects: Int64 = 1_000

    /// Calls `visit` with the first bytes of each object from `start` on, and with its place.
    private static func each(
        _ count: Int64,
        from start: Int64,
        before end: Int64,
        of source: ByteSource,
        _ visit: ([UInt8], Range<Int64>) -> Void
    ) {
        var place = start
        for _ in 0..<min(count, mostObjects) {
            guard let object = source.bytes(at: place, count: 34), object.count >= 24 else { return }
            let length = littleEndian(object[16..<24])
            guard length >= 24, length <= end - place else { return }
            visit(object, place..<(place + length))
            place += length
        }
    }

    /// `lengths` are those of the texts.
    private static func collectContent(
        _ lengths: ArraySlice<UInt8>,
        at start: Int64,
        before end: Int64,
        _ source: ByteSource,
        _ collector: inout TagCollector
    ) {
        var place = start
        for (index, name) in ["Title", "Author", "Copyright", "Description"].enumerated() {
            let length = littleEndian(lengths.dropFirst(2 * index).prefix(2))
            guard length <= end - place else { return }
            if length > 0, collector.takes(length), let text = text(source, place, length) {
                collector.add([text], native: name, in: .asf)
            }
            place += length
        }
    }

    private static func collect(
        _ number: Int64,
        at start: Int64,
        before end: Int64,
        _ source: ByteSource,
        _ collector: inout TagCollector
    ) {
        var place = start
        for _ in 0..<min(number, Int64(TagCollector.mostValues)) {
            guard let size = source.bytes(at: place, count: 2), size.count == 2 else { return }
            let nameBytes = littleEndian(size)
            let head = place + 2 + nameBytes
            guard let kind = source.bytes(at: head, count: 4), kind.count == 4 else { return }
            let length = littleEndian(kind[2..<4])
            guard head + 4 + length <= end else { return }
            // Kind 0 is text. Pictures and numbers are not values of a list.
            if littleEndian(kind[0..<2]) == 0, nameBytes > 0, length > 0, collector.takes(length),
                let name = text(source, place + 2, min(nameBytes, 2 * Int64(TagCollector.longestName))),
                let value = text(source, head + 4, length)
            {
                collector.add([value], native: name, in: .asf)
            }
            place = head + 4 + length
        }
    }

    private static func collectLibrary(
        _ number: Int64,
        in range: Range<Int64>,
        _ source: ByteSource,
        _ collector: inout TagCollector
    ) {
        var place = range.lowerBound
        for _ in 0..<min(number, Int64(TagCollector.mostValues)) {
            guard let head = source.bytes(at: place, count: 12), head.count == 12 else { return }
            let (nameBytes, length) = (littleEndian(head[4..<6]), littleEndian(head[8..<12]))
            let start = place + 12 + nameBytes
            guard length <= range.upperBound - start else { return }
            if littleEndian(head[6..<8]) == 0, nameBytes > 0, length > 0, collector.takes(length),
                let name = text(source, place + 12, min(nameBytes, 2 * Int64(TagCollector.longestName))),
                let value = text(source, start, length)
            {
                collector.add([value], native: name, in: .asf)
            }
            place = start + length
        }
    }

    /// UTF-16 up to a NUL.
    private static func text(_ source: ByteSource, _ place: Int64, _ length: Int64) -> String? {
        guard let bytes = source.bytes(at: place, count: Int(length)) else { return nil }
        let units = stride(from: 0, to: bytes.count - 1, by: 2).map { UInt16(bytes[$0]) | UInt16(bytes[$0 + 1]) << 8 }
        return String(decoding: units.prefix { $0 != 0 }, as: UTF16.self)
    }
}
