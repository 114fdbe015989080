import Conversion

/// MPEG-PS, which stamps packets in ticks of 90 kHz.
struct MPEGProgramStream: SourceRules {
    let packets = PacketTraits(clock: .rounded)

    func isCut(_ source: ByteSource, _ stream: InputStream) -> Bool { MPEGProgramEnd.isCut(source) }
}

/// The end of an MPEG-PS: packs, each of a header and packets that state their size.
private enum MPEGProgramEnd {
    /// More than the longest pack of two packets. A chain of packets is looked for in so many bytes at the end.
    private static let tailBytes: Int64 = 1 << 18

    /// Whether the source ends inside a packet. A source may end behind any packet: the mark of the end is optional.
    static func isCut(_ source: ByteSource) -> Bool {
        guard let size = source.endSize, size > 0 else { return false }
        let start = max(0, size - tailBytes)
        guard let tail = source.bytes(at: start, count: Int(size - start)), Int64(tail.count) == size - start else {
            return false
        }
        var place = 0
        while let pack = nextPack(in: tail, from: place) {
            place = pack
            while place < tail.count, let bytes = packetBytes(tail[place...]) { place += bytes }
            if place > tail.count { return true }
            // Anything else than packets, such as padding, is not judged.
            if place < tail.count { place = max(place, pack + 4) }
        }
        return false
    }

    private static func nextPack(in tail: [UInt8], from place: Int) -> Int? {
        var place = place
        while place + 4 <= tail.count {
            if tail[place + 2] > 1 {
                place += 3
            } else if tail[place..<(place + 4)].elementsEqual([0, 0, 1, 0xBA]) {
                return place
            } else {
                place += 1
            }
        }
        return nil
    }

    /// The size of the packet or header at the start of `bytes`; `nil` if there is none. A packet that the end of the
    /// source cuts before its size is larger than `bytes`.
    private static func packetBytes(_ bytes: ArraySlice<UInt8>) -> Int? {
        let head = Array(bytes.prefix(14))
        guard head.starts(with: [0, 0, 1]) else { return nil }
        guard head.count > 3 else { return head.count + 1 }
        switch head[3] {
        case 0xB9: return 4
        case 0xBA:
            guard head.count > 4 else { return head.count + 1 }
            if head[4] & 0xF0 == 0x20 { return 12 }
            guard head[4] & 0xC0 == 0x40 else { return nil }
            return head.count == 14 ? 14 + Int(head[13] & 7) : 14
        case 0xBB...:
            return head.count < 6 ? head.count + 1 : 6 + Int(bigEndian(head[4..<6]))
        default: return nil
        }
    }
}
