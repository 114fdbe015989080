import FoundationEssentials

/// A digest of a whole request, which distinguishes a repetition from another request under the same key.
///
/// It protects against mistakes, not against an attacker who searches for a collision.
struct RequestDigest {
    private var low: UInt64 = 0x9E37_79B9_7F4A_7C15
    private var high: UInt64 = 0xD1B5_4A32_D192_ED03

    /// Mixes in a text with its length, so that "ab", "c" differs from "a", "bc".
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

    /// 64 bits derived from both halves, which fit a column.
    var number: Int64 { Int64(bitPattern: low ^ high) }

    /// All 16 bytes.
    var bytes: Data {
        var bytes: [UInt8] = []
        bytes.append(bigEndian: low)
        bytes.append(bigEndian: high)
        return Data(bytes)
    }
}
