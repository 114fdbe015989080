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
}
