/// What identifies a packet when it is read again.
struct PacketKey: Hashable {
    /// The offset of its bytes in the source, or that of its page or block; `nil` if the demuxer does not state it.
    let place: Int64?
    /// Its timestamp; `nil` without one, and for bare frames, whose times are only counted.
    let time: Int64?
    let byteCount: Int
    /// A checksum of its first bytes.
    private let sum: UInt32

    private static let summedBytes = 256

    init(_ packet: borrowing Packet, isBare: Bool) {
        place = packet.place
        time = isBare ? nil : packet.timestamp
        byteCount = packet.byteCount
        sum = packet.withBytes { bytes in
            guard let start = bytes.baseAddress, !bytes.isEmpty else { return 0 }
            return Checksum.crc32(start.assumingMemoryBound(to: UInt8.self), min(bytes.count, Self.summedBytes))
        }
    }

    /// Whether the two packets are the same. Without `exactTime`, the place may stand in for the time, which some
    /// demuxers forget in a seek. With `anySize`, it is enough that they begin alike.
    func matches(_ other: PacketKey, exactTime: Bool, anySize: Bool) -> Bool {
        guard sum == other.sum, place == other.place, byteCount == other.byteCount || anySize && place != nil else {
            return false
        }
        return time == other.time || !exactTime && place != nil
    }

    /// Whether a packet with the key `other` lies behind this one in the source.
    func isPassed(by other: PacketKey) -> Bool {
        if let place, let reached = other.place { return reached > place }
        if let time, let reached = other.time { return reached > time }
        return false
    }
}
