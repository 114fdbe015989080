/// The comments of FLAC and Ogg: a list of `NAME=value`. A name may occur more than once.
enum VorbisComments {
    /// Counts the values in a comment block.
    static func count(in block: SplicedBytes, into values: inout TagValues) {
        guard let vendor = block.bytes(at: 0, count: 4), vendor.count == 4 else { return }
        var place = 4 + littleEndian(vendor)
        guard let number = block.bytes(at: place, count: 4), number.count == 4 else { return }
        place += 4
        for _ in 0..<min(littleEndian(number), Int64(TagValues.mostValues)) {
            guard let head = block.bytes(at: place, count: 4 + TagValues.longestName), head.count > 4 else { return }
            let length = littleEndian(head[0..<4])
            guard length <= block.count - place - 4 else { return }
            let name = head.dropFirst(4).prefix(Int(min(length, Int64(TagValues.longestName)))).prefix { $0 != 0x3D }
            if Int64(name.count) < length { values.add(String(decoding: name, as: UTF8.self)) }
            place += 4 + length
        }
    }

    /// The comment block of a FLAC file; `nil` if it has none.
    static func inFLAC(_ source: ByteSource, _ size: Int64) -> SplicedBytes? {
        var place = TagBlocks.end(in: source, before: size)
        guard source.bytes(at: place, count: 4) == Array("fLaC".utf8) else { return nil }
        place += 4
        // There are 127 types of blocks, and few occur twice.
        for _ in 0..<512 {
            guard let head = source.bytes(at: place, count: 4), head.count == 4 else { return nil }
            let length = bigEndian(head[1..<4])
            if head[0] & 0x7F == 4 { return SplicedBytes(source, [(place + 4)..<min(size, place + 4 + length)]) }
            if head[0] & 0x80 != 0 { return nil }
            place += 4 + length
        }
        return nil
    }

    /// The comment packet of the first stream that has one; `nil` if the first pages hold none.
    static func inOgg(_ source: ByteSource, _ size: Int64) -> SplicedBytes? {
        var place: Int64 = 0
        var packets: [UInt32: SplicedBytes] = [:]
        // A page holds 64 KB, so this many hold the largest tags that are read.
        for _ in 0..<512 {
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
