import FoundationEssentials

/// A number that stands for a whole request, to tell a repetition from another request under a used key.
///
/// It guards against mistakes, not against people who look for two requests with one digest.
struct RequestDigest {
    private var low: UInt64 = 0x9E37_79B9_7F4A_7C15
    private var high: UInt64 = 0xD1B5_4A32_D192_ED03

    /// Mixes a text in. Its length is part of it, so that "ab", "c" is not "a", "bc".
    mutating func add(_ text: String) {
        var text = text
        text.withUTF8 { bytes in
            mix(UInt64(bytes.count))
            let raw = UnsafeRawBufferPointer(bytes)
            var place = 0
            while place + 8 <= raw.count {
                mix(UInt64(littleEndian: raw.loadUnaligned(fromByteOffset: place, as: UInt64.self)))
                place += 8
            }
            var tail: UInt64 = 0
            while place < raw.count {
                tail = tail << 8 | UInt64(raw[place])
                place += 1
            }
            mix(tail)
        }
    }

    private mutating func mix(_ word: UInt64) {
        let product = (low ^ word).multipliedFullWidth(by: 0xFF51_AFD7_ED55_8CCD)
        low = product.low ^ product.high &+ word
        high = (high ^ product.low).multipliedFullWidth(by: 0xC4CE_B9FE_1A85_EC53).high &+ high &* 31 &+ product.high
    }

    /// Half of it, as a number that a column can hold.
    var number: Int64 { Int64(bitPattern: low ^ high) }

    /// Sixteen bytes.
    var bytes: Data {
        var bytes: [UInt8] = []
        bytes.append(bigEndian: low)
        bytes.append(bigEndian: high)
        return Data(bytes)
    }
}
