/// The texts of ID3v2 frames.
enum ID3Text {
    /// The values in `bytes`, which NULs divide. `encoding` is the frame's first byte; an unknown one gives no values.
    static func values(_ bytes: ArraySlice<UInt8>, encoding: UInt8) -> [String] {
        switch encoding {
        case 0: bytes.split(separator: 0, omittingEmptySubsequences: false).map(latin)
        case 1, 2: wide(bytes, isBig: encoding == 2)
        case 3: bytes.split(separator: 0, omittingEmptySubsequences: false).map { String(decoding: $0, as: UTF8.self) }
        default: []
        }
    }

    private static func latin(_ bytes: ArraySlice<UInt8>) -> String {
        String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
    }

    /// Each value may begin with a mark of its byte order; one without a mark has that of the value before it.
    private static func wide(_ bytes: ArraySlice<UInt8>, isBig: Bool) -> [String] {
        var (isBig, values, units) = (isBig, [String](), [UInt16]())
        var place = bytes.startIndex
        while place + 1 < bytes.endIndex {
            let (first, second) = (UInt16(bytes[place]), UInt16(bytes[place + 1]))
            let unit = isBig ? first << 8 | second : second << 8 | first
            place += 2
            switch unit {
            case 0:
                values.append(String(decoding: units, as: UTF16.self))
                units = []
            case 0xFFFE where units.isEmpty: isBig.toggle()
            case 0xFEFF where units.isEmpty: break
            default: units.append(unit)
            }
        }
        return values + [String(decoding: units, as: UTF16.self)]
    }
}
