/// Recognises GSM full rate without a container.
enum GSMSync {
    private static let frameBytes: Int64 = 33
    /// Fewer frames may be chance: four bits mark each of them.
    private static let fewest: Int64 = 8
    /// From as many on, libav recognises the format itself.
    private static let most: Int64 = 32

    /// Whether `source` holds only frames of GSM, and too few for libav, which takes them for MPEG-TS.
    static func isStream(_ source: ByteSource) -> Bool {
        var place: Int64 = 0
        while place < most * frameBytes, let head = source.bytes(at: place, count: 1), head[0] >> 4 == 0xD {
            place += frameBytes
        }
        return place >= fewest * frameBytes && source.ends(at: place)
    }
}
