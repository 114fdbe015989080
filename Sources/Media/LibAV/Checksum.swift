import CLibAV

/// Checksums that libav computes.
enum Checksum {
    /// The CRC with IEEE's polynomial, most significant bit first, of `count` bytes.
    static func crc32(_ bytes: UnsafePointer<UInt8>, _ count: Int) -> UInt32 {
        av_crc(av_crc_get_table(AV_CRC_32_IEEE), 0, bytes, count)
    }

    /// The CRC of PNG and zlib: with the bits of each byte in the opposite order, and inverted.
    static func reflectedCRC32(_ bytes: [UInt8]) -> UInt32 {
        ~bytes.withUnsafeBufferPointer { av_crc(av_crc_get_table(AV_CRC_32_IEEE_LE), .max, $0.baseAddress, $0.count) }
    }
}
