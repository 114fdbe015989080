/// Caps the attributes of ASF by lowering their counts.
extension TagCap {
    private static let extended: [UInt8] = [0x40, 0xA4, 0xD0, 0xD2, 0x07, 0xE3, 0xD2, 0x11]
    private static let headerExtension: [UInt8] = [0xB5, 0x03, 0xBF, 0x5F, 0x2E, 0xA9, 0xCF, 0x11]
    private static let metadata: [UInt8] = [0xEA, 0xCB, 0xF8, 0xC5, 0xAF, 0x5B, 0x77, 0x48]
    private static let library: [UInt8] = [0x94, 0x1C, 0x23, 0x44, 0x98, 0x94, 0xD1, 0x49]

    mutating func capASF() { capObjects(30, size) }

    /// Lists of attributes, each after a 16-bit count.
    private mutating func capObjects(_ start: Int64, _ end: Int64) {
        var place = start
        for _ in 0..<4096 {
            guard let head = source.bytes(at: place, count: 26), head.count == 26 else { return }
            let length = littleEndian(head[16..<24])
            guard length >= 24, length <= end - place else { return }
            if [Self.extended, Self.metadata, Self.library].contains(where: { head.starts(with: $0) }) {
                let stated = littleEndian(head[24..<26])
                var count: Int64 = 0
                while count < stated, budget.takes() { count += 1 }
                if count < stated { patch(place + 24, bigEndianBytes(count, count: 2).reversed()) }
            } else if head.starts(with: Self.headerExtension), length >= 46 {
                capObjects(place + 46, place + length)
            }
            place += length
        }
    }
}
