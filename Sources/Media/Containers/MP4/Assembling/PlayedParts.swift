/// The edit list of an output that plays parts of its packets one after another, and the lengths that follow from it.
struct PlayedParts {
    /// In ticks of the track, which are those of the movie as well.
    let parts: [Range<Int64>]

    /// Puts the list into libav's `moov`, which has one track; `false` if the boxes are not as expected.
    func apply(to moov: inout BoxTree, timescale: Int) -> Bool {
        let length = parts.reduce(0) { $0 + Int64($1.count) }
        var isRight = false
        _ = moov.change(["mvhd"]) { header in
            guard case .bytes(var bytes) = header.content, bytes.count >= 32 else { return }
            let isLong = bytes[0] == 1
            let scale = isLong ? bigEndian(bytes[20..<24]) : bigEndian(bytes[12..<16])
            isRight = scale == Int64(timescale)
            bytes.setLength(length, at: isLong ? 24 : 16)
            header.content = .bytes(bytes)
        }
        guard isRight else { return false }
        isRight = false
        _ = moov.change(["trak", "tkhd"]) { header in
            guard case .bytes(var bytes) = header.content, bytes.count >= 36 else { return }
            bytes.setLength(length, at: bytes[0] == 1 ? 28 : 20)
            header.content = .bytes(bytes)
            isRight = true
        }
        guard isRight else { return false }
        return moov.change(["trak"]) { track in
            guard case .boxes(let boxes) = track.content else { return }
            track.content = .boxes(
                boxes.filter { $0.name != "edts" }.flatMap { $0.name == "tkhd" ? [$0, list] : [$0] }
            )
        }
    }

    private var list: BoxTree {
        let isLong = (parts.last?.upperBound ?? 0) > Int64(Int32.max)
        var bytes: [UInt8] = [isLong ? 1 : 0, 0, 0, 0] + bigEndianBytes(Int64(parts.count), count: 4)
        for part in parts {
            bytes += bigEndianBytes(Int64(part.count), count: isLong ? 8 : 4)
            bytes += bigEndianBytes(part.lowerBound, count: isLong ? 8 : 4)
            // Played as fast as it was recorded.
            bytes += bigEndianBytes(0x10000, count: 4)
        }
        return BoxTree(name: "edts", content: .boxes([BoxTree(name: "elst", content: .bytes(bytes))]))
    }
}

extension [UInt8] {
    /// Sets the length in a header of a movie or track, which has eight bytes in version 1.
    fileprivate mutating func setLength(_ length: Int64, at place: Int) {
        let count = self[0] == 1 ? 8 : 4
        replaceSubrange(place..<(place + count), with: bigEndianBytes(length, count: count))
    }
}
