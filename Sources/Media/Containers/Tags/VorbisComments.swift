import Conversion

/// The comments of FLAC and Ogg: a list of `NAME=value`. A name may occur more than once.
enum VorbisComments {
    /// Comments with a picture, which is no text.
    private static let pictures: Set<String> = ["metadata_block_picture", "coverart", "coverartmime"]

    /// Whether a comment may have this name, which ends at the first `=`.
    static func takes(name: String) -> Bool { !name.isEmpty && !name.utf8.contains(0x3D) }

    static func collect(in block: SplicedBytes, into collector: inout TagCollector) {
        guard let vendor = block.bytes(at: 0, count: 4), vendor.count == 4 else { return }
        var place = 4 + littleEndian(vendor)
        guard let number = block.bytes(at: place, count: 4), number.count == 4 else { return }
        place += 4
        for _ in 0..<min(littleEndian(number), Int64(TagCollector.mostValues)) {
            guard let head = block.bytes(at: place, count: 4 + TagCollector.longestName), head.count > 4 else { return }
            let length = littleEndian(head[0..<4])
            guard length <= block.count - place - 4 else { return }
            let name = head.dropFirst(4).prefix(Int(min(length, Int64(TagCollector.longestName)))).prefix { $0 != 0x3D }
            let rest = length - Int64(name.count) - 1
            let native = String(decoding: name, as: UTF8.self)
            if rest > 0, name.count < TagCollector.longestName, !pictures.contains(native.lowercased()),
                collector.takes(rest),
                let value = block.bytes(at: place + 4 + length - rest, count: Int(rest)), Int64(value.count) == rest
            {
                collector.add([String(decoding: value, as: UTF8.self)], native: native, in: .vorbis)
            }
            place += 4 + length
        }
    }
}
