/// Numbered noise with a triangular distribution: the same number always gives the same noise, in any block.
///
/// One hash supplies two independent uniform 16-bit values. The noise repeats after 2^32 samples, which is twelve hours
/// of stereo at 48 kHz. A repetition after so long is inaudible.
enum DitherNoise {
    /// A 32-bit hash with good avalanche ("lowbias32" by Chris Wellons), whose operations vectorise.
    @inline(__always)
    static func hash(_ number: UInt32) -> UInt32 {
        var word = number &+ seed
        word ^= word &>> 16
        word = word &* 0x7FEB_352D
        word ^= word &>> 15
        word = word &* 0x846C_A68B
        return word ^ word &>> 16
    }

    /// A value from -65535 to 65535, where 65536 is one step; the mean is 0.
    @inline(__always)
    static func triangle(_ number: UInt32) -> Int32 {
        let word = hash(number)
        return Int32(bitPattern: (word & 0xFFFF) &+ (word &>> 16)) &- 0xFFFF
    }

    private static let seed: UInt32 = 0x9E37_79B9
}
