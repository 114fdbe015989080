/// The attributes of an ASF file (WMA). A name may occur more than once.
enum ASFAttributes {
    private static let header: [UInt8] = [
        0x30, 0x26, 0xB2, 0x75, 0x8E, 0x66, 0xCF, 0x11, 0xA6, 0xD9, 0x00, 0xAA, 0x00, 0x62, 0xCE, 0x6C,
    ]
    private static let description: [UInt8] = [
        0x40, 0xA4, 0xD0, 0xD2, 0x07, 0xE3, 0xD2, 0x11, 0x97, 0xF0, 0x00, 0xA0, 0xC9, 0x5E, 0xA8, 0x50,
    ]

    private static let common = [
        "wm/genre": "genre", "author": "artist", "wm/albumartist": "album_artist", "wm/composer": "composer",
    ]

    static func count(in source: ByteSource, into values: inout TagValues) {
        guard let head = source.bytes(at: 0, count: 30), head.count == 30, head.starts(with: header) else { return }
        var place: Int64 = 30
        for _ in 0..<min(littleEndian(head[24..<28]), 1_000) {
            guard let object = source.bytes(at: place, count: 26), object.count >= 24 else { return }
            let length = littleEndian(object[16..<24])
            guard length >= 24, length < 1 << 40 else { return }
            if object.starts(with: description), object.count == 26 {
                return count(littleEndian(object[24..<26]), at: place + 26, before: place + length, source, &values)
            }
            place += length
        }
    }

    private static func count(
        _ number: Int64,
        at start: Int64,
        before end: Int64,
        _ source: ByteSource,
        _ values: inout TagValues
    ) {
        var place = start
        for _ in 0..<min(number, Int64(TagValues.mostValues)) {
            guard let size = source.bytes(at: place, count: 2), size.count == 2 else { return }
            let length = littleEndian(size)
            let head = place + 2 + length
            guard let kind = source.bytes(at: head, count: 4), kind.count == 4, head + 4 <= end else { return }
            let letters = length > 0 ? source.bytes(at: place + 2, count: Int(min(length, 512))) ?? [] : []
            // Kind 0 is text. Pictures and numbers are not values of a list.
            if littleEndian(kind[0..<2]) == 0 {
                let units = stride(from: 0, to: letters.count - 1, by: 2).map {
                    UInt16(letters[$0]) | UInt16(letters[$0 + 1]) << 8
                }
                let name = String(decoding: units.prefix { $0 != 0 }, as: UTF16.self)
                values.add(common[name.lowercased()] ?? name)
            }
            place = head + 4 + littleEndian(kind[2..<4])
        }
    }
}
