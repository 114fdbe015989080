/// Bytes that tell where they stand, so that a test notices any that change places.
public enum NumberedBytes {
    /// The byte at `place`.
    public static func byte(at place: Int64) -> UInt8 { UInt8(truncatingIfNeeded: place &* 31 &+ place >> 8) }

    /// The bytes at all of `places`.
    public static func bytes(at places: Range<Int64>) -> [UInt8] { places.map { byte(at: $0) } }

    /// Fills a plane of samples of `width` bytes. Its first frame is the frame `first`.
    ///
    /// The plane holds `channels` channels, interleaved, of which the first is the channel `channel`.
    public static func fill(
        _ plane: UnsafeMutableRawBufferPointer,
        first: Int,
        width: Int,
        channels: Int,
        from channel: Int
    ) {
        for place in 0..<plane.count {
            let sample = place / width
            let (frame, offset) = (first + sample / channels, sample % channels)
            plane[place] = UInt8(truncatingIfNeeded: frame * 31 + (channel + offset) * 7 + place % width)
        }
    }
}
