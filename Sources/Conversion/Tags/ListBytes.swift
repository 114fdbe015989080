/// The bytes of a text with chapters or tags.
public enum ListBytes {
    /// The text in UTF-8, in UTF-16 with a mark of its byte order, or else in Windows' code page 1252, in which programs of
    /// Western countries wrote CUE sheets.
    public static func text(of bytes: [UInt8]) -> String {
        if bytes.starts(with: [0xFF, 0xFE]) { return wide(bytes, low: 0) }
        if bytes.starts(with: [0xFE, 0xFF]) { return wide(bytes, low: 1) }
        if let text = String(validating: bytes, as: UTF8.self) { return text }
        var scalars = String.UnicodeScalarView()
        for byte in bytes {
            scalars.append((0x80..<0xA0).contains(byte) ? upper[Int(byte) - 0x80] : Unicode.Scalar(byte))
        }
        return String(scalars)
    }

    /// Behind the mark. `low` is the place of the low byte in each pair.
    private static func wide(_ bytes: [UInt8], low: Int) -> String {
        let units = stride(from: 2, to: bytes.count - 1, by: 2).map { place -> UInt16 in
            UInt16(bytes[place + low]) | UInt16(bytes[place + 1 - low]) << 8
        }
        return String(decoding: units, as: UTF16.self)
    }

    /// What the code page has from 0x80 to 0x9F. Five bytes mean nothing.
    private static let upper: [Unicode.Scalar] = Array(
        "€\u{81}‚ƒ„…†‡ˆ‰Š‹Œ\u{8D}Ž\u{8F}\u{90}‘’“”•–—˜™š›œ\u{9D}žŸ".unicodeScalars
    )
}
