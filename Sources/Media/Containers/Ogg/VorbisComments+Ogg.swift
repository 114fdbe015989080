extension VorbisComments {
    /// The comment packet of the first stream that has one; `nil` if the first pages hold none.
    static func inOgg(_ source: ByteSource, _ size: Int64) -> SplicedBytes? {
        var place: Int64 = 0
        var packets: [UInt32: SplicedBytes] = [:]
        for _ in 0..<OggPages.mostOfHeaders {
            guard let head = source.bytes(at: place, count: 282), head.count >= 27,
                head.starts(with: Array("OggS".utf8)), head.count >= 27 + Int(head[26])
            else { return nil }
            let serial = UInt32(littleEndian(head[14..<18]))
            let lacing = head[27..<(27 + Int(head[26]))]
            place += Int64(27 + lacing.count)
            var packet = packets[serial] ?? SplicedBytes(source)
            for segment in lacing {
                if segment > 0, place + Int64(segment) <= size { packet.append(place..<(place + Int64(segment))) }
                place += Int64(segment)
                if segment < 255 {
                    if let comments = comments(in: packet) { return comments }
                    packet = SplicedBytes(source)
                }
            }
            packets[serial] = packet
        }
        return nil
    }

    /// The comments after the signature of a comment packet; `nil` for any other packet.
    private static func comments(in packet: SplicedBytes) -> SplicedBytes? {
        guard let head = packet.bytes(at: 0, count: 8) else { return nil }
        let mark: Int64
        if head.starts(with: Array("OpusTags".utf8)) {
            mark = 8
        } else if head.starts(with: [3] + Array("vorbis".utf8)) {
            mark = 7
        } else if head.count >= 4, head[0] & 0x7F == 4, bigEndian(head[1..<4]) == packet.count - 4 {
            // FLAC in Ogg keeps the header of the metadata block.
            mark = 4
        } else {
            return nil
        }
        return packet.dropping(first: mark)
    }
}
