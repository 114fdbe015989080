/// The configuration of an AAC decoder, `AudioSpecificConfig`.
struct AACConfiguration: Hashable {
    /// Whether the profile is Low Complexity.
    let isLC: Bool
    /// The bytes that two streams must have in common for one decoder to decode both.
    let decisive: [UInt8]

    /// `nil` if `bytes` are too few.
    init?(_ bytes: [UInt8]) {
        guard bytes.count >= 2 else { return nil }
        let (profile, rate) = (bytes[0] >> 3, (bytes[0] & 7) << 1 | bytes[1] >> 7)
        isLC = profile == 2
        let channels = bytes[1] >> 3 & 15
        // A rate that the table lacks, and channels that are described, follow in further bytes. Of other streams, only the
        // mark follows that SBR is there or not.
        let isWhole = isLC && rate != 15 && channels != 0
        let isMarked = bytes.count == 5 && bytes[2] == 0x56 && bytes[3] == 0xE5 && bytes[4] & 0x80 == 0
        decisive = isWhole && (bytes.count == 2 || isMarked) ? Array(bytes[..<2]) : bytes
    }
}
