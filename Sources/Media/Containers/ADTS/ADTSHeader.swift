/// The ADTS header that precedes each frame of raw AAC. Other containers store the same facts once per file.
struct ADTSHeader {
    /// Length of the header in bytes.
    let byteCount: Int
    /// The codec configuration (AudioSpecificConfig) that MP4 and Matroska would store instead.
    let configuration: [UInt8]

    /// `nil` if `bytes` do not begin a frame, or if only the frame itself describes its channels.
    init?(_ bytes: UnsafeRawBufferPointer) {
        guard bytes.count > 7, bytes[0] == 0xFF, bytes[1] & 0xF6 == 0xF0 else { return nil }
        byteCount = bytes[1] & 1 == 1 ? 7 : 9
        let kind = bytes[2] >> 6 + 1
        let rate = bytes[2] >> 2 & 0x0F
        let channels = (bytes[2] & 1) << 2 | bytes[3] >> 6
        guard rate < 13, channels > 0, bytes.count > byteCount else { return nil }
        configuration = [kind << 3 | rate >> 1, (rate & 1) << 7 | channels << 3]
    }
}
